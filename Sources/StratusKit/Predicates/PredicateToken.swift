// The words of a predicate's format, and how the text is cut into them.
//
// Invariant: whatever the text is, cutting it takes time that its length bounds, and never traps.

import Foundation

/// A word of a format, and where it stands.
struct PredicateToken: Equatable, Sendable {
    enum Kind: Equatable, Sendable {
        /// A name, or a word with a meaning. `isLiteral` says that it stands for a name whatever it is: `#size`.
        case word(String, isLiteral: Bool)
        /// The name of a function with its colons: `distanceToLocation:fromLocation:`.
        case selector(String)
        case string(String)
        case integer(Int64)
        case double(Double)
        /// A place for an argument: the letter of its kind, without length.
        case argument(Character)
        case variable(String)
        case symbol(String)
        case end
    }

    var kind: Kind
    /// The number of its first character, from 1.
    var column: Int
}

/// Cuts a format into words.
struct PredicateTokenizer {
    private let format: String
    private let characters: [Character]
    private var place = 0

    init(_ format: String) {
        self.format = format
        characters = Array(format)
    }

    /// All words, the last of which is the end.
    static func tokens(of format: String) throws(PredicateProblem) -> [PredicateToken] {
        var tokenizer = PredicateTokenizer(format)
        var tokens: [PredicateToken] = []
        while true {
            let token = try tokenizer.next()
            tokens.append(token)
            if token.kind == .end { return tokens }
        }
    }

    private func problem(_ column: Int, _ message: String) -> PredicateProblem {
        PredicateProblem(format: format, column: column, message)
    }

    private var current: Character? { place < characters.count ? characters[place] : nil }

    private func character(after distance: Int) -> Character? {
        place + distance < characters.count ? characters[place + distance] : nil
    }

    private mutating func take(while fits: (Character) -> Bool) -> String {
        let start = place
        while let next = current, fits(next) { place += 1 }
        return String(characters[start..<place])
    }

    private mutating func next() throws(PredicateProblem) -> PredicateToken {
        _ = take(while: \.isWhitespace)
        let column = place + 1
        guard let first = current else { return PredicateToken(kind: .end, column: column) }
        let kind: PredicateToken.Kind =
            switch first {
            case "'", "\"": try string(endingWith: first)
            case "%": try argument()
            case "$": try variable()
            case "#": try literalWord()
            case "@": .word(wordAfterSign(), isLiteral: true)
            case _ where first.isASCIIDigit: try number()
            case "." where character(after: 1)?.isASCIIDigit == true: try number()
            case _ where first.isNameStart: word()
            default: try symbol()
            }
        return PredicateToken(kind: kind, column: column)
    }

    // MARK: Names

    private mutating func name() -> String { take(while: \.isNamePart) }

    private mutating func word() -> PredicateToken.Kind {
        var text = name()
        guard current == ":", character(after: 1)?.isNameStart == true || character(after: 1) == "(" else {
            return .word(text, isLiteral: false)
        }
        while current == ":", character(after: 1)?.isNameStart == true || character(after: 1) == "(" {
            place += 1
            text += ":" + name()
        }
        return .selector(text)
    }

    private mutating func literalWord() throws(PredicateProblem) -> PredicateToken.Kind {
        place += 1
        guard current?.isNameStart == true else { throw problem(place + 1, "a name was expected after #") }
        return .word(name(), isLiteral: true)
    }

    private mutating func wordAfterSign() -> String {
        place += 1
        return "@" + name()
    }

    private mutating func variable() throws(PredicateProblem) -> PredicateToken.Kind {
        place += 1
        guard current?.isNamePart == true else {
            throw problem(place + 1, "the name of a variable was expected after $")
        }
        return .variable(name())
    }

    // MARK: Arguments

    private mutating func argument() throws(PredicateProblem) -> PredicateToken.Kind {
        let column = place + 1
        place += 1
        _ = take { "hlqLjzt".contains($0) }
        guard let letter = current else { throw problem(column, "a kind of argument was expected after %, such as %@") }
        guard "@KdDiuUxXoOcCfFeEgGaA".contains(letter) else {
            throw problem(
                column,
                letter == "%"
                    ? "%% stands for nothing outside of quotation marks"
                    : "%\(letter) is no kind of argument: write %@ for a value and %K for a field")
        }
        place += 1
        return .argument(letter)
    }

