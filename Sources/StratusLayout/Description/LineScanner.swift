// Reads the pieces of a described key: words, numbers, quoted text, hexadecimal bytes.

/// Walks over the scalars of one line. Every failure says where in the line it is.
struct LineScanner {
    private let scalars: [Unicode.Scalar]
    private(set) var position = 0

    init(_ line: String) { scalars = Array(line.unicodeScalars) }

    var isAtEnd: Bool { position == scalars.count }

    var next: Unicode.Scalar? { isAtEnd ? nil : scalars[position] }

    /// Passes over `text` when it is next.
    mutating func take(_ text: String) -> Bool {
        var end = position
        for scalar in text.unicodeScalars {
            guard end < scalars.count, scalars[end] == scalar else { return false }
            end += 1
        }
        position = end
        return true
    }

    mutating func expect(_ text: String) throws(LayoutError) {
        guard take(text) else {
            throw invalid("The line does not go on as a key does.").adding("expected", text)
        }
    }

    /// The letters, digits, signs and points that are next, up to anything else.
    mutating func takeWord() -> String {
        var word = ""
        while let scalar = next, scalar.isASCII {
            guard
                scalar.properties.isAlphabetic || ("0"..."9").contains(scalar) || "+-.".unicodeScalars.contains(scalar)
            else { break }
            word.unicodeScalars.append(scalar)
            position += 1
        }
        return word
    }

    mutating func readNumber() throws(LayoutError) -> UInt64 {
        guard let number = UInt64(takeWord()) else { throw invalid("A number is missing.") }
        return number
    }

    /// Reads text in double quotes, as `ReadableText.quoted` writes it.
    mutating func readText() throws(LayoutError) -> String {
        try expect("\"")
        var text = ""
        while !isAtEnd {
            if take("\"") { return text }
            if take("\\") {
                text.unicodeScalars.append(try readEscape())
            } else {
                text.unicodeScalars.append(scalars[position])
                position += 1
            }
        }
        throw invalid("A quotation mark is missing.")
    }

    private mutating func readEscape() throws(LayoutError) -> Unicode.Scalar {
        if take("\"") { return "\"" }
        if take("\\") { return "\\" }
        try expect("u{")
        guard let value = UInt32(takeWord(), radix: 16), let scalar = Unicode.Scalar(value) else {
            throw invalid("An escaped character does not exist.")
        }
        try expect("}")
        return scalar
    }

    /// Reads `x'…'`.
    mutating func readBytes() throws(LayoutError) -> [UInt8] {
        try expect("x'")
        guard let bytes = Hex.bytes(takeWord()) else { throw invalid("Bytes are not an even number of digits.") }
        try expect("'")
        return bytes
    }

    func invalid(_ message: StaticString) -> LayoutError {
        LayoutError(.invalidDescription, message, ["position": "\(position)"])
    }
}
