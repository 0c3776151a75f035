// Reading a file that is taken in: what it must be before, while and after it is read (C-10).

import Crypto
import StratusModel

/// A file that is being taken in.
struct AssetSource: Sendable {
    let descriptor: Int32
    let facts: AssetFileFacts
}

extension AssetStore {
    /// The size of a file that could be taken in now. Nothing is read or copied.
    ///
    /// Throws as `takeIn` for a file that could not.
    func byteCount(ofFile path: String) throws(CloudError) -> Int64 {
        let source = try openSource(path)
        files.close(source.descriptor)
        return source.facts.byteCount
    }

    func openSource(_ path: String) throws(CloudError) -> AssetSource {
        guard path.hasPrefix("/") else {
            throw CloudError(.assetNotAvailable, "The asset's file has no absolute path.", ["path": path])
        }
        let descriptor: Int32
        do throws(FileFailure) { descriptor = try files.openFile(path) } catch {
            throw Self.unreadable(error, path)
        }
        do throws(CloudError) {
            return AssetSource(descriptor: descriptor, facts: try checkedFacts(descriptor, path))
        } catch {
            files.close(descriptor)
            throw error
        }
    }

    private func checkedFacts(_ descriptor: Int32, _ path: String) throws(CloudError) -> AssetFileFacts {
        let facts: AssetFileFacts
        do throws(FileFailure) { facts = try files.facts(descriptor) } catch {
            throw Self.unreadable(error, path)
        }
        guard facts.isRegular else {
            throw CloudError(
                .assetNotAvailable, "The asset is no regular file: folders, pipes and devices are not taken in.",
                ["path": path])
        }
        if let limit = byteCountLimit, facts.byteCount > limit {
            throw CloudError(
                .limitExceeded, "The asset's file is larger than the server takes: make it smaller.",
                ["byteCount": "\(facts.byteCount)", "limit": "\(limit)", "path": path])
        }
        return facts
    }

    /// Copies a file and returns the digest of what was read, which is what the file holds before and after.
    func copy(_ source: AssetSource, path: String, to target: Int32) throws(CloudError) -> [UInt8] {
        var hash = SHA256()
        var buffer = [UInt8](repeating: 0, count: Self.bufferByteCount)
        var total: Int64 = 0
        while true {
            let count: Int
            do throws(FileFailure) { count = try files.read(source.descriptor, into: &buffer) } catch {
                throw Self.unreadable(error, path)
            }
            if count == 0 { break }
            total += Int64(count)
            guard total <= source.facts.byteCount else { throw Self.modified(path) }
            hash.update(data: buffer[..<count])
            do throws(FileFailure) { try files.write(target, buffer, count: count) } catch {
                throw Self.unavailable(error)
            }
        }
        let facts: AssetFileFacts
        do throws(FileFailure) { facts = try files.facts(source.descriptor) } catch {
            throw Self.unreadable(error, path)
        }
        guard total == source.facts.byteCount, facts == source.facts else { throw Self.modified(path) }
        return Array(hash.finalize())
    }

    private static func modified(_ path: String) -> CloudError {
        CloudError(
            .assetFileModified, "The asset's file was changed while it was read: save again when it is complete.",
            ["path": path])
    }

    private static func unreadable(_ failure: FileFailure, _ path: String) -> CloudError {
        if failure.isAbsence {
            return CloudError(
                .assetFileNotFound, "The asset's file does not exist.", ["path": path], cause: failure.reason)
        }
        return CloudError(
            .assetNotAvailable, "The asset's file cannot be read.", ["path": path], cause: failure.reason)
    }
}
