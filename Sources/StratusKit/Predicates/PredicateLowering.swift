// Converts a predicate to the comparisons that the server accepts: a flat list that must hold as a whole (Q-01).
// Anything that CloudKit does not accept is refused with a sentence that says what to write instead.

import Foundation
import StratusCloud

/// A predicate in the server's terms.
struct LoweredPredicate: Hashable, Sendable {
    /// Filters that must all hold.
    private(set) var filters: [QueryFilter] = []
    /// Whether no record can match, so that none is read.
    private(set) var matchesNothing = false

    /// Converts a predicate; `now` is the value of `now()` in it. Throws what CloudKit does not take.
    init(_ syntax: PredicateSyntax, now: Date) throws(Misuse) {
        try add(syntax, isNegated: false, now)
    }

    private mutating func add(_ syntax: PredicateSyntax, isNegated: Bool, _ now: Date) throws(Misuse) {
        switch syntax {
        case .always(let isTrue):
            if isTrue == isNegated { matchesNothing = true }
        case .not(let part):
            try add(part, isNegated: !isNegated, now)
        case .and(let parts) where parts.count == 1, .or(let parts) where parts.count == 1:
            try add(parts[0], isNegated: isNegated, now)
        case .and(let parts):
            guard !isNegated else {
                throw Misuse(
                    "CloudKit takes no NOT before conditions joined by AND: write it before single comparisons.")
            }
            for part in parts { try add(part, isNegated: false, now) }
        case .or(let parts):
            guard parts.isEmpty else {
                throw Misuse(
                    "CloudKit takes no OR: write field IN {…} for several values of one field, or ask a query for each."
                )
            }
            if !isNegated { matchesNothing = true }
        case .comparison(let comparison):
            filters += try ComparisonLowering(comparison, isNegated: isNegated, now: now).filters()
        }
    }
}

/// Converts one comparison to filters: which side is the field, which comparator it needs, what CloudKit refuses.
struct ComparisonLowering {
    private typealias Relation = PredicateComparison.Relation

    /// With the field or a distance on the left, if the other side is a value.
    private let comparison: PredicateComparison
    private let isNegated: Bool
    private let now: Date
    /// Whether a value was on the left of a field.
    private let beginsWithValue: Bool

    init(_ comparison: PredicateComparison, isNegated: Bool, now: Date) {
        beginsWithValue = comparison.left.isValue && !comparison.right.isValue
        var comparison = comparison
        if beginsWithValue, let mirrored = Self.mirrored[comparison.relation] {
            (comparison.left, comparison.right, comparison.relation) = (comparison.right, comparison.left, mirrored)
        }
        self.comparison = comparison
        self.isNegated = isNegated
        self.now = now
    }

    /// The relations of comparisons whose sides are swapped.
    private static let mirrored: [Relation: Relation] = [
        .equals: .equals, .notEquals: .notEquals, .lessThan: .greaterThan, .lessThanOrEquals: .greaterThanOrEquals,
        .greaterThan: .lessThan, .greaterThanOrEquals: .lessThanOrEquals,
    ]

    /// The name that means all searchable text of a record.
    private static let allTokens = "allTokens"

    func filters() throws(Misuse) -> [QueryFilter] {
        if let filter = try tokenFilter() { return [filter] }
        if let filter = try distanceFilter() { return [filter] }
        guard comparison.options.isEmpty else {
            throw Misuse("CloudKit compares as its indexes do and takes no options. Leave [\(comparison.options)] out.")
        }
        if comparison.relation == .between { return try rangeFilters() }
        return [try fieldFilter()]
    }

    // MARK: Fields

    private func fieldFilter() throws(Misuse) -> QueryFilter {
        if comparison.relation == .isIn, comparison.quantifier == nil, case .keyPath = comparison.right,
            case .constant = comparison.left
        {
            // A value on the left of IN: whether a list contains it.
            return filter(try key(comparison.right), .listContains, try value(comparison.left))
        }
        let key = try self.key(comparison.left)
        if comparison.relation == .equals, comparison.quantifier == .any, beginsWithValue {
            // `ANY {…} = field`: whether the field, or one of its members, is among the values.
            return filter(key, .isAnyOf, .list(try values(comparison.right, isOneTaken: true)))
        }
        switch (comparison.relation, comparison.quantifier) {
        case (_, .all):
            throw Misuse("CloudKit takes no ALL: write field CONTAINS value for each value, joined by AND.")
        case (_, .noneOf):
            throw Misuse("CloudKit takes no NONE: write NOT (ANY …).")
        case (.isIn, let quantifier):
            return filter(key, quantifier == nil ? .isIn : .listContainsAny, .list(try values(comparison.right)))
        case (.beginsWith, let quantifier):
            let text = try value(comparison.right)
            guard case .string = text else {
                throw Misuse("The right side of BEGINSWITH is not a text: pass a String.")
            }
            return filter(key, quantifier == nil ? .beginsWith : .listMemberBeginsWith, text)
        case (.equals, .any), (.contains, _):
            return filter(key, .listContains, try value(comparison.right))
        case (let relation, .any):
            throw Misuse(
                "CloudKit takes ANY before ==, IN, CONTAINS and BEGINSWITH, and not before \(relation.rawValue).")
        case (let relation, nil):
            return try orderFilter(key, relation)
        }
    }

