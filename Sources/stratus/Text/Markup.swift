// Text as it stands in HTML and in XML. One rule serves both: what one of them does not allow, the other does not need.

enum MarkupText {
    /// The text for between tags and for between double quotes. What there is no letter for is spelled out: control
    /// characters and noncharacters, of which parsers of HTML complain, and for one of which, escaped or not, no parser of
    /// XML 1.0 takes the file.
    static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            // Also ends what XML does not allow in text: "]]>".
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            case _ where isForbidden(scalar): escaped += DisplayText.spelled(scalar)
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    /// Line ends and tabs are letters of both, and attributes would turn them into spaces.
    private static func isForbidden(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) || DisplayText.isNoncharacter(scalar)
    }
}

// HTML that is put together without a way to forget the escaping: what stands in the source is markup, what is put into it
// is text.

/// A piece of HTML. A `String` that is interpolated becomes text, or the value of an attribute between double quotes; only
/// other HTML, and SVG, go in as they are.
struct HTML: ExpressibleByStringInterpolation {
    private(set) var markup: String

    init(stringLiteral value: String) { markup = value }
    init(stringInterpolation: StringInterpolation) { markup = stringInterpolation.markup }

    init(_ parts: some Sequence<HTML>) {
        markup = ""
        for part in parts { markup += part.markup }
    }

    static func += (left: inout HTML, right: HTML) { left.markup += right.markup }

    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var markup = ""

        init(literalCapacity: Int, interpolationCount: Int) { markup.reserveCapacity(literalCapacity) }
        mutating func appendLiteral(_ literal: String) { markup += literal }
        mutating func appendInterpolation(_ text: String) { markup += MarkupText.escaped(text) }
        mutating func appendInterpolation(_ number: Int) { markup += String(number) }
        mutating func appendInterpolation(_ part: HTML) { markup += part.markup }
        mutating func appendInterpolation(_ part: SVG) { markup += part.markup }
    }
}

// SVG that is put together without a way to forget the escaping, as a file of its own (XML) and inside of HTML.

/// A piece of SVG. A `String` that is interpolated becomes text, or the value of an attribute between double quotes; only
/// other SVG goes in as it is. Every element is closed, so that the same is good XML and good HTML.
struct SVG: ExpressibleByStringInterpolation {
    private(set) var markup: String

    init(stringLiteral value: String) { markup = value }
    init(stringInterpolation: StringInterpolation) { markup = stringInterpolation.markup }

    static func + (left: SVG, right: SVG) -> SVG { "\(left)\(right)" }
    static func += (left: inout SVG, right: SVG) { left.markup += right.markup }

    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var markup = ""

        init(literalCapacity: Int, interpolationCount: Int) { markup.reserveCapacity(literalCapacity) }
        mutating func appendLiteral(_ literal: String) { markup += literal }
        mutating func appendInterpolation(_ text: String) { markup += MarkupText.escaped(text) }
        mutating func appendInterpolation(_ number: Int) { markup += String(number) }
        mutating func appendInterpolation(_ part: SVG) { markup += part.markup }
    }
}

// Graphviz's DOT, put together without a way to forget the escaping.

/// A piece of DOT. A `String` that is interpolated becomes a string of DOT with its quotes; only other DOT goes in as it is.
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
        /// Several lines of one label, each against the left side.
        mutating func appendInterpolation(lines: [String]) { source += DOT.quoted(lines) }
    }

    /// A quoted string, good for identifiers and for labels. In labels a backslash begins an escape and '&' an entity, so
    /// that both are escaped; what is no character for XML, which Graphviz writes, is spelled out.
    static func quoted(_ lines: [String]) -> String {
        var quoted = "\""
        for line in lines {
            for scalar in line.unicodeScalars {
                switch scalar {
                case "\"": quoted += "\\\""
                case "\\": quoted += "\\\\"
                case "&": quoted += "&amp;"
                case _ where isForbidden(scalar): quoted += "\\" + DisplayText.spelled(scalar)
                default: quoted.unicodeScalars.append(scalar)
                }
            }
            if lines.count > 1 { quoted += "\\l" }
        }
        return quoted + "\""
    }

    private static func isForbidden(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) || DisplayText.isNoncharacter(scalar)
    }
}
