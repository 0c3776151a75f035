// The ancestor cache holds the parent entries of hot records, so that walking up the hierarchy is a memory operation.
// It only accelerates: it returns what the store says at the reader's version, or that it does not know.
//
// Invariants:
//   1. A value in the cache is the newest published one. `publish` runs inside the store's publication, in commit
//      order, before any reader can have the new version. A reader may use a value that has been valid since its own
//      version or before. If it finds a newer value, it must ask the store.
//   2. Each level of a walk obeys that rule on its own, so a walk needs no lock over its whole length. It runs in
//      stretches, each under one lock. Between two stretches it keeps only the next record's name, so evictions and
//      publications between them cannot mislead it.
//   3. Readers hold the lock of one lane, writers those of all lanes, taken in order. No code outside the cache runs
//      under a lock.
//   4. Where other processes write to the store, the cache only guesses: it knows nothing at any version, and `chain`
//      names ancestors that may be worth fetching together.
//
// Locks. The slots of a zone link to each other, so there is one table. A lane is a mutex with its own cache lines,
// chosen by the hash of the name. A reader locks one lane and reads the table; a fill or a publication locks all lanes.
// So readers rarely wait for each other, and a walk of any depth costs one lock. Readers never write to the
// table: they note in their lane which slots they looked up and how many they found.
//
// Rejected: one mutex (readers in one zone wait for each other); shards by hash with links across them (a lock for each
// level, as expensive as the level itself, and all walks meet in the shard of the topmost record); a slot number with a
// generation for each link (each link must be checked and each child must keep its parent's name: counting references
// takes less memory and no check).

package import StratusLayout
package import StratusModel
package import StratusStore
import Synchronization

