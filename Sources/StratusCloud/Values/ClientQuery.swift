// A query as a client sends it: what predicates come to in the server's vocabulary.

package import StratusModel

/// How a field is compared with an operand. The raw values stand in cursors; they never change.
package enum QueryComparator: UInt8, Hashable, Sendable, CaseIterable {
    case equals = 1
    case notEquals = 2
    case lessThan = 3
    case lessThanOrEquals = 4
    case greaterThan = 5
    case greaterThanOrEquals = 6
    /// The field's value is one of the operand's list.
    case isIn = 7
    case isNotIn = 8
    case beginsWith = 9
    case doesNotBeginWith = 10
    /// The field is a list that holds the operand.
    case listContains = 11
    case listDoesNotContain = 12
    /// The field is a list that holds one of, or all of, the operand's list.
    case listContainsAny = 13
    case listContainsAll = 14
    case listContainsNoneOf = 15
    case listDoesNotContainAll = 16
    /// The field is a list of texts of which one begins with the operand.
    case listMemberBeginsWith = 17
    case noListMemberBeginsWith = 18
    /// The record's searchable text holds one of, or all of, the words of the operand, a text. The key is empty.
    case containsAnyToken = 19
    case containsAllTokens = 20
    /// The field is a location nearer to the operand than `radius`.
    case isNear = 21
    /// The field's value is one of the operand's list; of a field that is a list, one of its members is.
    case isAnyOf = 22
    case isNoneOf = 23
}

/// One comparison. All comparisons of a query must hold.
package struct QueryFilter: Hashable, Sendable {
    /// A field's name, or that of a system field in either spelling: `___createTime` or `creationDate`.
    package var key: String
    package var comparator: QueryComparator
    package var operand: ClientValue
    /// For `isNear`: as the predicate says it; the unit is the server's option.
    package var radius: Double?

    package init(key: String, comparator: QueryComparator, operand: ClientValue, radius: Double? = nil) {
        self.key = key
        self.comparator = comparator
        self.operand = operand
        self.radius = radius
    }
}

/// One key of the order of results.
package struct QuerySort: Hashable, Sendable {
    package var key: String
    package var isAscending: Bool
    /// Where results are sorted by their distance from a place.
    package var origin: Location?

    package init(key: String, isAscending: Bool = true, origin: Location? = nil) {
        self.key = key
        self.isAscending = isAscending
        self.origin = origin
    }
}

/// The records of a type for which all filters hold.
package struct ClientQuery: Hashable, Sendable {
    package var recordType: String
    package var filters: [QueryFilter]
    package var sorts: [QuerySort]
    /// Set by a predicate that is never true: nothing is looked at.
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

// What verifiers tell: exact numbers, and the first findings of each kind.

/// Something that is not as it should be.
package protocol VerifierFinding: Hashable, Sendable, CustomStringConvertible {
    associatedtype Kind: Hashable, Sendable

    /// What is wrong, without what it is wrong with.
    var kind: Kind { get }

    /// Findings of a kind beyond this number are counted, not kept: many of one hide none of another.
    static func maximumCount(of kind: Kind) -> Int
}

extension VerifierFinding {
    package static func maximumCount(of kind: Kind) -> Int { VerifierFindings<Self>.maximumCount }
}

/// What was found. A damaged store gives a finding for each of its entries: memory holds the first of each kind.
package struct VerifierFindings<Finding: VerifierFinding>: Hashable, Sendable {
    /// How many findings of a kind are kept that does not say otherwise.
    package static var maximumCount: Int { 100 }

    private var counts: [Finding.Kind: Int] = [:]
    /// The first of each kind.
    package private(set) var kept: [Finding] = []

    package init() {}

    /// How much was found.
    package var count: Int { counts.values.reduce(0, +) }
    /// Findings that are counted and not kept.
    package var unkeptCount: Int { count - kept.count }

    func count(where isWanted: (Finding.Kind) -> Bool) -> Int {
        counts.reduce(0) { isWanted($1.key) ? $0 + $1.value : $0 }
    }

    mutating func note(_ finding: Finding) {
        let count = counts[finding.kind, default: 0] + 1
        counts[finding.kind] = count
        if count <= Finding.maximumCount(of: finding.kind) { kept.append(finding) }
    }

    /// Puts what was kept in an order that depends on nothing else.
    mutating func sort() {
        kept = kept.map { (text: "\($0)", finding: $0) }.sorted { $0.text < $1.text }.map { $0.finding }
    }
}
