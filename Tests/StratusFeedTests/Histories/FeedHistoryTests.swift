// Random histories of change feeds against the oracle. On a failure the seed and the shortest history are printed. To
// run again:
//
//     STRATUS_SEED=17 make test FILTER=FeedHistoryTests                    one seed, in memory and on LevelDB
//     STRATUS_FEED_HISTORY=file make test FILTER=FeedHistoryTests          one history, as it was printed
//     STRATUS_SOAK=1 make test FILTER=FeedHistorySoakTests                 20,000 longer histories, or
//                                      STRATUS_HISTORIES of STRATUS_HISTORY_STEPS from STRATUS_FIRST_HISTORY on

import Foundation
import StratusKit
import StratusSharingSupport
import StratusTestSupport
import Testing

private let settings = HistorySettings(fileVariable: "STRATUS_FEED_HISTORY")

private enum Sizes {
    /// The histories of every run of the tests.
    static let seeds = 1...(TestStores.chosen?.isOnServer == true ? PostgresTestStore.historyCount : 48)
    static let size = FeedGenerator.Size(actCount: 100)
    /// One of this many runs on LevelDB too.
    static let seedsPerLevelDB: UInt64 = 25
    static let soakSize = FeedGenerator.Size(
        actCount: HistorySettings.soakStepCount, readPercentage: 100, lastReaderCount: 6)
}

private let trial = HistoryTrial<FeedStep>(settings) { steps in
    FeedHistory(steps: steps).description
} failure: { steps, directory in
    try await FeedRunner.failure(of: FeedHistory(steps: steps), in: directory).map { "\($0)" }
}

@Suite("Histories of feeds")
struct FeedHistoryTests {
    @Test(
        """
        [T-03][T-04][T-06][T-07][T-08][T-09][T-10][T-12][T-14][T-17][D-06][D-08][D-12][SH-13][X-03][X-16][M-08] from \
        every token and in pages of every size readers get what they may see, and nothing else, while others write
        """, .enabled(if: !settings.isReplay), arguments: 0..<HistorySettings.partCount)
    func randomHistories(part: UInt64) async throws {
        let report = try await trial.report(
            ofSeeds: Sizes.seeds, part: part, seedsPerLevelDB: Sizes.seedsPerLevelDB
        ) { FeedGenerator.history(seed: $0, Sizes.size).steps }
        if let report { Issue.record("\(report)") }
    }

    @Test("readers over a wire get what they may see, and nothing else, while others write")
    func overWire() async throws {
        try await TestStores.$chosen.withValue(.wire) {
            let history = FeedGenerator.history(seed: 1, Sizes.size)
            let report = try await trial.report(of: history.steps, seed: 1)
            if let report { Issue.record("\(report)") }
        }
    }

    @Test(
        "readers who use two or four hosts of one store get what they may see, and nothing else",
        arguments: [UInt64](1...6))
    func onManyHosts(seed: UInt64) async throws {
        try await TestStores.$hostCount.withValue(seed.isMultiple(of: 2) ? 2 : 4) {
            try await TestStores.$chosen.withValue(.hosts) {
                let history = FeedGenerator.history(seed: seed, Sizes.size)
                let report = try await trial.report(of: history.steps, seed: seed)
                if let report { Issue.record("\(report)") }
            }
        }
    }

    @Test("one history can be run again", .enabled(if: settings.isReplay))
    func replay() async throws {
        var history = FeedGenerator.history(
            seed: HistorySettings.seed ?? 0, HistorySettings.isSoak ? Sizes.soakSize : Sizes.size)
        if let text = try settings.text() { history = try FeedHistory(text: text) }
        for onLevelDB in [false, true] {
            let report = try await trial.report(of: history.steps, seed: HistorySettings.seed, onLevelDB: onLevelDB)
            if let report { Issue.record("\(report)") }
        }
    }

    @Test("a history parses from its text", arguments: 1..<9 as Range<UInt64>)
    func text(seed: UInt64) throws {
        let history = FeedGenerator.history(seed: seed, FeedGenerator.Size(actCount: 60))
        #expect(try FeedHistory(text: "# a comment\n\n\(history)\n") == history)
    }

    @Test(
        "a line with an unknown statement is refused",
        arguments: ["read 1 of 9 in A", "read 1 of 2 in D", "page 1", "finish a by 2", "0 dance A b", "age"])
    func badText(line: String) {
        #expect(throws: SharingTextError.self) { try FeedHistory(text: line) }
    }
}

@Suite("The checker of histories of feeds")
struct FeedCheckerTests {
    private static let size = FeedGenerator.Size(actCount: 60)

    @Test("every faulty feed is detected", arguments: FeedFault.allCases)
    func wrongFeed(fault: FeedFault) async throws {
        for seed in 1...40 as ClosedRange<UInt64> {
            let history = FeedGenerator.history(seed: seed, Self.size)
            let isFound = try await FeedRunner.failure(of: history, fault: fault) != nil
            if isFound, try await FeedRunner.failure(of: history) == nil { return }
        }
        Issue.record("no check detects that \(fault)")
    }

    @Test("a fault is shown by a short history")
    func shortest() async throws {
        let history = FeedGenerator.history(seed: 3, FeedGenerator.Size(actCount: 30))
        let shortest = try await StepShrinker.shortest(history.steps, maximumRunCount: 150) {
            try await FeedRunner.failure(of: FeedHistory(steps: $0), fault: .recordIsLost) != nil
        }
        #expect(shortest.count <= 4, "\(FeedHistory(steps: shortest))")
        #expect(try await FeedRunner.failure(of: FeedHistory(steps: shortest))?.description == nil)
    }
}

@Suite("Long histories of feeds")
struct FeedHistorySoakTests {
    @Test(
        "in long histories readers get what they may see, and nothing else", .enabled(if: HistorySettings.isSoak),
        arguments: 0..<HistorySettings.partCount)
    func longHistories(part: UInt64) async throws {
        let report = try await trial.report(
            ofSeeds: HistorySettings.soakSeeds, part: part, seedsPerLevelDB: 20
        ) { FeedGenerator.history(seed: $0, Sizes.soakSize).steps }
        if let report { Issue.record("\(report)") }
    }
}
