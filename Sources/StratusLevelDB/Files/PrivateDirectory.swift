// A directory that one process works in for a while, and that is removed afterwards, by that process or, where it has
// died, by the next one that sweeps.
//
// Invariants:
//   1. `mkdir` made it, for its owner alone, with a name that nothing had.
//   2. Its file OWNER is locked as long as its process lives: the lock ends with the process, however that ends, and no
//      process that comes to have the same number has it.
//   3. OWNER goes last. So whoever gets the lock of an OWNER that still has its name may remove the directory. A sweeper
//      may come between the steps of a process that makes one: that process sees its OWNER gone, or locked, and makes
//      another.
//   4. Only directories of this user are swept, and links are never followed.
//   5. It is renamed before anything in it is removed, to a name that is swept as its own would be, and that nothing is
//      made under: a thread that is still at work in it finds it gone as a whole, and can add nothing to it.
//
// Unsafe: C functions get paths and structures that live for the length of the call.

internal import Glibc
internal import StratusStore

/// A directory of this process alone, which goes with it.
package final class PrivateDirectory: Sendable {
    private static let ownerName = "OWNER"
    /// So many names are tried.
    private static let maximumNumber = 1_000
    /// Deeper directories are nobody's here.
    private static let maximumDepth = 16
    /// Follows the name of one that is being removed.
    private static let asideSuffix = "-removed"
    /// Another thread of the process may have been about to put a file there when it was renamed, and sweepers may be at it.
    private static let removalRoundCount = 50
    private static let removalPauseMicroseconds: UInt32 = 20_000
    /// Sweepers wait for nobody: the next one comes.
    private static let sweepRoundCount = 5

    /// Where it lies.
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

    /// Makes a directory in `folder` whose name begins with `prefix`.
    ///
    /// Throws `StoreError` with `.notPermitted`, `.diskFull` and `.inputOutput`.
    package static func make(in folder: String, prefix: String) throws -> PrivateDirectory {
        do {
            for number in 1...maximumNumber {
                let path = "\(folder)/\(prefix)\(getpid())-\(number)"
                do {
                    try SystemFiles.makeDirectory(path)
                } catch {
                    if error.number == EEXIST { continue }
                    throw error
                }
                if let descriptor = try own(path, isNew: true) {
                    return PrivateDirectory(path: path, descriptor: descriptor)
                }
            }
        } catch let error as SystemError {
            throw error.storeError
        }
        throw StoreError(
            .inputOutput, "Too many private directories lie here: remove those of processes that have ended.",
            ["path": folder, "prefix": prefix])
    }

    /// Removes the directories in `folder` whose processes have ended without it. Returns how many there were. What cannot
    /// be read or removed is left to the next one.
    @discardableResult
    package static func sweep(_ folder: String, prefix: String) -> Int {
        let names = (try? SystemFiles.names(in: folder)) ?? []
        return names.count { $0.hasPrefix(prefix) && sweepOne("\(folder)/\($0)") }
    }

    /// Removes the directory and all that is in it. It may be called more than once, on any thread.
    package func remove() {
        Self.remove(path, roundCount: Self.removalRoundCount, pauseMicroseconds: Self.removalPauseMicroseconds)
    }

    // MARK: Helpers

    private static func sweepOne(_ path: String) -> Bool {
        guard isOwnDirectory(path) else { return false }
        // One that is empty may be another's that is just being made, who then makes another.
        if (try? SystemFiles.removeDirectory(path)) != nil { return true }
        guard let descriptor = try? own(path, isNew: false) else { return false }
        defer { close(descriptor) }
        remove(path, roundCount: sweepRoundCount, pauseMicroseconds: 0)
        return true
    }

    /// Locks OWNER, which is made where there is none. Nil where another process has it, or has taken it away meanwhile.
    private static func own(_ path: String, isNew: Bool) throws(SystemError) -> Int32? {
        let owner = "\(path)/\(ownerName)"
        let flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | (isNew ? O_EXCL : 0)
        let descriptor = unsafe open(owner, flags, 0o600)
        guard descriptor >= 0 else {
            if [ENOENT, EEXIST].contains(errno) { return nil }
            throw SystemError(number: errno, call: "open", path: owner)
        }
        var held = stat()
        if flock(descriptor, LOCK_EX | LOCK_NB) == 0, unsafe fstat(descriptor, &held) == 0,
            let named = try? SystemFiles.status(owner), named == SystemFiles.status(held)
        {
            return descriptor
        }
        close(descriptor)
        return nil
    }

    /// Whether a directory of this user lies there, and no link to one.
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
            for name in names where name != ownerName { removeAll("\(place)/\(name)", depth: 0) }
            guard (try? SystemFiles.names(in: place))?.allSatisfy({ $0 == ownerName }) == true else { continue }
            try? SystemFiles.remove("\(place)/\(ownerName)")
            if (try? SystemFiles.removeDirectory(place)) != nil { return }
        }
    }

    /// Renames a directory that is to be removed, and returns where it lies then. Where it has gone already, another thread
    /// may be at it under that name. It stays where it is where an earlier one of its name could not be removed.
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

    private static func removeAll(_ path: String, depth: Int) {
        guard (try? SystemFiles.remove(path)) == nil, depth < maximumDepth, isOwnDirectory(path) else { return }
        for name in (try? SystemFiles.names(in: path)) ?? [] { removeAll("\(path)/\(name)", depth: depth + 1) }
        try? SystemFiles.removeDirectory(path)
    }
}
