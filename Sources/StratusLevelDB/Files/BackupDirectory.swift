// The directory of a copy of a store until it gets its name: "<destination>.incomplete-<process>-<number>".
//
// Invariants:
//   1. `mkdir` created it, so it did not exist before. Other copies to the same destination have directories of their
//      own.
//   2. It is locked while its process works on it, and has a store's marker from the beginning. So `sweep` can
//      recognise and remove what a killed process left.
//   3. Only a store's files are removed, and directories, which no other code creates in it. The marker is removed
//      last, so that an interrupted removal can be continued.
//   4. The copy gets its name by one rename, which fails if the name exists. If the rename cannot be made durable, it
//      is undone.

internal import Glibc
internal import StratusStore

struct BackupDirectory {
    /// The numbers that are tried. One is taken if a process with the same ID has left a directory.
    private static let maximumNumber = 1_000
    /// The suffix of a directory that the tool's signal handler has taken from its verb.
    static let takenSuffix = "-interrupted"
    private static let infix = ".incomplete-"

    let path: String
    /// Unfinished directories of other copies to the same destination: they still run, or `sweep` has not removed them.
    let unfinishedPaths: [String]
    private let destination: String
    private let parent: String
    /// Nil if the file system has no such locks: then `sweep` does not remove the directory.
    private let lock: DirectoryLock?

    /// Creates the directory for a copy that will become `destination`, with or without slashes at its end. `making`
    /// creates it.
    ///
    /// Throws `StoreError` with `.inputOutput` if `destination` exists or its folder does not.
    static func make(
        for destination: String, formatVersion: Int = 1,
        making: (_ make: () throws -> Void) throws -> Void = { try $0() }
    ) throws -> BackupDirectory {
        let destination = SystemFiles.withoutTrailingSlashes(destination)
        let parent = SystemFiles.parent(of: destination)
        guard try SystemFiles.status(parent)?.kind == .directory else {
            throw StoreError(
                .inputOutput, "The folder that should contain the copy does not exist: create it first.",
                ["path": destination, "missingFolder": parent])
        }
        if try SystemFiles.status(destination) != nil { throw existenceError(destination) }
        let own = "\(name(of: destination))\(infix)"
        let unfinished = try unfinishedNames(in: parent).filter { $0.hasPrefix(own) }.map { join(parent, $0) }
        for number in 1...maximumNumber {
            let path = "\(destination)\(infix)\(getpid())-\(number)"
            let (isMade, lock) = try makeLocked(path, making)
            guard isMade else { continue }
            let directory = BackupDirectory(
                path: path, unfinishedPaths: unfinished, destination: destination, parent: parent, lock: lock)
            do {
                try StoreMarker(formatVersion: formatVersion, isCreating: true).write(in: path)
            } catch {
                directory.remove()
                throw error
            }
            return directory
        }
        throw StoreError(
            .inputOutput, "Too many unfinished copies are next to the destination: remove those of ended backups.",
            ["path": destination, "unfinishedCount": "\(unfinished.count)"])
    }

    /// Gives the copy its name, durably. If this throws, the copy is still at `path`.
    func takeName() throws {
        try SystemFiles.syncDirectory(path)
        do {
            try SystemFiles.rename(path, to: destination)
        } catch let error where [EEXIST, ENOTEMPTY, ENOTDIR].contains(error.number) {
            throw Self.existenceError(destination)
        }
        do {
            try SystemFiles.syncDirectory(parent)
        } catch {
            if (try? lock?.isOf(destination)) != false { try SystemFiles.rename(destination, to: path) }
            throw error
        }
    }

    /// Removes an unfinished copy as far as possible. The next `sweep` removes the rest.
    func remove() { Self.remove(path) }

    /// Renames a store to a name of unfinished copies. Returns its new path; nil if it could not be renamed.
    static func takeBack(_ path: String) -> String? {
        for number in 1...maximumNumber {
            let place = "\(SystemFiles.withoutTrailingSlashes(path))\(infix)\(getpid())-\(number)"
            guard (try? SystemFiles.status(place)) == nil else { continue }
            return (try? SystemFiles.rename(path, to: place)) == nil ? nil : place
        }
        return nil
    }

    // MARK: Leftovers

    /// Removes the directories in a folder that ended processes left unfinished, except those that are locked, cannot
    /// be removed, or are no store's. Returns their paths.
    static func sweep(_ folder: String) -> [String] {
        ((try? unfinishedNames(in: folder)) ?? []).map { join(folder, $0) }.filter { sweepOne($0) }
    }

