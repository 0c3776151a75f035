// The names, zones and share marks that slots of the ancestor cache refer to by number.
//
// Each pool allocates at its end and reuses freed elements, so its memory never shrinks: `AncestorTable` counts it.

import StratusModel

// The bytes of names, in one flat array of 16-byte segments: 12 bytes of a name, then the number of the next segment. A
// 36-byte name takes 48 bytes; a `String` would take 16 and a heap object of 80.
//
// Invariants:
//   1. Every segment is in the chain of exactly one name or in the free chain.
//   2. The unused bytes of a name's last segment are zero, so names of one length are equal when their segments are.
//   3. All segments have one size, so any that were freed can hold any name: there is no fragmentation.

/// A pool of name bytes. A name is identified by its first segment and its byte length.
struct NameArena {
    struct Segment {
        var low: UInt64
        var high: UInt32
        var next: UInt32
    }

    static let payloadByteCount = 12
    static let none = UInt32.max

    private var segments: [Segment] = []
    private var firstFree = NameArena.none
    private(set) var freeCount = 0

    /// Reserves address space, so that growing never moves segments. The system provides pages as they are written.
    init(maximumByteCount: Int) {
        segments.reserveCapacity(maximumByteCount / MemoryLayout<Segment>.stride)
    }

    var byteCount: Int { segments.count * MemoryLayout<Segment>.stride }

    static func segmentCount(forByteCount count: Int) -> Int {
        max(1, (count + payloadByteCount - 1) / payloadByteCount)
    }

    /// The bytes by which the arena must grow to hold a name of `count` segments.
    func growthByteCount(forSegmentCount count: Int) -> Int {
        max(0, count - freeCount) * MemoryLayout<Segment>.stride
    }

    /// Copies the name in and returns its first segment.
    mutating func insert(_ bytes: Span<UInt8>) -> UInt32 {
        var next = NameArena.none
        // From the last segment to the first, so that each knows its successor.
        for index in (0..<NameArena.segmentCount(forByteCount: bytes.count)).reversed() {
            let (low, high) = NameArena.payload(of: bytes, at: index * NameArena.payloadByteCount)
            let segment = Segment(low: low, high: high, next: next)
            if firstFree == NameArena.none {
                next = UInt32(segments.count)
                segments.append(segment)
            } else {
                next = firstFree
                firstFree = segments[Int(next)].next
                segments[Int(next)] = segment
                freeCount -= 1
            }
        }
        return next
    }

    mutating func remove(first: UInt32) {
        var last = first
        freeCount += 1
        while segments[Int(last)].next != NameArena.none {
            last = segments[Int(last)].next
            freeCount += 1
        }
        segments[Int(last)].next = firstFree
        firstFree = first
    }

    /// Whether the name of the same length that begins at `first` has these bytes.
    func holds(_ bytes: Span<UInt8>, first: UInt32) -> Bool {
        var number = first
        var offset = 0
        repeat {
            let segment = segments[Int(number)]
            let (low, high) = NameArena.payload(of: bytes, at: offset)
            guard segment.low == low, segment.high == high else { return false }
            number = segment.next
            offset += NameArena.payloadByteCount
        } while offset < bytes.count
        return true
    }

    func name(first: UInt32, byteCount: Int) -> RecordName {
        let bytes = [UInt8](capacity: byteCount) { output in
            var number = first
            var remaining = byteCount
            while remaining > 0 {
                let segment = segments[Int(number)]
                var low = segment.low
                for _ in 0..<min(8, remaining) {
                    output.append(UInt8(truncatingIfNeeded: low))
                    low >>= 8
                }
                var high = segment.high
                for _ in 0..<max(0, min(4, remaining - 8)) {
                    output.append(UInt8(truncatingIfNeeded: high))
                    high >>= 8
                }
                remaining -= NameArena.payloadByteCount
                number = segment.next
            }
        }
        return RecordName(String(decoding: bytes, as: UTF8.self))
    }

    /// The 12 bytes from `offset` on, little-endian, padded with zeros.
    private static func payload(of bytes: Span<UInt8>, at offset: Int) -> (low: UInt64, high: UInt32) {
        let part = bytes.extracting(min(offset, bytes.count)..<min(offset + payloadByteCount, bytes.count))
        guard part.count == payloadByteCount else { return shortPayload(of: part) }
        // Written out, because the compiler makes one load of each expression.
        let first = UInt32(part[0]) | UInt32(part[1]) << 8 | UInt32(part[2]) << 16 | UInt32(part[3]) << 24
        let second = UInt32(part[4]) | UInt32(part[5]) << 8 | UInt32(part[6]) << 16 | UInt32(part[7]) << 24
        let third = UInt32(part[8]) | UInt32(part[9]) << 8 | UInt32(part[10]) << 16 | UInt32(part[11]) << 24
        return (UInt64(first) | UInt64(second) << 32, third)
    }

    private static func shortPayload(of part: Span<UInt8>) -> (low: UInt64, high: UInt32) {
        var low: UInt64 = 0
        var high: UInt32 = 0
        for index in part.indices {
            if index < 8 {
                low |= UInt64(part[index]) << UInt64(8 * index)
            } else {
                high |= UInt32(part[index]) << UInt32(8 * (index - 8))
            }
        }
        return (low, high)
    }
}

// The zones of cached names, each with a short number. So a slot spends four bytes on its zone, and a deleted zone is
// forgotten immediately: its number loses its key, and its slots can no longer be found.
//
// Invariant: a number is reused only when no slot has it.

