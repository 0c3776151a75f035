// What readers and writers refuse, with which code, and at which position.

import FoundationEssentials
import StratusLayout
import Testing

@Suite("refusals")
struct TupleRefusalTests {
    /// How reading all elements is refused. The reader must stay before the refused element.
    private func refusal(_ bytes: [UInt8]) -> TupleError? {
        var reader = TupleReader(bytes.span)
        while !reader.isAtEnd {
            let start = reader.position
            do throws(TupleError) {
                _ = try reader.readElement()
            } catch {
                return reader.position == start ? error : nil
            }
        }
        return nil
    }

    /// How skipping a string is refused. The reader must not move.
    private func skipRefusal(_ bytes: [UInt8]) -> TupleError? {
        var reader = TupleReader(bytes.span)
        do throws(TupleError) {
            try reader.skipString()
            return nil
        } catch {
            return reader.position == 0 ? error : nil
        }
    }

    @Test(
        "an overlong integer is refused",
        arguments: [
            [0x11, 0x00], [0x12, 0x00, 0xFF], [0x18, 0, 0xFF, 1, 1, 1, 1, 1, 1], [0x0F, 0xFF], [0x0E, 0xFF, 0x00],
        ] as [[UInt8]])
    func longIntegers(bytes: [UInt8]) {
        #expect(refusal(bytes)?.code == .notCanonical)
    }

    @Test("an unknown escape is refused", arguments: [0x00, 0x03, 0xFF] as [UInt8])
    func escapes(escaped: UInt8) {
        #expect(refusal([0x02, 0x01, escaped, 0x00])?.code == .notCanonical)
        #expect(refusal([0x03, 0x61, 0x01, escaped, 0x00])?.code == .notCanonical)
    }

    @Test(
        "a string that is not UTF-8 is refused: over-long, surrogate, truncated, too large, lone continuation",
        arguments: [
            [0xC1, 0xBF], [0xED, 0xA0, 0x80], [0xE2, 0x82], [0xF4, 0x90, 0x80, 0x80], [0x80], [0x01, 0x01, 0xFF],
        ] as [[UInt8]])
    func invalidText(content: [UInt8]) {
        #expect(refusal([0x03] + content + [0x00])?.code == .invalidText)
        #expect(skipRefusal([0x03] + content + [0x00]) == TupleError(.invalidText, position: 0, typeCode: 0x03))
    }

    @Test(
        "a byte that begins no element is refused",
        arguments: [0x00, 0x05, 0x07, 0x19, 0x2A, 0x39, 0xFF] as [UInt8])
    func unknownTypes(code: UInt8) {
        #expect(refusal([0x10, code]) == TupleError(.unknownType, position: 1, typeCode: code))
    }

    @Test("an element truncated at any byte is refused as truncated")
    func cuts() throws {
        let elements: [TupleElement] = [
            .bytes([0, 1, 2]), .string("a\0é"), .nested([.null, .nested([.string("x")])]), .integer(-70_000),
            .unsigned(.max), .double(1), .uuid(.init(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))),
            .date(.init(timeIntervalSinceReferenceDate: 1)),
        ]
        for element in elements {
            let bytes = try TupleWriter.encoding(of: [element])
            for count in 1..<bytes.count {
                #expect(refusal(Array(bytes.prefix(count)))?.code == .endOfBytes, "\(element) cut to \(count)")
            }
        }
        #expect(skipRefusal([]) == TupleError(.endOfBytes, position: 0))
    }

    @Test("an integer outside the requested type is out of range, and can then be read as another")
    func ranges() throws {
        let large = try TupleWriter.encoding(of: [.unsigned(1 << 63)])
        var reader = TupleReader(large.span)
        #expect(throws: TupleError(.integerOutOfRange, position: 0, typeCode: 0x18)) { _ = try reader.readInteger() }
        #expect(try reader.readUnsigned() == 1 << 63)

        let negative = try TupleWriter.encoding(of: [.integer(-1)])
        var other = TupleReader(negative.span)
        #expect(throws: TupleError(.integerOutOfRange, position: 0, typeCode: 0x0F)) { _ = try other.readUnsigned() }
        #expect(try other.readInteger() == -1)

        // One below Int64.min has bytes of its own that no value has.
        #expect(refusal([0x08, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFE])?.code == .integerOutOfRange)
    }

    @Test("every typed reader refuses another type without moving")
    func typeMismatch() throws {
        let bytes = try TupleWriter.encoding(of: [.null, .integer(1)])
        var reader = TupleReader(bytes.span)
        let expected = TupleError(.unexpectedType, position: 0, typeCode: TupleTypeCode.null)
        #expect(throws: expected) { _ = try reader.readInteger() }
        #expect(throws: expected) { _ = try reader.readUnsigned() }
        #expect(throws: expected) { _ = try reader.readString() }
        #expect(throws: expected) { _ = try reader.readBytes() }
        #expect(throws: expected) { _ = try reader.readDouble() }
        #expect(throws: expected) { _ = try reader.readBoolean() }
        #expect(throws: expected) { _ = try reader.readDate() }
        #expect(throws: expected) { _ = try reader.readUUID() }
        #expect(reader.isNextNull == true)
        try reader.readNull()
        #expect(throws: TupleError(.unexpectedType, position: 1, typeCode: 0x11)) { try reader.readNull() }
        #expect(reader.isAtEnd == false)
        #expect(try reader.readInteger() == 1)
        #expect(reader.isAtEnd == true)
    }

    @Test("tuples nested deeper than the limit are refused, written or read, and the limit itself is accepted")
    func depth() throws {
        func nested(_ depth: Int) -> TupleElement {
            (1..<depth).reduce(TupleElement.nested([])) { inner, _ in .nested([inner]) }
        }
        let deepest = nested(TupleLimits.maximumNestedDepth)
        let bytes = try TupleWriter.encoding(of: [deepest])
        var reader = TupleReader(bytes.span)
        #expect(try reader.readElement() == deepest)

        var buffer: [UInt8] = [7]
        let tooDeep = nested(TupleLimits.maximumNestedDepth + 1)
        #expect(throws: TupleError(.nestedTooDeep, position: 1 + TupleLimits.maximumNestedDepth)) {
            try TupleWriter.append(tooDeep, to: &buffer)
        }
        #expect(buffer == [7])
        let oneDeeper = TupleLimits.maximumNestedDepth + 1
        let whole =
            [UInt8](repeating: TupleTypeCode.nested, count: oneDeeper)
            + [UInt8](repeating: TupleTypeCode.end, count: oneDeeper)
        #expect(refusal(whole)?.code == .nestedTooDeep)
        let bottomless = [UInt8](repeating: TupleTypeCode.nested, count: 1_000_000)
        #expect(refusal(bottomless)?.code == .nestedTooDeep)
    }

    @Test("an error prints its code, its advice and its fields")
    func description() {
        let text = TupleError(.unknownType, position: 3, typeCode: 255).description
        #expect(text.hasPrefix("unknownType: No element begins with this byte"))
        #expect(text.contains("position=3, typeCode=255"))
        #expect(!TupleError(.endOfBytes, position: 3).description.contains("typeCode"))
    }
}
