// Every comparison of a small grammar, with and without NOT.

import Foundation
import StratusCloud
import Testing

@testable import StratusKit

@Suite struct SmallGrammarTests {
    private static let sides: [PredicateSide] = [
        .keyPath(["a"]), .keyPath(["allTokens"]), .evaluatedObject, .string("x"), .integer(1), .constant(.null),
        .aggregate([.integer(1), .integer(2)]),
        .function(PredicateSide.distance, [.keyPath(["p"]), .constant(PredicateConstant(PredicateSamples.place))]),
    ]

    private static var comparisons: [PredicateComparison] {
        var all: [PredicateComparison] = []
        for quantifier in [nil] + PredicateComparison.Quantifier.allCases.map({ Optional($0) }) {
            for relation in PredicateComparison.Relation.allCases {
                for options in ["", "cdl"] {
                    for left in sides {
                        for right in sides {
                            all.append(
                                PredicateComparison(
                                    quantifier: quantifier, left: left, relation: relation, options: options,
                                    right: right))
                        }
                    }
                }
            }
        }
        return all
    }

    /// The comparator that holds for a field with a value if another does not.
    private static let opposites: [QueryComparator: QueryComparator] = [
        .equals: .notEquals, .lessThan: .greaterThanOrEquals, .greaterThan: .lessThanOrEquals, .isIn: .isNotIn,
        .beginsWith: .doesNotBeginWith, .listContains: .listDoesNotContain, .listContainsAny: .listContainsNoneOf,
        .listMemberBeginsWith: .noListMemberBeginsWith, .isAnyOf: .isNoneOf,
    ]

    private static func filters(_ syntax: PredicateSyntax) -> [QueryFilter]? {
        (try? LoweredPredicate(syntax, now: PredicateSamples.now))?.filters
    }

    @Test("every comparison parses from its printed form")
    func roundTrip() throws {
        for comparison in Self.comparisons {
            let written = PredicateText.format(of: .not(.comparison(comparison)))
            let read = try? PredicateParser.parse(written.format, arguments: written.arguments.map { .single($0) })
            try #require(read == .not(.comparison(comparison)), "\(written.format)")
        }
    }

    @Test("[Q-01][Q-03] NOT before a comparison gives the opposite, or is refused")
    func negation() throws {
        var (acceptedCount, negatedCount) = (0, 0)
        for comparison in Self.comparisons {
            let plain = Self.filters(.comparison(comparison))
            let negated = Self.filters(.not(.comparison(comparison)))
            let text = PredicateText.text(of: .comparison(comparison))
            guard let plain else {
                try #require(negated == nil, "\(text)")
                continue
            }
            acceptedCount += 1
            try #require(plain.count == (comparison.relation == .between ? 2 : 1), "\(text)")
            guard let negated else { continue }
            negatedCount += 1
            let (one, other) = (try #require(plain.first), try #require(negated.first))
            let isOpposite =
                Self.opposites[one.comparator] == other.comparator || Self.opposites[other.comparator] == one.comparator
            try #require(isOpposite && one.key == other.key && one.operand == other.operand, "\(text)")
        }
        // The number counted by hand: see the table of what CloudKit accepts.
        #expect(acceptedCount == Self.acceptedCount)
        #expect(negatedCount == Self.acceptedCount - Self.withoutNegationCount)
    }

    // Two fields and two values on either side make 8 of each of the 6 orderings, and a list on the right none.
    // IN: 2 fields with the list, 2 values in 2 fields. CONTAINS: 2 fields with 2 values. BEGINSWITH: 2 fields with a
    // text. ANY: == with 8, and with a list before 2 fields, IN with 2, CONTAINS with 4, BEGINSWITH with 2.
    private static let acceptedCount = 6 * 8 + 6 + 4 + 2 + 10 + 2 + 4 + 2 + withoutNegationCount
    // BETWEEN: 2. SELF CONTAINS text, with options and without: 2. TOKENMATCHES[cdl] of all tokens with a text: 1.
    // A distance below a number, and a number above a distance, each with and without equality: 4.
    private static let withoutNegationCount = 2 + 2 + 1 + 4
}
