// The tokens of a predicate's format, and the tokenizer.
//
// Invariant: tokenizing any text takes time that its length bounds, and never traps.

/// A token of a format, and its position.
struct PredicateToken: Equatable, Sendable {
    enum Kind: Equatable, Sendable {
        /// A name or a keyword. If `isLiteral`, it is always a name: `#size`.
        case word(String, isLiteral: Bool)
        /// The name of a function with its colons: `distanceToLocation:fromLocation:`.
        case selector(String)
        case string(String)
        case integer(Int64)
        case double(Double)
        /// A placeholder: the letter of its kind, without length.
        case argument(Character)
        case variable(String)
        case symbol(String)
        case end
    }

    var kind: Kind
    /// The position of its first Unicode scalar, from 1.
    var column: Int
}

/// Splits a format into tokens.
struct PredicateTokenizer {
    private let format: String
    private let scalars: [Unicode.Scalar]
    private var place = 0

    private init(_ format: String) {
        self.format = format
        scalars = Array(format.unicodeScalars)
    }

    /// All tokens. The last one is the end.
    static func tokens(of format: String) throws(Misuse) -> [PredicateToken] {
        var tokenizer = PredicateTokenizer(format)
        var tokens: [PredicateToken] = []
        while true {
            let token = try tokenizer.next()
            tokens.append(token)
            if token.kind == .end { return tokens }
        }
    }

    private func problem(_ column: Int, _ message: String) -> Misuse {
        Misuse(format: format, column: column, message)
    }

    private var current: Unicode.Scalar? { scalar(after: 0) }

    private func scalar(after distance: Int) -> Unicode.Scalar? {
        place + distance < scalars.count ? scalars[place + distance] : nil
    }

    private mutating func skip(while fits: (Unicode.Scalar) -> Bool) {
        while place < scalars.count, fits(scalars[place]) { place += 1 }
    }

    private mutating func take(while fits: (Unicode.Scalar) -> Bool) -> String {
        let start = place
        skip(while: fits)
        return text(start..<place)
    }

    private func text(_ range: Range<Int>) -> String {
        var text = String.UnicodeScalarView()
        text.append(contentsOf: scalars[range])
        return String(text)
    }

    private mutating func next() throws(Misuse) -> PredicateToken {
        skip(while: \.isSpace)
        let column = place + 1
        guard let first = current else { return PredicateToken(kind: .end, column: column) }
        let kind: PredicateToken.Kind =
            switch first {
            case "'", "\"": try string(endingWith: first)
            case "%": try argument()
            case "$": try variable()
            case "#", "@": try literalWord(after: first)
            case _ where first.isDigit: try number()
            case "." where scalar(after: 1)?.isDigit == true: try number()
            case _ where first.isNameStart: word()
            default: try symbol(first)
            }
        return PredicateToken(kind: kind, column: column)
    }

    // MARK: Names

    private mutating func name() -> String { take(while: \.isNamePart) }

    private var isBeforeSelectorPart: Bool {
        guard current == ":", let next = scalar(after: 1) else { return false }
        return next.isNameStart || next == "("
    }

    private mutating func word() -> PredicateToken.Kind {
        var text = name()
        guard isBeforeSelectorPart else { return .word(text, isLiteral: false) }
        while isBeforeSelectorPart {
            place += 1
            text += ":" + name()
        }
        return .selector(text)
    }

    /// A word after #, or with the @ before it.
    private mutating func literalWord(after sign: Unicode.Scalar) throws(Misuse) -> PredicateToken.Kind {
        place += 1
        if sign == "@" { return .word("@" + name(), isLiteral: true) }
        guard current?.isNameStart == true else { throw problem(place + 1, "a name was expected after #") }
        return .word(name(), isLiteral: true)
    }

    private mutating func variable() throws(Misuse) -> PredicateToken.Kind {
        place += 1
        guard current?.isNamePart == true else {
            throw problem(place + 1, "the name of a variable was expected after $")
        }
        return .variable(name())
    }

    // MARK: Arguments

    private static let lengths = Set("hlqLjzt".unicodeScalars)
    private static let letters = Set("@KdDiuUxXoOcCfFeEgGaA".unicodeScalars)