/// Zones by number, with the count of slots in each.
struct CachedZones {
    private struct Zone {
        var key: CacheZone?
        var slotCount: Int
    }

    /// The most bytes one zone takes: its place in `zones` and `free`, and in a dictionary that has just doubled.
    static let byteCountPerZone = 128

    private var zones: [Zone] = []
    private var free: [UInt32] = []
    private var numbers: [CacheZone: UInt32] = [:]
    /// The zone of the last slot, if it had others: usually also that of the next slot.
    private var last: (key: CacheZone, number: UInt32)?

    var byteCount: Int { zones.count * CachedZones.byteCountPerZone }

    /// The bytes that `retain(key)` adds.
    func growthByteCount(for key: CacheZone) -> Int {
        free.isEmpty && number(of: key) == nil ? CachedZones.byteCountPerZone : 0
    }

    func isZone(_ number: UInt32, _ key: CacheZone) -> Bool {
        zones[Int(number)].key == key
    }

    private func number(of key: CacheZone) -> UInt32? {
        if let last, last.key == key { return last.number }
        return numbers[key]
    }

    /// The number of a zone, for one more slot.
    mutating func retain(_ key: CacheZone) -> UInt32 {
        if let number = number(of: key) {
            zones[Int(number)].slotCount += 1
            last = (key, number)
            return number
        }
        let zone = Zone(key: key, slotCount: 1)
        let number: UInt32
        if let reused = free.popLast() {
            number = reused
            zones[Int(number)] = zone
        } else {
            number = UInt32(zones.count)
            zones.append(zone)
        }
        numbers[key] = number
        return number
    }

    mutating func release(_ number: UInt32) {
        zones[Int(number)].slotCount -= 1
        guard zones[Int(number)].slotCount == 0 else { return }
        if let key = zones[Int(number)].key {
            numbers[key] = nil
            last = nil
        }
        zones[Int(number)].key = nil
        free.append(number)
    }

    /// Makes all slots of a zone unreachable.
    mutating func forget(_ key: CacheZone) {
        guard let number = numbers.removeValue(forKey: key) else { return }
        last = nil
        zones[Int(number)].key = nil
    }
}

// The names of share roots and of their shares. Share roots are few, and every look-up of a share ends at one, so these
// names are kept as text. All other names are bytes in the arena.
//
// Invariant: a mark belongs to exactly one value of the table, that of the slot in `slots`.

/// The share marks of cached values, by number.
struct ShareMarks {
    /// The most that one mark takes in addition to its texts: its places in `marks`, `slots` and `free` while those
    /// arrays double.
    private static let byteCountPerMark = 3 * (MemoryLayout<ShareMembership>.stride + 2 * MemoryLayout<UInt32>.stride)

    /// The places examined for one mark: many may be free.
    private static let stepLimit = 1_024

    private var marks: [ShareMembership] = []
    /// The slot that each mark belongs to, or `AncestorTable.none`.
    private var slots: [UInt32] = []
    private var hand = 0
    private var free: [UInt32] = []
    /// The bytes of the texts now, and at most so far: memory is reused for other texts, like places are.
    private var textByteCount = 0
    private var keptTextByteCount = 0

    var byteCount: Int { marks.count * ShareMarks.byteCountPerMark + keptTextByteCount }

    subscript(number: UInt32) -> ShareMembership { marks[Int(number)] }

    /// The bytes that `insert` adds; with `replacing`, after as many marks as needed were removed.
    func growthByteCount(forText byteCount: Int, replacing: Bool = false) -> Int {
        let needsPlace = replacing ? marks.isEmpty : free.isEmpty
        return (needsPlace ? ShareMarks.byteCountPerMark : 0)
            + max(0, (replacing ? 0 : textByteCount) + byteCount - keptTextByteCount)
    }

    /// The bytes of a mark's texts.
    static func textByteCount(rootByteCount: Int, shareByteCount: Int) -> Int {
        heapByteCount(forTextOf: rootByteCount) + heapByteCount(forTextOf: shareByteCount)
    }

    mutating func insert(_ mark: ShareMembership, of slot: UInt32) -> UInt32 {
        textByteCount += ShareMarks.heapByteCount(of: mark)
        keptTextByteCount = max(keptTextByteCount, textByteCount)
        guard let number = free.popLast() else {
            marks.append(mark)
            slots.append(slot)
            return UInt32(marks.count - 1)
        }
        marks[Int(number)] = mark
        slots[Int(number)] = slot
        return number
    }

    /// The slot of the next mark to evict: places take turns. Nil if none is near; the next call continues from there.
    mutating func next() -> UInt32? {
        for _ in 0..<min(marks.count, ShareMarks.stepLimit) {
            hand = hand + 1 < marks.count ? hand + 1 : 0
            if slots[hand] != AncestorTable.none { return slots[hand] }
        }
        return nil
    }

    mutating func remove(_ number: UInt32) {
        textByteCount -= ShareMarks.heapByteCount(of: marks[Int(number)])
        marks[Int(number)] = ShareMembership(root: "", share: "")
        slots[Int(number)] = AncestorTable.none
        free.append(number)
    }

    private static func heapByteCount(of mark: ShareMembership) -> Int {
        textByteCount(
            rootByteCount: mark.root.text.utf8.count, shareByteCount: mark.share.text.utf8.count)
    }

    /// What a `String` of so many bytes takes on the heap: nothing up to 15, else the allocator's and the object's
    /// headers, the bytes and a terminator, in steps of 16.
    private static func heapByteCount(forTextOf count: Int) -> Int {
        count <= 15 ? 0 : 16 + 32 + (count + 16) / 16 * 16
    }
}
