// Which contents must not be collected although no record holds them yet, and which are being collected.
//
// The race: a request stores a content, then a commit gives it a ledger entry; meanwhile the collector finds contents
// without an entry and removes their files. Three rules make every order of events safe:
//   1. A request takes a lease before it writes the file to its place, and keeps it until the request has ended.
//   2. A commit may create a ledger entry only for a leased content, and extends the lease.
//   3. The collector marks contents without a lease, then reads the ledger in a transaction, and then removes, under
//      this lock, only contents that still have its mark. Taking or extending a lease removes every mark.
// So an entry that the collector's transaction did not see was created under a lease taken after the mark, which
// removed it.
//
// A second race: an answer names the contents in its snapshot, although the last record may have lost one since, and
// its copies are made later. So a session holds all contents from before the snapshot until its copies are made. A
// content that the collector finds unused stays until all holds that existed at that time have ended; a later hold has
// a newer snapshot. So holds delay a removal, but a stream of them does not delay it without end.

package import StratusModel
import StratusStore

/// One content of one owner.
package struct AssetKey: Hashable, Sendable {
    package let owner: UserName
    /// The SHA-256 of the content.
    package let digest: [UInt8]

    package init(owner: UserName, digest: [UInt8]) {
        self.owner = owner
        self.digest = digest
    }
}

/// The leases of one session, and the collector's marks.
final class AssetLeases: Sendable {
    typealias Mark = UInt64

    private struct Lease {
        var holderCount: Int
        var endsAtUptimeSeconds: Double
        /// Whether a commit has given the content a ledger entry, and no collector has checked it since.
        var isCommitted = false
    }

    private struct State {
        var leases: [AssetKey: Lease] = [:]
        var marks: [AssetKey: Mark] = [:]
        var markNumber: Mark = 0
        /// Contents that lost their last record and wait for the collector.
        var orphans: Set<AssetKey> = []
        /// Whether the set of orphans was too full for another content.
        var hasOverflowed = false
        /// The holds that have not ended, and the number of the newest.
        var holds: Set<UInt64> = []
        var holdNumber: UInt64 = 0
        /// Contents that no record holds, with the newest hold at the time when that was found.
        var unused: [AssetKey: UInt64] = [:]

        /// Whether a request may still copy a content that was found unused when this was the newest hold.
        func isHeld(since number: UInt64) -> Bool { holds.contains { $0 <= number } }
    }

    /// If more contents wait, a sweep of all files finds the rest.
    private let maximumOrphanCount: Int
    private let clock: any CloudClock
    private let leaseSeconds: Double
    private let state = Locked(State())

    init(clock: any CloudClock, leaseSeconds: Double, maximumOrphanCount: Int) {
        self.clock = clock
        self.maximumOrphanCount = maximumOrphanCount
        self.leaseSeconds = leaseSeconds
    }

    func acquire(_ key: AssetKey) {
        let end = clock.uptimeSeconds + leaseSeconds
        state.withLock { state in
            var lease = state.leases[key] ?? Lease(holderCount: 0, endsAtUptimeSeconds: end)
            lease.holderCount += 1
            lease.endsAtUptimeSeconds = max(lease.endsAtUptimeSeconds, end)
            state.leases[key] = lease
            state.marks[key] = nil
            state.unused[key] = nil
        }
    }

    /// Keeps every existing content until the hold ends.
    func beginHold() -> UInt64 {
        state.withLock { state in
            state.holdNumber += 1
            state.holds.insert(state.holdNumber)
            return state.holdNumber
        }
    }

    func endHold(_ number: UInt64) { state.withLock { _ = $0.holds.remove(number) } }

    /// Ends one lease. A content without leases that no commit has used then waits for the collector.
    func release(_ key: AssetKey) {
        state.withLock { state in
            guard var lease = state.leases[key] else { return }
            lease.holderCount -= 1
            state.leases[key] = lease.holderCount > 0 ? lease : nil
            if lease.holderCount <= 0, !lease.isCommitted { queue(key, &state) }
        }
    }

    /// Extends the lease that a commit relies on. Returns false if it has ended.
    ///
    /// `uptimeSeconds` is read before the transaction, whose body must not read a clock.
    func renew(_ key: AssetKey, atUptimeSeconds uptimeSeconds: Double) -> Bool {
        state.withLock { state in
            guard let lease = state.leases[key], lease.endsAtUptimeSeconds >= uptimeSeconds else { return false }
            // Another request may have read its time later.
            state.leases[key]?.endsAtUptimeSeconds = max(lease.endsAtUptimeSeconds, uptimeSeconds + leaseSeconds)
            state.marks[key] = nil
            state.unused[key] = nil
            return true
        }
    }

