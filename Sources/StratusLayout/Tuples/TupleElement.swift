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
    /// The UUID with a number in its last eight bytes, and zeros before.
    package init(number: UInt64) {
        let n = (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
        self.init(uuid: (0, 0, 0, 0, 0, 0, 0, 0, n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7]))
    }

    /// Another UUID, which differs for each pair unless somebody has made them so.
    package func combined(with other: UUID) -> UUID {
        var mixed = bytes
        let second = other.bytes
        for index in mixed.indices { mixed[index] ^= second[index] }
        return UUID(mixed.span)
    }

    var bytes: InlineArray<16, UInt8> {
        let b = uuid
        return [b.0, b.1, b.2, b.3, b.4, b.5, b.6, b.7, b.8, b.9, b.10, b.11, b.12, b.13, b.14, b.15]
    }

    /// The UUID of 16 bytes.
    init(_ s: Span<UInt8>) {
        self.init(
            uuid: (
                s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7], s[8], s[9], s[10], s[11], s[12], s[13], s[14], s[15]
            ))
    }
}
