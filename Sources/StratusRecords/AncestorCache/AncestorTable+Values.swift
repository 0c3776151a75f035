// When a value may enter the table, how long it stays, and walking up from one.
//
// The version rule. `publish` makes the new value hold since its own version, so no older reader uses it, and notes that
// version for the name's stripe. A reader at version v that read the store may fill only where nothing newer than v was
// published: what it read is then also the newest value. For the same reason a fill may only ever lower `validSince`.
//
// Eviction is CLOCK (second chance), with one addition: a value that others name as their parent is passed over, so that
// leaves go first and walks that begin in the cache also end in it.

import StratusModel
import StratusStore

/// Where a walk along links ended.
enum AncestorAscent {
    case root(mark: UInt32, levels: Int)
    case top(levels: Int)
    case unknown(at: UInt32, levels: Int)
    /// The stretch was used up; the walk goes on at this slot, which may be known or not.
    case more(at: UInt32, levels: Int)
}

extension AncestorTable {
    /// Values the clock's hand passes over before it takes one that was asked for or that has children: it bounds the
    /// time one insertion takes.
    private static let evictionLookLimit = 128
    /// Slots the hand passes for one name, those without a value included, which may be nearly all there are.
    private static let evictionStepLimit = 8_192

    mutating func fill(
        _ name: RecordName, in zone: CacheZone, hash: UInt64, with node: HierarchyNode, at version: StoreVersion
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

    /// Notes that something is published under names of these hashes, and looks at what publishing them will look at: their
    /// buckets, and those that will be split. Most of that is in no processor's cache, and of waits for memory that depend on
    /// nothing many pass at once; `publish` waits for each.
    mutating func beginPublishing(_ hashes: ArraySlice<UInt64>, version: StoreVersion) {
        for hash in hashes {
            let stripe = stripe(forHash: hash)
            lastPublished[stripe] = max(lastPublished[stripe], version)
            look(atBucket: bucket(forHash: UInt32(truncatingIfNeeded: hash)))
        }
        // While there are free slots no bucket is split.
        guard firstFree == AncestorTable.none else { return }
        for added in heads.count..<heads.count + hashes.count { look(atBucket: splitSource(of: UInt32(added))) }
    }

    private mutating func look(atBucket bucket: Int) {
        guard bucket < heads.count, heads[bucket] != AncestorTable.none else { return }
        lastLook ^= details[Int(heads[bucket])].hash
    }

    /// To be called after `beginPublishing`.
    mutating func publish(_ change: HierarchyChange, hash: UInt64, version: StoreVersion) {
        guard let node = change.node else {
            if let slot = find(change.name.text.utf8.span, in: change.zone, hash: hash) { dropValue(of: slot) }
            return
        }
        guard let slot = acquire(change.name, in: change.zone, hash: hash) else { return }
        setValue(of: slot, in: change.zone, to: node, validSince: version)
        release(slot)
    }

    /// Makes a zone's names unreachable at once; the clock's hand takes them as it passes.
    mutating func forget(_ zone: CacheZone, version: StoreVersion) {
        lastPublishedEverywhere = max(lastPublishedEverywhere, version)
        zones.forget(zone)
    }

    mutating func markRecent(_ slot: UInt32) { recent[Int(slot)] = true }

    /// Takes one value away. Returns false when there is none, or none was found in the steps of one name, which `steps`
    /// counts; the next one looks where this one has stopped.
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

    /// What the slot says of its record at a version, or nil when it does not know.
    func node(of slot: UInt32, at version: StoreVersion) -> HierarchyNode? {
        let link = links[Int(slot)]
        guard link.validSince <= version else { return nil }
        let detail = details[Int(slot)]
        return HierarchyNode(
            parent: link.parent == AncestorTable.none ? nil : name(of: link.parent), parentSince: detail.parentSince,
            share: link.mark == AncestorTable.none ? nil : marks[link.mark].share, shareSince: detail.shareSince,
            hasChildren: detail.hasChildren)
    }

    /// Follows at most `limit` links from `start` to the nearest share root.
    func ascend(from start: UInt32, at version: StoreVersion, limit: Int) -> AncestorAscent {
        var slot = start
        var levels = 0
        while levels < limit {
            let link = links[Int(slot)]
            guard link.validSince <= version else { return .unknown(at: slot, levels: levels) }
            if link.mark != AncestorTable.none { return .root(mark: link.mark, levels: levels) }
            if link.parent == AncestorTable.none { return .top(levels: levels) }
            slot = link.parent
            levels += 1
        }
        return .more(at: slot, levels: levels)
    }
}
