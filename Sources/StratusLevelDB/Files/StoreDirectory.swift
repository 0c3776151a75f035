// The directory of a store: inspected before LevelDB touches anything, and claimed while the store is open.
//
// The steps of `claim`, each with its own errors:
//   1. If nothing is at the path, create the directory, or refuse. Refuse anything but a directory.
//   2. Register the directory as open in this process. Any later failure unregisters it.
//   3. Without a marker, a directory that is not empty belongs to another program: nothing is created in it. Only files
//      may have the names of a store's files.
//   4. Take the locks (`StoreLock`).
//   5. Read the marker. Refuse a newer format, and an older one unless that is allowed. Finish a creation or emptying
//      that was interrupted. Without a marker, an empty directory becomes a store.
//   6. Check that a finished store has a CURRENT that names a MANIFEST, the required logs, and no damage in them that
//      LevelDB might skip. Drop the last commit if a crash lost pages of it before it was acknowledged.

internal import Glibc
internal import StratusStore

/// A directory that this process has claimed to open it as a store. Release it when the store is closed.
final class StoreDirectory: Sendable {
    let lock: StoreLock
    let acknowledged: AcknowledgedLogs
    /// Whether LevelDB must still create the database.
    let isNew: Bool
    /// What the store's logs held when it was opened.
    let logs: StoreLogs
    private let identity: FileIdentity
    private let formatVersion: Int

    private init(
        _ lock: StoreLock, _ identity: FileIdentity, formatVersion: Int, isNew: Bool, _ logs: StoreLogs
    ) {
        self.lock = lock
        acknowledged = AcknowledgedLogs(lock)
        self.identity = identity
        self.formatVersion = formatVersion
        self.isNew = isNew
        self.logs = logs
    }

    var place: EnginePlace { lock.place }

    /// Claims a directory. Refuses a store whose last write has a lower number than `leastSequence`. If the store is
    /// being emptied, `emptying` gets the number of removed files, and of all.
    static func claim(
        _ path: String, _ options: LevelDBOptions, leastSequence: UInt64 = 0,
        emptying: Emptying.Listener = { _, _ in }
    ) throws -> StoreDirectory {
        let (createIfMissing, formatVersion) = (options.createIfMissing, options.formatVersion)
        return try registered(path, createIfMissing: createIfMissing) { identity in
            try SystemFiles.checkAccess(path, R_OK | W_OK | X_OK)
            try checkKinds(path)
            if try StoreMarker.read(in: path) == nil { try checkIsEmpty(path, createIfMissing: createIfMissing) }
            let lock = try StoreLock.take(path, identity, options.testHooks)
            do {
                let isNew = try inspect(lock.place, options, emptying: emptying)
                var logs = StoreLogs(place: lock.place)
                if !isNew {
                    try logs.inspect(syncsCommits: options.syncsCommits)
                    try logs.checkReaches(leastSequence)
                    try logs.dropUnacknowledgedCommit()
                }
                return StoreDirectory(lock, identity, formatVersion: formatVersion, isNew: isNew, logs)
            } catch {
                lock.release()
                throw lock.place.asGiven(error)
            }
        }
    }

    /// Writes the number of this software's format to the marker of a store that had a lower one.
    ///
    /// Throws a system error. The store then has either number.
    func adoptFormat() throws {
        do {
            guard try StoreMarker.read(in: place.directory)?.formatVersion != formatVersion else { return }
            try StoreMarker(formatVersion: formatVersion).write(in: place.directory)
        } catch { throw place.asGiven(error) }
    }

    /// Runs `body` while a store that does not open is registered in this process, to repair it. Nothing is created or
    /// locked.
    ///
    /// Throws `.notAStore`, `.held`, `.newerFormat`, and what `body` does.
    static func withDamaged<Result>(_ path: String, formatVersion: Int, _ body: () throws -> Result) throws -> Result {
        let (identity, result) = try registered(path, createIfMissing: false) { identity in
            guard let marker = try StoreMarker.read(in: path) else {
                throw StoreError(
                    .notAStore, "The directory is not a store: name the directory of a store.", ["path": path])
            }
            try marker.check(supported: formatVersion, takesOlder: true, path: path)
            try checkKinds(path)
            try checkIsFree(path)
            if marker.isEmptying { throw Emptying.error(path) }
            return (identity, try body())
        }
        OpenStores.remove(identity)
        return result
    }

    /// Throws `.held` if another process has the store open.
    static func checkIsFree(_ path: String) throws {
        if let holder = try StoreHolder.findByLocks(in: path) { throw holder.error(path: path) }
    }

    /// Releases the directory. It may be claimed again.
    func release() {
        lock.release()
        OpenStores.remove(identity)
    }

