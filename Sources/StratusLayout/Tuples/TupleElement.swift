// An element of a tuple as a value: what generic code, the tool and the tests handle; keys are built and read typed.

package import FoundationEssentials

/// One element of a tuple.
///
/// Equality, hash and order are those of the encoding, not those of the Swift values: strings compare by UTF-8 bytes
/// (so that "é" composed and decomposed differ), doubles and dates by IEEE 754's total order (so that -0.0 < 0.0 and a
/// NaN equals itself), and `.integer(5)` equals `.unsigned(5)`.
package enum TupleElement: Sendable {
    case null
    case bytes([UInt8])
    case string(String)
    case nested([TupleElement])
    /// A reader hands out this case for every integer that fits it.
    case integer(Int64)
    /// An integer above `Int64.max`; smaller ones may be written so too, and are read back as `.integer`.
    case unsigned(UInt64)
    case double(Double)
    case boolean(Bool)
    case uuid(UUID)
    case date(Date)
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

    /// The identifier whose sixteen bytes are these two numbers.
    init(high: UInt64, low: UInt64) {
        let h = high.bigEndianBytes
        let l = low.bigEndianBytes
        self.init(uuid: (h.0, h.1, h.2, h.3, h.4, h.5, h.6, h.7, l.0, l.1, l.2, l.3, l.4, l.5, l.6, l.7))
    }
}

extension UInt64 {
    // Eight parameters, because that is how Foundation hands out the bytes of an identifier.
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

// Equality, hash and order of elements: exactly those of their encodings, computed without encoding them.

extension TupleElement: Hashable, Comparable {
    package static func == (left: TupleElement, right: TupleElement) -> Bool {
        left.ordering(to: right) == 0
    }

    package static func < (left: TupleElement, right: TupleElement) -> Bool {
        left.ordering(to: right) < 0
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(typeRank)
        switch self {
        case .null: break
        case .bytes(let value): hasher.combine(value)
        case .string(let value):
            hasher.combine(value.utf8.count)
            for byte in value.utf8 { hasher.combine(byte) }
        case .nested(let elements): hasher.combine(elements)
        case .integer(let value): hasher.combine(Int128(value))
        case .unsigned(let value): hasher.combine(Int128(value))
        case .double(let value): hasher.combine(value.orderedBits)
        case .boolean(let value): hasher.combine(value)
        case .uuid(let value): hasher.combine(value)
        case .date(let value): hasher.combine(value.timeIntervalSinceReferenceDate.orderedBits)
        }
    }

    /// The type's place in the order of types.
    private var typeRank: Int {
        switch self {
        case .null: 0
        case .bytes: 1
        case .string: 2
        case .nested: 3
        case .integer, .unsigned: 4
        case .double: 5
        case .boolean: 6
        case .uuid: 7
        case .date: 8
        }
    }

    /// Negative, zero or positive, as this element sorts before, with or after the other.
    private func ordering(to other: TupleElement) -> Int {
        switch (self, other) {
        case (.bytes(let left), .bytes(let right)): Self.ordering(left, right)
        case (.string(let left), .string(let right)): Self.ordering(left.utf8, right.utf8)
        case (.nested(let left), .nested(let right)): Self.ordering(left, right)
        case (.integer(let left), .integer(let right)): Self.ordering(left, right)
        case (.unsigned(let left), .unsigned(let right)): Self.ordering(left, right)
        case (.integer(let left), .unsigned(let right)): Self.ordering(Int128(left), Int128(right))
        case (.unsigned(let left), .integer(let right)): Self.ordering(Int128(left), Int128(right))
        case (.double(let left), .double(let right)): Self.ordering(left.orderedBits, right.orderedBits)
        case (.boolean(let left), .boolean(let right)): Self.ordering(left ? 1 : 0, right ? 1 : 0)
        case (.uuid(let left), .uuid(let right)):
            Self.ordering(left.bigEndianHalves.high, right.bigEndianHalves.high) * 2
                + Self.ordering(left.bigEndianHalves.low, right.bigEndianHalves.low)
        case (.date(let left), .date(let right)):
            Self.ordering(
                left.timeIntervalSinceReferenceDate.orderedBits, right.timeIntervalSinceReferenceDate.orderedBits)
        default: Self.ordering(typeRank, other.typeRank)
        }
    }

    private static func ordering<Value: Comparable>(_ left: Value, _ right: Value) -> Int {
        left == right ? 0 : left < right ? -1 : 1
    }

    /// The order of bytes: the first difference decides, and a beginning sorts before the whole.
    private static func ordering(_ left: some Sequence<UInt8>, _ right: some Sequence<UInt8>) -> Int {
        var rest = right.makeIterator()
        for byte in left {
            guard let other = rest.next() else { return 1 }
            if byte != other { return byte < other ? -1 : 1 }
        }
        return rest.next() == nil ? 0 : -1
    }

    private static func ordering(_ left: [TupleElement], _ right: [TupleElement]) -> Int {
        for (element, other) in zip(left, right) {
            let result = element.ordering(to: other)
            if result != 0 { return result }
        }
        return ordering(left.count, right.count)
    }
}

// An element as one readable line, for the tool, golden files and failures.

extension TupleElement: CustomStringConvertible {
    /// For example `("name", 5, x'00ff', true)`; text is quoted and escaped, so that a line stays a line.
    package var description: String {
        switch self {
        case .null: "null"
        case .bytes(let value): "x'" + value.map(Self.hexadecimal).joined() + "'"
        case .string(let value): value.debugDescription
        case .nested(let elements): "(" + elements.map(\.description).joined(separator: ", ") + ")"
        case .integer(let value): String(value)
        case .unsigned(let value): String(value)
        case .double(let value): "\(value)"
        case .boolean(let value): value ? "true" : "false"
        case .uuid(let value): value.uuidString
        case .date(let value): "date(\(value.timeIntervalSinceReferenceDate))"
        }
    }

    private static func hexadecimal(_ byte: UInt8) -> String {
        (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }
}
