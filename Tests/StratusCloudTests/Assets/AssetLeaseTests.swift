// What the collector of contents may remove while others import the same contents.

import StratusModel
import Testing

@testable import StratusCloud

@Suite struct AssetLeaseTests {
    private let leases = AssetLeases(clock: HandClock(), leaseSeconds: 60, maximumOrphanCount: 10)
    private let key = AssetKey(owner: "_alice", digest: [UInt8](repeating: 1, count: 32))

    private func isRemoved(by mark: AssetLeases.Mark) -> Bool {
        leases.ifMarked(key, mark, unusedSince: leases.newestHold) { true } ?? false
    }

    @Test("[R-14] a content that is imported again after the collector marked it is not removed")
    func takenInMeanwhile() {
        let (mark, marked) = leases.mark([key])
        #expect(marked == [key])
        leases.acquire(key)
        #expect(!isRemoved(by: mark))
        // Nor by an earlier mark, after the content was marked again.
        leases.release(key)
        let (newer, _) = leases.mark([key])
        #expect(!isRemoved(by: mark))
        #expect(isRemoved(by: newer))
    }

    @Test("[R-14] a content with a lease is not marked, and one whose lease was released is")
    func leased() {
        leases.acquire(key)
        #expect(leases.mark([key]).keys.isEmpty)
        leases.release(key)
        #expect(leases.mark([key]).keys == [key])
    }
}