    // MARK: Strings

    private mutating func string(endingWith mark: Character) throws(PredicateProblem) -> PredicateToken.Kind {
        let column = place + 1
        place += 1
        var text = ""
        while let next = current {
            place += 1
            if next == mark { return .string(text) }
            text += next == "\\" ? String(try escaped()) : String(next)
        }
        throw problem(column, "the string that begins here does not end: \(mark) was expected")
    }

    private mutating func escaped() throws(PredicateProblem) -> Character {
        guard let next = current else { throw problem(place + 1, "a character was expected after \\") }
        place += 1
        switch next {
        case "n": return "\n"
        case "t": return "\t"
        case "r": return "\r"
        case "0": return "\0"
        case "u", "x": return try scalar(digitCount: next == "u" ? 4 : 2)
        default: return next
        }
    }

    private mutating func scalar(digitCount: Int) throws(PredicateProblem) -> Character {
        let column = place + 1
        let digits = characters[place..<min(place + digitCount, characters.count)]
        guard digits.count == digitCount, digits.allSatisfy(\.isASCIIHexDigit),
            let number = UInt32(String(digits), radix: 16),
            let scalar = Unicode.Scalar(number)
        else { throw problem(column, "\(digitCount) hexadecimal digits of a character were expected") }
        place += digitCount
        return Character(scalar)
    }

    // MARK: Numbers

    private mutating func number() throws(PredicateProblem) -> PredicateToken.Kind {
        let column = place + 1
        if current == "0", let letter = character(after: 1), let radix = Self.radixes[letter] {
            place += 2
            let digits = take(while: \.isNamePart)
            guard let number = Int64(digits, radix: radix) else {
                throw problem(column, "an integer of the base \(radix) that fits 64 bits was expected")
            }
            return .integer(number)
        }
        var text = take(while: \.isASCIIDigit)
        var isInteger = true
        if current == ".", character(after: 1)?.isASCIIDigit == true {
            place += 1
            text += "." + take(while: \.isASCIIDigit)
            isInteger = false
        }
        if let letter = current, letter == "e" || letter == "E", let exponent = exponent() {
            text += exponent
            isInteger = false
        }
        guard current?.isNameStart != true else { throw problem(column, "a number was expected") }
        if isInteger, let number = Int64(text) { return .integer(number) }
        guard let number = Double(text), number.isFinite else { throw problem(column, "a number was expected") }
        return .double(number)
    }

    private static let radixes: [Character: Int] = ["x": 16, "X": 16, "o": 8, "O": 8, "b": 2, "B": 2]

    /// The exponent that follows, if one does.
    private mutating func exponent() -> String? {
        let start = place
        place += 1
        var text = "e"
        if let sign = current, sign == "+" || sign == "-" {
            text.append(sign)
            place += 1
        }
        let digits = take(while: \.isASCIIDigit)
        if digits.isEmpty {
            place = start
            return nil
        }
        return text + digits
    }

    // MARK: Symbols

    private static let symbols = [
        "==", "!=", "<>", "<=", "=<", ">=", "=>", "&&", "||", "**", ":=", "=", "<", ">", "!", "+", "-", "*", "/", "(",
        ")", "{", "}", "[", "]", ",", ".",
    ]

    private mutating func symbol() throws(PredicateProblem) -> PredicateToken.Kind {
        for symbol in Self.symbols
        where place + symbol.count <= characters.count && characters[place..<place + symbol.count].elementsEqual(symbol)
        {
            place += symbol.count
            return .symbol(symbol)
        }
        throw problem(place + 1, "\(characters[place]) has no meaning here")
    }
}

extension Character {
    fileprivate var isASCIIDigit: Bool { isASCII && isWholeNumber }
    fileprivate var isASCIIHexDigit: Bool { isASCII && isHexDigit }
    fileprivate var isNameStart: Bool { self == "_" || isLetter }
    fileprivate var isNamePart: Bool { self == "_" || self == "$" || isLetter || isASCIIDigit }
}
