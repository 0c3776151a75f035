// A backup of a store as a whole: records, contents of assets, long-lived operations.
//
// What is copied first and last decides what a backup means:
//   1. Long-lived operations. One that is answered meanwhile is in the copy as one that was not, and is sent again: what
//      it did is in the copied records, or not. The other way round it would count as done, and not have been.
//   2. Contents of assets that are there.
//   3. The engine's files: every commit that had returned when this began, and a prefix of all commits.
//   4. Contents that the copied records name and that came after 2. One that has gone again is gone from the records
//      too, but not from the copied ones: then everything is done again.
// The copy is opened and checked, contents and all, before it gets its name. A directory that was not finished is removed,
// and so are those beside it that killed processes have left.

public import Foundation
import StratusCloud
import StratusModel
import StratusRecords
import StratusStore

/// How far a backup has come, part by part.
package struct BackupProgress: Hashable, Sendable {
    /// What is being done; one part comes after the other.
    package enum Part: Hashable, Sendable, CaseIterable {
        /// Long-lived operations are copied.
        case operations
        /// Contents that are there are copied.
        case contents
        /// The engine's files are copied.
        case tables
        /// Bytes of the copied tables are verified.
        case entries
        /// Contents that the copied records name are looked for, and the others removed.
        case namedContents
        /// Bytes of the copied contents are verified.
        case contentBytes
        /// Those who hold contents are counted.
        case holders
        /// Zones get new incarnations.
        case incarnations
    }

    package var part: Part
    package var doneCount: Int
    package var totalCount: Int

    /// Whether bytes are counted, and not single things.
    package var countsBytes: Bool { [.entries, .contentBytes].contains(part) }
}

/// One backup.
struct StoreBackup: Sendable {
    /// When others may change the store.
    enum Moment: Sendable {
        case contentsTaken
        case engineCopied
    }

    /// Contents that went while the store was copied.
    private struct Overtaken: Error {
        let contents: Set<AssetKey>
    }

    /// A content must come and go within milliseconds for one attempt to fail.
    private static let attemptLimit = 20

    let source: String
    let destination: String
    /// Called at moments at which others may change the store, with the number of the attempt. For tests.
    var onMoment: @Sendable (Moment, Int) throws -> Void = { _, _ in }
    /// Makes the directory of each attempt.
    var making: @Sendable (_ make: () throws -> Void) throws -> Void = { try $0() }

    /// `progress` is told now and then how far it has come. Where the store changes too fast it begins anew.
    func make(progress: @escaping (BackupProgress) -> Void = { _ in }) throws -> Stratus.BackupReport {
        let removed = StoreBacking.sweepUnfinishedCopies(besides: destination)
        var overtaken: Set<AssetKey> = []
        for number in 1...Self.attemptLimit {
            do {
                var report = try attempt(number, progress)
                report.removedPaths = removed
                return report
            } catch let error as Overtaken {
                if let lost = error.contents.intersection(overtaken).first { throw missing(lost) }
                overtaken = error.contents
            }
        }
        throw StratusError(
            .unavailable, "The store changed faster than it could be copied: try again when it is calmer.",
            ["path": source, "attempts": "\(Self.attemptLimit)"])
    }

    private func attempt(
        _ number: Int, _ progress: @escaping (BackupProgress) -> Void
    ) throws -> Stratus.BackupReport {
        try StoreBacking.finishEmptying(ofStoreAt: source)
        var directory: String?
        var report = Stratus.BackupReport()
        var contents: AssetBackup?
        let figures = try StoreBacking.copyEngine(
            from: source, to: destination, progress: progress,
            begin: { path in
                directory = path
                report.operationCount = try OperationFiles.copy(
                    source + "/operations", to: path + "/operations",
                    progress: Self.listener(progress, .operations))
                var taken = AssetBackup(from: Self.assets(in: source), to: Self.assets(in: path))
                try taken.takeAll(progress: Self.listener(progress, .contents))
                contents = taken
                try onMoment(.contentsTaken, number)
            },
            prepare: { store in
                try onMoment(.engineCopied, number)
                guard let directory else { return }
                report.findings = try finish(store, in: directory, &contents, progress)
            }, making: making)
        report.entryCount = figures.entryCount
        report.linkedTableCount = figures.linkedTableCount
        report.copiedTableCount = figures.copiedTableCount
        report.logCount = figures.logCount
        report.unfinishedPaths = figures.unfinishedPaths
        report.assetCount = contents?.contentCount ?? 0
        report.attemptCount = number
        return report
    }

    /// Completes a copy whose engine has been verified, and checks it. Returns what is wrong without anything being lost.
    private func finish(
        _ store: any OrderedStore, in directory: String, _ contents: inout AssetBackup?,
        _ progress: @escaping (BackupProgress) -> Void
    ) throws -> [String] {
        var options = RecordEngineOptions()
        options.ancestorCacheByteCount = 0
        options.olderFormat = .kept
        let engine = try RecordEngine(store: store, options: options, incarnation: UUID.drawn())
        let lost = try contents?.takeNamed(in: engine, progress: Self.listener(progress, .namedContents)) ?? []
        guard lost.isEmpty else { throw Overtaken(contents: lost) }
        try contents?.finish(with: engine, progress: Self.listener(progress, .namedContents))
        let verifier = AssetVerifier(engine: engine, store: Self.assets(in: directory))
        let files = try verifier.verify(progress: Self.listener(progress, .contentBytes))
        let report = try verifier.verifyCounts(
            addingTo: files, owner: CloudService.assetOwner, progress: Self.listener(progress, .holders))
        for finding in report.findings {
            switch finding {
            case .missing, .damaged:
                throw StratusError(
                    .corruption, "A content that records of the store name is damaged: restore an earlier backup.",
                    [
                        "path": source, "finding": "\(finding)",
                        "findingCount": "\(report.findings.count + report.unkeptCount)",
                    ])
            case .orphaned, .miscounted, .zoneMiscounted, .foreign: continue
            }
        }
        // Positions in the feeds of the one must not be taken for positions in the other.
        try engine.renewIncarnations(draw: { UUID.drawn() }, progress: Self.listener(progress, .incarnations))
        let rest = report.unkeptCount
        return report.findings.map(\.description) + (rest > 0 ? ["… and \(rest) more"] : [])
    }

    private static func listener(
        _ progress: @escaping (BackupProgress) -> Void, _ part: BackupProgress.Part
    ) -> WorkMeter.Listener {
        { progress(BackupProgress(part: part, doneCount: $0, totalCount: $1)) }
    }

    private func missing(_ key: AssetKey) -> StratusError {
        StratusError(
            .corruption, "Records of the store name a content of which there is no file: restore an earlier backup.",
            ["path": source, "finding": "\(AssetFinding.missing(key))"])
    }

    private static func assets(in directory: String) -> AssetStore {
        AssetStore(directory: directory + "/assets", session: UUID.drawn(), clock: SystemClock())
    }
}

// Backups, of a store that is open here, elsewhere or nowhere.

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
