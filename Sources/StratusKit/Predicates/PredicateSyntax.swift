// The content of a predicate, as a tree of plain values. The parser creates it, `PredicateText` writes it, and
// `LoweredPredicate` converts what CloudKit takes to the server's terms.

import Foundation
import StratusCloud

/// A condition on a record.
indirect enum PredicateSyntax: Hashable, Sendable {
    case always(Bool)
    case comparison(PredicateComparison)
    case and([PredicateSyntax])
    case or([PredicateSyntax])
    case not(PredicateSyntax)

    // MARK: Values for variables

    /// Replaces variables by values. Variables without a value stay.
    func substituting(_ values: [String: PredicateSide]) -> PredicateSyntax {
        switch self {
        case .always: return self
        case .comparison(var comparison):
            comparison.left = comparison.left.substituting(values)
            comparison.right = comparison.right.substituting(values)
            return .comparison(comparison)
        case .and(let parts): return .and(parts.map { $0.substituting(values) })
        case .or(let parts): return .or(parts.map { $0.substituting(values) })
        case .not(let part): return .not(part.substituting(values))
        }
    }
}

/// Two sides and the relation between them.
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
    /// The letters in brackets after the relation, in lower case and sorted: `cd`.
    var options = ""
    var right: PredicateSide

    /// The letters that are allowed in brackets.
    static let optionLetters = "cdlnw"
}

/// A side of a comparison, or a part of one.
indirect enum PredicateSide: Hashable, Sendable {
    /// A field of the record; several names are a path to another record's field.
    case keyPath([String])
    /// The record itself.
    case evaluatedObject
    case constant(PredicateConstant)
    /// A list in braces.
    case aggregate([PredicateSide])
    /// A value that is given later: `$NAME`.
    case variable(String)
    /// A function, with its name as written. An operator is a function with Foundation's name for it.
    case function(String, [PredicateSide])

    static func string(_ text: String) -> Self { .constant(.value(.string(text))) }
    static func integer(_ number: Int64) -> Self { .constant(.value(.int64(number))) }
    static func double(_ number: Double) -> Self { .constant(.value(.double(number))) }

    /// Foundation's names for the functions of operators.
    static let negation = "negate:"
    static let addition = "add:to:"
    static let subtraction = "from:subtract:"
    static let multiplication = "multiply:by:"
    static let division = "divide:by:"
    static let power = "raise:toPower:"

    /// Other functions with a meaning here.
    static let distance = "distanceToLocation:fromLocation:"
    static let now = "now"
    static let cast = "CAST"

    fileprivate func substituting(_ values: [String: PredicateSide]) -> PredicateSide {
        switch self {
        case .variable(let name): values[name] ?? self
        case .aggregate(let parts): .aggregate(parts.map { $0.substituting(values) })
        case .function(let name, let arguments): .function(name, arguments.map { $0.substituting(values) })
        case .keyPath, .evaluatedObject, .constant: self
        }
    }
}

/// A value in a predicate.
enum PredicateConstant: Hashable, Sendable {
    case value(ClientValue)
    /// No value.
    case null
    /// A value that no record can have, by the name of its type.
    case unusable(String)
}

extension Misuse {
    /// A format that does not parse. On Apple's systems most mistakes in predicates raise an exception; here the query
    /// fails with a text that says what to write instead (X-25, Q-01).
    /// - Parameters:
    ///   - format: The whole format.
    ///   - column: The number of the character where it is wrong, from 1.
    ///   - message: What was expected there.
    init(format: String, column: Int, _ message: String) {
        self.init("Unable to parse the format string \"\(format)\": at column \(column), \(message).")
    }
}

/// Writes a predicate as a format: as text for people, or with placeholders and separate values for archives.
struct PredicateText {
    /// Whether the text contains the values; otherwise it has placeholders.
    private let isForPeople: Bool
    private(set) var arguments: [PredicateConstant] = []

    /// The text that `predicateFormat` gives.
    static func text(of syntax: PredicateSyntax) -> String {
        var text = PredicateText(isForPeople: true)
        return text.condition(syntax)
    }

    /// A format with a placeholder for every value, and the values. Parsing them gives the same tree.
    static func format(of syntax: PredicateSyntax) -> (format: String, arguments: [PredicateConstant]) {
        var text = PredicateText(isForPeople: false)
        let format = text.condition(syntax)
        return (format, text.arguments)
    }

