// Finds the slot of a name, by linear hashing. Each slot is in the chain of one bucket; when a slot is added, one
// bucket is split in two. So the index grows by four bytes at a time. A table that doubles would delay a publication by
// milliseconds and need three times its memory for a moment.
//
// Invariant: with 2^n ≤ buckets < 2^(n+1), a slot is in the bucket of the lowest n + 1 bits of its hash, or of the
// lowest n bits if that bucket does not exist yet. `bucketMask` is 2^(n+1) - 1.

import StratusModel

extension AncestorTable {
    /// A hash that clients cannot predict. Canonically equivalent names have the same hash; `find` compares their
    /// bytes.
    static func hash(of name: RecordName, in zone: CacheZone, mask: UInt64) -> UInt64 {
        // The text's hash is seeded by the process. Clients do not choose zone numbers, so mixing them in afterwards is
        // enough.
        let zone = (zone.database &* 0x9E37_79B9_7F4A_7C15 ^ zone.zone) &* 0xD6E8_FEB8_6659_FD93
        let hash = UInt64(bitPattern: Int64(name.text.hashValue)) ^ (zone ^ zone >> 32)
        return hash & mask
    }

    func hash(of name: RecordName, in zone: CacheZone) -> UInt64 {
        AncestorTable.hash(of: name, in: zone, mask: hashMask)
    }

    /// The stripe of a name: its newest publication decides whether the name may be filled.
    func stripe(forHash hash: UInt64) -> Int {
        Int((hash >> 32) & UInt64(lastPublished.count - 1))
    }

    func find(_ bytes: Span<UInt8>, in zone: CacheZone, hash: UInt64) -> UInt32? {
        let hash = UInt32(truncatingIfNeeded: hash)
        var slot = heads[bucket(forHash: hash)]
        while slot != AncestorTable.none {
            let index = Int(slot)
            if details[index].hash == hash, isName(details[index], bytes, in: zone) { return slot }
            slot = details[index].next
        }
        return nil
    }

    /// Whether a slot in use belongs to a name.
    func isName(_ detail: Detail, _ name: Span<UInt8>, in zone: CacheZone) -> Bool {
        Int(detail.nameByteCount) == name.count && zones.isZone(detail.zone, zone)
            && names.holds(name, first: detail.nameFirst)
    }

    mutating func linkIntoBucket(_ slot: UInt32) {
        let bucket = bucket(forHash: details[Int(slot)].hash)
        details[Int(slot)].next = heads[bucket]
        heads[bucket] = slot
    }

    mutating func unlinkFromBucket(_ slot: UInt32) {
        let bucket = bucket(forHash: details[Int(slot)].hash)
        guard heads[bucket] != slot else {
            heads[bucket] = details[Int(slot)].next
            return
        }
        var before = heads[bucket]
        while details[Int(before)].next != slot { before = details[Int(before)].next }
        details[Int(before)].next = details[Int(slot)].next
    }

    /// Adds a bucket, and moves slots into it from the bucket that it splits.
    mutating func addBucket() {
        let added = UInt32(heads.count)
        let source = splitSource(of: added)
        var slot = heads[source]
        heads[source] = AncestorTable.none
        heads.append(AncestorTable.none)
        while slot != AncestorTable.none {
            let next = details[Int(slot)].next
            let target = details[Int(slot)].hash & bucketMask == added ? Int(added) : source
            details[Int(slot)].next = heads[target]
            heads[target] = slot
            slot = next
        }
        if added == bucketMask { bucketMask = bucketMask << 1 | 1 }
    }

    /// The bucket that the bucket with this number splits.
    func splitSource(of added: UInt32) -> Int { Int(added & (bucketMask >> 1)) }

    func bucket(forHash hash: UInt32) -> Int {
        let bucket = Int(hash & bucketMask)
        return bucket < heads.count ? bucket : Int(hash & (bucketMask >> 1))
    }
}
