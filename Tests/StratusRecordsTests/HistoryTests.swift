// Random histories against the oracle. On a failure the seed and the shortest history are printed. To run again:
//
//     STRATUS_SEED=17 make test FILTER=HistoryTests             one seed on every subject
//     STRATUS_HISTORY=file make test FILTER=HistoryTests        one history, as it was printed, on every subject
//     STRATUS_SOAK=1 make test FILTER=HistorySoakTests          20,000 longer histories, or STRATUS_HISTORIES of
//                                                               STRATUS_HISTORY_STEPS, from STRATUS_FIRST_HISTORY on

import Foundation
import StratusTestSupport
import Testing

private enum Settings {
    static let environment = ProcessInfo.processInfo.environment
    static let isSoak = environment["STRATUS_SOAK"] == "1"
    static let seed = environment["STRATUS_SEED"].flatMap { UInt64($0) }
    static let historyPath = environment["STRATUS_HISTORY"]
    static let isReplay = seed != nil || historyPath != nil
    static let soakSeeds: ClosedRange<UInt64> = {
        let first = environment["STRATUS_FIRST_HISTORY"].flatMap { UInt64($0) } ?? 1
        let count = environment["STRATUS_HISTORIES"].flatMap { UInt64($0) } ?? 20_000
        return first...max(first, first &+ count &- 1)
    }()
    static let soakStepCount = environment["STRATUS_HISTORY_STEPS"].flatMap { Int($0) } ?? 200
    /// Histories run on so many threads.
    static let partCount: UInt64 = 4
    /// The histories that run in minutes.
    static let seeds = 1...(TestStores.chosen?.isOnServer == true ? PostgresTestStore.historyCount : 60)
}

/// Runs every history of one part until one fails, on the subjects of its seed.
private func runHistories(_ seeds: ClosedRange<UInt64>, part: UInt64, stepCount: Int) -> String? {
    for seed in seeds where seed % Settings.partCount == part {
        let history = HistoryGenerator.history(seed: seed, stepCount: stepCount)
        for subject in HistorySubject.subjects(seed: seed) {
            if let report = HistoryReport.failure(of: history, seed: seed, on: subject) { return report }
        }
    }
    return nil
}

@Suite("histories")
struct HistoryTests {
    @Test(
        "every answer equals the oracle's, for every store and cache", .enabled(if: !Settings.isReplay),
        arguments: 0..<Settings.partCount)
    func randomHistories(part: UInt64) async throws {
        let report = try await TestThreads.offPool {
            runHistories(Settings.seeds, part: part, stepCount: 100)
        }
        if let report { Issue.record("\(report)") }
    }

    @Test("every answer equals the oracle's at the other end of a wire, whatever the cache guesses")
    func overWire() async throws {
        let report = try await TestThreads.offPool {
            HistorySubject.overWire.enumerated().lazy.compactMap { index, subject in
                let seed = UInt64(index + 1)
                let history = HistoryGenerator.history(seed: seed, stepCount: 60)
                return HistoryReport.failure(of: history, seed: seed, on: subject)
            }.first
        }
        if let report { Issue.record("\(report)") }
    }

    @Test("every kind of history runs on every store with every cache", .enabled(if: TestStores.chosen == nil))
    func pairings() {
        var met: [Int: Set<String>] = [:]
        for seed in Settings.seeds {
            let subjects = HistorySubject.subjects(seed: seed)
            met[HistoryShape.index(seed: seed), default: []].formUnion(subjects.map(\.description))
        }
        let all = Set((HistorySubject.inMemory + HistorySubject.onLevelDB).map(\.description))
        #expect(all.count == 12)
        for shape in 0..<HistoryShape.count {
            #expect(met[shape] == all, "shape \(shape) never meets \(all.subtracting(met[shape] ?? []).sorted())")
        }
    }

    @Test("one history can be run again on every subject", .enabled(if: Settings.isReplay))
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

    @Test("a history parses from its text", arguments: 0..<16 as Range<UInt64>)
    func text(seed: UInt64) throws {
        let history = HistoryGenerator.history(seed: seed, stepCount: 60)
        #expect(try History(text: "# a comment\n\n\(history)\n") == history)
    }
}

@Suite("long histories")
struct HistorySoakTests {
    @Test(
        "every answer equals the oracle's in long histories", .enabled(if: Settings.isSoak),
        arguments: 0..<Settings.partCount)
    func longHistories(part: UInt64) async throws {
        let report = try await TestThreads.offPool {
            runHistories(Settings.soakSeeds, part: part, stepCount: Settings.soakStepCount)
        }
        if let report { Issue.record("\(report)") }
    }
}
