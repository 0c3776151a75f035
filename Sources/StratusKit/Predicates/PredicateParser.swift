// Parses the tokens of a format and its arguments to a tree.
//
// A parenthesis may contain a condition or part of a side. The parser knows which one only at its end, so it never
// parses anything twice, and time grows with the length of the format. Depth is bounded, so no format overflows the
// stack.

import Foundation
import StratusCloud

/// Parses a predicate's format.
struct PredicateParser {
    /// How deep conditions and sides may nest.
    static let depthLimit = 40
    /// The most functions and operators in a format.
    static let functionLimit = 200
    /// The longest format that is parsed, in bytes.
    static let formatByteLimit = 1 << 16

    /// A condition, or a side of one.
    enum Node {
        case condition(PredicateSyntax)
        case side(PredicateSide)
    }

    typealias Part = (inout PredicateParser) throws(Misuse) -> Node

    private let format: String
    private let tokens: [PredicateToken]
    private let arguments: [PredicateArgument]
    private var place = 0
    private var argumentCount = 0
    private var depth = 0
    private var functionCount = 0

    /// Parses a format.
    /// - Parameters:
    ///   - format: The format.
    ///   - arguments: The values for its placeholders, in order. Extra values are ignored, as on Apple's systems.
    /// - Returns: The tree.
    /// - Throws: The place of a mistake, and what was expected there.
    static func parse(
        _ format: String, arguments: [PredicateArgument] = []
    ) throws(Misuse) -> PredicateSyntax {
        guard format.utf8.count <= formatByteLimit else {
            throw Misuse("The format string of a predicate has at most \(formatByteLimit) bytes.")
        }
        var parser = PredicateParser(
            format: format, tokens: try PredicateTokenizer.tokens(of: format), arguments: arguments)
        let syntax = try parser.condition { parser throws(Misuse) in try parser.disjunction() }
        guard parser.current.kind == .end else {
            throw parser.unexpected("AND or the end of the format")
        }
        return syntax
    }

    // MARK: Words

    var current: PredicateToken { tokens[min(place, tokens.count - 1)] }

    mutating func advance() { place = min(place + 1, tokens.count - 1) }

    func problem(_ column: Int, _ message: String) -> Misuse {
        Misuse(format: format, column: column, message)
    }

    /// Another token was expected.
    func unexpected(_ expected: String) -> Misuse {
        problem(current.column, "\(expected) was expected")
    }

    mutating func takes(symbol: String) -> Bool {
        guard current.kind == .symbol(symbol) else { return false }
        advance()
        return true
    }

    mutating func expect(symbol: String) throws(Misuse) {
        guard takes(symbol: symbol) else { throw unexpected(symbol) }
    }

    /// The next word in capitals, if it may be a keyword.
    var keyword: String? {
        guard case .word(let text, isLiteral: false) = current.kind else { return nil }
        return text.uppercased()
    }

    mutating func takes(keyword: String, or symbol: String? = nil) -> Bool {
        guard self.keyword == keyword || (symbol.map { current.kind == .symbol($0) } ?? false) else { return false }
        advance()
        return true
    }

    /// Runs `body` one level deeper.
    mutating func nested<Value>(
        _ body: (inout PredicateParser) throws(Misuse) -> Value
    ) throws(Misuse) -> Value {
        guard depth < Self.depthLimit else { throw problem(current.column, "the predicate nests too deep") }
        depth += 1
        defer { depth -= 1 }
        return try body(&self)
    }

    /// A function call. The number of calls is bounded, because a chain of them is as deep as it is long.
    mutating func function(
        _ name: String, _ arguments: [PredicateSide]
    ) throws(Misuse) -> PredicateSide {
        functionCount += 1
        guard functionCount <= Self.functionLimit else {
            throw problem(current.column, "the predicate has more than \(Self.functionLimit) functions")
        }
        return .function(name, arguments)
    }

    // MARK: Conditions

    /// The condition that `part` parses.
    private mutating func condition(_ part: Part) throws(Misuse) -> PredicateSyntax {
        let column = current.column
        guard case .condition(let syntax) = try part(&self) else { throw problem(column, "a comparison was expected") }
        return syntax
    }

    /// The side that `part` parses.
    private mutating func side(_ expected: String, _ part: Part) throws(Misuse) -> PredicateSide {
        let column = current.column
        guard case .side(let side) = try part(&self) else { throw problem(column, "\(expected) was expected") }
        return side
    }

    /// Parts joined by OR, or a side if nothing is joined.
    mutating func disjunction() throws(Misuse) -> Node {
        try joined("OR", "||", PredicateSyntax.or) { parser throws(Misuse) in
            try parser.joined("AND", "&&", PredicateSyntax.and) { parser throws(Misuse) in
                try parser.negation()
            }
        }
    }

