// Backups of a whole store: records, contents of assets, long-lived operations.
//
// The order of copying decides what a backup means:
//   1. Long-lived operations. If one is answered meanwhile, the copy has it as unanswered and sends it again; its
//      effect is in the copied records or not. In another order it could count as done without its effect.
//   2. The existing contents of assets.
//   3. The engine's files: every commit that had returned when this began, and a prefix of all commits.
//   4. Contents that the copied records name and that were added after step 2. If one has been removed since, it is
//      still named by the copied records: then the copy begins again.
// The copy is opened and checked, including contents, before it gets its name. An unfinished directory is removed, and
// so are those of killed processes next to it.

public import Foundation
import StratusCloud
import StratusRecords
import StratusStore

/// The progress of a backup, part by part.
package struct BackupProgress: Hashable, Sendable {
    /// The parts of a backup, in order.
    package enum Part: Hashable, Sendable, CaseIterable {
        /// Long-lived operations are copied.
        case operations
        /// Existing contents are copied.
        case contents
        /// The engine's files are copied.
        case tables
        /// Bytes of the copied tables are verified.
        case entries
        /// Contents that the copied records name are added, and others removed.
        case namedContents
        /// Bytes of the copied contents are verified.
        case contentBytes
        /// The holders of contents are counted.
        case holders
        /// Zones get new incarnations.
        case incarnations
    }

    package var part: Part
    package var doneCount: Int
    package var totalCount: Int

    /// Whether the counts are bytes.
    package var countsBytes: Bool { [.entries, .contentBytes].contains(part) }
}

/// One backup.
struct StoreBackup: Sendable {
    /// When other processes may change the store.
    enum Moment: Sendable {
        case contentsTaken
        case engineCopied
    }

    /// Contents that were removed while the store was copied.
    private struct Overtaken: Error {
        let contents: Set<AssetKey>
    }

    /// For one attempt to fail, a content must be added and removed within milliseconds.
    private static let attemptLimit = 20

    let source: String
    let destination: String
    /// Called when other processes may change the store, with the number of the attempt. For tests.
    var onMoment: @Sendable (Moment, Int) throws -> Void = { _, _ in }
    /// Creates the directory of each attempt.
    var making: @Sendable (_ make: () throws -> Void) throws -> Void = { try $0() }

