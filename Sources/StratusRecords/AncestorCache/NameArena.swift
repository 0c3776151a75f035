// The bytes of the cached names, in one flat array of 16-byte segments: 12 bytes of a name, then the number of the next
// segment. A 36-byte name takes 48 bytes where a `String` takes 16 and a heap object of 80.
//
// Invariants:
//   1. Every segment is in the chain of exactly one name or in the free chain.
//   2. The unused bytes of a name's last segment are zero, so names of one length are equal when their segments are.
//   3. All segments have one size, so any that were freed can hold any name: there is no fragmentation.

import StratusModel

/// A pool of name bytes. A name is known by its first segment and its byte length.
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

    /// Reserves address space, so that growing never moves what is there; pages are taken as they are written.
    init(maximumByteCount: Int) {
        segments.reserveCapacity(maximumByteCount / MemoryLayout<Segment>.stride)
    }

    var byteCount: Int { segments.count * MemoryLayout<Segment>.stride }

    static func segmentCount(forByteCount count: Int) -> Int {
        max(1, (count + payloadByteCount - 1) / payloadByteCount)
    }

    /// The bytes the arena must grow by to hold a name of so many segments now.
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
