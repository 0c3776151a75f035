// Copies of a store: a backup, a copy to read while another process has the store open, and what can be salvaged from a
// damaged store. A store is never salvaged or repaired unless the caller requests it.

internal import StratusStore

extension LevelDBStore {
    /// Copies the store in `source` to a new directory `destination`. The store may be open, here or in another
    /// process, and written meanwhile. The copy contains every commit that had returned when this was called, and is a
    /// prefix of all commits. Tables are linked if the file system allows it, so the copy takes little room at first.
    ///
    /// The copy is opened and read whole before it gets its name, and is durable when this returns. Until then it is in
    /// a separate directory next to the destination. `options` says how to open the copy: its format number decides
    /// which sources are accepted. `begin` gets that directory before anything is copied. It may create directories in
    /// it, which are removed with it if the backup fails. `prepare` gets the verified copy before it has its name: what
    /// it changes belongs to the copy alone. `copying` gets the number of tables copied and made durable, and of all.
    /// Then `progress` gets the approximate number of bytes of tables verified, and of all. `making` must call its
    /// argument, which creates the directory, or not return: code that removes unfinished copies uses it to prevent new
    /// ones.
    ///
    /// Throws `.notAStore`, `.newerFormat`, `.corruption` in the source or the copy, `.unavailable` if the store
    /// changes too fast, `.notPermitted`, `.diskFull`, and `.inputOutput` if `destination` exists or its folder does
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
                var report = try BackupCopy.make(of: source, in: target.path, progress: copying)
                try marker.write(in: target.path)
                report.unfinishedPaths = target.unfinishedPaths
                report.entryCount = try verify(target.path, options, prepare, progress)
                try target.takeName()
                return report
            } catch {
                target.remove()
                throw error
            }
        } catch let error as SystemError {
            throw error.storeError
        }
    }

    /// Removes the directories in a folder that ended processes left unfinished. Returns their paths.
    package static func sweepUnfinishedCopies(in folder: String) -> [String] { BackupDirectory.sweep(folder) }

    /// The suffix of an unfinished copy that a thread other than its creator's is about to remove.
    package static var takenCopySuffix: String { BackupDirectory.takenSuffix }

    /// Whether the creation of a store began and has not ended.
    package static func isBegun(_ path: String) -> Bool { (try? StoreMarker.read(in: path))?.isCreating == true }

    /// Removes a store that its creator does not want, unless a process has it open. Returns whether it is gone. If the
    /// process is killed meanwhile, the rest has the name of an unfinished copy.
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

extension LevelDBStore {
    /// The other process that has the store in `path` open; nil if there is none or nothing is there. Locks nothing.
    ///
    /// Throws `.notPermitted` and `.inputOutput`.
    package static func holder(ofStoreAt path: String) throws -> StoreHolder? {
        do {
            guard let holder = try StoreHolder.find(in: path), !holder.isThisProcess else { return nil }
            return holder
        } catch { throw error.storeError }
    }

    /// Copies the store in `source`, which may be open in another process and written meanwhile, into the empty
    /// directory `target`, to read it and remove it. The copy contains every commit that had returned when this was
    /// called, and is a prefix of all commits. Tables are linked if the file system allows it. Nothing in `source` is
    /// locked or changed, and the copy is not durable. `progress` gets the number of tables copied, and of all. It
    /// starts again with each attempt.
    ///
    /// Throws `.notAStore`, `.newerFormat`, `.corruption`, `.unavailable` when the store changes too fast,
    /// `.notPermitted` and `.diskFull`.
    package static func copyToRead(
        _ source: String, into target: String, formatVersion: Int,
        progress: (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) throws -> LevelDBBackupReport {
        let marker = try sourceMarker(of: source, formatVersion: formatVersion)
        let report = try BackupCopy.make(of: source, in: target, syncs: false, progress: progress)
        do {
            try SystemFiles.create("\(target)/\(StoreMarker.fileName)", Array(marker.contents.utf8))
        } catch { throw error.storeError }
        return report
    }
}

/// The progress of salvaging a damaged store.
package enum SalvageProgress: Hashable, Sendable {
    /// Files of the damaged store are copied.
    case copying(done: Int, total: Int)
    /// LevelDB repairs the copy, and reports no progress.
    case salvaging
    /// Files of the new store are made durable.
    case syncing(done: Int, total: Int)
}

extension LevelDBStore {
    /// Creates a new store in `destination` from what can still be read of the damaged one in `source`, and **silently
    /// drops what cannot be read**. Old versions of values may come back. `source` is not changed. No process may have
    /// it open.
    ///
    /// `prepare` gets the new store before it has its name: lost entries leave contradictions, which the caller must
    /// repair. Its commits are not durable one by one: the whole new store is durable when this returns. `progress` is
    /// called before and after; `making` creates the directory, as for a backup.
    ///
    /// Throws `.held`, `.notAStore`, `.newerFormat`, `.unavailable` for an older format, `.inputOutput` if
    /// `destination` exists or its folder does not, `.diskFull`, and LevelDB's errors.
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
                // A process that has opened the store meanwhile may have changed it while it was copied.
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
        try repairLosingDamagedData(at: path, options: options)
        // LevelDB moves files that it has salvaged, or could not read, into a folder. The original still has them.
        try SystemFiles.removeTree("\(path)/lost")
        var options = options
        options.createIfMissing = false
        // All files are synced at the end, before the store has its name.
        options.syncsCommits = false
        do {
            let store = try open(at: path, options: options)
            defer { store.close() }
            try prepare(store)
        }
        let names = try SystemFiles.names(in: path)
        for (index, name) in names.enumerated() {
            try SystemFiles.sync("\(path)/\(name)")
            progress(.syncing(done: index + 1, total: names.count))
        }
    }

    /// Drops incomplete commits from a log. LevelDB's own repair reads logs without their checksums, and would keep
    /// half a commit.
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

    /// Salvages what LevelDB can read of a store that does not open, and **silently drops what it cannot read**. Old
    /// versions of values may come back. Copy the directory first; verify and rebuild everything afterwards.
    ///
    /// Throws `.held`, `.notAStore`, and LevelDB's errors.
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