    private func orderFilter(_ key: String, _ relation: Relation) throws(Misuse) -> QueryFilter {
        guard let comparator = Self.comparators[relation] else {
            let advice =
                relation == .tokenMatches
                ? "write self CONTAINS 'words', or allTokens TOKENMATCHES[cdl] 'words'"
                : "write BEGINSWITH for the beginning of a text, or self CONTAINS 'words' for words in it"
            throw Misuse("CloudKit takes no \(relation.rawValue) here: \(advice).")
        }
        let operand = try value(comparison.right)
        if case .location = operand {
            throw Misuse(
                "CloudKit finds locations by their distance: write distanceToLocation:fromLocation:(field, %@) < radius."
            )
        }
        return filter(key, comparator, operand)
    }

    private static let comparators: [Relation: QueryComparator] = [
        .equals: .equals, .notEquals: .notEquals, .lessThan: .lessThan, .lessThanOrEquals: .lessThanOrEquals,
        .greaterThan: .greaterThan, .greaterThanOrEquals: .greaterThanOrEquals,
    ]

    /// A filter with this comparator; after NOT, with its opposite.
    private func filter(_ key: String, _ comparator: QueryComparator, _ operand: ClientValue) -> QueryFilter {
        let meant = isNegated ? Self.opposites[comparator] ?? comparator : comparator
        return QueryFilter(key: key, comparator: meant, operand: operand)
    }

    private static let opposites: [QueryComparator: QueryComparator] = [
        .equals: .notEquals, .notEquals: .equals, .lessThan: .greaterThanOrEquals, .lessThanOrEquals: .greaterThan,
        .greaterThan: .lessThanOrEquals, .greaterThanOrEquals: .lessThan, .isIn: .isNotIn,
        .beginsWith: .doesNotBeginWith, .listContains: .listDoesNotContain, .listContainsAny: .listContainsNoneOf,
        .listMemberBeginsWith: .noListMemberBeginsWith, .isAnyOf: .isNoneOf,
    ]

    private func rangeFilters() throws(Misuse) -> [QueryFilter] {
        guard !isNegated, comparison.quantifier == nil else {
            throw Misuse("CloudKit takes no NOT, ANY or ALL before BETWEEN: write < or > for each side of it.")
        }
        let key = try self.key(comparison.left)
        let bounds = try values(comparison.right)
        guard bounds.count == 2 else {
            throw Misuse("BETWEEN takes a list of two values: {lowest, highest}.")
        }
        return [
            QueryFilter(key: key, comparator: .greaterThanOrEquals, operand: bounds[0]),
            QueryFilter(key: key, comparator: .lessThanOrEquals, operand: bounds[1]),
        ]
    }

    private func key(_ side: PredicateSide) throws(Misuse) -> String {
        switch side {
        case .keyPath(let names) where names.count == 1 && !names[0].hasPrefix("@"):
            return names[0]
        case .keyPath(let names):
            // The fields of a share have names with a dot.
            let name = names.joined(separator: ".")
            if FieldKeyRule.misuse(of: name) == nil { return name }
            throw Misuse("CloudKit takes no key paths, such as \(name): compare a field of the record itself.")
        case .evaluatedObject:
            throw Misuse("CloudKit takes SELF in self CONTAINS 'words' alone: write recordID for the record's name.")
        case .constant, .aggregate:
            throw Misuse("One side of a comparison is a field: both are values.")
        case .variable, .function:
            // Throws the problem with it if it is not a value.
            _ = try value(side)
            throw Misuse("One side of a comparison is a field: both are values.")
        }
    }

    // MARK: Values

    private func value(_ side: PredicateSide) throws(Misuse) -> ClientValue {
        switch side {
        case .constant(.value(.asset)): throw Misuse("CloudKit cannot compare with an asset.")
        case .constant(.value(let value)): return value
        case .constant(.null):
            throw Misuse(
                "CloudKit cannot compare with nil. Store a value that means none in the field, and compare with that.")
        case .constant(.unusable(let type)):
            throw Misuse("\(type) is not a type that a record can hold, so that no record has such a value.")
        case .aggregate:
            throw Misuse(
                "A list may only be on the right side of IN and BETWEEN. For a list that contains a value, write field CONTAINS value."
            )
        case .variable(let name):
            throw Misuse("The variable $\(name) has no value: use withSubstitutionVariables(_:).")
        case .keyPath(let names):
            throw Misuse(
                "CloudKit compares a field with a value, and not with the field \(names.joined(separator: ".")).")
        case .evaluatedObject:
            throw Misuse("CloudKit takes SELF in self CONTAINS 'words' alone: write recordID for the record's name.")
        case .function(let name, let arguments):
            if name.lowercased() == PredicateSide.now, arguments.isEmpty { return .date(now) }
            throw Misuse("CloudKit computes no \(name): compute the value first, and give it as %@.")
        }
    }

