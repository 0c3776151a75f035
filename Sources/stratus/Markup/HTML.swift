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