    /// Makes the backup. `progress` gets the progress. If the store changes too fast, the copy begins again.
    func make(progress: @escaping (BackupProgress) -> Void = { _ in }) throws -> Stratus.BackupReport {
        let removed = StoreBacking.sweepUnfinishedCopies(besides: destination)
        var overtaken: Set<AssetKey> = []
        for number in 1...Self.attemptLimit {
            do {
                var report = try attempt(number, progress)
                report.removedPaths = removed
                return report
            } catch let error as Overtaken {
                if let lost = error.contents.intersection(overtaken).first {
                    throw StratusError(
                        .corruption, "The content of an asset in the store is missing. Restore an earlier backup.",
                        ["path": source, "finding": "\(AssetFinding.missing(lost))"])
                }
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
        var operationCount = 0
        var findings: [String] = []
        var contents: AssetBackup?
        var report = try StoreBacking.copyEngine(
            from: source, to: destination, progress: progress,
            begin: { path in
                directory = path
                operationCount = try OperationFiles.copy(
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
                findings = try finish(store, in: directory, &contents, progress)
            }, making: making)
        report.operationCount = operationCount
        report.findings = findings
        report.assetCount = contents?.contentCount ?? 0
        report.attemptCount = number
        return report
    }

    /// Completes and checks a copy whose engine is verified. Returns findings that lose no data.
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
        if let damage = report.findings.first(where: { [.missing, .damaged].contains($0.kind) }) {
            throw StratusError(
                .corruption, "The content of an asset in the store is damaged. Restore an earlier backup.",
                [
                    "path": source, "finding": "\(damage)",
                    "findingCount": "\(report.findings.count + report.unkeptCount)",
                ])
        }
        // A position in the feeds of the store must not count as a position in the copy.
        try engine.renewIncarnations(draw: { UUID.drawn() }, progress: Self.listener(progress, .incarnations))
        let rest = report.unkeptCount
        return report.findings.map(\.description) + (rest > 0 ? ["… and \(rest) more"] : [])
    }

    private static func listener(
        _ progress: @escaping (BackupProgress) -> Void, _ part: BackupProgress.Part
    ) -> WorkMeter.Listener {
        { progress(BackupProgress(part: part, doneCount: $0, totalCount: $1)) }
    }

    private static func assets(in directory: String) -> AssetStore {
        AssetStore(directory: directory + "/assets", session: UUID.drawn(), clock: SystemClock())
    }
}

extension Stratus {
    /// Copies a directory of long-lived operations into another one. With `replacing`, what an interrupted copy has
    /// left there is removed first. Returns their number.
    package static func copyOperations(
        _ source: String, to target: String, replacing: Bool = false,
        progress: (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) throws -> Int {
        if replacing { try? FileManager.default.removeItem(atPath: target) }
        return try OperationFiles.copy(source, to: target, progress: progress)
    }

    /// What a backup contains.
    public struct BackupReport: Hashable, Sendable {
        /// Entries of the engine. All of them were read from the copy.
        public internal(set) var entryCount = 0
        /// Tables of the engine that the copy shares with the store.
        public internal(set) var linkedTableCount = 0
        /// Tables of the engine that were copied because the file system could not share them.
        public internal(set) var copiedTableCount = 0
        /// Logs of the engine.
        public internal(set) var logCount = 0
        /// Contents of assets. All of them were read from the copy.
        public internal(set) var assetCount = 0
        /// Long-lived operations.
        public internal(set) var operationCount = 0
        /// How often the store was copied until records and assets agreed.
        public internal(set) var attemptCount = 0
        /// Wrong counts in the store, and so in the copy. No data is lost, and `stratus verify` says more. If there are
        /// very many of a kind, the first ones, and then how many more.
        public internal(set) var findings: [String] = []
        /// Directories next to the copy that other backups to the same destination have not finished. These still run,
        /// or their files could not be removed.
        public internal(set) var unfinishedPaths: [String] = []
        /// Unfinished copies of ended processes next to the copy, which this backup removed.
        public internal(set) var removedPaths: [String] = []
    }

    /// Copies this store, which continues to serve requests.
    ///
    /// The copy has every record that was saved before this call, all as of one moment, every asset that these records
    /// name, and the long-lived operations. If the file system allows it, tables and contents are shared, so that the
    /// copy takes little room at first. The copy is opened, read completely and verified before it gets its name, and
    /// is durable when this returns. It refuses change tokens of the store.
    ///
    /// This call blocks its thread, and reads everything once.
    ///
    /// - Parameter destination: The directory to create. It must not exist; its parent must.
    /// - Returns: What the copy contains.
    /// - Throws: ``StratusError``: `corruption` if the store is damaged, `unavailable` if it changes too fast,
    ///   `notPermitted`, `diskFull`, `inputOutput` if the destination exists, `invalidArgument` for a store in memory.
    ///   Then nothing is left at the destination.
    @discardableResult
    public func backup(to destination: URL) throws -> BackupReport {
        guard let directory else {
            throw StratusError(.invalidArgument, "A store in memory has no files to copy: open one in a directory.")
        }
        // After closing, the directory may be another process's.
        _ = try service
        return try Self.backup(ofStoreAt: directory, to: destination)
    }

    /// Copies a store that may be open in this process, in another one, or in none; see `backup(to:)`.
    ///
    /// - Parameters:
    ///   - source: The store's directory.
    ///   - destination: The directory to create. It must not exist; its parent must.
    /// - Returns: What the copy contains.
    /// - Throws: ``StratusError``; also `notAStore` and `newerFormat`.
    @discardableResult
    public static func backup(ofStoreAt source: URL, to destination: URL) throws -> BackupReport {
        try StratusError.wrapping {
            try StoreBackup(source: source.path, destination: destination.path).make()
        }
    }

    /// The same, reporting to `progress`. `making` must create the directory of an unfinished copy, or not return. A
    /// caller that removes such directories uses it to prevent that one is created afterwards.
    package static func backup(
        ofStoreAt source: URL, to destination: URL, progress: @escaping (BackupProgress) -> Void,
        making: @escaping @Sendable (_ make: () throws -> Void) throws -> Void = { try $0() }
    ) throws -> BackupReport {
        try StratusError.wrapping {
            try StoreBackup(source: source.path, destination: destination.path, making: making).make(progress: progress)
        }
    }
}