/// A bounded cache of parent entries, exact for every reader's snapshot under concurrent commits.
///
/// Inside a transaction the reader's version does not cover commits in flight. Look up only records for which
/// `hasUnpublishedWrite` is false.
package final class AncestorCache: Sendable {
    static let laneCount = 8
    /// Levels of a walk under one lock, which bounds how long a publication waits for a reader.
    static let levelsPerLock = 256
    /// Changes published under one locking, which bounds how long readers wait for a publication.
    private static let changesPerLock = 64
    private static let laneByteCount = MemoryLayout<Lane>.stride + 64

    /// The notes of the readers of a lane. Each lane has its mutex, and memory of its own.
    struct Lane {
        /// The slots last looked up. The oldest is overwritten first.
        var asked = InlineArray<32, UInt32>(repeating: 0)
        var askedCount = 0
        var hits = 0
        var misses = 0

        mutating func note(_ slot: UInt32) {
            asked[askedCount & 31] = slot
            askedCount &+= 1
        }
    }

    /// Whether the cache was created without room for anything. It then never knows anything.
    package let isOff: Bool
    package let role: CacheRole
    let hashMask: UInt64
    private let lanes: [Locked<Lane>]
    private let hasEvicted = Atomic(false)

    /// `nonisolated(unsafe)` because the compiler cannot see the lanes' protocol: read only with one lane locked,
    /// changed only with all.
    nonisolated(unsafe) private var table: AncestorTable

    /// Creates a cache that never takes more than `capacityByteCount` bytes. Zero, or less than its own bookkeeping of
    /// about 2 KB, turns it off.
    ///
    /// Tests set a small `hashBitCount` so that names collide.
    package init(capacityByteCount: Int, hashBitCount: Int = 64, role: CacheRole = .answers) {
        self.role = role
        let fixedByteCount = AncestorCache.laneCount * AncestorCache.laneByteCount
        let stripeByteCount =
            AncestorTable.stripeCount(forCapacity: capacityByteCount) * MemoryLayout<StoreVersion>.stride
        isOff = capacityByteCount < fixedByteCount + stripeByteCount
        hashMask = hashBitCount >= 64 ? .max : (1 << UInt64(max(0, hashBitCount))) - 1
        lanes = isOff ? [] : (0..<AncestorCache.laneCount).map { _ in Locked(Lane()) }
        unsafe table = AncestorTable(
            capacityByteCount: isOff ? 0 : capacityByteCount, hashMask: hashMask, fixedByteCount: fixedByteCount)
    }

    // MARK: Writing

    /// Stores what a reader at `version` found in the store, unless something newer has been published in the name's
    /// stripe.
    package func fill(zone: CacheZone, name: RecordName, node: ParentEntry, at version: StoreVersion) {
        guard !isOff, version != AncestorTable.noValue else { return }
        let hash = AncestorTable.hash(of: name, in: zone, mask: hashMask)
        if role == .guesses, isGuessed(zone, name, hash, node) { return }
        withAllLanes { table in
            switch role {
            case .answers: table.fill(name, in: zone, hash: hash, with: node, at: version)
            case .guesses: table.publish(HierarchyChange(zone: zone, name: name, node: node), hash: hash, version: 0)
            }
            if table.evictionStepCount > 0 { hasEvicted.store(true, ordering: .relaxed) }
        }
    }

    /// Whether the cache is off or has ever evicted a value.
    package var isTooSmall: Bool { isOff || hasEvicted.load(ordering: .relaxed) }

    /// Applies the changes of a commit. Call it when `version` is published, before any reader can have it. A change
    /// that is left out makes later answers wrong.
    package func publish(_ changes: [HierarchyChange], version: StoreVersion) {
        guard !isOff else { return }
        let changes = changes.span
        let hashes = changes.indices.map {
            AncestorTable.hash(of: changes[$0].name, in: changes[$0].zone, mask: hashMask)
        }
        var begin = 0
        while begin < changes.count {
            let end = min(begin + AncestorCache.changesPerLock, changes.count)
            withAllLanes { table in
                table.beginPublishing(hashes[begin..<end], version: version)
                for index in begin..<end { table.publish(changes[index], hash: hashes[index], version: version) }
            }
            begin = end
        }
    }

    /// Forgets a deleted zone, in constant time. Call it like `publish`.
    package func forget(zone: CacheZone, version: StoreVersion) {
        guard !isOff else { return }
        withAllLanes { table in table.forget(zone, version: version) }
    }

    package var statistics: AncestorCacheStatistics {
        var statistics = AncestorCacheStatistics()
        for (index, lane) in lanes.enumerated() {
            lane.withLock { state in
                statistics.hits += state.hits
                statistics.misses += state.misses
                guard index == 0 else { return }
                statistics.entryCount = unsafe table.entryCount
                statistics.byteCount = unsafe table.byteCount
                statistics.evictionStepCount = unsafe table.evictionStepCount
            }
        }
        return statistics
    }

    // MARK: Locking

    /// Runs `body` while the table cannot change. `body` must not call the cache.
    func withLane<Result>(
        forHash hash: UInt64, _ body: (borrowing AncestorTable, inout Lane) -> Result
    ) -> Result {
        lanes[Int(hash >> 56) & (AncestorCache.laneCount - 1)].withLock { state in
            // One lane is locked here, so no writer has them all.
            unsafe body(table, &state)
        }
    }

    /// Runs `body` with exclusive access to the table. `body` must not call the cache.
    private func withAllLanes(_ body: (inout AncestorTable) -> Void) {
        var asked: [UInt32] = []
        lockLanes(from: 0, &asked, body)
    }

    private func lockLanes(from index: Int, _ asked: inout [UInt32], _ body: (inout AncestorTable) -> Void) {
        guard index < lanes.count else {
            // All lanes are locked here.
            for slot in asked { unsafe table.markRecent(slot) }
            unsafe body(&table)
            return
        }
        lanes[index].withLock { state in
            for position in 0..<min(state.askedCount, state.asked.count) { asked.append(state.asked[position]) }
            state.askedCount = 0
            lockLanes(from: index + 1, &asked, body)
        }
    }
}

