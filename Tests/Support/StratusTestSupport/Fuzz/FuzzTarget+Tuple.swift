// Fuzzing the tuple decoder: any bytes are refused, or decode and encode to the same bytes.

package import StratusLayout

extension FuzzTarget {
    package static let tuple = FuzzTarget(
        name: "tuple",
        // Type codes and ends, right and wrong escapes, overlong integers, text that is not UTF-8.
        dictionary: (UInt8(0)...0x40).map { [$0] } + [
            [0x01, 0x01], [0x01, 0x02], [0x01, 0x00], [0x01, 0xFF], [0x11, 0x00], [0x0F, 0xFF], [0x18, 0x80],
            [0x08, 0x7F],
            [0xC1, 0xBF], [0xED, 0xA0, 0x80], [0xF4, 0x90], [0xE2, 0x82], [0xFF, 0xFF], [0x04, 0x04, 0x04],
            [0x00, 0x00],
        ],
        validInput: { random in
            let tuple = random.tuple(maximumCount: 6)
            // Generated tuples are far from the depth limit, so writing them cannot fail.
            return (try? TupleWriter.encoding(of: tuple)) ?? []
        },
        check: { input in
            guard let elements = try? TupleReader.elements(of: input) else { return .refused }
            guard let written = try? TupleWriter.encoding(of: elements) else { return .violation("cannot be written") }
            return written == input ? .accepted : .violation("written as \(written)")
        })
}

extension TupleReader {
    /// All elements of a tuple.
    package static func elements(of bytes: [UInt8]) throws(TupleError) -> [TupleElement] {
        var reader = TupleReader(bytes.span)
        var elements: [TupleElement] = []
        while !reader.isAtEnd { elements.append(try reader.readElement()) }
        return elements
    }
}