    private mutating func joined(
        _ keyword: String, _ symbol: String, _ join: ([PredicateSyntax]) -> PredicateSyntax, _ part: Part
    ) throws(Misuse) -> Node {
        let first = try part(&self)
        guard self.keyword == keyword || current.kind == .symbol(symbol) else { return first }
        guard case .condition(let syntax) = first else { throw unexpected("a comparison") }
        var parts = [syntax]
        while takes(keyword: keyword, or: symbol) { parts.append(try condition(part)) }
        return .condition(join(parts))
    }

    private mutating func negation() throws(Misuse) -> Node {
        guard takes(keyword: "NOT", or: "!") else { return try comparison() }
        return .condition(
            .not(
                try condition { parser throws(Misuse) in
                    try parser.nested { parser throws(Misuse) in try parser.negation() }
                }))
    }

    private mutating func comparison() throws(Misuse) -> Node {
        if takes(keyword: "TRUEPREDICATE") { return .condition(.always(true)) }
        if takes(keyword: "FALSEPREDICATE") { return .condition(.always(false)) }
        let quantifier = takeQuantifier()
        let left: PredicateSide
        switch try sum() {
        case .condition(let syntax):
            guard quantifier == nil else { throw unexpected("a comparison after ANY, ALL or NONE") }
            return .condition(syntax)
        case .side(let side): left = side
        }
        guard let relation = try takeRelation() else {
            if quantifier != nil { throw unexpected("a comparison such as == or IN") }
            return .side(left)
        }
        let options = try takeOptions()
        let right = try side("a value or a field") { parser throws(Misuse) in try parser.sum() }
        return .condition(
            .comparison(
                PredicateComparison(
                    quantifier: quantifier, left: left, relation: relation, options: options, right: right)))
    }

    private mutating func takeQuantifier() -> PredicateComparison.Quantifier? {
        switch keyword {
        case "ANY", "SOME": advance(); return .any
        case "ALL": advance(); return .all
        case "NONE": advance(); return .noneOf
        default: return nil
        }
    }

    /// Other ways to write a relation.
    private static let synonyms: [String: PredicateComparison.Relation] = [
        "=": .equals, "<>": .notEquals, "=<": .lessThanOrEquals, "=>": .greaterThanOrEquals,
    ]

    /// The relation that follows; nil if a side ends without one.
    private mutating func takeRelation() throws(Misuse) -> PredicateComparison.Relation? {
        let text: String
        switch current.kind {
        case .symbol(let symbol): text = symbol
        case .word(_, isLiteral: false): text = keyword ?? ""
        default: text = ""
        }
        if let relation = PredicateComparison.Relation(rawValue: text) ?? Self.synonyms[text] {
            advance()
            return relation
        }
        switch text {
        case "NOT": throw unexpected("a comparison such as ==, with NOT before its left side: NOT (a IN b)")
        case "IS": throw unexpected("a comparison such as == instead of IS")
        default: break
        }
        switch current.kind {
        case .end, .symbol(")"), .symbol("}"), .symbol("]"), .symbol(","), .symbol("&&"), .symbol("||"): return nil
        case _ where text == "AND" || text == "OR": return nil
        default: throw unexpected("a comparison such as ==, IN or BEGINSWITH")
        }
    }

    /// The letters in brackets that follow a relation.
    private mutating func takeOptions() throws(Misuse) -> String {
        guard takes(symbol: "[") else { return "" }
        let column = current.column
        guard case .word(let text, isLiteral: false) = current.kind else { throw unexpected("options such as cd") }
        let letters = Set(text.lowercased())
        guard letters.isSubset(of: PredicateComparison.optionLetters) else {
            throw problem(column, "options of the letters c, d, l, n and w were expected")
        }
        advance()
        try expect(symbol: "]")
        return String(letters.sorted())
    }

    // The sides of comparisons: fields, values, and computed values.

    /// Terms joined by +, -, * and /.
    mutating func sum() throws(Misuse) -> Node {
        try operation(["+": PredicateSide.addition, "-": PredicateSide.subtraction]) {
            parser throws(Misuse) in
            try parser.operation(["*": PredicateSide.multiplication, "/": PredicateSide.division]) {
                parser throws(Misuse) in try parser.power()
            }
        }
    }

    /// Parts joined by operators of one rank, from left to right. `functions` maps each operator to its function.
    private mutating func operation(
        _ functions: [String: String], _ part: Part
    ) throws(Misuse) -> Node {
        var node = try part(&self)
        while case .side(let left) = node, case .symbol(let symbol) = current.kind, let name = functions[symbol] {
            advance()
            node = .side(try function(name, [left, try side(try part(&self))]))
        }
        return node
    }

    private mutating func power() throws(Misuse) -> Node {
        let node = try signed()
        guard case .side(let base) = node, takes(symbol: "**") else { return node }
        let exponent = try nested { parser throws(Misuse) in try parser.power() }
        return .side(try function(PredicateSide.power, [base, try side(exponent)]))
    }

    private mutating func signed() throws(Misuse) -> Node {
        guard takes(symbol: "-") else { return try path() }
        let node = try nested { parser throws(Misuse) in try parser.signed() }
        let operand = try side(node)
        switch operand {
        case .constant(.value(.int64(let number))): return .side(.integer(0 &- number))
        case .constant(.value(.double(let number))): return .side(.double(-number))
        default: return .side(try function(PredicateSide.negation, [operand]))
        }
    }