extension AncestorCache {
    /// The node of a record at `version`, or nil if the cache does not know it.
    package func node(zone: CacheZone, name: RecordName, at version: StoreVersion) -> ParentEntry? {
        guard !isOff, role == .answers, version != AncestorTable.noValue else { return nil }
        let hash = AncestorTable.hash(of: name, in: zone, mask: hashMask)
        return withLane(forHash: hash) { table, lane in
            guard let slot = table.find(name.text.utf8.span, in: zone, hash: hash),
                let node = table.node(of: slot, at: version)
            else {
                lane.misses += 1
                return nil
            }
            lane.note(slot)
            lane.hits += 1
            return node
        }
    }

    /// Finds the share root nearest to a record, the record itself included, reading at most `limit` records.
    package func nearestShareRoot(
        zone: CacheZone, of name: RecordName, at version: StoreVersion, limit: Int
    ) -> AncestorShareAnswer {
        guard !isOff, role == .answers, version != AncestorTable.noValue else {
            return .unknown(at: name, levels: 0)
        }
        var next = name
        var passed = 0
        while passed < limit {
            let stretch = min(limit - passed, AncestorCache.levelsPerLock)
            let (answer, isFinal) = shareRootStretch(zone, next, version, passed: passed, limit: stretch)
            guard !isFinal, case .unknown(let reached, let levels) = answer else { return answer }
            next = reached
            passed = levels
        }
        return .unknown(at: next, levels: passed)
    }

    /// One stretch of `nearestShareRoot`. The answer is not final if the stretch ended at its limit.
    private func shareRootStretch(
        _ zone: CacheZone, _ name: RecordName, _ version: StoreVersion, passed: Int, limit: Int
    ) -> (answer: AncestorShareAnswer, isFinal: Bool) {
        let hash = AncestorTable.hash(of: name, in: zone, mask: hashMask)
        return withLane(forHash: hash) { table, lane in
            guard let start = table.find(name.text.utf8.span, in: zone, hash: hash) else {
                lane.misses += 1
                return (.unknown(at: name, levels: passed), true)
            }
            lane.note(start)
            var (slot, levels) = (start, passed)
            while levels < passed + limit {
                let link = table.links[Int(slot)]
                guard link.validSince <= version else {
                    lane.misses += 1
                    return (.unknown(at: slot == start ? name : table.name(of: slot), levels: levels), true)
                }
                if link.mark != AncestorTable.none {
                    lane.hits += 1
                    return (.found(table.marks[link.mark], levels: levels), true)
                }
                if link.parent == AncestorTable.none {
                    lane.hits += 1
                    return (.none(levels: levels), true)
                }
                slot = link.parent
                levels += 1
            }
            return (.unknown(at: table.name(of: slot), levels: levels), false)
        }
    }
}

// MARK: Guesses

extension AncestorCache {
    /// The ancestors that a record had when the cache last heard of them, nearest first, at most `limit`, and no more
    /// than one lock allows. Empty unless the cache only guesses.
    package func chain(zone: CacheZone, above name: RecordName, limit: Int) -> [RecordName] {
        guard !isOff, role == .guesses else { return [] }
        let limit = min(limit, AncestorCache.levelsPerLock)
        let hash = AncestorTable.hash(of: name, in: zone, mask: hashMask)
        return withLane(forHash: hash) { table, lane in
            var chain: [RecordName] = []
            guard let start = table.find(name.text.utf8.span, in: zone, hash: hash) else {
                lane.misses += 1
                return chain
            }
            lane.note(start)
            lane.hits += 1
            var slot = start
            while chain.count < limit {
                let link = table.links[Int(slot)]
                guard link.validSince != AncestorTable.noValue, link.parent != AncestorTable.none else { break }
                slot = link.parent
                chain.append(table.name(of: slot))
            }
            return chain
        }
    }

    /// Whether the cache guesses this value already. Most reads repeat earlier ones, and a fill locks all lanes.
    private func isGuessed(_ zone: CacheZone, _ name: RecordName, _ hash: UInt64, _ node: ParentEntry) -> Bool {
        withLane(forHash: hash) { table, _ in
            guard let slot = table.find(name.text.utf8.span, in: zone, hash: hash) else { return false }
            return table.node(of: slot, at: AncestorTable.noValue - 1) == node
        }
    }
}
