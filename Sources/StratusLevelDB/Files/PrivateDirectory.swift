// A temporary directory of one process. The process removes it, or if it has died, the next process that sweeps does.
//
// Invariants:
//   1. `mkdir` created it, for its owner alone, under a new name.
//   2. Its file OWNER is locked while its process runs. The lock ends with the process, however that ends. A later
//      process with the same ID does not have it.
//   3. OWNER is removed last. So a process that gets the lock of an OWNER that still has its name may remove the
//      directory. A sweeper may interfere while a process creates one: that process finds its OWNER gone or locked, and
//      creates another directory.
//   4. Only directories of this user are swept, and links are never followed.
//   5. It is renamed before anything in it is removed, to a name that sweepers recognise and under which nothing is
//      created: a thread that still works in it finds the whole directory gone, and can add nothing to it.
//
// Unsafe: C functions get paths and structures that live for the length of the call.

internal import Glibc
internal import StratusStore

/// A directory of this process alone, removed with it.
package final class PrivateDirectory: Sendable {
    private static let ownerName = "OWNER"
    /// The names that are tried.
    private static let maximumNumber = 1_000
    /// The suffix of a directory that is being removed.
    private static let asideSuffix = "-removed"
    /// Another thread may have been creating a file when the directory was renamed, and sweepers may be removing it.
    private static let removalRoundCount = 50
    private static let removalPauseMicroseconds: UInt32 = 20_000
    /// A sweeper does not wait: the next one continues.
    private static let sweepRoundCount = 5

    /// The path of the directory.
    package let path: String
    /// The open OWNER, which holds the lock.
    private let descriptor: Int32

    private init(path: String, descriptor: Int32) {
        self.path = path
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }

    /// Creates a directory in `folder` whose name begins with `prefix`.
    ///
    /// Throws `StoreError` with `.notPermitted`, `.diskFull` and `.inputOutput`.
    package static func make(in folder: String, prefix: String) throws -> PrivateDirectory {
        do {
            for number in 1...maximumNumber {
                let path = "\(folder)/\(prefix)\(getpid())-\(number)"
                do {
                    try SystemFiles.makeDirectory(path)
                } catch let error where error.number == EEXIST {
                    continue
                }
                if let descriptor = try own(path, isNew: true) {
                    return PrivateDirectory(path: path, descriptor: descriptor)
                }
            }
        } catch { throw error.storeError }
        throw StoreError(
            .inputOutput, "There are too many private directories in the folder: remove those of ended processes.",
            ["path": folder, "prefix": prefix])
    }

    /// Removes the directories in `folder` that ended processes have left. Returns how many. The next sweep tries again
    /// those that cannot be read or removed.
    @discardableResult
    package static func sweep(_ folder: String, prefix: String) -> Int {
        let names = (try? SystemFiles.names(in: folder)) ?? []
        return names.count { $0.hasPrefix(prefix) && sweepOne("\(folder)/\($0)") }
    }

    /// Removes the directory and its contents. It may be called more than once, on any thread.
    package func remove() {
        Self.remove(path, roundCount: Self.removalRoundCount, pauseMicroseconds: Self.removalPauseMicroseconds)
    }

    // MARK: Helpers

    private static func sweepOne(_ path: String) -> Bool {
        guard isOwnDirectory(path) else { return false }
        // An empty one may have just been created by another process, which then creates another.
        if (try? SystemFiles.removeDirectory(path)) != nil { return true }
        guard let descriptor = try? own(path, isNew: false) else { return false }
        defer { close(descriptor) }
        remove(path, roundCount: sweepRoundCount, pauseMicroseconds: 0)
        return true
    }

    /// Locks OWNER, and creates it if needed. Nil if another process has locked or removed it.
    private static func own(_ path: String, isNew: Bool) throws(SystemError) -> Int32? {
        let owner = "\(path)/\(ownerName)"
        let flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | (isNew ? O_EXCL : 0)
        let descriptor = unsafe open(owner, flags, 0o600)
        guard descriptor >= 0 else {
            if [ENOENT, EEXIST].contains(errno) { return nil }
            throw SystemError(number: errno, call: "open", path: owner)
        }
        if flock(descriptor, LOCK_EX | LOCK_NB) == 0,
            let held = try? SystemFiles.status(ofDescriptor: descriptor, path: owner),
            (try? SystemFiles.status(owner)) == held
        {
            return descriptor
        }
        close(descriptor)
        return nil
    }

    /// Whether a directory of this user is at the path, not a link to one.
    static func isOwnDirectory(_ path: String) -> Bool {
        var buffer = stat()
        guard unsafe lstat(path, &buffer) == 0 else { return false }
        return buffer.st_mode & S_IFMT == S_IFDIR && buffer.st_uid == geteuid()
    }

    private static func remove(_ path: String, roundCount: Int, pauseMicroseconds: UInt32) {
        let place = movedAside(path)
        for round in 0..<roundCount {
            if round > 0, pauseMicroseconds > 0 { usleep(pauseMicroseconds) }
            guard let names = try? SystemFiles.names(in: place) else { return }
            for name in names where name != ownerName { try? SystemFiles.removeTree("\(place)/\(name)") }
            guard (try? SystemFiles.names(in: place))?.allSatisfy({ $0 == ownerName }) == true else { continue }
            try? SystemFiles.remove("\(place)/\(ownerName)")
            if (try? SystemFiles.removeDirectory(place)) != nil { return }
        }
    }

    /// Renames a directory before its removal, and returns its new path. If it is already gone, another thread may be
    /// removing it under that path. It keeps its path if an earlier one of that name could not be removed.
    private static func movedAside(_ path: String) -> String {
        guard !path.hasSuffix(asideSuffix) else { return path }
        let aside = path + asideSuffix
        do {
            try SystemFiles.rename(path, to: aside)
        } catch {
            return error.number == ENOENT ? aside : path
        }
        return aside
    }
}
