// Reads and writes LevelDB's log format, which contains commits and the MANIFEST.
//
// A log is cut into blocks of 32,768 bytes. A block holds fragments that do not cross its end:
//
//   checksum   4 bytes, little-endian: masked CRC-32C of type and payload
//   length     2 bytes, little-endian: of the payload
//   type       1 byte: 1 whole record, 2 first, 3 middle, 4 last fragment of a record
//   payload    `length` bytes
//
// At most six bytes of zeros fill a block's end. A writer that died leaves an incomplete fragment at the end of the
// file: the log is *torn*, and everything before it counts. LevelDB treats every fragment that reaches past the end as
// torn. But the checksum does not cover the length, so a flipped length byte in the last block looks the same, and
// LevelDB would silently lose the commits from there on. If a shorter payload fits the checksum, the length is damaged.

enum LogFile {
    static let blockByteCount = 32_768
    static let headerByteCount = 7

    // The types of fragments.
    static let full: UInt8 = 1
    static let first: UInt8 = 2
    static let middle: UInt8 = 3
    static let last: UInt8 = 4

    enum End: Equatable {
        /// The last fragment ends with the file.
        case whole
        /// The writer died at this offset.
        case torn(offset: Int)
        /// From this offset on there are only zeros.
        case zeros(offset: Int)
        /// The bytes at this offset are damaged.
        case damaged(offset: Int)
    }

    /// A fragment at an offset. Payloads are ranges of the given bytes.
    enum Fragment {
        case whole(type: UInt8, payload: Range<Int>)
        /// The file ends before the fragment does.
        case cut
        /// The payload that its header names, unless that is past the end of the block.
        case damaged(payload: Range<Int>?)
    }

    /// Reads the fragment whose header begins at `offset`. `blockEnd` is the end of its block, which may be past the
    /// end of the file.
    static func fragment(_ bytes: [UInt8], at offset: Int, blockEnd: Int) -> Fragment {
        let stored = (0..<4).reduce(UInt32(0)) { $0 | UInt32(bytes[offset + $1]) << UInt32(8 * $1) }
        let length = Int(bytes[offset + 4]) | Int(bytes[offset + 5]) << 8
        let type = bytes[offset + 6]
        let payload = offset + headerByteCount..<offset + headerByteCount + length
        guard payload.upperBound <= blockEnd else { return .damaged(payload: nil) }
        if payload.upperBound > bytes.count {
            let available = bytes[payload.lowerBound..<bytes.count]
            return hasShorterPayload(type, available, stored) ? .damaged(payload: nil) : .cut
        }
        var checksum = Checksum()
        checksum.add(type)
        checksum.add(bytes[payload])
        guard checksum.masked == stored, (full...last).contains(type) else { return .damaged(payload: payload) }
        return .whole(type: type, payload: payload)
    }

    /// Visits whole fragments from `start` on, until one is not. A payload has the indices of `bytes`, which begin with
    /// a block.
    static func forEachFragment(
        _ bytes: [UInt8], from start: Int = 0, _ visit: (_ type: UInt8, _ payload: ArraySlice<UInt8>) -> Void
    ) -> End {
        var offset = start
        while offset < bytes.count {
            let blockEnd = (offset / blockByteCount + 1) * blockByteCount
            if blockEnd - offset < headerByteCount {
                offset = min(blockEnd, bytes.count)
                continue
            }
            guard bytes.count - offset >= headerByteCount else { return .torn(offset: offset) }
            if bytes[offset + 4..<offset + headerByteCount].allSatisfy({ $0 == 0 }) {
                return bytes[offset...].allSatisfy { $0 == 0 } ? .zeros(offset: offset) : .damaged(offset: offset)
            }
            switch fragment(bytes, at: offset, blockEnd: blockEnd) {
            case .whole(let type, let payload):
                visit(type, bytes[payload])
                offset = payload.upperBound
            case .cut: return .torn(offset: offset)
            case .damaged: return .damaged(offset: offset)
            }
        }
        return .whole
    }

    /// Visits the records whose fragments are all whole, also behind damage.
    static func forEachWholeRecord(in bytes: [UInt8], _ visit: ([UInt8]) throws -> Void) rethrows {
        var record: [UInt8]?
        for start in stride(from: 0, to: bytes.count, by: blockByteCount) {
            let block = Array(bytes[start..<min(start + blockByteCount, bytes.count)])
            var whole: [[UInt8]] = []
            let end = forEachFragment(block) { type, payload in
                if type == full || type == first { record = [] }
                record?.append(contentsOf: payload)
                guard type == full || type == last, let complete = record else { return }
                whole.append(complete)
                record = nil
            }
            for record in whole { try visit(record) }
            // The next fragment cannot belong to a record that began before the damage.
            if end != .whole { record = nil }
        }
    }

    /// The fragments of a commit or another record, to append to a log of `byteCount` bytes.
    static func fragments(of record: [UInt8], appendedAt byteCount: Int) -> [UInt8] {
        var result: [UInt8] = []
        var position = 0
        repeat {
            var room = blockByteCount - (byteCount + result.count) % blockByteCount
            if room < headerByteCount {
                result += [UInt8](repeating: 0, count: room)
                room = blockByteCount
            }
            let payload = record[position..<min(position + room - headerByteCount, record.count)]
            let isLast = payload.endIndex == record.count
            let type = position == 0 ? (isLast ? full : first) : (isLast ? last : middle)
            var checksum = Checksum()
            checksum.add(type)
            checksum.add(payload)
            result += (0..<4).map { UInt8(truncatingIfNeeded: checksum.masked >> (8 * $0)) }
            result += [UInt8(payload.count & 0xFF), UInt8(payload.count >> 8), type]
            result += payload
            position = payload.endIndex
        } while position < record.count
        return result
    }

    private static func hasShorterPayload(_ type: UInt8, _ available: ArraySlice<UInt8>, _ stored: UInt32) -> Bool {
        var checksum = Checksum()
        checksum.add(type)
        if checksum.masked == stored { return true }
        for byte in available {
            checksum.add(byte)
            if checksum.masked == stored { return true }
        }
        return false
    }
}

// CRC-32C (Castagnoli), masked as LevelDB stores it. Written by hand because no library serves: zlib has only CRC-32,
// safe Swift cannot use the processor's CRC-32C instructions, and the package must not depend on another one for 30
// lines. Logs are read once, when a store is opened, copied or verified, so a table of 256 numbers is fast enough.

/// A checksum that is computed incrementally.
struct Checksum {
    /// The table of the reflected polynomial 0x82F63B78.
    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? (value >> 1) ^ 0x82F6_3B78 : value >> 1 }
    }

    private var state: UInt32 = 0xFFFF_FFFF

    mutating func add(_ byte: UInt8) {
        state = Checksum.table[Int((state ^ UInt32(byte)) & 0xFF)] ^ (state >> 8)
    }

    mutating func add(_ bytes: ArraySlice<UInt8>) {
        let table = Checksum.table
        var state = state
        for byte in bytes { state = table[Int((state ^ UInt32(byte)) & 0xFF)] ^ (state >> 8) }
        self.state = state
    }

    /// The checksum as a log or table holds it: rotated and shifted, so that checksums of checksums stay apart.
    var masked: UInt32 {
        let value = ~state
        return ((value >> 15) | (value << 17)) &+ 0xA282_EAD8
    }
}
