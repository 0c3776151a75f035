// An element of a tuple as a value, for code that learns an element's type at run time: the tool, indexes and tests.
// Code that knows its keys writes and reads them typed, with `TupleWriter` and `TupleReader`.

package import FoundationEssentials

/// One element of a tuple.
///
/// Elements are equal when their encodings are: strings compare by UTF-8 bytes (composed and decomposed "é" differ),
/// doubles and dates by their bits (0.0 and -0.0 differ, a NaN equals itself), and `.integer(5)` equals `.unsigned(5)`.
package enum TupleElement: Sendable {
    case null
    case bytes([UInt8])
    case string(String)
    case nested([TupleElement])
    /// A reader returns this case for every integer that fits it.
    case integer(Int64)
    /// An integer above `Int64.max`. Smaller ones may be written with this case too, and are read back as `.integer`.
    case unsigned(UInt64)
    case double(Double)
    case boolean(Bool)
    case uuid(UUID)
    case date(Date)
}

extension TupleElement: Hashable {
    package static func == (left: TupleElement, right: TupleElement) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bytes(let left), .bytes(let right)): left == right
        case (.string(let left), .string(let right)): left.utf8.elementsEqual(right.utf8)
        case (.nested(let left), .nested(let right)): left == right
        case (.integer(let left), .integer(let right)): left == right
        case (.unsigned(let left), .unsigned(let right)): left == right
        case (.integer(let left), .unsigned(let right)), (.unsigned(let right), .integer(let left)): left == right
        case (.double(let left), .double(let right)): left.bitPattern == right.bitPattern
        case (.boolean(let left), .boolean(let right)): left == right
        case (.uuid(let left), .uuid(let right)): left == right
        case (.date(let left), .date(let right)):
            left.timeIntervalSinceReferenceDate.bitPattern == right.timeIntervalSinceReferenceDate.bitPattern
        default: false
        }
    }

    package func hash(into hasher: inout Hasher) {
        switch self {
        case .null: break
        case .bytes(let value): hasher.combine(value)
        case .string(let value):
            hasher.combine(value.utf8.count)
            for byte in value.utf8 { hasher.combine(byte) }
        case .nested(let elements): hasher.combine(elements)
        case .integer(let value): hasher.combine(Int128(value))
        case .unsigned(let value): hasher.combine(Int128(value))
        case .double(let value): hasher.combine(value.bitPattern)
        case .boolean(let value): hasher.combine(value)
        case .uuid(let value): hasher.combine(value)
        case .date(let value): hasher.combine(value.timeIntervalSinceReferenceDate.bitPattern)
        }
    }
}

extension UUID {
    /// The sixteen bytes as two numbers that sort, high first, as the bytes do.
    var bigEndianHalves: (high: UInt64, low: UInt64) {
        let b = uuid
        return (
            high: UInt64(bigEndian: b.0, b.1, b.2, b.3, b.4, b.5, b.6, b.7),
            low: UInt64(bigEndian: b.8, b.9, b.10, b.11, b.12, b.13, b.14, b.15)
        )
    }

    /// The UUID whose sixteen bytes are these two numbers.
    init(high: UInt64, low: UInt64) {
        let h = high.bigEndianBytes
        let l = low.bigEndianBytes
        self.init(uuid: (h.0, h.1, h.2, h.3, h.4, h.5, h.6, h.7, l.0, l.1, l.2, l.3, l.4, l.5, l.6, l.7))
    }
}

extension UInt64 {
    // Eight parameters, because Foundation returns the bytes of a UUID as a tuple.
    fileprivate init(
        bigEndian b0: UInt8, _ b1: UInt8, _ b2: UInt8, _ b3: UInt8, _ b4: UInt8, _ b5: UInt8, _ b6: UInt8, _ b7: UInt8
    ) {
        let high = UInt64(b0) << 56 | UInt64(b1) << 48 | UInt64(b2) << 40 | UInt64(b3) << 32
        let low = UInt64(b4) << 24 | UInt64(b5) << 16 | UInt64(b6) << 8 | UInt64(b7)
        self = high | low
    }

    fileprivate var bigEndianBytes: (UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8) {
        func byte(_ shift: UInt64) -> UInt8 { UInt8(truncatingIfNeeded: self >> shift) }
        return (byte(56), byte(48), byte(40), byte(32), byte(24), byte(16), byte(8), byte(0))
    }
}
