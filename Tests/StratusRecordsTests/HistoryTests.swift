// Random histories against the oracle. On a failure the seed and the shortest history are printed. To run again:
//
//     STRATUS_SEED=17 swift test --filter HistoryTests          one seed on every subject
//     STRATUS_HISTORY=file swift test --filter HistoryTests     one history, as it was printed, on every subject
//     STRATUS_SOAK=1 swift test --filter HistorySoakTests       20,000 longer histories, or STRATUS_HISTORIES of
//                                                               STRATUS_HISTORY_STEPS

import Foundation
import StratusTestSupport
import Testing

private enum Settings {
    static let environment = ProcessInfo.processInfo.environment
    static let isSoak = environment["STRATUS_SOAK"] == "1"
    static let seed = environment["STRATUS_SEED"].flatMap { UInt64($0) }
    static let historyPath = environment["STRATUS_HISTORY"]
    static let isReplay = seed != nil || historyPath != nil
    static let soakHistoryCount = environment["STRATUS_HISTORIES"].flatMap { UInt64($0) } ?? 20_000
    static let soakStepCount = environment["STRATUS_HISTORY_STEPS"].flatMap { Int($0) } ?? 200
    /// Histories run on so many threads.
    static let partCount: UInt64 = 4
}

/// Runs every history of one part until one fails. Each runs on one subject in memory, and each that `isOnLevelDB` names
/// on LevelDB too; which set-up changes from seed to seed.
private func runHistories(
    _ seeds: ClosedRange<UInt64>, part: UInt64, stepCount: Int, isOnLevelDB: (UInt64) -> Bool
) -> String? {
    for seed in seeds where seed % Settings.partCount == part {
        let history = HistoryGenerator.history(seed: seed, stepCount: stepCount)
        let round = Int(seed / 8)
        var subjects = [HistorySubject.inMemory[round % HistorySubject.inMemory.count]]
        if isOnLevelDB(seed) { subjects.append(HistorySubject.onLevelDB[(round / 2) % HistorySubject.onLevelDB.count]) }
        for subject in subjects {
            if let report = HistoryReport.failure(of: history, seed: seed, on: subject) { return report }
        }
    }
    return nil
}

@Suite("histories")
struct HistoryTests {
    @Test(
        "every answer is the oracle's, whatever the store and the cache", .enabled(if: !Settings.isReplay),
        arguments: 0..<Settings.partCount)
    func randomHistories(part: UInt64) async throws {
        let report = try await TestThreads.offPool {
            runHistories(1...300, part: part, stepCount: 100) { $0 % 6 == 0 }
        }
        if let report { Issue.record("\(report)") }
    }

    @Test("one history is run again on every subject", .enabled(if: Settings.isReplay))
    func replay() async throws {
        var history = HistoryGenerator.history(
            seed: Settings.seed ?? 0, stepCount: Settings.isSoak ? Settings.soakStepCount : 100)
        if let path = Settings.historyPath {
            history = try History(text: String(contentsOfFile: path, encoding: .utf8))
        }
        let replayed = history
        let report = try await TestThreads.offPool {
            (HistorySubject.inMemory + HistorySubject.onLevelDB).lazy
                .compactMap { HistoryReport.failure(of: replayed, seed: Settings.seed, on: $0) }.first
        }
        if let report { Issue.record("\(report)") }
    }

    @Test("a history reads back from its text", arguments: 0..<16 as Range<UInt64>)
    func text(seed: UInt64) throws {
        let history = HistoryGenerator.history(seed: seed, stepCount: 60)
        #expect(try History(text: "# a comment\n\n\(history)\n") == history)
    }
}

@Suite("long histories")
struct HistorySoakTests {
    @Test(
        "every answer is the oracle's in long histories", .enabled(if: Settings.isSoak),
        arguments: 0..<Settings.partCount)
    func longHistories(part: UInt64) async throws {
        let report = try await TestThreads.offPool {
            runHistories(1...max(1, Settings.soakHistoryCount), part: part, stepCount: Settings.soakStepCount) { _ in
                true
            }
        }
        if let report { Issue.record("\(report)") }
    }
}