    func noteCommitted(_ key: AssetKey) {
        state.withLock { $0.leases[key]?.isCommitted = true }
    }

    func noteOrphan(_ key: AssetKey) {
        state.withLock { queue(key, &$0) }
    }

    /// Lets contents wait for the collector whose leases have expired, or which no request can copy any longer.
    func queueExpired() {
        let now = clock.uptimeSeconds
        state.withLock { state in
            for (key, lease) in state.leases where lease.endsAtUptimeSeconds < now { queue(key, &state) }
            for (key, number) in state.unused where !state.isHeld(since: number) { queue(key, &state) }
        }
    }

    /// Removes and returns up to `limit` of the waiting contents.
    func takeOrphans(limit: Int) -> [AssetKey] {
        state.withLock { state in
            let keys = Array(state.orphans.prefix(limit))
            state.orphans.subtract(keys)
            return keys
        }
    }

    /// Whether orphans were forgotten since the last call: only a sweep of all files finds them.
    func takeOverflow() -> Bool {
        state.withLock { state in
            defer { state.hasOverflowed = false }
            return state.hasOverflowed
        }
    }

    /// Marks those of `keys` that have no lease. A lease that was never ended expires by the clock.
    func mark(_ keys: [AssetKey]) -> (mark: Mark, keys: [AssetKey]) {
        let now = clock.uptimeSeconds
        return state.withLock { state in
            state.markNumber += 1
            let mark = state.markNumber
            var marked: [AssetKey] = []
            for key in keys {
                if let lease = state.leases[key] {
                    guard lease.endsAtUptimeSeconds < now else {
                        // The collector will not return to it: the end of the lease must queue it again.
                        state.leases[key]?.isCommitted = false
                        continue
                    }
                    state.leases[key] = nil
                }
                state.marks[key] = mark
                marked.append(key)
            }
            return (mark, marked)
        }
    }

    /// The newest hold. Later holds have snapshots that include everything found before this call.
    var newestHold: UInt64 { state.withLock { $0.holdNumber } }

    /// Whether a request may still copy a content that was found unused when this was the newest hold.
    func isHeld(since number: UInt64) -> Bool { state.withLock { $0.isHeld(since: number) } }

    /// Removes the mark, and calls `body` if the content had it and no request may still copy it. No lease is taken
    /// meanwhile. A held content is remembered until its holds end, unless too many wait. `hold` was the newest hold
    /// when the content was found unused.
    func ifMarked<Result: Sendable>(
        _ key: AssetKey, _ mark: Mark, unusedSince hold: UInt64, _ body: @Sendable () -> Result
    ) -> Result? {
        state.withLock { state in
            guard state.marks[key] == mark else { return nil }
            state.marks[key] = nil
            let since = min(state.unused[key] ?? hold, hold)
            guard state.isHeld(since: since) else {
                state.unused[key] = nil
                return body()
            }
            if state.unused[key] != nil || state.unused.count < maximumOrphanCount {
                state.unused[key] = since
            } else {
                state.hasOverflowed = true
            }
            return nil
        }
    }

    /// Notes that records hold these contents.
    func noteUsed(_ keys: some Sequence<AssetKey>) {
        state.withLock { state in
            guard !state.unused.isEmpty else { return }
            for key in keys { state.unused[key] = nil }
        }
    }

    func unmark(_ keys: [AssetKey], _ mark: Mark) {
        state.withLock { state in
            for key in keys where state.marks[key] == mark { state.marks[key] = nil }
        }
    }

    private func queue(_ key: AssetKey, _ state: inout State) {
        if state.orphans.count < maximumOrphanCount || state.orphans.contains(key) {
            state.orphans.insert(key)
        } else {
            state.hasOverflowed = true
        }
    }
}

/// Keeps every content of a store that existed when it was created, for as long as it lives. Until then the contents of
/// an answer can be copied, even if its records change.
package final class AssetHold: Sendable {
    private let leases: AssetLeases
    private let number: UInt64

    init(_ leases: AssetLeases) {
        self.leases = leases
        number = leases.beginHold()
    }

    deinit { leases.endHold(number) }
}
