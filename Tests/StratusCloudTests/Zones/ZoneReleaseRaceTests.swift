// Zones with the same files are created, filled and deleted by some threads while others release their assets, purge
// keys and collect files.

import StratusCloud
import StratusModel
import StratusStore
import StratusTestSupport
import Testing

@Suite("assets of deleted zones under concurrency")
struct ZoneReleaseRaceTests {
    @Test(
        "[R-14] during concurrent deletions, releases and collections, every content is counted as often as it is held")
    func race() async throws {
        let found = try await TestThreads.offPool {
            let bench = try ReleaseBench(batchCount: 3)
            for number in 0..<30 { _ = bench.file(number) }
            let clientCount = 3
            try TestThreads.run(clientCount + 2) { index in
                if index >= clientCount {
                    for _ in 0..<12 { try bench.upkeep() }
                    return
                }
                let zone = ZoneAddress(zoneName: "Zone\(index)")
                for round in 0..<6 {
                    try bench.makeZone(zone)
                    try bench.save(round * 4..<round * 4 + 6 + index, in: zone)
                    if round < 5 { try bench.deleteZone(zone) }
                }
            }
            try bench.upkeep()
            return try (
                bench.problems() + bench.service.verifyAssets().map { "\($0)" }, bench.heldCount(), bench.contentCount()
            )
        }
        #expect(found.0 == [])
        // The last round of each: 6, 7 and 8 records, the first of them with the same files.
        #expect(found.1 == 21)
        #expect(found.2 == 8)
    }
}
