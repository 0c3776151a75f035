// What a predicate says, as a tree of plain values. Parsing makes it, `PredicateText` writes it, and `PredicateLowering`
// turns as much of it as CloudKit takes into the server's words.

import Foundation
import StratusCloud

/// A condition on a record.
indirect enum PredicateSyntax: Hashable, Sendable {
    case always(Bool)
    case comparison(PredicateComparison)
    case and([PredicateSyntax])
    case or([PredicateSyntax])
    case not(PredicateSyntax)
}

/// Two sides, and what is said of them.
struct PredicateComparison: Hashable, Sendable {
    /// Which elements of a list the comparison is about.
    enum Quantifier: String, Hashable, Sendable, CaseIterable {
        case any = "ANY"
        case all = "ALL"
        case noneOf = "NONE"
    }

    enum Relation: String, Hashable, Sendable, CaseIterable {
        case equals = "=="
        case notEquals = "!="
        case lessThan = "<"
        case lessThanOrEquals = "<="
        case greaterThan = ">"
        case greaterThanOrEquals = ">="
        case between = "BETWEEN"
        case isIn = "IN"
        case contains = "CONTAINS"
        case beginsWith = "BEGINSWITH"
        case endsWith = "ENDSWITH"
        case like = "LIKE"
        case matches = "MATCHES"
        case tokenMatches = "TOKENMATCHES"
    }

    var quantifier: Quantifier?
    var left: PredicateSide
    var relation: Relation
    /// What stands in brackets after the relation, in lower case and in order: `cd`.
    var options = ""
    var right: PredicateSide

    /// The letters that may stand in brackets.
    static let optionLetters = "cdlnw"
}

/// A side of a comparison, or a part of one.
indirect enum PredicateSide: Hashable, Sendable {
    /// A field of the record, or with several names a path from it to another.
    case keyPath([String])
    /// The record itself.
    case evaluatedObject
    case constant(PredicateConstant)
    /// What stands in braces.
    case aggregate([PredicateSide])
    /// A value to be given later: `$NAME`.
    case variable(String)
    /// A function, with its name as it was written; an operator is one, under the name that Foundation has for it.
    case function(String, [PredicateSide])
}

/// A value in a predicate.
enum PredicateConstant: Hashable, Sendable {
    case value(ClientValue)
    /// No value.
    case null
    /// A value that no record has, by the name of its type.
    case unusable(String)
}

extension PredicateSide {
    static func string(_ text: String) -> Self { .constant(.value(.string(text))) }
    static func integer(_ number: Int64) -> Self { .constant(.value(.int64(number))) }
    static func double(_ number: Double) -> Self { .constant(.value(.double(number))) }

    /// The names of functions that operators stand for.
    static let negation = "negate:"
    static let addition = "add:to:"
    static let subtraction = "from:subtract:"
    static let multiplication = "multiply:by:"
    static let division = "divide:by:"
    static let power = "raise:toPower:"

    /// Other functions that have a meaning here.
    static let distance = "distanceToLocation:fromLocation:"
    static let now = "now"
    static let cast = "CAST"
}

// MARK: Values for variables

extension PredicateSyntax {
    /// The same with values in the place of variables; those without one stay.
    func substituting(_ values: [String: PredicateSide]) -> PredicateSyntax {
        switch self {
        case .always: self
        case .comparison(var comparison):
            {
                comparison.left = comparison.left.substituting(values)
                comparison.right = comparison.right.substituting(values)
                return .comparison(comparison)
            }()
        case .and(let parts): .and(parts.map { $0.substituting(values) })
        case .or(let parts): .or(parts.map { $0.substituting(values) })
        case .not(let part): .not(part.substituting(values))
        }
    }
}

extension PredicateSide {
    fileprivate func substituting(_ values: [String: PredicateSide]) -> PredicateSide {
        switch self {
        case .variable(let name): values[name] ?? self
        case .aggregate(let parts): .aggregate(parts.map { $0.substituting(values) })
        case .function(let name, let arguments): .function(name, arguments.map { $0.substituting(values) })
        case .keyPath, .evaluatedObject, .constant: self
        }
    }
}
