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

import Foundation
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
        if let damage = report.findings.first(where: { [.missing, .damaged].contains($0.kind) }) {
            throw StratusError(
                .corruption, "A content that records of the store name is damaged: restore an earlier backup.",
                [
                    "path": source, "finding": "\(damage)",
                    "findingCount": "\(report.findings.count + report.unkeptCount)",
                ])
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
