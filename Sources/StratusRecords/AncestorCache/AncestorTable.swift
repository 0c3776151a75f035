// The slots of the ancestor cache. A slot represents a name in a zone. It may have a value, the parent entry of that
// record. A slot without a value exists because another slot's value names it as its parent.
//
// Invariants:
//   1. A value counts as a reference to its parent's slot. A slot is freed when it has neither a value nor references,
//      so a link always leads to the slot of its name, and needs no check.
//   2. A value is the newest published one, valid since `validSince`: a reader at an older version must not use it.
//   3. Every slot that is not free is in exactly one bucket of the index (`AncestorTable+Index.swift`).
//   4. `byteCount` covers all memory ever allocated, and never exceeds the capacity.
//   5. Memory for slots and names, for zones and for marks is never used for one of the others. So each of the three
//      leaves the others their reserve: otherwise no eviction would make room for the first zone or mark that arrives
//      when the cache is full. `byteCount`, `zoneRoom` and `markRoom` together never exceed the capacity.
//
// The arrays are reserved at their largest size when the table is created, so growing never copies. The system provides
// pages as they are first written. `Link`, which a walk reads at each level, is apart from the rest: four links share a
// cache line.
//
// The table does not lock; `AncestorCache` guards it.

import StratusLayout
import StratusModel
import StratusStore

/// Names, values and links of the cache.
struct AncestorTable: ~Copyable {
    /// The part of a slot that an upward walk reads.
    struct Link {
        /// The version since which the value is valid, or `noValue`.
        var validSince: StoreVersion
        /// The slot of the parent, or `none`.
        var parent: UInt32
        /// The share mark of a share root, or `none`.
        var mark: UInt32
    }

    /// The rest of a slot.
    struct Detail {
        var parentSince: UInt64
        var shareSince: UInt64
        var nameFirst: UInt32
        var zone: UInt32
        var hash: UInt32
        /// The next slot of the same bucket, or of the free slots.
        var next: UInt32
        var references: UInt32
        var nameByteCount: UInt16
        var hasChildren: Bool
    }

    static let none = UInt32.max
    static let noValue = StoreVersion.max
    /// The bytes of one slot: link, detail, its mark for the clock, and its bucket.
    static let byteCountPerSlot =
        MemoryLayout<Link>.stride + MemoryLayout<Detail>.stride + 1 + MemoryLayout<UInt32>.stride

    let capacityByteCount: Int
    let hashMask: UInt64
    private let fixedByteCount: Int
    /// The marks that one new mark may replace: some free little room.
    private static let markDropLimit = 16
    /// One value is evicted for so many slots that were refused because their zone had no room.
    private static let refusalsPerEviction = 16
    private var refusalCount = 0
    /// The bytes reserved for zones and for marks: 8,192 zones and 1,500 marks of long names at the default of 128 MiB.
    /// Those that arrive before the cache is full take as much as they need.
    private let zoneReserveByteCount: Int
    private let markReserveByteCount: Int

    var links: [Link] = []
    var details: [Detail] = []
    /// Whether a slot was looked up since the clock's hand last passed it.
    var recent: [Bool] = []
    var heads: [UInt32] = [AncestorTable.none]
    /// One less than the number of buckets the index is growing to.
    var bucketMask: UInt32 = 1
    var names: NameArena
    var zones = CachedZones()
    private(set) var marks = ShareMarks()
    private(set) var firstFree = AncestorTable.none
    var hand = 0
    private(set) var entryCount = 0
    /// Combines everything that was prefetched, so that the compiler does not remove the reads.
    var lastLook: UInt32 = 0
    /// The slot of the parent that was named last. It may have been freed since.
    private var lastParent = AncestorTable.none
    /// All slots the hand has passed.
    var evictionStepCount = 0

    /// The newest version published to each stripe of names, and to all of them.
    var lastPublished: [StoreVersion]
    var lastPublishedEverywhere: StoreVersion = 0

