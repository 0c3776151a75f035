// The sides of comparisons: fields, values, what is computed from them.

import Foundation
import StratusCloud

extension PredicateParser {
    /// Terms joined by + and -.
    mutating func sum() throws(PredicateProblem) -> Node {
        var node = try product()
        while case .side(let left) = node {
            if takes(symbol: "+") {
                node = .side(try function(PredicateSide.addition, [left, try side(try product())]))
            } else if takes(symbol: "-") {
                node = .side(try function(PredicateSide.subtraction, [left, try side(try product())]))
            } else {
                break
            }
        }
        return node
    }

    private mutating func product() throws(PredicateProblem) -> Node {
        var node = try power()
        while case .side(let left) = node {
            if takes(symbol: "*") {
                node = .side(try function(PredicateSide.multiplication, [left, try side(try power())]))
            } else if takes(symbol: "/") {
                node = .side(try function(PredicateSide.division, [left, try side(try power())]))
            } else {
                break
            }
        }
        return node
    }

    private mutating func power() throws(PredicateProblem) -> Node {
        let node = try signed()
        guard case .side(let base) = node, takes(symbol: "**") else { return node }
        let exponent = try nested { parser throws(PredicateProblem) in try parser.power() }
        return .side(try function(PredicateSide.power, [base, try side(exponent)]))
    }

    private mutating func signed() throws(PredicateProblem) -> Node {
        guard takes(symbol: "-") else { return try path() }
        let node = try nested { parser throws(PredicateProblem) in try parser.signed() }
        let operand = try side(node)
        switch operand {
        case .constant(.value(.int64(let number))): return .side(.integer(0 &- number))
        case .constant(.value(.double(let number))): return .side(.double(-number))
        default: return .side(try function(PredicateSide.negation, [operand]))
        }
    }

    private func side(_ node: Node) throws(PredicateProblem) -> PredicateSide {
        guard case .side(let side) = node else { throw unexpected("a value or a field") }
        return side
    }

    /// A side with the names and indexes that follow it. Brackets after a relation, its options, have been taken before.
    private mutating func path() throws(PredicateProblem) -> Node {
        let node = try primary()
        guard case .side(var side) = node else { return node }
        while true {
            if takes(symbol: ".") {
                guard case .word(let name, _) = current.kind else { throw unexpected("the name of a field") }
                advance()
                side = try longer(side, name)
            } else if takes(symbol: "[") {
                let column = current.column
                guard case .side(let index) = try nested({ parser throws(PredicateProblem) in try parser.sum() }) else {
                    throw problem(column, "an index was expected")
                }
                try expect(symbol: "]")
                side = try function("objectFrom:withIndex:", [side, index])
            } else {
                return .side(side)
            }
        }
    }

    /// A path that goes on with a name.
    private mutating func longer(
        _ side: PredicateSide, _ name: String
    ) throws(PredicateProblem) -> PredicateSide {
        switch side {
        case .keyPath(let names): return .keyPath(names + [name])
        case .evaluatedObject: return .keyPath([name])
        case .variable, .function: return try function("valueForKeyPath:", [side, .string(name)])
        case .constant, .aggregate: throw unexpected("a comparison or the end")
        }
    }

    // MARK: Single ones

    private mutating func primary() throws(PredicateProblem) -> Node {
        let token = current
        switch token.kind {
        case .symbol("("):
            advance()
            let node = try nested { parser throws(PredicateProblem) in try parser.disjunction() }
            try expect(symbol: ")")
            return node
        case .symbol("{"):
            advance()
            return .side(.aggregate(try list(until: "}")))
        case .string(let text):
            advance()
            return .side(.string(text))
        case .integer(let number):
            advance()
            return .side(.integer(number))
        case .double(let number):
            advance()
            return .side(.double(number))
        case .variable(let name):
            advance()
            return .side(.variable(name))
        case .argument(let letter):
            advance()
            let value = try argument(letter, column: token.column)
            guard let side = value.side(for: letter) else {
                throw problem(
                    token.column,
                    "%\(letter) takes \(PredicateArgument.kind(of: letter)): its argument is \(value.kind)")
            }
            return .side(side)
        case .selector(let name):
            advance()
            return .side(try call(name))
        case .word(let name, let isLiteral):
            return .side(isLiteral ? try field(name) : try word(name))
        case .symbol, .end:
            throw unexpected("a value or a field")
        }
    }

    private mutating func word(_ name: String) throws(PredicateProblem) -> PredicateSide {
        switch name.uppercased() {
        case "SELF":
            advance()
            return .evaluatedObject
        case "TRUE", "YES":
            advance()
            return .integer(1)
        case "FALSE", "NO":
            advance()
            return .integer(0)
        case "NULL", "NIL":
            advance()
            return .constant(.null)
        case let word where Self.reserved.contains(word):
            throw unexpected("a value or a field, which is written #\(name) where it is called so,")
        default:
            return try field(name)
        }
    }

    /// The words that name no field unless # stands before them.
    static let reserved: Set = [
        "AND", "OR", "NOT", "IN", "BETWEEN", "CONTAINS", "BEGINSWITH", "ENDSWITH", "LIKE", "MATCHES", "TOKENMATCHES",
        "ANY", "SOME", "ALL", "NONE", "TRUEPREDICATE", "FALSEPREDICATE", "SELF", "TRUE", "YES", "FALSE", "NO", "NULL",
        "NIL",
    ]

    /// A field, or a function where a parenthesis follows.
    private mutating func field(_ name: String) throws(PredicateProblem) -> PredicateSide {
        advance()
        return current.kind == .symbol("(") ? try call(name) : .keyPath([name])
    }

    private mutating func call(_ name: String) throws(PredicateProblem) -> PredicateSide {
        try expect(symbol: "(")
        let arguments = try list(until: ")")
        if name.uppercased() == PredicateSide.cast, let constant = PredicateArgument.cast(arguments) {
            return .constant(constant)
        }
        return try function(name.uppercased() == PredicateSide.cast ? PredicateSide.cast : name, arguments)
    }

    private mutating func list(until symbol: String) throws(PredicateProblem) -> [PredicateSide] {
        var items: [PredicateSide] = []
        if takes(symbol: symbol) { return items }
        while true {
            let column = current.column
            // SUBQUERY holds a condition, which nothing here has a use for.
            guard case .side(let item) = try nested({ parser throws(PredicateProblem) in try parser.disjunction() })
            else {
                throw problem(column, "a value or a field was expected, for CloudKit takes no conditions within a side")
            }
            items.append(item)
            if takes(symbol: symbol) { return items }
            guard takes(symbol: ",") else { throw unexpected(", or \(symbol)") }
        }
    }
}
