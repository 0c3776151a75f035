// A backup of a store as a whole: records, contents of assets, long-lived operations.
//
// What is copied first and last decides what a backup means:
//   1. Long-lived operations. One that is answered meanwhile is in the copy as one that was not, and is sent again: what
//      it did is in the copied records, or not. The other way round it would count as done, and not have been.
//   2. Contents of assets that are there.
//   3. The engine's files: every commit that had returned when this began, and a prefix of all commits.
//   4. Contents that the copied records name and that came after 2. One that has gone again is gone from the records
//      too, but not from the copied ones: then everything is done again.
// The copy is opened and checked, contents and all, before it gets its name. A directory that was not finished is removed.

import Foundation
import StratusCloud
import StratusModel
import StratusRecords
import StratusStore

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

    /// `progress` is told now and then about how many bytes of the copy's tables have been verified, and of how many.
    func make(progress: (Int, Int) -> Void = { _, _ in }) throws -> Stratus.BackupReport {
        var overtaken: Set<AssetKey> = []
        for number in 1...Self.attemptLimit {
            do {
                return try attempt(number, progress)
            } catch let error as Overtaken {
                if let lost = error.contents.intersection(overtaken).first { throw missing(lost) }
                overtaken = error.contents
            }
        }
        throw StratusError(
            .unavailable, "The store changed faster than it could be copied: try again when it is calmer.",
            ["path": source, "attempts": "\(Self.attemptLimit)"])
    }

    private func attempt(_ number: Int, _ progress: (Int, Int) -> Void) throws -> Stratus.BackupReport {
        var directory: String?
        do {
            var report = Stratus.BackupReport()
            var contents: AssetBackup?
            let figures = try StoreBacking.copyEngine(
                from: source, to: destination, progress: progress,
                begin: { path in
                    directory = path
                    report.operationCount = try OperationFiles.copy(source + "/operations", to: path + "/operations")
                    var taken = AssetBackup(from: Self.assets(in: source), to: Self.assets(in: path))
                    try taken.takeAll()
                    contents = taken
                    try onMoment(.contentsTaken, number)
                },
                prepare: { store in
                    try onMoment(.engineCopied, number)
                    guard let directory else { return }
                    report.findings = try finish(store, in: directory, &contents)
                })
            report.entryCount = figures.entryCount
            report.linkedTableCount = figures.linkedTableCount
            report.copiedTableCount = figures.copiedTableCount
            report.logCount = figures.logCount
            report.unfinishedPaths = figures.unfinishedPaths
            report.assetCount = contents?.contentCount ?? 0
            report.attemptCount = number
            return report
        } catch {
            if let directory { Self.remove(directory) }
            throw error
        }
    }

    /// Completes a copy whose engine has been verified, and checks it. Returns what is wrong without anything being lost.
    private func finish(
        _ store: any OrderedStore, in directory: String, _ contents: inout AssetBackup?
    ) throws -> [String] {
        var options = RecordEngineOptions()
        options.ancestorCacheByteCount = 0
        let engine = try RecordEngine(store: store, options: options, incarnation: UUID())
        let lost = try contents?.takeNamed(in: engine) ?? []
        guard lost.isEmpty else { throw Overtaken(contents: lost) }
        try contents?.finish(with: engine)
        let verifier = AssetVerifier(engine: engine, store: Self.assets(in: directory))
        let findings = try verifier.findings() + verifier.miscounts { CloudService.assetOwner(of: $0) }
        for finding in findings {
            switch finding {
            case .missing, .damaged:
                throw StratusError(
                    .corruption, "A content that records of the store name is damaged: restore an earlier backup.",
                    ["path": source, "finding": "\(finding)", "findingCount": "\(findings.count)"])
            case .orphaned, .miscounted, .zoneMiscounted, .foreign: continue
            }
        }
        // Positions in the feeds of the one must not be taken for positions in the other.
        try engine.renewIncarnations { UUID() }
        return findings.map(\.description)
    }

    private func missing(_ key: AssetKey) -> StratusError {
        StratusError(
            .corruption, "Records of the store name a content of which there is no file: restore an earlier backup.",
            ["path": source, "finding": "\(AssetFinding.missing(key))"])
    }

    private static func assets(in directory: String) -> AssetStore {
        AssetStore(directory: directory + "/assets", session: UUID(), clock: SystemClock())
    }

    /// Removes what was put into the directory of a copy that was not finished; of the engine's files it is empty.
    private static func remove(_ directory: String) {
        for name in ["assets", "operations"] { try? FileManager.default.removeItem(atPath: "\(directory)/\(name)") }
        if let names = try? FileManager.default.contentsOfDirectory(atPath: directory), names.isEmpty {
            try? FileManager.default.removeItem(atPath: directory)
        }
    }
}