    /// Notes in the marker that the store must be emptied.
    func beginEmptying() throws {
        do {
            try Emptying.begin(in: place.directory, formatVersion: formatVersion)
        } catch { throw place.asGiven(error) }
    }

    /// Call it when LevelDB has opened the database. Marks a new store as complete, and removes the notes about the
    /// logs of an old one, which are in tables now.
    func finishOpening() throws {
        let path = place.directory
        do {
            if isNew {
                try StoreMarker(formatVersion: formatVersion, isCreating: false).write(in: path)
            } else {
                AcknowledgedLogs.remove(AcknowledgedLogs.numbers(among: try SystemFiles.names(in: path)), in: path)
            }
        } catch { throw place.asGiven(error) }
    }

    // MARK: The steps

    private static func locate(_ path: String, createIfMissing: Bool) throws -> FileIdentity {
        if let status = try SystemFiles.status(path) {
            guard status.kind == .directory else {
                throw StoreError(
                    .notAStore, "The path is not a directory: name the directory of a store.",
                    ["path": path, "found": status.kind == .file ? "a file" : "a special file"])
            }
            return status.identity
        }
        guard createIfMissing else {
            throw StoreError(
                .notAStore, "There is nothing at the path: check its spelling, or create the store.",
                ["path": path, "found": "nothing"])
        }
        let parent = SystemFiles.parent(of: path)
        guard try SystemFiles.status(parent)?.kind == .directory else {
            throw StoreError(
                .notAStore, "The folder that should contain the store does not exist: create it first.",
                ["path": path, "found": "nothing", "missingFolder": parent])
        }
        try SystemFiles.makeDirectory(path)
        try SystemFiles.syncDirectory(parent)
        guard let status = try SystemFiles.status(path) else {
            throw SystemError(number: ENOENT, call: "stat", path: path)
        }
        return status.identity
    }

    /// Steps 1 and 2. The directory stays registered if `body` returns.
    private static func registered<Result>(
        _ path: String, createIfMissing: Bool, _ body: (FileIdentity) throws -> Result
    ) throws -> Result {
        do {
            let identity = try locate(path, createIfMissing: createIfMissing)
            try OpenStores.insert(identity, path: path)
            do {
                return try body(identity)
            } catch {
                OpenStores.remove(identity)
                throw error
            }
        } catch let error as SystemError {
            throw error.storeError
        }
    }

    /// Step 5. Returns whether LevelDB must still create the database.
    private static func inspect(
        _ place: EnginePlace, _ options: LevelDBOptions, emptying: Emptying.Listener
    ) throws -> Bool {
        let (path, createIfMissing, formatVersion) = (place.directory, options.createIfMissing, options.formatVersion)
        guard let marker = try StoreMarker.read(in: path) else {
            try checkIsEmpty(path, createIfMissing: createIfMissing)
            try StoreMarker(formatVersion: formatVersion, isCreating: true).write(in: path)
            return true
        }
        try marker.check(supported: formatVersion, takesOlder: options.opensOlderFormats, path: path)
        try StoreMarker.removeTemporaryFile(in: path)
        if marker.isEmptying {
            try Emptying.finish(in: path, emptying)
            return true
        }
        guard marker.isCreating else { return false }
        guard createIfMissing else {
            throw StoreError(
                .notAStore, "The store was never completely created: create it again.",
                ["path": path, "found": "an interrupted creation"])
        }
        return true
    }

    /// Throws if anything but a file has the name of a store's file: LevelDB would open it, and wait.
    private static func checkKinds(_ path: String) throws {
        for name in try SystemFiles.names(in: path) where StoreFileName.isOfStore(name) {
            guard let status = try SystemFiles.status("\(path)/\(name)"), status.kind != .file else { continue }
            throw SystemError.irregular("\(path)/\(name)")
        }
    }

    private static func checkIsEmpty(_ path: String, createIfMissing: Bool) throws {
        let names = try SystemFiles.names(in: path)
        if names.contains(StoreFileName.currentName) {
            throw StoreError(
                .notAStore, "The directory is another program's LevelDB database: choose another directory.",
                ["path": path, "found": "a LevelDB database of another program"])
        }
        let own = [StoreMarker.temporaryFileName, StoreLock.fileName, StoreFileName.lockName]
        let foreign = names.filter { !own.contains($0) }
        if !foreign.isEmpty {
            let shown = foreign.prefix(3).joined(separator: ", ") + (foreign.count > 3 ? ", …" : "")
            throw StoreError(
                .notAStore, "The directory holds other files: choose an empty one, or that of a store.",
                ["path": path, "found": "\(foreign.count) other files: \(shown)"])
        }
        if !createIfMissing {
            throw StoreError(
                .notAStore, "The directory is empty: check its spelling, or create the store.",
                ["path": path, "found": "an empty directory"])
        }
    }
}
