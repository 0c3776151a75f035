// Handing contents out: each time a fresh copy, which its receiver may change, keep or delete.

import Crypto
package import StratusModel

extension AssetStore {
    /// A copy of a content in a file of its own. It lies there until the receiver removes it, some time after it was
    /// released, and at most until the next session begins.
    ///
    /// The copy is checked as it is made: what is handed out is what was taken in.
    ///
    /// Throws `assetNotAvailable` when the content is missing or damaged, which verifying the assets shows too, and
    /// `serviceUnavailable` when the copy cannot be written.
    package func privateCopy(of asset: AssetDescriptor, owner: UserName) throws(CloudError) -> String {
        let key = AssetKey(owner: owner, digest: asset.digest)
        let source: Int32
        do throws(FileFailure) { source = try files.openRegularFile(directory.file(of: key)) } catch {
            throw Self.lost(key, error)
        }
        defer { files.close(source) }
        let name = "\(nextFileNumber())-\(AssetDirectory.name(of: key).prefix(16))"
        let path = directory.sessionCopies + "/" + name
        let target: Int32
        do throws(FileFailure) {
            let directories = [directory.top, directory.copies, directory.sessionCopies]
            target = try inDirectories(directories) { () throws(FileFailure) in try files.createFile(path) }
        } catch { throw Self.unwritable(path, asset, error) }
        var isWhole = false
        defer {
            files.close(target)
            if !isWhole { try? files.removeFile(path) }
        }
        let copied = try digest(of: source, key) { buffer, count throws(CloudError) in
            do throws(FileFailure) { try files.write(target, buffer, count: count) } catch {
                throw Self.unwritable(path, asset, error)
            }
        }
        guard copied == asset.digest else {
            throw CloudError(
                .assetNotAvailable, "The asset's content is damaged: restore it from a backup, or save it again.",
                Self.fields(key))
        }
        isWhole = true
        return path
    }

    /// Notes that nothing stands for some copies any more. The collector removes those that are still there then, when
    /// they have waited, and `unseen`, whose paths nobody was told, without a wait. Returns at once.
    package func releaseCopies(_ paths: [String], unseen: [String] = []) { releasedCopies.add(paths, unseen: unseen) }

    /// Keeps every content until the hold is let go of: made before a snapshot, it keeps what that shows.
    package func hold() -> AssetHold { AssetHold(leases) }

    /// The digest of an open content. `visit` is given what is read, which is the first bytes of a buffer.
    func digest(
        of source: Int32, _ key: AssetKey,
        _ visit: (_ buffer: [UInt8], _ count: Int) throws(CloudError) -> Void = { _, _ in }
    ) throws(CloudError) -> [UInt8] {
        var hash = SHA256()
        var buffer = [UInt8](repeating: 0, count: Self.bufferByteCount)
        while true {
            let count: Int
            do throws(FileFailure) { count = try files.read(source, into: &buffer) } catch {
                throw Self.lost(key, error)
            }
            if count == 0 { return Array(hash.finalize()) }
            hash.update(data: buffer[..<count])
            try visit(buffer, count)
        }
    }

    /// The error for a copy that a fetch was to return.
    private static func unwritable(_ path: String, _ asset: AssetDescriptor, _ failure: FileFailure) -> CloudError {
        let fields = ["path": path, "byteCount": "\(asset.byteCount)", "errno": "\(failure.number)"]
        guard failure.isFull else {
            return CloudError(
                .serviceUnavailable,
                "The copy of the asset that the fetch returns cannot be written: the server's disk refuses it.", fields,
                cause: failure.reason)
        }
        return CloudError(
            .serviceUnavailable,
            """
            The copy of the asset that the fetch returns cannot be written: the server's disk is full. Make room where the \
            copies lie, then fetch again, or leave the asset out by the desired keys.
            """, fields,
            cause: failure.reason)
    }

    private static func lost(_ key: AssetKey, _ failure: FileFailure) -> CloudError {
        guard failure.isAbsence else {
            return CloudError(
                .assetNotAvailable, "The asset's content cannot be read: verify the assets.", fields(key),
                cause: failure.reason)
        }
        return CloudError(
            .assetNotAvailable, "The asset's content is missing: restore it from a backup, or save it again.",
            fields(key), cause: failure.reason)
    }

    private static func fields(_ key: AssetKey) -> [String: String] {
        ["owner": key.owner.text, "digest": AssetDirectory.name(of: key)]
    }
}
