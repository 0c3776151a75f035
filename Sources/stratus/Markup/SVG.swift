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
        mutating func appendInterpolation(_ text: String) { markup += SVG.escaped(text) }
        mutating func appendInterpolation(_ number: Int) { markup += String(number) }
        mutating func appendInterpolation(_ part: SVG) { markup += part.markup }
    }

    /// The text for between tags and for between double quotes. What XML 1.0 has no letter for is spelled out: one such
    /// character, escaped or not, and no parser takes the file.
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

    /// Line ends and tabs are letters of XML, and attributes would turn them into spaces.
    private static func isForbidden(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) || DisplayText.isNoncharacter(scalar)
    }
}
