// A query in the words of the record layer: plain values, checked by the floor above. Every filter is one test of one
// field, or its exact opposite: a record that lacks the field passes no test and every opposite.

package import StratusModel

/// One end of a range of values.
package struct ValueBound: Hashable, Sendable {
    package var value: FieldValue
    package var isInclusive: Bool

    package init(_ value: FieldValue, isInclusive: Bool) {
        self.value = value
        self.isInclusive = isInclusive
    }
}

/// What is asked of a field. Values of another kind than the operand's pass no test.
package enum FilterTest: Hashable, Sendable {
    case equals(FieldValue)
    case above(ValueBound)
    case below(ValueBound)
    case isIn([FieldValue])
    case beginsWith(String)
    /// The field is a list with one of these, or all of them.
    case listContainsAny([FieldValue])
    case listContainsAll([FieldValue])
    case listMemberBeginsWith(String)
    /// The searchable fields hold one of these words, or all of them; folded as `SearchWords` folds.
    case anyWord(Set<String>)
    case allWords(Set<String>)
    /// The field is a place nearer than so many metres, or a list with one.
    case isNear(Location, radiusMetres: Double)
}

/// One comparison of a query.
package struct RecordFilter: Hashable, Sendable {
    /// Nil for a test of the record's words.
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

/// One key of the order of results. Records without a value come first in ascending order, those without a place behind
/// all others.
package struct RecordSort: Hashable, Sendable {
    package var field: QueryField
    package var isAscending: Bool
    /// Where results are sorted by their distance from a place.
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
    package var filters: [RecordFilter]
    package var sorts: [RecordSort]
    /// The fields whose words are searched.
    package var searchedFields: Set<FieldKey>
    /// Whether the parents of share roots are not to be known.
    package var hidesParentsOfRoots: Bool

    package init(
        type: RecordType, filters: [RecordFilter] = [], sorts: [RecordSort] = [], searchedFields: Set<FieldKey> = [],
        hidesParentsOfRoots: Bool = false
    ) {
        self.type = type
        self.filters = filters
        self.sorts = sorts
        self.searchedFields = searchedFields
        self.hidesParentsOfRoots = hidesParentsOfRoots
    }

    /// The fields that filters and order look at.
    var testedFields: Set<FieldKey> {
        var keys: Set<FieldKey> = []
        for field in filters.map(\.field) + sorts.map({ Optional($0.field) }) {
            if case .field(let key)? = field { keys.insert(key) }
        }
        return filters.contains { $0.field == nil } ? keys.union(searchedFields) : keys
    }
}