    private func side(_ node: Node) throws(Misuse) -> PredicateSide {
        guard case .side(let side) = node else { throw unexpected("a value or a field") }
        return side
    }

    /// A side with the names and indexes that follow it. Brackets with the options of a relation were parsed before.
    private mutating func path() throws(Misuse) -> Node {
        let node = try primary()
        guard case .side(var side) = node else { return node }
        while true {
            if takes(symbol: ".") {
                guard case .word(let name, _) = current.kind else { throw unexpected("the name of a field") }
                advance()
                side = try longer(side, name)
            } else if takes(symbol: "[") {
                let index = try self.side("an index") { parser throws(Misuse) in
                    try parser.nested { parser throws(Misuse) in try parser.sum() }
                }
                try expect(symbol: "]")
                side = try function("objectFrom:withIndex:", [side, index])
            } else {
                return .side(side)
            }
        }
    }

    /// A path followed by a name.
    private mutating func longer(
        _ side: PredicateSide, _ name: String
    ) throws(Misuse) -> PredicateSide {
        switch side {
        case .keyPath(let names): return .keyPath(names + [name])
        case .evaluatedObject: return .keyPath([name])
        case .variable, .function: return try function("valueForKeyPath:", [side, .string(name)])
        case .constant, .aggregate: throw unexpected("a comparison or the end")
        }
    }

    // MARK: Single ones

    private mutating func primary() throws(Misuse) -> Node {
        let token = current
        advance()
        switch token.kind {
        case .symbol("("):
            let node = try nested { parser throws(Misuse) in try parser.disjunction() }
            try expect(symbol: ")")
            return node
        case .symbol("{"): return .side(.aggregate(try list(until: "}")))
        case .string(let text): return .side(.string(text))
        case .integer(let number): return .side(.integer(number))
        case .double(let number): return .side(.double(number))
        case .variable(let name): return .side(.variable(name))
        case .argument(let letter):
            argumentCount += 1
            guard argumentCount <= arguments.count else {
                throw problem(
                    token.column, "there is no argument for %\(letter), which is the number \(argumentCount)")
            }
            let value = arguments[argumentCount - 1]
            guard let side = value.side(for: letter) else {
                throw problem(
                    token.column,
                    "%\(letter) takes \(PredicateArgument.kind(of: letter)): its argument is \(value.kind)")
            }
            return .side(side)
        case .selector(let name): return .side(try call(name))
        case .word(let name, isLiteral: true): return .side(try field(name))
        case .word(let name, isLiteral: false): return .side(try word(name, column: token.column))
        case .symbol, .end: throw problem(token.column, "a value or a field was expected")
        }
    }

    private mutating func word(_ name: String, column: Int) throws(Misuse) -> PredicateSide {
        switch name.uppercased() {
        case "SELF": return .evaluatedObject
        case "TRUE", "YES": return .integer(1)
        case "FALSE", "NO": return .integer(0)
        case "NULL", "NIL": return .constant(.null)
        case let word where Self.reserved.contains(word):
            throw problem(
                column, "a value or a field, which is written #\(name) where it is called so, was expected")
        default: return try field(name)
        }
    }

    /// The words that name a field only after #.
    static let reserved: Set = [
        "AND", "OR", "NOT", "IN", "BETWEEN", "CONTAINS", "BEGINSWITH", "ENDSWITH", "LIKE", "MATCHES", "TOKENMATCHES",
        "ANY", "SOME", "ALL", "NONE", "TRUEPREDICATE", "FALSEPREDICATE", "SELF", "TRUE", "YES", "FALSE", "NO", "NULL",
        "NIL",
    ]

    /// A field, or a function if a parenthesis follows.
    private mutating func field(_ name: String) throws(Misuse) -> PredicateSide {
        current.kind == .symbol("(") ? try call(name) : .keyPath([name])
    }

    private mutating func call(_ name: String) throws(Misuse) -> PredicateSide {
        try expect(symbol: "(")
        let arguments = try list(until: ")")
        if name.uppercased() == PredicateSide.cast, let constant = PredicateArgument.cast(arguments) {
            return .constant(constant)
        }
        return try function(name.uppercased() == PredicateSide.cast ? PredicateSide.cast : name, arguments)
    }

    private mutating func list(until symbol: String) throws(Misuse) -> [PredicateSide] {
        var items: [PredicateSide] = []
        if takes(symbol: symbol) { return items }
        while true {
            let column = current.column
            // SUBQUERY contains a condition, which is not used here.
            guard case .side(let item) = try nested({ parser throws(Misuse) in try parser.disjunction() })
            else {
                throw problem(column, "a value or a field was expected, for CloudKit takes no conditions within a side")
            }
            items.append(item)
            if takes(symbol: symbol) { return items }
            guard takes(symbol: ",") else { throw unexpected(", or \(symbol)") }
        }
    }
}