    /// `fixedByteCount` is the memory that the table's owner takes.
    init(capacityByteCount: Int, hashMask: UInt64, fixedByteCount: Int) {
        let stripeCount = AncestorTable.stripeCount(forCapacity: capacityByteCount)
        let segmentByteCount = MemoryLayout<NameArena.Segment>.stride
        let slotLimit = capacityByteCount / (AncestorTable.byteCountPerSlot + segmentByteCount)
        self.capacityByteCount = capacityByteCount
        self.hashMask = hashMask
        self.fixedByteCount = fixedByteCount + stripeCount * MemoryLayout<StoreVersion>.stride
        zoneReserveByteCount = max(capacityByteCount / 128, min(capacityByteCount / 32, 16 << 10))
        markReserveByteCount = max(capacityByteCount / 256, min(capacityByteCount / 32, 16 << 10))
        names = NameArena(maximumByteCount: capacityByteCount)
        lastPublished = Array(repeating: 0, count: stripeCount)
        links.reserveCapacity(slotLimit)
        details.reserveCapacity(slotLimit)
        recent.reserveCapacity(slotLimit)
        heads.reserveCapacity(slotLimit + 1)
    }

    /// A power of two: about one stripe to twenty slots, so that few fills are refused because of another name.
    static func stripeCount(forCapacity byteCount: Int) -> Int {
        var count = 16
        while count < 65_536, count * 2_048 < byteCount { count *= 2 }
        return count
    }

    var byteCount: Int {
        fixedByteCount + links.count * AncestorTable.byteCountPerSlot + names.byteCount + zones.byteCount
            + marks.byteCount
    }

    /// The name of a slot.
    func name(of slot: UInt32) -> RecordName {
        let detail = details[Int(slot)]
        return names.name(first: detail.nameFirst, byteCount: Int(detail.nameByteCount))
    }

    // MARK: The life of a slot

    /// Adds a reference to the slot of a name, and returns it. Creates the slot if needed; nil if there is no room for
    /// it.
    mutating func acquire(_ name: RecordName, in zone: CacheZone, hash: UInt64) -> UInt32? {
        let bytes = name.text.utf8.span
        if let slot = find(bytes, in: zone, hash: hash) {
            details[Int(slot)].references += 1
            return slot
        }
        guard bytes.count <= Int(UInt16.max), makeRoom(for: zone), makeRoom(forNameOf: bytes.count, in: zone) else {
            return nil
        }
        let detail = Detail(
            parentSince: 0, shareSince: 0, nameFirst: names.insert(bytes), zone: zones.retain(zone),
            hash: UInt32(truncatingIfNeeded: hash), next: AncestorTable.none, references: 1,
            nameByteCount: UInt16(bytes.count), hasChildren: false)
        let slot = place(detail)
        linkIntoBucket(slot)
        return slot
    }

    /// Removes a reference, and frees the slot if nothing refers to it.
    mutating func release(_ slot: UInt32) {
        guard slot != AncestorTable.none else { return }
        details[Int(slot)].references -= 1
        guard details[Int(slot)].references == 0, links[Int(slot)].validSince == AncestorTable.noValue else { return }
        unlinkFromBucket(slot)
        names.remove(first: details[Int(slot)].nameFirst)
        zones.release(details[Int(slot)].zone)
        details[Int(slot)].next = firstFree
        firstFree = slot
    }

    /// Whether another slot can be in the zone. A number becomes free when some zone loses its last slot. Insertions
    /// into other zones cause that; without them, an eviction now and then does.
    private mutating func makeRoom(for zone: CacheZone) -> Bool {
        if hasRoom(for: zone) { return true }
        refusalCount += 1
        var steps = 0
        return refusalCount.isMultiple(of: AncestorTable.refusalsPerEviction) && evictOne(&steps) && hasRoom(for: zone)
    }

    private func hasRoom(for zone: CacheZone) -> Bool {
        byteCount + zones.growthByteCount(for: zone) + markRoom <= capacityByteCount
    }

    /// The part of each reserve that is not used yet.
    private var zoneRoom: Int { max(0, zoneReserveByteCount - zones.byteCount) }
    private var markRoom: Int { max(0, markReserveByteCount - marks.byteCount) }

    private mutating func makeRoom(forNameOf nameByteCount: Int, in zone: CacheZone) -> Bool {
        let segmentCount = NameArena.segmentCount(forByteCount: nameByteCount)
        var steps = 0
        while true {
            let growth =
                (firstFree == AncestorTable.none ? AncestorTable.byteCountPerSlot : 0)
                + names.growthByteCount(forSegmentCount: segmentCount)
            let reserved = max(zoneRoom, zones.growthByteCount(for: zone)) + markRoom
            if growth == 0 || byteCount + reserved + growth <= capacityByteCount { return true }
            guard evictOne(&steps) else { return false }
        }
    }

