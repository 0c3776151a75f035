// Random histories of sharing against the oracle. On a failure the seed and the shortest history are printed. To run
// again:
//
//     STRATUS_SEED=17 make test FILTER=SharingHistoryTests                    one seed, in memory and on LevelDB
//     STRATUS_SHARING_HISTORY=file make test FILTER=SharingHistoryTests       one history, as it was printed
//     STRATUS_SOAK=1 make test FILTER=SharingHistorySoakTests                 20,000 longer histories, or
//                                         STRATUS_HISTORIES of STRATUS_HISTORY_STEPS from STRATUS_FIRST_HISTORY on

import Foundation
import StratusKit
import StratusSharingSupport
import StratusTestSupport
import Testing

private let settings = HistorySettings(fileVariable: "STRATUS_SHARING_HISTORY")

private enum Sizes {
    /// The histories of every run of the tests.
    static let seeds = 1...(TestStores.chosen?.isOnServer == true ? PostgresTestStore.historyCount : 80)
    static let stepCount = 40
    /// One of this many runs on LevelDB too.
    static let seedsPerLevelDB: UInt64 = 20
}

private let trial = HistoryTrial<SharingStep>(settings) { steps in
    SharingHistory(steps: steps).description
} failure: { steps, directory in
    try await SharingRunner.failure(of: SharingHistory(steps: steps), in: directory).map { "\($0)" }
}

@Suite("Histories of sharing")
struct SharingHistoryTests {
    @Test(
        """
        [SH-05][SH-06][SH-07][SH-09][SH-10][SH-11][SH-12][P-06][P-10][P-11][P-12][P-13][P-15][D-02][D-03][D-04][M-06]\
        [M-08][X-06][X-09][X-14][X-15][X-16][X-26] after every step everyone sees what the oracle says
        """, .enabled(if: !settings.isReplay), arguments: 0..<HistorySettings.partCount)
    func randomHistories(part: UInt64) async throws {
        let report = try await trial.report(
            ofSeeds: Sizes.seeds, part: part, seedsPerLevelDB: Sizes.seedsPerLevelDB
        ) { SharingGenerator.history(seed: $0, stepCount: Sizes.stepCount).steps }
        if let report { Issue.record("\(report)") }
    }

    @Test("after every step of a history over a wire everyone sees what the oracle says")
    func overWire() async throws {
        try await TestStores.$chosen.withValue(.wire) {
            let history = SharingGenerator.history(seed: 1, stepCount: Sizes.stepCount)
            let report = try await trial.report(of: history.steps, seed: 1)
            if let report { Issue.record("\(report)") }
        }
    }

    @Test(
        "people who use two or four hosts of one store see after every step what the oracle says",
        arguments: [UInt64](1...6))
    func onManyHosts(seed: UInt64) async throws {
        try await TestStores.$hostCount.withValue(seed.isMultiple(of: 2) ? 2 : 4) {
            try await TestStores.$chosen.withValue(.hosts) {
                let history = SharingGenerator.history(seed: seed, stepCount: Sizes.stepCount)
                let report = try await trial.report(of: history.steps, seed: seed)
                if let report { Issue.record("\(report)") }
            }
        }
    }

    @Test("one history can be run again", .enabled(if: settings.isReplay))
    func replay() async throws {
        var history = SharingGenerator.history(
            seed: HistorySettings.seed ?? 0,
            stepCount: HistorySettings.isSoak ? HistorySettings.soakStepCount : Sizes.stepCount)
        if let text = try settings.text() { history = try SharingHistory(text: text) }
        for onLevelDB in [false, true] {
            let report = try await trial.report(of: history.steps, seed: HistorySettings.seed, onLevelDB: onLevelDB)
            if let report { Issue.record("\(report)") }
        }
    }

    @Test("a history parses from its text", arguments: 1..<17 as Range<UInt64>)
    func text(seed: UInt64) throws {
        let history = SharingGenerator.history(seed: seed, stepCount: 60)
        #expect(try SharingHistory(text: "# a comment\n\n\(history)\n") == history)
    }

