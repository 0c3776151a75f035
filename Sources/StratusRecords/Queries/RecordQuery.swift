// A query as the record layer takes it, and whether a record passes it: the final test of every result from
// any index. The floor above checks queries. Every filter is one test of one field, or its exact negation: a
// record that lacks the field passes no test and every negation.

import FoundationEssentials
import StratusLayout
package import StratusModel

/// The test of a field. Values of another kind than the operand's pass no test.
package enum FilterTest: Hashable, Sendable {
    case equals(FieldValue)
    case above(FieldValue, isInclusive: Bool)
    case below(FieldValue, isInclusive: Bool)
    case isIn([FieldValue])
    case beginsWith(String)
    /// The field is a list that contains any of these, or all of them.
    case listContainsAny([FieldValue])
    case listContainsAll([FieldValue])
    case listMemberBeginsWith(String)
    /// The searchable fields contain any of these words, or all of them. The words are folded by `SearchWords`.
    case anyWord(Set<String>)
    case allWords(Set<String>)
    /// The field is a location within this distance, or a list with one.
    case isNear(Location, radiusMetres: Double)
}

/// One comparison of a query.
package struct RecordFilter: Hashable, Sendable {
    /// The tested field; nil for a test of the record's words.
    package var field: QueryField?
    package var test: FilterTest
    /// Whether the test must fail.
    package var isNegated: Bool

    package init(_ field: QueryField?, _ test: FilterTest, isNegated: Bool = false) {
        self.field = field
        self.test = test
        self.isNegated = isNegated
    }
}

/// One key of the order of results. Records without a value come first in ascending order. In an order by distance,
/// records without a location come last.
package struct RecordSort: Hashable, Sendable {
    package var field: QueryField
    package var isAscending: Bool
    /// The location from which distances are measured, for an order by distance.
    package var origin: Location?

    package init(_ field: QueryField, isAscending: Bool = true, origin: Location? = nil) {
        self.field = field
        self.isAscending = isAscending
        self.origin = origin
    }
}

/// The records of a type that pass all filters.
package struct RecordQuery: Hashable, Sendable {
    package var type: RecordType
    package var filters: [RecordFilter] = []
    package var sorts: [RecordSort] = []
    /// The fields whose words are searched.
    package var searchedFields: Set<FieldKey>
    /// Whether the caller must not learn the parents of share roots.
    package var hidesParentsOfRoots: Bool

    package init(type: RecordType, searchedFields: Set<FieldKey>, hidesParentsOfRoots: Bool) {
        self.type = type
        self.searchedFields = searchedFields
        self.hidesParentsOfRoots = hidesParentsOfRoots
    }

    /// What filters and the order name.
    var namedFields: [QueryField] { filters.compactMap(\.field) + sorts.map(\.field) }

    /// The fields that filters and the order read.
    var testedFields: Set<FieldKey> {
        var keys: Set<FieldKey> = []
        for case .field(let key) in namedFields { keys.insert(key) }
        return filters.contains { $0.field == nil } ? keys.union(searchedFields) : keys
    }
}

extension RecordQuery {
    /// Whether the record passes all filters. It must have at least the fields `testedFields`.
    package func matches(_ stored: StoredRecord) -> Bool { matches(stored, filters) }

    /// Whether the record passes these filters.
    func matches(_ stored: StoredRecord, _ filters: [RecordFilter]) -> Bool {
        filters.allSatisfy { filter in
            let passes =
                filter.field.map { filter.test.passes($0.value(in: stored)) }
                ?? filter.test.passes(words: { stored.record.words(of: searchedFields) })
            return passes != filter.isNegated
        }
    }
}

extension RecordSort {
    /// The value that the record is sorted by. A distance is a number; without a location it is infinite.
    func value(of stored: StoredRecord) -> FieldValue? {
        guard let origin else { return ValueOrder.sortable(field.value(in: stored)) }
        guard case .location(let place)? = field.value(in: stored) else { return .double(.infinity) }
        return .double(GreatCircle.haversine(from: origin, to: place) ?? .infinity)
    }
}

