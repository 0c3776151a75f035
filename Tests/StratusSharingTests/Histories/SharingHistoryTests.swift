// Random histories of sharing against the oracle. On a failure the seed and the shortest history are printed. To run
// again:
//
//     STRATUS_SEED=17 swift test --filter SharingHistoryTests                 one seed, in memory and on LevelDB
//     STRATUS_SHARING_HISTORY=file swift test --filter SharingHistoryTests    one history, as it was printed
//     STRATUS_SOAK=1 swift test --filter SharingHistorySoakTests              20,000 longer histories, or
//                                         STRATUS_HISTORIES of STRATUS_HISTORY_STEPS from STRATUS_FIRST_HISTORY on

import Foundation
import StratusKit
import StratusSharingSupport
import Testing

private enum Settings {
    static let environment = ProcessInfo.processInfo.environment
    static let isSoak = environment["STRATUS_SOAK"] == "1"
    static let seed = environment["STRATUS_SEED"].flatMap { UInt64($0) }
    static let historyPath = environment["STRATUS_SHARING_HISTORY"]
    static let isReplay = seed != nil || historyPath != nil
    static let soakSeeds: ClosedRange<UInt64> = {
        let first = environment["STRATUS_FIRST_HISTORY"].flatMap { UInt64($0) } ?? 1
        let count = environment["STRATUS_HISTORIES"].flatMap { UInt64($0) } ?? 20_000
        return first...max(first, first &+ count &- 1)
    }()
    static let soakStepCount = environment["STRATUS_HISTORY_STEPS"].flatMap { Int($0) } ?? 200
    /// Histories run at the same time.
    static let partCount: UInt64 = 4
    /// The histories of every run of the tests.
    static let seeds: ClosedRange<UInt64> = 1...80
    static let stepCount = 40
    /// Of so many of them one runs on LevelDB too.
    static let seedsPerLevelDB: UInt64 = 20
}

/// Runs every history of one part until one fails.
private func runHistories(
    _ seeds: ClosedRange<UInt64>, part: UInt64, stepCount: Int, seedsPerLevelDB: UInt64
) async throws -> String? {
    for seed in seeds where seed % Settings.partCount == part {
        let history = SharingGenerator.history(seed: seed, stepCount: stepCount)
        if let report = try await SharingReport.failure(of: history, seed: seed) { return report }
        guard seed / Settings.partCount % seedsPerLevelDB == 0 else { continue }
        if let report = try await SharingReport.failure(of: history, seed: seed, onLevelDB: true) { return report }
    }
    return nil
}

@Suite("Histories of sharing")
struct SharingHistoryTests {
    @Test(
        """
        [SH-05][SH-06][SH-07][SH-09][SH-10][SH-11][SH-12][P-06][P-10][P-11][P-12][P-13][P-15][D-02][D-03][D-04][M-06]\
        [M-08][X-06][X-09][X-14][X-15][X-16][X-26] after every step everybody sees what the oracle says
        """, .enabled(if: !Settings.isReplay), arguments: 0..<Settings.partCount)
    func randomHistories(part: UInt64) async throws {
        let report = try await runHistories(
            Settings.seeds, part: part, stepCount: Settings.stepCount, seedsPerLevelDB: Settings.seedsPerLevelDB)
        if let report { Issue.record("\(report)") }
    }

    @Test("one history is run again", .enabled(if: Settings.isReplay))
    func replay() async throws {
        var history = SharingGenerator.history(
            seed: Settings.seed ?? 0, stepCount: Settings.isSoak ? Settings.soakStepCount : Settings.stepCount)
        if let path = Settings.historyPath {
            history = try SharingHistory(text: String(contentsOfFile: path, encoding: .utf8))
        }
        for onLevelDB in [false, true] {
            let report = try await SharingReport.failure(of: history, seed: Settings.seed, onLevelDB: onLevelDB)
            if let report { Issue.record("\(report)") }
        }
    }

    @Test("a history reads back from its text", arguments: 1..<17 as Range<UInt64>)
    func text(seed: UInt64) throws {
        let history = SharingGenerator.history(seed: seed, stepCount: 60)
        #expect(try SharingHistory(text: "# a comment\n\n\(history)\n") == history)
    }

    @Test(
        "a line that says nothing known is refused", arguments: ["0 dance A b", "9 accept A s1", "create D", "0 save"])
    func badText(line: String) {
        #expect(throws: SharingTextError.self) { try SharingHistory(text: line) }
    }
}

@Suite("The checker of histories of sharing")
struct SharingCheckerTests {
    @Test("a rule that the oracle gets wrong is found and shown by a short history", arguments: SharingFault.allCases)
    func wrongRule(fault: SharingFault) async throws {
        // Which histories tell the two apart can be told without a store.
        func differs(_ history: SharingHistory) -> Bool { Self.differs(history, fault) }
        let candidates = (1...1_000 as ClosedRange<UInt64>).lazy
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

    /// Whether two shares that have one URL have two, or the other way round.
    private static func isURLToldDifferently(_ right: SharingOracle, _ wrong: SharingOracle) -> Bool {
        func count(_ oracle: SharingOracle) -> Int { Set(oracle.urls.values.flatMap(\.values)).count }
        return count(right) != count(wrong)
    }
}

@Suite("Long histories of sharing")
struct SharingHistorySoakTests {
    @Test(
        "after every step of long histories everybody sees what the oracle says", .enabled(if: Settings.isSoak),
        arguments: 0..<Settings.partCount)
    func longHistories(part: UInt64) async throws {
        let report = try await runHistories(
            Settings.soakSeeds, part: part,
            stepCount: Settings.soakStepCount, seedsPerLevelDB: 4)
        if let report { Issue.record("\(report)") }
    }
}
