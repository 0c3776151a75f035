// Random queries through CloudKit's own calls, compared with examining every record: formats, refusals, all zones,
// cursors, a participant's view, and a schema that marks only some fields. Each fault of the naive side must be found.

import Foundation
import StratusTestSupport
import Testing

@Suite("Random queries through CloudKit's calls")
struct RandomQueryTests {
    /// The number of queries per store.
    private static let storeQueryCount = 70

    private static var queryCount: Int {
        let usual = TestStores.chosen == .postgresHosts ? storeQueryCount : 420
        return ProcessInfo.processInfo.environment["STRATUS_QUERIES"].flatMap { Int($0) } ?? usual
    }

    /// Queries a store of its own, and returns the first wrong answer.
    private func mismatch(
        _ random: SplitMix64, queryCount: Int, isProduction: Bool = false, fault: NaiveFault? = nil,
        _ inspect: (RandomQueryBench) -> Void = { _ in }
    ) async throws -> String? {
        var bench = try RandomQueryBench(random, isProduction: isProduction, fault: fault)
        var mismatch: String?
        do {
            try await bench.run(queryCount: queryCount)
        } catch let error as QueryMismatch {
            mismatch = "the store with the seed \(random.seed): \(error)"
        }
        try await bench.close()
        inspect(bench)
        return mismatch
    }

    /// What the queries of several stores were answered with, added up.
    private struct Counts {
        let stores: Int
        var answered = 0
        var refused = 0
        var found = 0
        var pages = 0
    }

    /// Queries stores, of which each may be in production. Fails at the first wrong answer.
    private func counts(_ random: SplitMix64, queryCount: Int, areProduction: [Bool]) async throws -> Counts {
        var counts = Counts(stores: areProduction.count)
        for (index, isProduction) in areProduction.enumerated() {
            let mismatch = try await mismatch(
                random.generator(forCase: index), queryCount: queryCount, isProduction: isProduction
            ) { bench in
                counts.answered += bench.answeredCount
                counts.refused += bench.refusedCount
                counts.found += bench.foundCount
                counts.pages += bench.pageCount
            }
            try #require(mismatch == nil, "\(mismatch ?? "")")
        }
        return counts
    }

    @Test("[Q-01][Q-12][Q-13][Q-14] every query of owner and participant gives the same as examining every record")
    func development() async throws {
        let storeCount = (Self.queryCount + Self.storeQueryCount - 1) / Self.storeQueryCount
        let counts = try await counts(
            .announced("random queries"), queryCount: min(Self.storeQueryCount, Self.queryCount),
            areProduction: Array(repeating: false, count: storeCount))
        // The questions are worth asking: most are answered, with records, and many need a second page.
        #expect(counts.answered > counts.stores)
        #expect(counts.found > counts.answered)
        #expect(counts.pages > counts.answered)
    }

    @Test("[Q-10] in production a query is refused for an unmarked field, or gives the same")
    func production() async throws {
        let counts = try await counts(
            .announced("random queries in production"), queryCount: 40,
            areProduction: Array(repeating: true, count: 4))
        #expect(counts.answered > 10)
        #expect(counts.refused > 10)
    }

    @Test(
        """
        [Q-01][Q-10][Q-12][Q-13][Q-14] every query whose pages come from two or four hosts of one store in turn gives \
        the same as examining every record
        """, arguments: [2, 4])
    func onManyHosts(hostCount: Int) async throws {
        try await TestStores.withHosts(hostCount) {
            let counts = try await counts(
                .announced("random queries at \(hostCount) hosts"), queryCount: 40,
                areProduction: [false, false, true])
            #expect(counts.found > 100)
            #expect(counts.pages > 100)
        }
    }

    @Test("a reference implementation that is wrong in one way is detected", arguments: NaiveFault.allCases)
    func planted(_ fault: NaiveFault) async throws {
        let random = SplitMix64.announced("random queries with a fault")
        for index in 0..<6 {
            let mismatch = try await mismatch(
                random.generator(forCase: index), queryCount: 100, isProduction: fault == .marksAreIgnored,
                fault: fault)
            if mismatch != nil { return }
        }
        Issue.record("\(fault) makes no difference")
    }
}