    /// The values of a list. With `isOneTaken`, a single value counts as a list of one.
    private func values(
        _ side: PredicateSide, isOneTaken: Bool = false
    ) throws(Misuse) -> [ClientValue] {
        switch side {
        case .aggregate(let parts): return try parts.map { part throws(Misuse) in try value(part) }
        case .constant(.value(.list(let values))): return values
        case .constant(.value) where !isOneTaken:
            throw Misuse(
                "\(comparison.relation.rawValue) takes a list on its right side: write {…} or give an array as %@.")
        default: return [try value(side)]
        }
    }

    // MARK: Words

    /// The filter of a comparison about words (Q-04, Q-05); nil for any other comparison.
    private func tokenFilter() throws(Misuse) -> QueryFilter? {
        if let filter = try tokenizeFilter() { return filter }
        switch (comparison.left, comparison.relation) {
        case (.evaluatedObject, .contains):
            guard Set(comparison.options).isSubset(of: "cdl") else { return nil }
        case (.keyPath([Self.allTokens]), .tokenMatches):
            guard comparison.options == "cdl" else {
                throw Misuse("CloudKit takes TOKENMATCHES with its options [cdl] alone.")
            }
        default: return nil
        }
        guard comparison.quantifier == nil else {
            throw Misuse("CloudKit takes no ANY or ALL before a comparison of words: leave it out.")
        }
        return try tokenFilter(.containsAnyToken, try value(comparison.right))
    }

    private func tokenFilter(
        _ comparator: QueryComparator, _ words: ClientValue
    ) throws(Misuse) -> QueryFilter {
        guard !isNegated else { throw Misuse("CloudKit takes no NOT before a comparison of words.") }
        guard case .string = words else {
            throw Misuse("The words to search for are not a text: pass a String.")
        }
        return QueryFilter(key: "", comparator: comparator, operand: words)
    }

    /// `ALL tokenize(…, 'Cdl') IN allTokens`, or the same with ANY.
    private func tokenizeFilter() throws(Misuse) -> QueryFilter? {
        guard comparison.relation == .isIn, case .keyPath([Self.allTokens]) = comparison.right,
            case .function(let name, let arguments) = comparison.left,
            ["tokenize", "tokenize:using:"].contains(name), arguments.count == 2
        else { return nil }
        guard case .string(let options) = try value(arguments[1]), options.lowercased() == "cdl" else {
            throw Misuse("CloudKit takes tokenize with its options 'cdl' alone.")
        }
        switch comparison.quantifier {
        case .all: return try tokenFilter(.containsAllTokens, try value(arguments[0]))
        case .any: return try tokenFilter(.containsAnyToken, try value(arguments[0]))
        default: throw Misuse("Write ANY or ALL before tokenize(…) IN allTokens.")
        }
    }

    // MARK: Places

    /// The filter of a comparison about a distance (Q-07); nil for any other comparison.
    private func distanceFilter() throws(Misuse) -> QueryFilter? {
        guard case .function(PredicateSide.distance, let arguments) = comparison.left else { return nil }
        guard !isNegated, comparison.quantifier == nil, comparison.options.isEmpty,
            comparison.relation == .lessThan || comparison.relation == .lessThanOrEquals
        else {
            throw Misuse(
                "CloudKit finds places nearer than a radius: write distanceToLocation:fromLocation:(field, %@) < radius."
            )
        }
        guard arguments.count == 2 else {
            throw Misuse("distanceToLocation:fromLocation: takes a field and a location.")
        }
        let isFieldFirst = if case .keyPath = arguments[0] { true } else { false }
        let field = try key(arguments[isFieldFirst ? 0 : 1])
        let place = try value(arguments[isFieldFirst ? 1 : 0])
        guard case .location = place else {
            throw Misuse("distanceToLocation:fromLocation: takes a field and a CLLocation.")
        }
        let radius: Double
        switch try value(comparison.right) {
        case .int64(let number): radius = Double(number)
        case .double(let number) where !number.isNaN: radius = number
        default: throw Misuse("The radius of a distance is a number.")
        }
        return QueryFilter(key: field, comparator: .isNear, operand: place, radius: radius)
    }
}

extension PredicateSide {
    /// Whether it has the same value for every record.
    fileprivate var isValue: Bool {
        switch self {
        case .keyPath, .evaluatedObject: false
        case .constant, .variable: true
        case .aggregate(let parts): parts.allSatisfy(\.isValue)
        case .function(_, let arguments): arguments.allSatisfy(\.isValue)
        }
    }
}
