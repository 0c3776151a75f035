// The order of values in filters, sorts and indexes: one order, so that an index can stand for a comparison.
//
//   no value < references < texts < numbers < dates
//
// References by the bytes of their target's name, texts by their UTF-8 bytes, numbers exactly, whether they
// are integers or not. NaN is one value, above all numbers, and -0.0 is 0.0. What is none of these, such as bytes, files,
// lists and places, has no order.

import FoundationEssentials
package import StratusModel

/// Compares values.
package enum ValueOrder {
    /// Texts are sorted by so many bytes at most: what lies behind is in the order of names.
    package static let maximumSortedByteCount = 1_024

    /// -1, 0 or 1; nil when the values are of different kinds, or of one without an order.
    package static func compare(_ left: FieldValue, _ right: FieldValue) -> Int? {
        switch (left, right) {
        case (.string(let one), .string(let other)): compare(one, other)
        case (.int64(let one), .int64(let other)): one < other ? -1 : one > other ? 1 : 0
        case (.double(let one), .double(let other)): compare(one, other)
        case (.int64(let one), .double(let other)): compare(one, other)
        case (.double(let one), .int64(let other)): -compare(other, one)
        case (.date(let one), .date(let other)):
            compare(one.timeIntervalSinceReferenceDate, other.timeIntervalSinceReferenceDate)
        case (.reference(let one), .reference(let other)): compare(one.target.text, other.target.text)
        default: nil
        }
    }

    /// Whether two values are the same, lists and bytes included.
    package static func areEqual(_ left: FieldValue, _ right: FieldValue) -> Bool {
        switch (left, right) {
        case (.bytes(let one), .bytes(let other)): one == other
        case (.list(let one), .list(let other)):
            one.count == other.count && zip(one, other).allSatisfy { areEqual($0, $1) }
        default: compare(left, right) == 0
        }
    }

    /// The order of what is sorted by, absent values included.
    static func compare(sorted left: FieldValue?, _ right: FieldValue?) -> Int {
        let (one, other) = (rank(left), rank(right))
        guard one == other else { return one < other ? -1 : 1 }
        guard let left, let right else { return 0 }
        return compare(left, right) ?? 0
    }

    /// The value as it counts for sorting: nil for what has no order.
    static func sortable(_ value: FieldValue?) -> FieldValue? {
        switch value {
        case .string(let text)?: .string(prefix(of: text, byteCount: maximumSortedByteCount))
        case .reference?, .int64?, .double?, .date?: value
        default: nil
        }
    }

    /// The longest beginning of a text that has at most so many bytes and is a text.
    package static func prefix(of text: String, byteCount: Int) -> String {
        guard text.utf8.count > byteCount else { return text }
        var end = text.utf8.index(text.startIndex, offsetBy: byteCount)
        // Back to the beginning of the scalar that the cut goes through.
        while text.utf8[end] & 0xC0 == 0x80 { end = text.utf8.index(before: end) }
        return String(text.unicodeScalars[..<end])
    }

    private static func rank(_ value: FieldValue?) -> Int {
        switch value {
        case nil: 0
        case .reference?: 1
        case .string?: 2
        case .int64?, .double?: 3
        case .date?: 4
        default: 5
        }
    }

    private static func compare(_ left: String, _ right: String) -> Int {
        if left.utf8.lexicographicallyPrecedes(right.utf8) { return -1 }
        return left.utf8.elementsEqual(right.utf8) ? 0 : 1
    }

    private static func compare(_ left: Double, _ right: Double) -> Int {
        if left < right { return -1 }
        if left > right { return 1 }
        if left == right { return 0 }
        return (left.isNaN ? 1 : 0) - (right.isNaN ? 1 : 0)
    }

    /// Exactly: not every integer is a double.
    private static func compare(_ left: Int64, _ right: Double) -> Int {
        guard !right.isNaN else { return -1 }
        // 2^63 and above, or below -2^63.
        guard right < 0x1p63 else { return -1 }
        guard right >= -0x1p63 else { return 1 }
        let whole = Int64(right.rounded(.down))
        if left != whole { return left < whole ? -1 : 1 }
        return right > Double(whole) ? -1 : 0
    }
}
