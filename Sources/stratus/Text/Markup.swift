// HTML, SVG and DOT that cannot be built without escaping: literals in the source are markup, interpolated strings are
// text.

/// Text escaped for HTML and XML. One rule serves both.
enum MarkupText {
    /// The text for use between tags and between double quotes. Spells out control characters and noncharacters: Markup
    /// parsers report them, and XML 1.0 forbids them even escaped.
    static func escaped(_ text: String) -> String {
        text.replacingScalars { scalar in
            switch scalar {
            case "&": "&amp;"
            case "<": "&lt;"
            // Also ends what XML does not allow in text: "]]>".
            case ">": "&gt;"
            case "\"": "&quot;"
            case "'": "&#39;"
            case _ where isForbidden(scalar): DisplayText.spelled(scalar)
            default: nil
            }
        }
    }

    /// Includes line ends and tabs, which attributes would turn into spaces.
    fileprivate static func isForbidden(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) || DisplayText.isNoncharacter(scalar)
    }
}

/// A piece of HTML or SVG. An interpolated `String` becomes text, or the value of an attribute between double quotes.
/// Only markup is inserted unchanged. In SVG, which is drawn in files (XML) and in HTML, every element is closed.
struct Markup: ExpressibleByStringInterpolation {
    private(set) var markup: String

    init(stringLiteral value: String) { markup = value }
    init(stringInterpolation: StringInterpolation) { markup = stringInterpolation.markup }

    /// The pieces of all elements, one after the other.
    init<Elements: Sequence>(_ elements: Elements, _ piece: (Elements.Element) -> Markup) {
        markup = ""
        for element in elements { markup += piece(element).markup }
    }

    static func + (left: Markup, right: Markup) -> Markup { "\(left)\(right)" }
    static func += (left: inout Markup, right: Markup) { left.markup += right.markup }

    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var markup = ""

        init(literalCapacity: Int, interpolationCount: Int) { markup.reserveCapacity(literalCapacity) }
        mutating func appendLiteral(_ literal: String) { markup += literal }
        mutating func appendInterpolation(_ text: String) { markup += MarkupText.escaped(text) }
        mutating func appendInterpolation(_ number: Int) { markup += String(number) }
        mutating func appendInterpolation(_ part: Markup) { markup += part.markup }
    }
}

/// A piece of Graphviz's DOT. An interpolated `String` becomes a quoted string. Only DOT is inserted unchanged.
struct DOT: ExpressibleByStringInterpolation {
    private(set) var source: String

    init(stringLiteral value: String) { source = value }
    init(stringInterpolation: StringInterpolation) { source = stringInterpolation.source }

    static func += (left: inout DOT, right: DOT) { left.source += right.source }

    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var source = ""

        init(literalCapacity: Int, interpolationCount: Int) { source.reserveCapacity(literalCapacity) }
        mutating func appendLiteral(_ literal: String) { source += literal }
        mutating func appendInterpolation(_ text: String) { source += DOT.quoted([text]) }
        mutating func appendInterpolation(_ number: Int) { source += String(number) }
        mutating func appendInterpolation(_ part: DOT) { source += part.source }
        /// A label of several left-aligned lines.
        mutating func appendInterpolation(lines: [String]) { source += DOT.quoted(lines) }
    }

    /// A quoted string for identifiers and labels. Escapes backslashes and '&', which have a meaning in labels. Spells
    /// out characters that XML, which Graphviz writes, forbids.
    static func quoted(_ lines: [String]) -> String {
        let quoted = lines.map { line in
            line.replacingScalars { scalar in
                switch scalar {
                case "\"": "\\\""
                case "\\": "\\\\"
                case "&": "&amp;"
                case _ where MarkupText.isForbidden(scalar): "\\" + DisplayText.spelled(scalar)
                default: nil
                }
            }
        }
        return "\"" + (lines.count > 1 ? quoted.map { $0 + "\\l" } : quoted).joined() + "\""
    }
}
