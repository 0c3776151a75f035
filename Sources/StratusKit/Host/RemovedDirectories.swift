// Directories of stores that were emptied: moved beside the store and then removed, which takes its time. What a process has
// not come to remove, the next one does.

import Foundation
import StratusCloud
import StratusRecords

/// What was set aside of the store in one directory.
struct RemovedDirectories {
    private let folder: URL
    private let prefix: String
    private let files = SystemAssetFiles()

    init(of directory: URL) {
        folder = directory.deletingLastPathComponent()
        prefix = ".\(directory.lastPathComponent).emptied-"
    }

    /// A name that nothing has.
    func next() -> URL { folder.appendingPathComponent(prefix + UUID().uuidString, isDirectory: true) }

    /// Removes them; others may do so at the same time. `progress` is told how many files and directories were removed, and
    /// of how many.
    ///
    /// Throws `serviceUnavailable` where the disk refuses it, with what is left for the next call.
    func remove(_ progress: @escaping WorkMeter.Listener) throws {
        progress(0, 0)
        do throws(FileFailure) {
            let paths = try files.names(in: folder.path)
                .filter { $0.hasPrefix(prefix) && UUID(uuidString: String($0.dropFirst(prefix.count))) != nil }
                .map { folder.appendingPathComponent($0).path }
            let meter = WorkMeter(total: paths.reduce(0) { $0 + Self.count($1) }, progress)
            for path in paths { try remove(path, meter) }
        } catch {
            throw CloudError(
                .serviceUnavailable,
                "The store is empty, but files of what it was are left: mend what the disk refuses, and empty it again.",
                ["path": folder.path], cause: error.reason)
        }
    }

    /// How many files and directories lie there, itself among them. Links are not followed.
    private static func count(_ path: String) -> Int {
        guard let below = FileManager.default.enumerator(atPath: path) else { return 1 }
        return below.reduce(1) { count, _ in count + 1 }
    }

    private func remove(_ path: String, _ meter: WorkMeter) throws(FileFailure) {
        do throws(FileFailure) {
            try files.removeFile(path)
        } catch {
            switch error.number {
            case FileFailure.isADirectory: try removeDirectory(path, meter)
            case FileFailure.notFound: break
            default: throw error
            }
        }
        meter.add()
    }

    private func removeDirectory(_ path: String, _ meter: WorkMeter) throws(FileFailure) {
        do throws(FileFailure) {
            for name in try files.names(in: path) { try remove("\(path)/\(name)", meter) }
            try files.removeDirectory(path)
        } catch {
            guard error.number == FileFailure.notFound else { throw error }
        }
    }
}
