// A copy of a store that another process has open, to be read and thrown away.

internal import StratusStore

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
            try FileSystem.create("\(target)/\(StoreMarker.fileName)", Array(marker.contents.utf8))
        } catch { throw error.storeError }
        return LevelDBBackupReport(copy)
    }
}
