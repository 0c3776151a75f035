// A consistent copy of a store, open or not.

internal import Glibc
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
}

extension LevelDBStore {
    /// Makes a copy of the store in `source`, which may be open here or in another process and written meanwhile, as a
    /// new directory `destination`. The copy holds every commit that had returned when this was called, and is a prefix
    /// of all commits. Tables are linked where the file system allows it, so little room is taken at first.
    ///
    /// The copy is opened and read whole before it gets its name; it is durable when this returns. `options` says how to
    /// open it; of them the format matters.
    ///
    /// Throws `.notAStore`, `.newerFormat`, `.corruption` in the source or the copy, `.unavailable` when the store
    /// changes too fast, `.diskFull`, and `.inputOutput` when `destination` exists.
    package static func backup(
        ofStoreAt source: String, to destination: String, options: LevelDBOptions = LevelDBOptions()
    ) throws -> LevelDBBackupReport {
        guard let marker = try StoreMarker.read(in: source), !marker.isCreating else {
            throw StoreError(
                .notAStore, "There is no store to copy: name the directory of a store.", ["path": source])
        }
        try marker.check(supported: options.formatVersion, path: source)
        let temporary = destination + ".incomplete"
        do {
            if try FileSystem.status(destination) != nil {
                throw SystemError(number: EEXIST, call: "rename", path: destination)
            }
            try removeIncomplete(temporary)
            try FileSystem.makeDirectory(temporary)
        } catch let error as SystemError {
            throw error.storeError
        }
        do {
            let copy = try BackupCopy.make(of: source, in: temporary)
            try marker.write(in: temporary)
            var report = LevelDBBackupReport()
            report.linkedTableCount = copy.linkedTableCount
            report.copiedTableCount = copy.copiedTableCount
            report.logCount = copy.logCount
            report.attemptCount = copy.attemptCount
            report.entryCount = try verify(temporary, options)
            try FileSystem.syncDirectory(temporary)
            try FileSystem.rename(temporary, to: destination)
            try FileSystem.syncDirectory(FileSystem.parent(of: destination))
            return report
        } catch {
            try? removeIncomplete(temporary)
            if let error = error as? SystemError { throw error.storeError }
            throw error
        }
    }

    /// Opens the copy, reads it whole, and returns how many entries it holds.
    private static func verify(_ path: String, _ options: LevelDBOptions) throws -> Int {
        var options = options
        options.createIfMissing = false
        options.testHooks = LevelDBTestHooks()
        let store = try open(at: path, options: options)
        defer { store.close() }
        let report = try store.verifyChecksums()
        if let damage = report.damages.first { throw damage }
        return report.entryCount
    }

    /// Removes what an interrupted backup left.
    private static func removeIncomplete(_ path: String) throws(SystemError) {
        guard try FileSystem.status(path) != nil else { return }
        for name in try FileSystem.names(in: path) { try FileSystem.remove("\(path)/\(name)") }
        try FileSystem.removeDirectory(path)
    }
}
