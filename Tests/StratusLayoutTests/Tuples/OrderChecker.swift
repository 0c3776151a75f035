// The checker behind the order tests, and the order that the encoding must have.
//
// `valueOrder` is written from the documentation alone and shares nothing with the tuples' own order: strings by
// Unicode scalars (which is the order of UTF-8), doubles by the standard library's total order, integers in 128 bits.

import FoundationEssentials
import StratusLayout

/// Looks for tuples whose bytes do not sort as their values do.
struct OrderChecker {
    let encode: ([TupleElement]) throws -> [UInt8]

    /// The first pair of tuples, of all pairs, whose bytes and values disagree; nil if there is none.
    func violationInAllPairs(of tuples: [[TupleElement]]) throws -> String? {
        let encodings = try tuples.map(encode)
        for left in tuples.indices {
            for right in left..<tuples.count {
                let ofBytes = Self.byteOrder(encodings[left], encodings[right])
                let ofValues = Self.valueOrder(tuples[left], tuples[right])
                if ofBytes != ofValues {
                    return "\(tuples[left]) and \(tuples[right]): values \(ofValues), bytes \(ofBytes)"
                }
            }
        }
        return nil
    }

    /// As above for more tuples than can be paired: sorted by bytes, each must be below the next by value, which, as
    /// the order of values is transitive, orders every pair. The tuples must be distinct.
    func violationWhenSorted(_ tuples: [[TupleElement]]) throws -> String? {
        let sorted = try tuples.map { (tuple: $0, bytes: try encode($0)) }.sorted {
            Self.byteOrder($0.bytes, $1.bytes) < 0
        }
        for (lower, upper) in zip(sorted, sorted.dropFirst()) {
            let ofValues = Self.valueOrder(lower.tuple, upper.tuple)
            if ofValues >= 0 || lower.bytes == upper.bytes {
                return "\(lower.tuple) and \(upper.tuple): values \(ofValues), bytes sorted below"
            }
        }
        return nil
    }

    /// The first pair of different tuples where one's bytes begin with the other's, but its elements do not.
    func prefixViolation(in tuples: [[TupleElement]]) throws -> String? {
        let encodings = try tuples.map(encode)
        for (tuple, bytes) in zip(tuples, encodings) {
            for (other, otherBytes) in zip(tuples, encodings) where otherBytes.starts(with: bytes) {
                let beginning = Array(other.prefix(tuple.count))
                if Self.valueOrder(beginning, tuple) != 0 {
                    return "the bytes of \(other) begin with those of \(tuple)"
                }
            }
        }
        return nil
    }

    static func byteOrder(_ left: [UInt8], _ right: [UInt8]) -> Int {
        left == right ? 0 : left.lexicographicallyPrecedes(right) ? -1 : 1
    }

    static func valueOrder(_ left: [TupleElement], _ right: [TupleElement]) -> Int {
        for (element, other) in zip(left, right) {
            let order = valueOrder(element, other)
            if order != 0 { return order }
        }
        return order(left.count, right.count)
    }

    private static func valueOrder(_ left: TupleElement, _ right: TupleElement) -> Int {
        switch (left, right) {
        case (.bytes(let left), .bytes(let right)): return byteOrder(left, right)
        case (.string(let left), .string(let right)):
            let left = left.unicodeScalars.map(\.value)
            let right = right.unicodeScalars.map(\.value)
            return left == right ? 0 : left.lexicographicallyPrecedes(right) ? -1 : 1
        case (.nested(let left), .nested(let right)): return valueOrder(left, right)
        case (.double(let left), .double(let right)): return totalOrder(left, right)
        case (.date(let left), .date(let right)):
            return totalOrder(left.timeIntervalSinceReferenceDate, right.timeIntervalSinceReferenceDate)
        case (.boolean(let left), .boolean(let right)): return order(left ? 1 : 0, right ? 1 : 0)
        case (.uuid(let left), .uuid(let right)): return order(left.uuidString, right.uuidString)
        default:
            if let left = integer(left), let right = integer(right) { return order(left, right) }
            return order(rank(left), rank(right))
        }
    }

    private static func integer(_ element: TupleElement) -> Int128? {
        switch element {
        case .integer(let value): Int128(value)
        case .unsigned(let value): Int128(value)
        default: nil
        }
    }

    private static func rank(_ element: TupleElement) -> Int {
        switch element {
        case .null: 1
        case .bytes: 2
        case .string: 3
        case .nested: 4
        case .integer, .unsigned: 5
        case .double: 6
        case .boolean: 7
        case .uuid: 8
        case .date: 9
        }
    }

    private static func order<Value: Comparable>(_ left: Value, _ right: Value) -> Int {
        left < right ? -1 : left > right ? 1 : 0
    }

    private static func totalOrder(_ left: Double, _ right: Double) -> Int {
        if left.bitPattern == right.bitPattern { return 0 }
        return left.isTotallyOrdered(belowOrEqualTo: right) ? -1 : 1
    }
}