    private mutating func place(_ detail: Detail) -> UInt32 {
        let link = Link(validSince: AncestorTable.noValue, parent: AncestorTable.none, mark: AncestorTable.none)
        guard firstFree == AncestorTable.none else {
            let slot = firstFree
            firstFree = details[Int(slot)].next
            links[Int(slot)] = link
            details[Int(slot)] = detail
            recent[Int(slot)] = false
            return slot
        }
        links.append(link)
        details.append(detail)
        recent.append(false)
        addBucket()
        return UInt32(links.count - 1)
    }

    // MARK: The life of a value

    /// Replaces the value of a slot that the caller has acquired. Without room for the names in the value, the slot has
    /// none.
    mutating func setValue(of slot: UInt32, in zone: CacheZone, to node: ParentEntry, validSince: StoreVersion) {
        dropValue(of: slot)
        var parent = AncestorTable.none
        var mark = AncestorTable.none
        if let name = node.parent {
            guard let acquired = acquireParent(name, in: zone) else { return }
            parent = acquired
        }
        if let share = node.share {
            guard let inserted = insertMark(of: slot, share: share) else {
                release(parent)
                return
            }
            mark = inserted
        }
        links[Int(slot)] = Link(validSince: validSince, parent: parent, mark: mark)
        details[Int(slot)].parentSince = node.parentSince
        details[Int(slot)].shareSince = node.shareSince
        details[Int(slot)].hasChildren = node.hasChildren
        entryCount += 1
    }

    /// Adds a reference to the slot of a parent. Siblings are often saved together, so the last parent may be the one.
    private mutating func acquireParent(_ name: RecordName, in zone: CacheZone) -> UInt32? {
        if holds(lastParent, name.text.utf8.span, in: zone) {
            details[Int(lastParent)].references += 1
            return lastParent
        }
        guard let slot = acquire(name, in: zone, hash: hash(of: name, in: zone)) else { return nil }
        lastParent = slot
        return slot
    }

    /// Whether a slot, which may have been freed since, belongs to a name.
    private func holds(_ slot: UInt32, _ name: Span<UInt8>, in zone: CacheZone) -> Bool {
        guard slot != AncestorTable.none else { return false }
        let detail = details[Int(slot)]
        let isInUse = detail.references > 0 || links[Int(slot)].validSince != AncestorTable.noValue
        return isInUse && isName(detail, name, in: zone)
    }

    private mutating func insertMark(of slot: UInt32, share: RecordName) -> UInt32? {
        let rootByteCount = Int(details[Int(slot)].nameByteCount)
        let shareByteCount = share.text.utf8.count
        let textByteCount = ShareMarks.textByteCount(rootByteCount: rootByteCount, shareByteCount: shareByteCount)
        // Only other marks free room that a mark can use. None is removed if removing all would not suffice.
        let limit = capacityByteCount - zoneRoom
        guard byteCount + marks.growthByteCount(forText: textByteCount, replacing: true) <= limit else { return nil }
        var dropCount = 0
        while byteCount + marks.growthByteCount(forText: textByteCount) > limit {
            dropCount += 1
            guard dropCount <= AncestorTable.markDropLimit, let next = marks.next() else { return nil }
            dropValue(of: next)
        }
        // A copy, because the caller's text may be part of a larger one.
        let copy = RecordName(String(decoding: Array(share.text.utf8), as: UTF8.self))
        return marks.insert(ShareMembership(root: name(of: slot), share: copy), of: slot)
    }

    /// Removes a slot's value, if it has one, and frees the slot if nothing else needs its name.
    mutating func dropValue(of slot: UInt32) {
        let link = links[Int(slot)]
        guard link.validSince != AncestorTable.noValue else { return }
        // Held meanwhile, because a damaged hierarchy could make a record its own parent.
        details[Int(slot)].references += 1
        links[Int(slot)].validSince = AncestorTable.noValue
        links[Int(slot)].parent = AncestorTable.none
        links[Int(slot)].mark = AncestorTable.none
        entryCount -= 1
        release(link.parent)
        if link.mark != AncestorTable.none { marks.remove(link.mark) }
        release(slot)
    }
}

// Values: when one may enter the table, how long it stays, and walking up from one.
//
// The version rule. `publish` makes the new value valid since its own version, so no older reader uses it, and notes
// that version for the name's stripe. A reader at version v may fill only if nothing newer than v was published: what
// it read is then also the newest value. For the same reason a fill may only lower `validSince`.
//
// Eviction is CLOCK (second chance), with one addition: a value that others name as their parent is skipped, so that
// leaves go first and walks that begin in the cache also end in it.

