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

// A copy of a store that another process has open, to be read and thrown away.

extension LevelDBStore {
    /// A process that has a store open.
    package struct Holder: Sendable {
        /// Its number, as this process sees it.
        package let processID: Int32
        /// The program's name, as the kernel keeps it, or "unknown".
        package let command: String
    }

    /// Who else has the store in `path` open; nil when nobody does, or nothing is there. Nothing is locked.
    ///
    /// Throws `.notPermitted` and `.inputOutput`.
    package static func holder(ofStoreAt path: String) throws -> Holder? {
        do {
            guard let holder = try StoreHolder.find(in: path), !holder.isThisProcess else { return nil }
            return Holder(processID: holder.processID, command: holder.command)
        } catch { throw error.storeError }
    }

    /// Copies the store in `source`, which may be open in another process and written meanwhile, into the empty directory
    /// `target`: every commit that had returned when this was called, and a prefix of all commits. Tables are linked where
    /// the file system allows it. Nothing in `source` is locked or changed, and the copy is not durable. `progress` is told how
    /// many files are there, and of how many, anew with each attempt.
    ///
    /// Throws `.notAStore`, `.newerFormat`, `.corruption`, `.unavailable` when the store changes too fast, `.notPermitted`
    /// and `.diskFull`.
    package static func copyToRead(
        _ source: String, into target: String, formatVersion: Int,
        progress: (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) throws -> LevelDBBackupReport {
        let marker = try sourceMarker(of: source, formatVersion: formatVersion)
        let copy = try copying(source) {
            try BackupCopy.make(of: source, in: target, syncs: false, progress: progress)
        }
        do {
            try SystemFiles.create("\(target)/\(StoreMarker.fileName)", Array(marker.contents.utf8))
        } catch { throw error.storeError }
        return LevelDBBackupReport(copy)
    }
}

// What can still be read of a damaged store is saved, and the rest is lost. Nothing does this unasked.

/// How far the making of a store of a damaged one has come.
package enum SalvageProgress: Hashable, Sendable {
    /// Files of the damaged store are copied.
    case copying(done: Int, total: Int)
    /// LevelDB takes what it can from the copy, and tells nothing of how far it is.
    case salvaging
    /// Files of the new store are made durable.
    case syncing(done: Int, total: Int)
}

extension LevelDBStore {
    /// Makes a new store in `destination` of what can still be read of the damaged one in `source`, and **drops what
    /// cannot be read, silently**. Old versions of values may come back. `source` is left as it is; nobody may have it
    /// open.
    ///
    /// `prepare` is given the new store before it has its name: what was lost leaves contradictions, which are its
    /// caller's to mend. What it commits is not durable one by one: the new store is as a whole when this returns.
    /// `progress` is told of what is done before and after;
    /// `making` is to make the directory that becomes it, as for a backup.
    ///
    /// Throws `.held`, `.notAStore`, `.newerFormat`, `.unavailable` for an older format, `.inputOutput` when `destination`
    /// exists or its folder does not, `.diskFull`, and what LevelDB says.
    package static func repairLosingDamagedData(
        ofStoreAt source: String, to destination: String, options: LevelDBOptions = LevelDBOptions(),
        prepare: (LevelDBStore) throws -> Void = { _ in }, progress: (SalvageProgress) -> Void = { _ in },
        making: (_ make: () throws -> Void) throws -> Void = { try $0() }
    ) throws {
        try StoreDirectory.withDamaged(source, formatVersion: options.formatVersion) {
            let target = try BackupDirectory.make(
                for: destination, formatVersion: options.formatVersion, making: making)
            do {
                try salvage(source, in: target.path, options, prepare, progress)
                // Somebody who has opened the store meanwhile may have changed it while it was copied.
                try StoreDirectory.checkIsFree(source)
                try target.takeName()
            } catch {
                target.remove()
                throw error
            }
        }
    }

    private static func salvage(
        _ source: String, in path: String, _ options: LevelDBOptions, _ prepare: (LevelDBStore) throws -> Void,
        _ progress: (SalvageProgress) -> Void
    ) throws {
        let kept = try SystemFiles.names(in: source).filter { isKept($0) }
        progress(.copying(done: 0, total: kept.count))
        for (index, name) in kept.enumerated() {
            try SystemFiles.copy("\(source)/\(name)", to: "\(path)/\(name)")
            progress(.copying(done: index + 1, total: kept.count))
            if case .log = StoreFileName(name) { try keepWholeCommits(of: "\(path)/\(name)") }
        }
        try StoreMarker(formatVersion: options.formatVersion).write(in: path)
        progress(.salvaging)
        do {
            try repairLosingDamagedData(at: path, options: options)
            try removeLostFiles(in: path)
        } catch {
            try? removeLostFiles(in: path)
            throw error
        }
        var options = options
        options.createIfMissing = false
        // All files are made durable at the end, before the store has its name.
        options.syncsCommits = false
        let store = try open(at: path, options: options)
        do {
            try prepare(store)
            store.close()
        } catch {
            store.close()
            throw error
        }
        let names = try SystemFiles.names(in: path)
        for (index, name) in names.enumerated() {
            try SystemFiles.sync("\(path)/\(name)")
            progress(.syncing(done: index + 1, total: names.count))
        }
    }

    /// LevelDB's own repair reads logs without their checksums, and would take half a commit.
    private static func keepWholeCommits(of log: String) throws {
        var kept: [UInt8] = []
        let bytes = try SystemFiles.read(log)
        LogFile.forEachWholeRecord(in: bytes) { commit in
            kept += LogFile.fragments(of: commit, appendedAt: kept.count)
        }
        try SystemFiles.remove(log)
        try SystemFiles.create(log, kept)
    }

    private static func isKept(_ name: String) -> Bool {
        switch StoreFileName(name) {
        case .current, .manifest, .log, .table: true
        case .lock, .acknowledged, .other: false
        }
    }

    /// LevelDB moves what it has taken from, or could not read, into a folder; the original has it still.
    private static func removeLostFiles(in path: String) throws(SystemError) {
        let lost = "\(path)/lost"
        guard try SystemFiles.status(lost) != nil else { return }
        for name in try SystemFiles.names(in: lost) { try SystemFiles.remove("\(lost)/\(name)") }
        try SystemFiles.removeDirectory(lost)
    }

    /// Salvages what LevelDB can read of a store that does not open, and **drops what it cannot read, silently**. Old
    /// versions of values may come back. Take a copy of the directory first; verify and rebuild everything afterwards.
    ///
    /// Throws `.held`, `.notAStore`, and what LevelDB says.
    package static func repairLosingDamagedData(at path: String, options: LevelDBOptions = LevelDBOptions()) throws {
        try StoreDirectory.withDamaged(path, formatVersion: options.formatVersion) {
            let engineOptions = EngineOptions(options, createIfMissing: false)
            do {
                try EngineDatabase.repair(EnginePlace(path: path), options: engineOptions)
            } catch let error as EngineError {
                throw error.storeError(["path": path])
            }
        }
    }
}
