// The words of the schema language: identifiers, identifiers in double quotes, and the marks ( ) , ; < >. Between them
// white space, line comments (`//` or `--`) and block comments.
//
// Why no library: the language has six marks and two kinds of words. A parser generator, or a grammar for one, would be
// larger than this file.
//
// Invariants: the lexer ends on any text, and every token has at least one character. Positions count Unicode scalars,
// so that no combining character hides a mark.

/// A text that is no schema, and where.
package struct SchemaTextError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Counted from 1.
    package let line: Int
    /// Counted from 1, in characters of the line.
    package let column: Int
    package let message: String

    package var description: String { "line \(line), column \(column): \(message)" }
}

/// One word of the language and its position.
struct SchemaToken: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        case word(String)
        /// An identifier in quotes is never a keyword.
        case quoted(String)
        case mark(Unicode.Scalar)
        case end
    }

    let kind: Kind
    let line: Int
    let column: Int

    /// The name of the token in an error.
    var text: String {
        switch kind {
        case .word(let word): "'\(word)'"
        case .quoted(let name): "\"\(name)\""
        case .mark(let mark): "'\(mark)'"
        case .end: "the end of the text"
        }
    }
}

struct SchemaLexer {
    private let scalars: [Unicode.Scalar]
    private var position = 0
    private var line = 1
    private var column = 1

    init(_ text: String) { scalars = Array(text.unicodeScalars) }

    /// The next token; `end` at every call after the last one.
    mutating func next() throws(SchemaTextError) -> SchemaToken {
        try skipSpace()
        let (line, column) = (line, column)
        return SchemaToken(kind: try nextKind(), line: line, column: column)
    }

    private mutating func nextKind() throws(SchemaTextError) -> SchemaToken.Kind {
        guard let scalar = peek() else { return .end }
        switch scalar {
        case "(", ")", ",", ";", "<", ">":
            advance()
            return .mark(scalar)
        case "\"": return .quoted(try quotedName())
        default:
            var word = String.UnicodeScalarView()
            while let scalar = peek(), Self.isWordScalar(scalar) {
                word.append(scalar)
                advance()
            }
            guard word.isEmpty else { return .word(String(word)) }
            let code = String(scalar.value, radix: 16, uppercase: true)
            throw SchemaTextError(
                line: line, column: column,
                message: "The character U+\(code) cannot be part of a name without quotes.")
        }
    }

    private mutating func quotedName() throws(SchemaTextError) -> String {
        let (line, column) = (line, column)
        advance()
        var name = String.UnicodeScalarView()
        while let scalar = peek(), scalar != "\n" {
            advance()
            if scalar == "\"" { return String(name) }
            name.append(scalar)
        }
        throw SchemaTextError(
            line: line, column: column, message: "The quote that begins here does not end on its line.")
    }

    private mutating func skipSpace() throws(SchemaTextError) {
        while let scalar = peek() {
            let following = peek(1)
            if scalar == "/" && following == "/" || scalar == "-" && following == "-" {
                while let scalar = peek(), scalar != "\n" { advance() }
            } else if scalar == "/" && following == "*" {
                try skipBlockComment()
            } else if scalar == " " || scalar == "\t" || scalar == "\r" || scalar == "\n" || scalar == "\u{FEFF}" {
                advance()
            } else {
                return
            }
        }
    }

    private mutating func skipBlockComment() throws(SchemaTextError) {
        let (line, column) = (line, column)
        advance()
        advance()
        while let scalar = peek() {
            advance()
            if scalar == "*", peek() == "/" {
                advance()
                return
            }
        }
        throw SchemaTextError(line: line, column: column, message: "The comment that begins here does not end.")
    }

    private func peek(_ distance: Int = 0) -> Unicode.Scalar? {
        position + distance < scalars.count ? scalars[position + distance] : nil
    }

    private mutating func advance() {
        guard position < scalars.count else { return }
        if scalars[position] == "\n" {
            line += 1
            column = 1
        } else {
            column += 1
        }
        position += 1
    }

    /// Letters, digits and underscore, and the dot of `cloudkit.share`, which needs no quotes.
    static func isWordScalar(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", "_", ".": true
        default: false
        }
    }
}