extension FilterTest {
    func passes(_ value: FieldValue?) -> Bool {
        guard let value else { return false }
        switch self {
        case .equals(let operand): return ValueOrder.areEqual(value, operand)
        case .above(let bound, let isInclusive):
            guard let order = ValueOrder.compare(value, bound) else { return false }
            return order > 0 || order == 0 && isInclusive
        case .below(let bound, let isInclusive):
            guard let order = ValueOrder.compare(value, bound) else { return false }
            return order < 0 || order == 0 && isInclusive
        case .isIn(let operands): return operands.contains { ValueOrder.areEqual(value, $0) }
        case .beginsWith(let prefix):
            guard case .string(let text) = value else { return false }
            return text.utf8.starts(with: prefix.utf8)
        case .isNear(let place, let radiusMetres):
            let limit = GreatCircle.haversine(ofMetres: radiusMetres)
            return value.items.contains { item in
                guard case .location(let found) = item else { return false }
                return GreatCircle.haversine(from: place, to: found).map { $0 < limit } ?? false
            }
        case .listContainsAny(let operands): return operands.contains { value.listContains($0) }
        case .listContainsAll(let operands):
            guard case .list = value else { return false }
            return operands.allSatisfy { value.listContains($0) }
        case .listMemberBeginsWith(let prefix):
            guard case .list(let items) = value else { return false }
            return items.contains { FilterTest.beginsWith(prefix).passes($0) }
        case .anyWord, .allWords: return false
        }
    }

    /// A search for no word finds nothing.
    func passes(words: () -> Set<String>) -> Bool {
        switch self {
        case .anyWord(let wanted): !wanted.isEmpty && !words().isDisjoint(with: wanted)
        case .allWords(let wanted): !wanted.isEmpty && words().isSuperset(of: wanted)
        default: false
        }
    }
}

extension FieldValue {
    /// Whether the value is a list that contains another value.
    fileprivate func listContains(_ value: FieldValue) -> Bool {
        guard case .list(let items) = self else { return false }
        return items.contains { ValueOrder.areEqual($0, value) }
    }
}

extension Record {
    /// The words of these fields, folded.
    func words(of keys: Set<FieldKey>) -> Set<String> {
        var words: Set<String> = []
        for (key, field) in fields where keys.contains(key) && !field.isEncrypted {
            words.formUnion(field.value.words)
        }
        return words
    }
}

// The order of values in filters, sorts and indexes. There is one order, so an index can replace a comparison.
//
//   no value < references < texts < numbers < dates
//
// References by the bytes of their target's name, texts by their UTF-8 bytes, numbers exactly, whether
// they are integers or not. NaN is one value, above all numbers, and -0.0 is 0.0. Bytes, files, lists and locations
// have no order.

/// Compares values.
package enum ValueOrder {
    /// Texts are sorted by at most so many bytes. Texts that begin alike are in the order of names.
    package static let maximumSortedByteCount = 1_024

    /// -1, 0 or 1; nil if the values are of different kinds, or of one without an order.
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

    /// The order of sort values, absent ones included.
    static func compare(sorted left: FieldValue?, _ right: FieldValue?) -> Int {
        let (one, other) = (rank(left), rank(right))
        guard one == other else { return one < other ? -1 : 1 }
        guard let left, let right else { return 0 }
        return compare(left, right) ?? 0
    }

    /// The value as it is sorted: nil if it has no order.
    static func sortable(_ value: FieldValue?) -> FieldValue? {
        switch value {
        case .string(let text)?: .string(prefix(of: text, byteCount: maximumSortedByteCount))
        case .reference?, .int64?, .double?, .date?: value
        default: nil
        }
    }

    /// The longest prefix of a text that has at most `byteCount` bytes and ends between two scalars.
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
