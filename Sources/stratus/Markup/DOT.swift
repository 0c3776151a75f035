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