    @Test(
        "a line with an unknown statement is refused",
        arguments: ["0 dance A b", "9 accept A s1", "create D", "0 save"])
    func badText(line: String) {
        #expect(throws: SharingTextError.self) { try SharingHistory(text: line) }
    }
}

@Suite("The checker of histories of sharing")
struct SharingCheckerTests {
    /// Seeds that show what few histories show, so that they are not searched for. They are only tried first.
    private static let rareSeeds: [SharingFault: UInt64] = [
        .publishedStayPrivate: 18, .twoWaysIn: 32, .blockedMayAsk: 36, .invitedGoOnAsking: 56,
        .administratorsChangeNothing: 65, .oneTimeBesideInvitation: 66, .unpublishingKeepsAll: 92,
        .nobodyLeavesNothing: 148, .participantsDeleteRoots: 199, .oneTimeForMany: 758, .blockedMayJoin: 820,
        .blockedForEver: 833,
    ]

    @Test("a wrong rule of the oracle is found and shown by a short history", arguments: SharingFault.allCases)
    func wrongRule(fault: SharingFault) async throws {
        // Which histories distinguish the two can be determined without a store.
        func differs(_ history: SharingHistory) -> Bool { Self.differs(history, fault) }
        let seeds = [Self.rareSeeds[fault]].compactMap { $0 } + (1...1_000 as ClosedRange<UInt64>)
        let candidates = seeds.lazy
            .map { SharingGenerator.history(seed: $0, stepCount: 60) }.filter(differs)
        let history = try #require(candidates.first, "no history of 1,000 shows the fault")
        let shortest = SharingHistory(
            steps: try await StepShrinker.shortest(history.steps) { differs(SharingHistory(steps: $0)) })
        #expect(shortest.steps.count <= 12, "\(shortest)")
        #expect(try await SharingRunner.failure(of: shortest, fault: fault) != nil, "\(shortest)")
        #expect(try await SharingRunner.failure(of: shortest)?.description == nil)
    }

    /// Whether the oracle and one that gets a rule wrong say anything different of a history.
    private static func differs(_ history: SharingHistory, _ fault: SharingFault) -> Bool {
        var (right, wrong) = (SharingOracle(), SharingOracle(fault: fault))
        let names = SharingHistory.zoneNames.indices.map { history.names(inZone: $0) }
        for step in history.steps {
            if right.apply(step).isDisjoint(with: wrong.apply(step)) { return true }
            if fault == .urlOfShare, isURLToldDifferently(right, wrong) { return true }
            for user in 0..<SharingHistory.userCount {
                if right.sharedZones(of: user) != wrong.sharedZones(of: user) { return true }
                for zone in history.zones {
                    let seen = names[zone].contains { right.view($0, of: user, zone) != wrong.view($0, of: user, zone) }
                    if seen { return true }
                }
            }
        }
        return false
    }

    /// Whether two shares with one URL have two, or vice versa.
    private static func isURLToldDifferently(_ right: SharingOracle, _ wrong: SharingOracle) -> Bool {
        func count(_ oracle: SharingOracle) -> Int { Set(oracle.urls.values.flatMap(\.values)).count }
        return count(right) != count(wrong)
    }
}

@Suite("Long histories of sharing")
struct SharingHistorySoakTests {
    @Test(
        "after every step of long histories everyone sees what the oracle says", .enabled(if: HistorySettings.isSoak),
        arguments: 0..<HistorySettings.partCount)
    func longHistories(part: UInt64) async throws {
        let report = try await trial.report(
            ofSeeds: HistorySettings.soakSeeds, part: part, seedsPerLevelDB: 4
        ) { SharingGenerator.history(seed: $0, stepCount: HistorySettings.soakStepCount).steps }
        if let report { Issue.record("\(report)") }
    }
}
