// The primitives of which every value is made. Values need no order, so lengths stand in front and nothing is escaped:
// a reader passes over what it does not want in one step.
//
// Byte layout (explicit, never changes):
//   number    unsigned, 7 bits a byte, lowest first, the top bit set on all but the last byte; fewest bytes only
//   fixed     unsigned, 4 or 8 bytes, big-endian
//   text      number (how many bytes), UTF-8
//   date      8 bytes: the bits of the seconds since 2001-01-01 00:00 UTC, an IEEE 754 double, big-endian
//   UUID      its 16 bytes

import FoundationEssentials

/// Appends the primitives of values to a buffer.
enum ValueWriter {
    static func append(number: UInt64, to bytes: inout [UInt8]) {
        var rest = number
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    static func append(fixed value: UInt32, to bytes: inout [UInt8]) {
        bytes.append(addingCapacity: 4) { output in
            output.append(UInt8(truncatingIfNeeded: value >> 24))
            output.append(UInt8(truncatingIfNeeded: value >> 16))
            output.append(UInt8(truncatingIfNeeded: value >> 8))
            output.append(UInt8(truncatingIfNeeded: value))
        }
    }

    static func append(fixed value: UInt64, to bytes: inout [UInt8]) {
        append(fixed: UInt32(truncatingIfNeeded: value >> 32), to: &bytes)
        append(fixed: UInt32(truncatingIfNeeded: value), to: &bytes)
    }

    static func append(_ text: String, to bytes: inout [UInt8]) {
        append(number: UInt64(text.utf8.count), to: &bytes)
        bytes.append(contentsOf: text.utf8)
    }

    static func append(_ date: Date, to bytes: inout [UInt8]) {
        append(fixed: date.timeIntervalSinceReferenceDate.bitPattern, to: &bytes)
    }

    static func append(_ identifier: UUID, to bytes: inout [UInt8]) {
        let b = identifier.uuid
        let content: InlineArray<16, UInt8> = [
            b.0, b.1, b.2, b.3, b.4, b.5, b.6, b.7, b.8, b.9, b.10, b.11, b.12, b.13, b.14, b.15,
        ]
        bytes.append(copying: content.span)
    }
}
