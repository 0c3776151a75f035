// Equality, hash and order of elements: exactly those of their encodings, computed without encoding them.

import FoundationEssentials

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
