// Backups, of a store that is open here, elsewhere or nowhere.

public import Foundation
import StratusCloud

extension Stratus {
    /// What a backup consists of.
    public struct BackupReport: Hashable, Sendable {
        /// Entries of the engine, all of which were read from the copy.
        public internal(set) var entryCount = 0
        /// Tables of the engine that the copy shares with the store.
        public internal(set) var linkedTableCount = 0
        /// Tables of the engine that were copied, because the file system could not share them.
        public internal(set) var copiedTableCount = 0
        /// Logs of the engine.
        public internal(set) var logCount = 0
        /// Contents of assets, all of which were read from the copy.
        public internal(set) var assetCount = 0
        /// Long-lived operations.
        public internal(set) var operationCount = 0
        /// How often the store was copied until records and assets agreed.
        public internal(set) var attemptCount = 0
        /// What the store counts wrongly, and so does the copy: nothing is lost, and `stratus verify` says more. Where there
        /// is very much of a kind, the first of it, and last how much more there is.
        public internal(set) var findings: [String] = []
        /// Directories beside the copy that other backups to the same destination have not finished: they still run, or what
        /// they left could not be removed.
        public internal(set) var unfinishedPaths: [String] = []
        /// Unfinished copies of processes that had ended, which this backup found beside the copy and removed.
        public internal(set) var removedPaths: [String] = []
    }

    /// Copies this store, which serves requests meanwhile.
    ///
    /// The copy has every record that was saved before this was called, as they were at one moment, every asset that
    /// these records name, and the long-lived operations. Tables and contents are shared where the file system allows it,
    /// so that the copy takes little room at first. It is opened, read whole and verified before it has its name, and is
    /// durable when this returns. Change tokens of the store are refused by the copy.
    ///
    /// It blocks its thread, and reads everything once.
    ///
    /// - Parameter destination: The directory to make. It must not exist; its folder must.
    /// - Returns: What the copy consists of.
    /// - Throws: ``StratusError``: `corruption` where the store is damaged, `unavailable` where it changes too fast,
    ///   `notPermitted`, `diskFull`, `inputOutput` where the destination exists, `invalidArgument` for a store in memory.
    ///   Nothing is left at the destination then.
    @discardableResult
    public func backup(to destination: URL) throws -> BackupReport {
        guard let directory else {
            throw StratusError(.invalidArgument, "A store in memory has no files to copy: open one in a directory.")
        }
        // What was closed may be another process's by now.
        _ = try service
        return try Self.backup(ofStoreAt: directory, to: destination)
    }

    /// Copies a store that may be open here, in another process, or in none; see `backup(to:)`.
    ///
    /// - Parameters:
    ///   - source: The store's directory.
    ///   - destination: The directory to make. It must not exist; its folder must.
    /// - Returns: What the copy consists of.
    /// - Throws: ``StratusError``; also `notAStore` and `newerFormat`.
    @discardableResult
    public static func backup(ofStoreAt source: URL, to destination: URL) throws -> BackupReport {
        try StratusError.wrapping {
            try StoreBackup(source: source.path, destination: destination.path).make()
        }
    }

    /// The same, telling `progress` now and then how far it has come. `making` is to make the directory of an unfinished copy,
    /// or not to return: by it whoever takes such directories away keeps them from being made behind their back.
    package static func backup(
        ofStoreAt source: URL, to destination: URL, progress: @escaping (BackupProgress) -> Void,
        making: @escaping @Sendable (_ make: () throws -> Void) throws -> Void = { try $0() }
    ) throws -> BackupReport {
        try StratusError.wrapping {
            try StoreBackup(source: source.path, destination: destination.path, making: making).make(progress: progress)
        }
    }
}
