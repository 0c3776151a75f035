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