    private mutating func argument() throws(Misuse) -> PredicateToken.Kind {
        let column = place + 1
        place += 1
        skip(while: Self.lengths.contains)
        guard let letter = current else { throw problem(column, "a kind of argument was expected after %, such as %@") }
        guard Self.letters.contains(letter) else {
            throw problem(
                column,
                letter == "%"
                    ? "%% has no meaning outside quotation marks"
                    : "%\(letter) is no kind of argument: write %@ for a value and %K for a field")
        }
        place += 1
        return .argument(Character(letter))
    }

    // MARK: Strings

    private mutating func string(endingWith mark: Unicode.Scalar) throws(Misuse) -> PredicateToken.Kind {
        let column = place + 1
        place += 1
        var text = String.UnicodeScalarView()
        while let next = current {
            place += 1
            if next == mark { return .string(String(text)) }
            text.append(next == "\\" ? try escaped() : next)
        }
        throw problem(column, "the string that begins here does not end: \(mark) was expected")
    }

    private mutating func escaped() throws(Misuse) -> Unicode.Scalar {
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

    private mutating func scalar(digitCount: Int) throws(Misuse) -> Unicode.Scalar {
        let column = place + 1
        let end = min(place + digitCount, scalars.count)
        guard end - place == digitCount, scalars[place..<end].allSatisfy(\.properties.isASCIIHexDigit),
            let number = UInt32(text(place..<end), radix: 16), let scalar = Unicode.Scalar(number)
        else { throw problem(column, "\(digitCount) hexadecimal digits of a character were expected") }
        place = end
        return scalar
    }

    // MARK: Numbers

    private static let radixes: [Unicode.Scalar: Int] = ["x": 16, "X": 16, "o": 8, "O": 8, "b": 2, "B": 2]

    private mutating func number() throws(Misuse) -> PredicateToken.Kind {
        let column = place + 1
        if current == "0", let letter = scalar(after: 1), let radix = Self.radixes[letter] {
            place += 2
            guard let number = Int64(take(while: \.isNamePart), radix: radix) else {
                throw problem(column, "an integer of the base \(radix) that fits 64 bits was expected")
            }
            return .integer(number)
        }
        let start = place
        skip(while: \.isDigit)
        var isInteger = true
        if current == ".", scalar(after: 1)?.isDigit == true {
            place += 1
            skip(while: \.isDigit)
            isInteger = false
        }
        if takesExponent() { isInteger = false }
        guard current?.isNameStart != true else { throw problem(column, "a number was expected") }
        let text = text(start..<place)
        if isInteger, let number = Int64(text) { return .integer(number) }
        guard let number = Double(text.hasPrefix(".") ? "0" + text : text), number.isFinite else {
            throw problem(column, "a number was expected")
        }
        return .double(number)
    }

    /// Skips the exponent that follows, if there is one.
    private mutating func takesExponent() -> Bool {
        guard current == "e" || current == "E" else { return false }
        let hasSign = scalar(after: 1) == "+" || scalar(after: 1) == "-"
        guard scalar(after: hasSign ? 2 : 1)?.isDigit == true else { return false }
        place += hasSign ? 2 : 1
        skip(while: \.isDigit)
        return true
    }

    // MARK: Symbols

    private static let pairs: Set = ["==", "!=", "<>", "<=", "=<", ">=", "=>", "&&", "||", "**", ":="]
    private static let singles = Set("=<>!+-*/(){}[],.".unicodeScalars)

    private mutating func symbol(_ first: Unicode.Scalar) throws(Misuse) -> PredicateToken.Kind {
        if place + 1 < scalars.count, first.isASCII {
            let pair = text(place..<place + 2)
            if Self.pairs.contains(pair) {
                place += 2
                return .symbol(pair)
            }
        }
        guard Self.singles.contains(first) else { throw problem(place + 1, "\(first) has no meaning here") }
        place += 1
        return .symbol(String(first))
    }
}

extension Unicode.Scalar {
    fileprivate var isSpace: Bool { isASCII ? value == 0x20 || (0x09...0x0D).contains(value) : properties.isWhitespace }

    fileprivate var isDigit: Bool { (0x30...0x39).contains(value) }

    fileprivate var isNameStart: Bool {
        guard isASCII else { return properties.isAlphabetic }
        return (0x41...0x5A).contains(value) || (0x61...0x7A).contains(value) || value == 0x5F
    }

    /// Combining marks belong to the letter before them.
    fileprivate var isNamePart: Bool {
        isNameStart || isDigit || value == 0x24 || (!isASCII && properties.isGraphemeExtend)
    }
}