    private static func sweepOne(_ path: String) -> Bool {
        guard PrivateDirectory.isOwnDirectory(path), let lock = try? DirectoryLock.take(path), isOfCopy(path) else {
            return false
        }
        return withExtendedLifetime(lock) {
            // A process may have opened it as a store.
            do { if try StoreHolder.find(in: path) != nil { return false } } catch { return false }
            return remove(path)
        }
    }

    /// Whether the directory was created here: the first file in it is a marker.
    private static func isOfCopy(_ path: String) -> Bool {
        guard let names = try? SystemFiles.names(in: path) else { return false }
        if names.allSatisfy({ $0 == StoreMarker.temporaryFileName }) { return true }
        return (try? StoreMarker.read(in: path)) != nil
    }

    /// Removes an unfinished copy as far as it can be removed. Returns whether it is gone.
    @discardableResult
    static func remove(_ path: String) -> Bool {
        for name in (try? SystemFiles.names(in: path)) ?? [] where name != StoreMarker.fileName {
            let file = "\(path)/\(name)"
            if StoreFileName.isOfStore(name) || PrivateDirectory.isOwnDirectory(file) {
                try? SystemFiles.removeTree(file)
            }
        }
        try? SystemFiles.remove("\(path)/\(StoreMarker.fileName)")
        return (try? SystemFiles.removeDirectory(path)) != nil
    }

    // MARK: Names

    private static func existenceError(_ destination: String) -> StoreError {
        StoreError(
            .inputOutput, "There is something at the destination already: choose another, or move it away.",
            ["path": destination], cause: EngineError.systemText(EEXIST))
    }

    /// Creates a directory and locks it, if its file system has locks. It is not made if the name exists, or if a
    /// sweeper has removed it.
    private static func makeLocked(
        _ path: String, _ making: (_ make: () throws -> Void) throws -> Void
    ) throws -> (isMade: Bool, lock: DirectoryLock?) {
        do {
            try making { try SystemFiles.makeDirectory(path) }
        } catch let error as SystemError where error.number == EEXIST {
            return (false, nil)
        }
        do {
            let lock = try DirectoryLock.take(path)
            return (lock != nil, lock)
        } catch {
            return (true, nil)
        }
    }

    private static func name(of path: String) -> Substring {
        path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path[$0...].dropFirst() } ?? path[...]
    }

    private static func join(_ folder: String, _ name: String) -> String {
        folder == "/" ? "/\(name)" : "\(folder)/\(name)"
    }

    /// The names in a folder that unfinished copies have.
    private static func unfinishedNames(in folder: String) throws(SystemError) -> [String] {
        try SystemFiles.names(in: folder).filter { name in
            let own = name.hasSuffix(takenSuffix) ? name.dropLast(takenSuffix.count) : name[...]
            guard let mark = own.ranges(of: infix).last, mark.lowerBound > own.startIndex else { return false }
            let numbers = own[mark.upperBound...].split(separator: "-", omittingEmptySubsequences: false)
            return numbers.count == 2 && numbers.allSatisfy { UInt64($0) != nil }
        }
    }
}

// A lock on a directory that a process works in, without a lock file. It ends with its process, however that ends, and
// moves with the directory. So the remains of a dead process can be distinguished from the work of a running one.
//
// Unsafe: C functions get paths and structures that live for the length of the call.

final class DirectoryLock: Sendable {
    private let descriptor: Int32

    private init(descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Locks a directory. Nil if another process has the lock, or if another directory is at the path now.
    ///
    /// Throws if the directory cannot be opened, or if its file system has no such locks.
    static func take(_ path: String) throws(SystemError) -> DirectoryLock? {
        let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else {
            if [ENOENT, ENOTDIR, ELOOP].contains(errno) { return nil }
            throw SystemError(number: errno, call: "open", path: path)
        }
        let lock = DirectoryLock(descriptor: descriptor)
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            if errno == EWOULDBLOCK { return nil }
            throw SystemError(number: errno, call: "flock", path: path)
        }
        return try lock.isOf(path) ? lock : nil
    }

    /// Whether the locked directory is at the path.
    func isOf(_ path: String) throws(SystemError) -> Bool {
        let held = try SystemFiles.status(ofDescriptor: descriptor, path: path)
        return try SystemFiles.status(path)?.identity == held.identity
    }
}
