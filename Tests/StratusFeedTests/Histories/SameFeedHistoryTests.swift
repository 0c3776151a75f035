// One history of people who share, read feeds and do upkeep, on LevelDB and on PostgreSQL: equal answers, and equal
// stores, entry by entry.
//
//     STRATUS_SEED=17 make test FILTER=SameFeedHistoryTests                another history
//     STRATUS_HISTORIES=100 make postgres FILTER=SameFeedHistoryTests      more and longer ones

import Foundation
import StratusKit
import StratusSharingSupport
import StratusStore
import StratusTestSupport
import Testing

@Suite("One history of feeds on two engines")
struct SameFeedHistoryTests {
    /// Runs random histories on LevelDB and on another kind of store. Returns what differs first.
    private func difference(
        to kind: TestStores.Kind, in test: String, count: UInt64, actCount: Int
    ) async throws -> String? {
        var random = SplitMix64.announced(test)
        for index in 0..<count {
            let drawn = FeedGenerator.history(seed: random.next() >> 1, FeedGenerator.Size(actCount: actCount))
            let history = FeedHistory(steps: drawn.steps.filter { !Self.isUnseeded($0) })
            let directory = ScratchDirectory()
            let one = try await FeedRunner.run(history, in: directory.url)
            let other = try await TestStores.$chosen.withValue(kind) { try await FeedRunner.run(history) }
            if let difference = one.difference(to: other) { return "history \(index + 1): \(difference)" }
        }
        return nil
    }

    /// Whether clients draw an identifier in it, which no seed repeats: that of the participant of a one-time URL.
    private static func isUnseeded(_ step: FeedStep) -> Bool {
        guard case .act(.join(let joining)) = step, case .inviteOnce = joining.deed else { return false }
        return true
    }

    @Test("on LevelDB and over a wire answers are equal, and so are all entries")
    func overWire() async throws {
        #expect(try await difference(to: .wire, in: "one feed over a wire", count: 1, actCount: 60) == nil)
    }

    @Test(
        "on LevelDB and on PostgreSQL answers are equal, and so are all entries",
        .enabled(if: PostgresTestStore.isServerThere))
    func onPostgres() async throws {
        let difference = try await difference(
            to: .postgres, in: "one feed on PostgreSQL", count: PostgresTestStore.historyCount,
            actCount: PostgresTestStore.runsLongTests ? 100 : 30)
        #expect(difference == nil)
    }
}
