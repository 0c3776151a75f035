// One history on two engines: equal answers, and equal stores, entry by entry. Where others may write, the numbers of
// databases are others, so entries are compared with names in place of numbers.
//
//     STRATUS_SEED=17 make test FILTER=SameHistoryTests                  another history
//     STRATUS_HISTORIES=100 make postgres FILTER=SameHistoryTests        longer ones

import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("One history on two engines")
struct SameHistoryTests {
    /// Runs random histories on LevelDB and on another kind of store. Returns what differs first.
    private func difference(
        to others: [HistorySubject], in test: String, count: UInt64, stepCount: Int
    ) async throws -> String? {
        var random = SplitMix64.announced(test)
        let seeds = (0..<count).map { _ in random.next() >> 1 }
        return try await TestThreads.offPool {
            for (index, seed) in seeds.enumerated() {
                let history = HistoryGenerator.history(seed: seed, stepCount: stepCount)
                let one = try HistoryRunner.run(history, on: HistorySubject.onLevelDB[0])
                let other = try HistoryRunner.run(history, on: others[index % others.count])
                if let difference = one.difference(to: other) { return "history \(index + 1): \(difference)" }
            }
            return nil
        }
    }

    @Test("on LevelDB and over a wire answers are equal, and so are all entries")
    func overWire() async throws {
        let difference = try await difference(
            to: HistorySubject.overWire, in: "one history over a wire", count: 3, stepCount: 60)
        #expect(difference == nil)
    }

    @Test(
        "on LevelDB and on PostgreSQL answers are equal, and so are all entries",
        .enabled(if: PostgresTestStore.isServerThere))
    func onPostgres() async throws {
        let difference = try await difference(
            to: HistorySubject.onPostgres, in: "one history on PostgreSQL", count: PostgresTestStore.historyCount,
            stepCount: PostgresTestStore.runsLongTests ? 100 : 40)
        #expect(difference == nil)
    }

    @Test(
        "while connections are cut around commits answers are equal, and so are all entries",
        .enabled(if: PostgresTestStore.isServerThere))
    func onCutPostgres() async throws {
        let difference = try await difference(
            to: HistorySubject.onCutPostgres, in: "one history on PostgreSQL, cut",
            count: PostgresTestStore.historyCount,
            stepCount: PostgresTestStore.runsLongTests ? 100 : 40)
        #expect(difference == nil)
    }

    // MARK: The checker

    private enum Plant: CaseIterable {
        case entryLeftOut
        case entryAdded
        case valueChanged

        func change(_ key: [UInt8], _ value: [UInt8], in store: any OrderedStore) throws {
            try store.transact { transaction in
                switch self {
                case .entryLeftOut: try transaction.delete(key)
                case .entryAdded: try transaction.set(key + [0], to: value)
                case .valueChanged: try transaction.set(key, to: value.dropLast() + [(value.last ?? 0) ^ 1])
                }
            }
        }
    }

    @Test("every entry that is left out, added or changed in one of two stores is found")
    func planted() async throws {
        var random = SplitMix64.announced("planted differences")
        let history = HistoryGenerator.history(seed: random.next() >> 1, stepCount: 30)
        let planted = try await TestThreads.offPool {
            var planted = 0
            _ = try HistoryRunner.run(history, on: HistorySubject.inMemory[0]) { store in
                let whole = try NamedEntries(of: store)
                var entries: [(key: [UInt8], value: [UInt8])] = []
                try store.read { reader in
                    try reader.scan(.everything) { key, value in
                        entries.append(([UInt8](copying: key), [UInt8](copying: value)))
                        return .next
                    }
                }
                for (key, value) in entries {
                    for plant in Plant.allCases {
                        try plant.change(key, value, in: store)
                        // An entry that cannot be read is found, too.
                        let changed = try? NamedEntries(of: store)
                        #expect(changed.map { whole.difference(to: $0) != nil } ?? true, "\(plant) \(key)")
                        try store.transact { transaction in
                            try transaction.delete(key + [0])
                            try transaction.set(key, to: value)
                        }
                        planted += 1
                    }
                }
                #expect(try NamedEntries(of: store) == whole)
            }
            return planted
        }
        #expect(planted > 100)
    }

    @Test("an answer that is missing or another one is found")
    func plantedAnswer() async throws {
        let history = HistoryGenerator.history(seed: 1, stepCount: 30)
        let run = try await TestThreads.offPool { try HistoryRunner.run(history, on: HistorySubject.inMemory[0]) }
        #expect(run.difference(to: run) == nil)
        var other = run
        other.answers.removeLast()
        #expect(run.difference(to: other) != nil)
        other.answers.append(.failed(.conflict))
        #expect(run.difference(to: other) != nil)
    }
}
