// What can still be read of a damaged store is saved, and the rest is lost. Nothing does this unasked.

internal import StratusStore

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
        let kept = try FileSystem.names(in: source).filter { isKept($0) }
        progress(.copying(done: 0, total: kept.count))
        for (index, name) in kept.enumerated() {
            try FileSystem.copy("\(source)/\(name)", to: "\(path)/\(name)")
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
        let names = try FileSystem.names(in: path)
        for (index, name) in names.enumerated() {
            try FileSystem.sync("\(path)/\(name)")
            progress(.syncing(done: index + 1, total: names.count))
        }
    }

    /// LevelDB's own repair reads logs without their checksums, and would take half a commit.
    private static func keepWholeCommits(of log: String) throws {
        var kept: [UInt8] = []
        let bytes = try FileSystem.read(log)
        LogFile.forEachWholeRecord(in: bytes) { commit in
            kept += LogFile.fragments(of: commit, appendedAt: kept.count)
        }
        try FileSystem.remove(log)
        try FileSystem.create(log, kept)
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
        guard try FileSystem.status(lost) != nil else { return }
        for name in try FileSystem.names(in: lost) { try FileSystem.remove("\(lost)/\(name)") }
        try FileSystem.removeDirectory(lost)
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
