// Which reads reach the engine, and which do not: point reads are counted the same, and those that memory answers cost
// a tenth of the others.

import Foundation
import StratusLevelDB
import StratusStore
import StratusTestSupport
import StratusWorkloads
import Testing

@Suite("look-ups of the engine")
struct LookupTests {
    private static func withSide(_ body: (StratusSide, MainZoneData) throws -> Void) throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "stratus-lookups-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        let side = try StratusSide(at: directory.path)
        defer { side.close() }
        try body(side, MainZoneData(count: 10_000))
    }

    @Test("W1: loading into an empty zone looks up none of the new names in the engine")
    func load() async throws {
        try await TestThreads.offPool {
            try Self.withSide { side, data in
                let before = side.store.statistics
                try side.load(data.zone, into: StratusSide.mainZone)
                let after = side.store.statistics
                #expect(after.cost.pointReads - before.cost.pointReads >= data.zone.count)
                // Headers alone, a few each commit.
                let commits = after.transactionsCommitted - before.transactionsCommitted
                #expect(after.engineLookups - before.engineLookups <= 8 * commits)
            }
        }
    }

    @Test("W3: the third walk up reads nothing from the engine, although there is no ancestor cache")
    func walk() async throws {
        try await TestThreads.offPool {
            try Self.withSide { side, data in
                try side.load(data.zone, into: StratusSide.mainZone)
                let names = data.zone.forest.sample(atDepth: 10, limit: 10, seed: 1).map { data.zone.names[$0] }
                var lookups: [Int] = []
                for _ in 0..<3 {
                    let before = side.store.statistics.engineLookups
                    try StratusSide.askShares(side.uncached, names)
                    lookups.append(side.store.statistics.engineLookups - before)
                }
                #expect(lookups[0] > 10)
                // At most a directory look-up or two of the uncached engine.
                #expect(lookups[2] <= 2, "\(lookups)")
            }
        }
    }
}