extension AncestorTable {
    /// The values the clock's hand skips before it evicts one that was looked up or has children. It bounds the time of
    /// an insertion.
    private static let evictionLookLimit = 128
    /// The slots the hand passes for one name, those without a value included, which may be nearly all.
    private static let evictionStepLimit = 8_192

    mutating func fill(
        _ name: RecordName, in zone: CacheZone, hash: UInt64, with node: ParentEntry, at version: StoreVersion
    ) {
        let newest = max(lastPublishedEverywhere, lastPublished[stripe(forHash: hash)])
        guard newest <= version, let slot = acquire(name, in: zone, hash: hash) else { return }
        let validSince = links[Int(slot)].validSince
        if validSince == AncestorTable.noValue {
            setValue(of: slot, in: zone, to: node, validSince: version)
        } else {
            links[Int(slot)].validSince = min(validSince, version)
        }
        release(slot)
    }

    /// Notes that something is published under names of these hashes, and prefetches their buckets and those that will
    /// be split. Most of them are in no processor's cache. Here the reads are independent, so many wait for memory at
    /// once; `publish` would wait for each.
    mutating func beginPublishing(_ hashes: ArraySlice<UInt64>, version: StoreVersion) {
        for hash in hashes {
            let stripe = stripe(forHash: hash)
            lastPublished[stripe] = max(lastPublished[stripe], version)
            look(atBucket: bucket(forHash: UInt32(truncatingIfNeeded: hash)))
        }
        // While there are free slots, no bucket is split.
        guard firstFree == AncestorTable.none else { return }
        for added in heads.count..<heads.count + hashes.count { look(atBucket: splitSource(of: UInt32(added))) }
    }

    private mutating func look(atBucket bucket: Int) {
        guard bucket < heads.count, heads[bucket] != AncestorTable.none else { return }
        lastLook ^= details[Int(heads[bucket])].hash
    }

    /// Applies one change. Call `beginPublishing` first.
    mutating func publish(_ change: HierarchyChange, hash: UInt64, version: StoreVersion) {
        guard let node = change.node else {
            if let slot = find(change.name.text.utf8.span, in: change.zone, hash: hash) { dropValue(of: slot) }
            return
        }
        guard let slot = acquire(change.name, in: change.zone, hash: hash) else { return }
        setValue(of: slot, in: change.zone, to: node, validSince: version)
        release(slot)
    }

    /// Makes a zone's names unreachable at once. The clock's hand evicts them as it passes.
    mutating func forget(_ zone: CacheZone, version: StoreVersion) {
        lastPublishedEverywhere = max(lastPublishedEverywhere, version)
        zones.forget(zone)
    }

    mutating func markRecent(_ slot: UInt32) { recent[Int(slot)] = true }

    /// Evicts one value. Returns false if there is none, or none was found within the steps of one name, which `steps`
    /// counts. The next call continues where this one stopped.
    mutating func evictOne(_ steps: inout Int) -> Bool {
        guard entryCount > 0 else { return false }
        var looked = 0
        while true {
            guard steps < AncestorTable.evictionStepLimit else { return false }
            steps += 1
            evictionStepCount += 1
            hand = hand + 1 < links.count ? hand + 1 : 0
            guard links[hand].validSince != AncestorTable.noValue else { continue }
            looked += 1
            if looked <= AncestorTable.evictionLookLimit {
                guard !recent[hand] else {
                    recent[hand] = false
                    continue
                }
                guard details[hand].references == 0 else { continue }
            }
            dropValue(of: UInt32(hand))
            return true
        }
    }

    // MARK: Reading

    /// The node of a slot's record at a version, or nil if it is not known.
    func node(of slot: UInt32, at version: StoreVersion) -> ParentEntry? {
        let link = links[Int(slot)]
        guard link.validSince <= version else { return nil }
        let detail = details[Int(slot)]
        return ParentEntry(
            parent: link.parent == AncestorTable.none ? nil : name(of: link.parent), parentSince: detail.parentSince,
            share: link.mark == AncestorTable.none ? nil : marks[link.mark].share, shareSince: detail.shareSince,
            hasChildren: detail.hasChildren)
    }
}
