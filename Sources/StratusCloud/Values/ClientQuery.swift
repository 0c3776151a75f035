// A query as a client sends it: its predicate in the server's vocabulary.

package import StratusModel

/// How a field is compared with an operand. Cursors hold the raw values; they never change.
package enum QueryComparator: UInt8, Hashable, Codable, Sendable, CaseIterable {
    case equals = 1
    case notEquals = 2
    case lessThan = 3
    case lessThanOrEquals = 4
    case greaterThan = 5
    case greaterThanOrEquals = 6
    /// The field's value is in the operand, a list.
    case isIn = 7
    case isNotIn = 8
    case beginsWith = 9
    case doesNotBeginWith = 10
    /// The field is a list that holds the operand.
    case listContains = 11
    case listDoesNotContain = 12
    /// The field is a list that holds one of, or all of, the items of the operand.
    case listContainsAny = 13
    case listContainsAll = 14
    case listContainsNoneOf = 15
    case listDoesNotContainAll = 16
    /// The field is a list of texts, and at least one begins with the operand.
    case listMemberBeginsWith = 17
    case noListMemberBeginsWith = 18
    /// The record's searchable text holds one of, or all of, the words of the operand, a text. The key is empty.
    case containsAnyToken = 19
    case containsAllTokens = 20
    /// The field is a location nearer to the operand than `radius`.
    case isNear = 21
    /// The field's value is in the operand, a list; for a list field, one of its members is.
    case isAnyOf = 22
    case isNoneOf = 23
}

/// One comparison. All comparisons of a query must hold.
package struct QueryFilter: Hashable, Codable, Sendable {
    /// A field's name, or that of a system field in either spelling: `___createTime` or `creationDate`.
    package var key: String
    package var comparator: QueryComparator
    package var operand: ClientValue
    /// For `isNear`: the radius in the predicate, in the unit that the server's options set.
    package var radius: Double?

    package init(key: String, comparator: QueryComparator, operand: ClientValue, radius: Double? = nil) {
        self.key = key
        self.comparator = comparator
        self.operand = operand
        self.radius = radius
    }
}

/// One sort key of the results.
package struct QuerySort: Hashable, Codable, Sendable {
    package var key: String
    package var isAscending: Bool
    /// The place, if results are sorted by their distance from it.
    package var origin: Location?

    package init(key: String, isAscending: Bool = true, origin: Location? = nil) {
        self.key = key
        self.isAscending = isAscending
        self.origin = origin
    }
}

/// The records of a type for which all filters hold.
package struct ClientQuery: Hashable, Codable, Sendable {
    package var recordType: String
    package var filters: [QueryFilter]
    package var sorts: [QuerySort]
    /// Set for a predicate that is never true: no record is read.
    package var matchesNothing: Bool

    package init(
        recordType: String, filters: [QueryFilter] = [], sorts: [QuerySort] = [], matchesNothing: Bool = false
    ) {
        self.recordType = recordType
        self.filters = filters
        self.sorts = sorts
        self.matchesNothing = matchesNothing
    }
}
