// Readers that page while others really write at the same time. Which moment a page shows is then unknown; a page must
// not contain what was invisible while it was read, and in the end the replicas equal the server's state.

import StratusKit
import StratusSharingSupport
import StratusTestSupport
import Testing

@Suite("Reading while others write")
struct ReadingWhileWritingTests {
    @Test(
        """
        [D-12][T-06] replicas that were paged while two people wrote equal the server's state, and never held \
        anything hidden from them
        """, arguments: [(1, false), (2, false), (3, false), (4, true)] as [(UInt64, Bool)])
    func racing(seed: UInt64, isOnLevelDB: Bool) async throws {
        let directory = isOnLevelDB && TestStores.chosen == nil ? ScratchDirectory() : nil
        let race = try await Race(seed: seed, in: directory?.url)
        let readings = try await race.run()
        for reading in readings {
            do { try reading.check() } catch let failure as RaceFailure { Issue.record("seed \(seed): \(failure)") }
            // The same pages are refused with a planted fault.
            for lie in RaceLie.allCases {
                #expect(throws: RaceFailure.self, "seed \(seed), to \(reading.person): \(lie)") {
                    try reading.check(telling: lie)
                }
            }
        }
        // Reading and writing did overlap, in the middle of pages too, and deletions were reported.
        let overlapCount = await race.pace.pagesBesideAllWriters
        #expect(overlapCount >= Race.actCount - 1, "seed \(seed)")
        #expect(readings.count == Race.readerCount)
        #expect(readings.contains { $0.resumptionCount > 0 }, "seed \(seed)")
        #expect(readings.contains { $0.pages.contains { !$0.deleted.isEmpty } }, "seed \(seed)")
        if directory != nil { await race.tree.town.close() }
        withExtendedLifetime(directory) {}
    }
}
