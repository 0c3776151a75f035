// What lies at a path, found out before LevelDB touches anything, and the claim on it while it is open.
//
// The steps of `claim`, each ending with its own error:
//   1. Nothing there: make the directory, or refuse. Something else than a directory: refuse.
//   2. Note in this process's registry that the directory is open; from here on failures take the note back.
//   3. Without a marker, a directory that is not empty belongs to somebody else: nothing is created in it.
//      Nor may something else than a file have the name of one of the store's.
//   4. Take the locks (`StoreLock`).
//   5. The marker: a newer format, an older one, one whose creation or emptying was interrupted. The latter is finished. No
//      marker: an empty directory becomes a store.
//   6. A finished store has a CURRENT that names a MANIFEST, the logs that must be there, and no damage in them that LevelDB
//      might pass over. The last commit goes where a crash took pages of it before it was acknowledged.

internal import Glibc
internal import StratusStore

/// A directory that this process has claimed, to open it as a store. Release it when the store is closed.
final class StoreDirectory: Sendable {
    let lock: StoreLock
    private let acknowledged: AcknowledgedLogs
    /// Whether LevelDB has yet to create the database: call `finishCreation` afterwards.
    let isNew: Bool
    /// The commit that was dropped because it had lost pages.
    let droppedCommit: DroppedCommit?
    /// LevelDB's number of the last write that the store held when it was opened.
    let lastSequence: UInt64
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
        droppedCommit = logs.droppedCommit
        lastSequence = logs.lastSequence
    }

    var place: EnginePlace { lock.place }

    /// A store whose last write has a lower number than `leastSequence` is refused. `emptying` hears how many files are removed,
    /// and of how many, where the store is one that is being emptied.
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
                var logs = StoreLogs(lock.place)
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

    /// Writes the number of this software's format into the marker of a store that had a lower one.
    ///
    /// Throws `SystemError`; then the store has the one or the other.
    func adoptFormat() throws {
        do {
            guard try StoreMarker.read(in: place.directory)?.formatVersion != formatVersion else { return }
            try StoreMarker(formatVersion: formatVersion).write(in: place.directory)
        } catch { throw place.asGiven(error) }
    }

    /// Runs `body` while a store that does not open is in this process's registry, to be repaired. Nothing is created or
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

    /// Throws `.held` when another process has the store open.
    static func checkIsFree(_ path: String) throws {
        if let holder = try StoreHolder.findByLocks(in: path) { throw holder.error(path: path) }
    }

    /// What a log needs, besides the sync of a commit in it, before that is acknowledged: a durable name, and a note that it
    /// holds one. `log` is the one that was written to, where LevelDB tells. To be called by one thread at a time.
    func noteLog(_ log: UInt64?) throws {
        do {
            if let log = try log ?? acknowledged.newestWrittenLog() { try acknowledged.note(log) }
        } catch { throw place.asGiven(error) }
    }

    /// Closes the directory: it may be claimed again.
    func release() {
        lock.release()
        OpenStores.remove(identity)
    }

    /// Says in the marker that the store is to be emptied.
    func beginEmptying() throws {
        do {
            try Emptying.begin(in: place.directory, formatVersion: formatVersion)
        } catch { throw place.asGiven(error) }
    }

    /// To be called when LevelDB has opened the database. Says in the marker of a new one that it is complete, and forgets
    /// what was noted of the logs of an old one, which are in tables now.
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
                .notAStore, "There is no folder to hold the store: create it first.",
                ["path": path, "found": "nothing", "missingFolder": parent])
        }
        try SystemFiles.makeDirectory(path)
        try SystemFiles.syncDirectory(parent)
        guard let status = try SystemFiles.status(path) else {
            throw SystemError(number: ENOENT, call: "stat", path: path)
        }
        return status.identity
    }

    /// Steps 1 and 2. The note stays where `body` returns.
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

    /// Step 5. Returns whether LevelDB has yet to create the database.
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
        if try SystemFiles.names(in: path).contains(StoreMarker.temporaryFileName) {
            try StoreMarker.removeTemporaryFile(in: path)
        }
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

    /// Throws where something else than a file has the name of one of the store's: LevelDB would open it, and wait.
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
