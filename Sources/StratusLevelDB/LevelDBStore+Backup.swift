// A consistent copy of a store, open or not.

internal import StratusStore

/// What a backup consists of.
package struct LevelDBBackupReport: Sendable {
    /// Entries read from the copy when it was verified.
    package var entryCount = 0
    package var linkedTableCount = 0
    package var copiedTableCount = 0
    package var logCount = 0
    /// How often the store was looked at until nothing changed meanwhile.
    package var attemptCount = 0
    /// Directories beside the copy that other backups to the same destination have not finished: they still run, or
    /// `sweepUnfinishedCopies` has not removed what they left.
    package var unfinishedPaths: [String] = []

    init(_ copy: BackupCopy) {
        linkedTableCount = copy.linkedTableCount
        copiedTableCount = copy.copiedTableCount
        logCount = copy.logCount
        attemptCount = copy.attemptCount
    }
}

extension LevelDBStore {
    /// Makes a copy of the store in `source`, which may be open here or in another process and written meanwhile, as a
    /// new directory `destination`. The copy holds every commit that had returned when this was called, and is a prefix
    /// of all commits. Tables are linked where the file system allows it, so little room is taken at first.
    ///
    /// The copy is opened and read whole before it gets its name; it is durable when this returns. Until then it is a
    /// directory beside it that no other backup shares. `options` says how to open it; of them the format matters.
    /// `begin` is given that directory before anything is copied. It may make directories in it, which are removed with it
    /// where the backup fails.
    /// `prepare` is given the verified copy before it has its name: what it changes belongs to the copy alone.
    /// `copying` is told how many files have been dealt with, and of how many; then `progress` now and then about how many
    /// bytes of the copy's tables have been verified, and of how many. `making` is to make that directory, or not to return:
    /// by it whoever takes away what is unfinished keeps it from being made behind their back.
    ///
    /// Throws `.notAStore`, `.newerFormat`, `.corruption` in the source or the copy, `.unavailable` when the store
    /// changes too fast, `.notPermitted`, `.diskFull`, and `.inputOutput` when `destination` exists or its folder does
    /// not.
    package static func backup(
        ofStoreAt source: String, to destination: String, options: LevelDBOptions = LevelDBOptions(),
        begin: (_ path: String) throws -> Void = { _ in }, prepare: (LevelDBStore) throws -> Void = { _ in },
        copying: (_ done: Int, _ total: Int) -> Void = { _, _ in },
        progress: (_ byteCount: Int, _ total: Int) -> Void = { _, _ in },
        making: (_ make: () throws -> Void) throws -> Void = { try $0() }
    ) throws -> LevelDBBackupReport {
        let marker = try sourceMarker(of: source, formatVersion: options.formatVersion)
        do {
            let target = try BackupDirectory.make(
                for: destination, formatVersion: marker.formatVersion, making: making)
            do {
                try begin(target.path)
                let copy = try Self.copying(source) {
                    try BackupCopy.make(of: source, in: target.path, progress: copying)
                }
                return try fill(target, copy, marker, options, prepare, progress)
            } catch {
                target.remove()
                throw error
            }
        } catch let error as SystemError {
            throw error.storeError
        }
    }

    /// Removes the directories in a folder of copies whose processes have ended without finishing them. Returns their paths.
    package static func sweepUnfinishedCopies(in folder: String) -> [String] { BackupDirectory.sweep(folder) }

    /// Follows the name of an unfinished copy that another thread than its maker's is about to remove.
    package static var takenCopySuffix: String { BackupDirectory.takenSuffix }

    /// Removes a store that its maker does not want to stay, unless somebody has it open. Returns whether it is gone. What is
    /// left where the process is killed meanwhile has the name of an unfinished copy.
    package static func removeMade(_ path: String) -> Bool {
        do {
            if try StoreHolder.find(in: path) != nil { return false }
        } catch { return false }
        guard let place = BackupDirectory.takeBack(path) else { return false }
        return BackupDirectory.remove(place)
    }

    /// Removes an unfinished copy as far as it can be removed. Returns whether it is gone.
    package static func removeUnfinishedCopy(_ path: String) -> Bool { BackupDirectory.remove(path) }

    /// The marker of a store that can be copied.
    ///
    /// Throws `.notAStore`, `.newerFormat`, and `.unavailable` for a store that is being emptied.
    static func sourceMarker(of source: String, formatVersion: Int) throws -> StoreMarker {
        guard let marker = try StoreMarker.read(in: source), !marker.isCreating else {
            throw StoreError(
                .notAStore, "There is no store to copy: name the directory of a store.", ["path": source])
        }
        try marker.check(supported: formatVersion, takesOlder: true, path: source)
        if marker.isEmptying { throw Emptying.error(source) }
        return marker
    }

    /// Runs what copies the files of a store. Where they went because the store is being emptied, the error says that.
    static func copying<Result>(_ source: String, _ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch {
            guard (try? isBeingEmptied(source)) == true else { throw error }
            throw Emptying.error(source)
        }
    }

    /// Makes a store of the copy in `target`, and gives it its name.
    private static func fill(
        _ target: BackupDirectory, _ copy: BackupCopy, _ marker: StoreMarker, _ options: LevelDBOptions,
        _ prepare: (LevelDBStore) throws -> Void, _ progress: (Int, Int) -> Void
    ) throws -> LevelDBBackupReport {
        try marker.write(in: target.path)
        var report = LevelDBBackupReport(copy)
        report.unfinishedPaths = target.unfinishedPaths
        report.entryCount = try verify(target.path, options, prepare, progress)
        try target.takeName()
        return report
    }

    /// Opens the copy, reads it whole, lets the caller prepare it, and returns how many entries were copied.
    private static func verify(
        _ path: String, _ options: LevelDBOptions, _ prepare: (LevelDBStore) throws -> Void,
        _ progress: (Int, Int) -> Void
    ) throws -> Int {
        var options = options
        options.createIfMissing = false
        options.testHooks = LevelDBTestHooks()
        let store = try open(at: path, options: options)
        defer { store.close() }
        let report = try store.verifyChecksums(progress: progress)
        if let damage = report.damages.first { throw damage }
        try prepare(store)
        return report.entryCount
    }
}