    /// The text of a condition, in parentheses where the surrounding condition needs them.
    private mutating func condition(
        _ syntax: PredicateSyntax, isPart: Bool = false, isNegated: Bool = false
    ) -> String {
        switch syntax {
        case .always(let isTrue): return isTrue ? "TRUEPREDICATE" : "FALSEPREDICATE"
        case .comparison(let comparison):
            let text = self.comparison(comparison)
            return isNegated ? "(\(text))" : text
        case .and(let parts): return joined(parts, " AND ", empty: "TRUEPREDICATE", isBare: !isPart)
        case .or(let parts): return joined(parts, " OR ", empty: "FALSEPREDICATE", isBare: !isPart)
        case .not(let part): return "NOT " + condition(part, isPart: true, isNegated: true)
        }
    }

    private mutating func joined(
        _ parts: [PredicateSyntax], _ separator: String, empty: String, isBare: Bool
    ) -> String {
        guard !parts.isEmpty else { return empty }
        let text = parts.map { condition($0, isPart: true) }.joined(separator: separator)
        return isBare ? text : "(\(text))"
    }

    private mutating func comparison(_ comparison: PredicateComparison) -> String {
        let quantifier = comparison.quantifier.map { "\($0.rawValue) " } ?? ""
        let left = side(comparison.left)
        let options = comparison.options.isEmpty ? "" : "[\(comparison.options)]"
        return "\(quantifier)\(left) \(comparison.relation.rawValue)\(options) \(side(comparison.right))"
    }

    private mutating func side(_ side: PredicateSide) -> String {
        switch side {
        case .evaluatedObject: return "SELF"
        case .keyPath(let names): return path(names)
        case .variable(let name): return "$\(name)"
        case .aggregate(let parts): return "{\(list(parts))}"
        case .constant(.null): return "nil"
        case .constant(let constant):
            if isForPeople { return Self.words(for: constant) }
            arguments.append(constant)
            return "%@"
        case .function(let name, let parts):
            if let symbol = Self.symbols[name], parts.count == 2 {
                return "(\(self.side(parts[0])) \(symbol) \(self.side(parts[1])))"
            }
            if name == PredicateSide.negation, parts.count == 1 { return "(-(\(self.side(parts[0]))))" }
            return "\(name)(\(list(parts)))"
        }
    }

    private static let symbols = [
        PredicateSide.addition: "+", PredicateSide.subtraction: "-",
        PredicateSide.multiplication: "*", PredicateSide.division: "/", PredicateSide.power: "**",
    ]

    private mutating func list(_ parts: [PredicateSide]) -> String {
        parts.map { side($0) }.joined(separator: ", ")
    }

    /// A name that the parser would read as something else becomes an argument.
    private mutating func path(_ names: [String]) -> String {
        guard !isForPeople, !names.allSatisfy(Self.isPlain) else {
            return names.map { PredicateParser.reserved.contains($0.uppercased()) ? "#\($0)" : $0 }.joined(
                separator: ".")
        }
        arguments.append(.value(.string(names.joined(separator: "."))))
        return "%K"
    }

    private static func isPlain(_ name: String) -> Bool {
        guard let first = name.utf8.first, first.isNameStart else { return false }
        return name.utf8.allSatisfy { $0.isNameStart || $0.isDigit }
            && !PredicateParser.reserved.contains(name.uppercased())
    }

    /// A value as people read it. A value that formats cannot express is described.
    private static func words(for constant: PredicateConstant) -> String {
        switch constant {
        case .null: "nil"
        case .unusable(let type): "<\(type)>"
        case .value(let value):
            switch value {
            case .string(let text): quoted(text)
            case .int64(let number): "\(number)"
            case .double(let number): "\(number)"
            case .date(let date): "CAST(\(date.timeIntervalSinceReferenceDate), \"NSDate\")"
            case .bytes(let bytes): "<\(bytes.count) bytes>"
            case .location(let location): "\(CLLocation(location))"
            case .reference(let reference): "\(CKRecordID(reference.target))"
            case .asset: "<CKAsset>"
            case .list(let values): "{\(values.map { words(for: .value($0)) }.joined(separator: ", "))}"
            }
        }
    }

    private static func quoted(_ text: String) -> String {
        let escapes: [Character: String] = [
            "\"": #"\""#, "\\": #"\\"#, "\n": #"\n"#, "\t": #"\t"#, "\r": #"\r"#, "\0": #"\0"#,
        ]
        return "\"\(text.map { escapes[$0] ?? String($0) }.joined())\""
    }
}
