// Which contents must not be collected although no record holds them yet, and which are being collected.
//
// The race this file decides: content is taken in, then a commit gives it a ledger entry; meanwhile the collector looks
// for content without an entry and removes the file. Three rules make every order of events safe:
//   1. Taking in holds a lease before it looks at or writes the file, and until its request has ended.
//   2. A commit may make a ledger entry only for leased content, and lengthens the lease as it does.
//   3. The collector marks what has no lease, then asks the ledger in a transaction, and then removes, under this lock,
//      only what still carries its own mark. A lease, old or new, rubs out every mark.
// So an entry that the collector's transaction did not see was made by a lease taken after the mark, which is gone then.
//
// And of those who were told of a content and have no copy yet: an answer may show what its snapshot held although the
// last record has lost it since. Who makes an answer holds everything, from before its snapshot until its copies are
// made. What the collector finds unused stays until those are gone that held when it was found so; who begins to hold
// later has a newer snapshot. So holds put a removal off, and a stream of them does not put it off for ever.

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
    struct Mark: Hashable, Sendable {
        fileprivate let number: UInt64
    }

    private struct Lease {
        var holderCount: Int
        var endsAtUptimeSeconds: Double
        /// Whether a commit has given the content a ledger entry, and no collector has asked for it since.
        var isCommitted = false
    }

    private struct State {
        var leases: [AssetKey: Lease] = [:]
        var marks: [AssetKey: Mark] = [:]
        var markNumber: UInt64 = 0
        /// Content that lost its last record and waits for the collector.
        var orphans: Set<AssetKey> = []
        /// Whether content did not get on the list of orphans because that was full.
        var hasOverflowed = false
        /// The holds that have not ended, and the number of the newest.
        var holds: Set<UInt64> = []
        var holdNumber: UInt64 = 0
        /// Content that nobody's records hold, with the newest hold from before that was known.
        var unused: [AssetKey: UInt64] = [:]

        /// Whether somebody may still copy what was found unused when this was the newest hold.
        func isHeld(since number: UInt64) -> Bool { holds.contains { $0 <= number } }
    }

    /// Beyond this many waiting contents the rest is left to a sweep of all files.
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

    /// Keeps every content that is there until the hold is given back.
    func beginHold() -> UInt64 {
        state.withLock { state in
            state.holdNumber += 1
            state.holds.insert(state.holdNumber)
            return state.holdNumber
        }
    }

    func endHold(_ number: UInt64) { state.withLock { _ = $0.holds.remove(number) } }

    /// Gives one lease back. Content that nobody holds and no commit has used waits for the collector then.
    func release(_ key: AssetKey) {
        state.withLock { state in
            guard var lease = state.leases[key] else { return }
            lease.holderCount -= 1
            state.leases[key] = lease.holderCount > 0 ? lease : nil
            if lease.holderCount <= 0, !lease.isCommitted { queue(key, &state) }
        }
    }

    /// Lengthens the lease that a commit relies on. False when there is none any more.
    ///
    /// `uptimeSeconds` is drawn before the transaction, whose body must not ask a clock.
    func renew(_ key: AssetKey, atUptimeSeconds uptimeSeconds: Double) -> Bool {
        state.withLock { state in
            guard let lease = state.leases[key], lease.endsAtUptimeSeconds >= uptimeSeconds else { return false }
            // Another request may have drawn its time later.
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

    /// Lets content wait for the collector whose lease has ended by the clock, or which nobody can copy any more.
    func queueExpired() {
        let now = clock.uptimeSeconds
        state.withLock { state in
            for (key, lease) in state.leases where lease.endsAtUptimeSeconds < now { queue(key, &state) }
            for (key, number) in state.unused where !state.isHeld(since: number) { queue(key, &state) }
        }
    }

    /// Up to `limit` of the waiting contents, which wait no longer.
    func takeOrphans(limit: Int) -> [AssetKey] {
        state.withLock { state in
            let keys = Array(state.orphans.prefix(limit))
            state.orphans.subtract(keys)
            return keys
        }
    }

    /// Whether orphans were lost since this was last asked: only a sweep of all files finds them.
    func takeOverflow() -> Bool {
        state.withLock { state in
            defer { state.hasOverflowed = false }
            return state.hasOverflowed
        }
    }

    /// Marks those of `keys` that have no lease; a lease that was never given back ends by the clock.
    func mark(_ keys: [AssetKey]) -> (mark: Mark, keys: [AssetKey]) {
        let now = clock.uptimeSeconds
        return state.withLock { state in
            state.markNumber += 1
            let mark = Mark(number: state.markNumber)
            var marked: [AssetKey] = []
            for key in keys {
                if let lease = state.leases[key] {
                    guard lease.endsAtUptimeSeconds < now else {
                        // The collector will not come back for it: whoever holds it must send it again.
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

    /// The newest hold: those that begin later know whatever has been found out before this was asked.
    var newestHold: UInt64 { state.withLock { $0.holdNumber } }

    /// Calls `body` if the content still carries the mark and nobody may still copy it, and takes the mark away. Nobody
    /// gets a lease meanwhile. What is held is remembered for when it is not, unless too much waits for that. `hold` was the
    /// newest one when the content had been found unused.
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

    /// Notes that records hold these.
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

/// Keeps every content of a store that was there when it was made, for as long as it lives: what an answer names can be
/// copied until then, whatever becomes of the records.
package final class AssetHold: Sendable {
    private let leases: AssetLeases
    private let number: UInt64

    init(_ leases: AssetLeases) {
        self.leases = leases
        number = leases.beginHold()
    }

    deinit { leases.endHold(number) }
}
