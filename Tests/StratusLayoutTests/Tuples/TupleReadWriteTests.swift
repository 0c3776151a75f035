// The typed calls, as keys are built and read with them.

import FoundationEssentials
import StratusLayout
import Testing

@Suite("typed reading and writing")
struct TupleReadWriteTests {
    @Test("typed reads return what typed writes wrote")
    func typedCalls() throws {
        let identifier = UUID(uuid: (0xFF, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 0x80))
        var buffer: [UInt8] = []
        TupleWriter.appendNull(to: &buffer)
        TupleWriter.appendInteger(Int64.min, to: &buffer)
        TupleWriter.appendInteger(UInt64.max, to: &buffer)
        TupleWriter.appendString("a\0b\u{1}c", to: &buffer)
        TupleWriter.appendBytes([0, 1, 0xFF], to: &buffer)
        TupleWriter.appendDouble(-1.5, to: &buffer)
        TupleWriter.appendBoolean(true, to: &buffer)
        TupleWriter.appendBoolean(false, to: &buffer)
        TupleWriter.appendDate(Date(timeIntervalSinceReferenceDate: 12.25), to: &buffer)
        TupleWriter.appendUUID(identifier, to: &buffer)

        var reader = TupleReader(buffer.span)
        try reader.readNull()
        #expect(try reader.readInteger() == .min)
        #expect(try reader.readUnsigned() == .max)
        #expect(try Array(reader.readString().utf8) == Array("a\0b\u{1}c".utf8))
        #expect(try reader.readBytes() == [0, 1, 0xFF])
        #expect(try reader.readDouble() == -1.5)
        #expect(try reader.readBoolean())
        #expect(try reader.readBoolean() == false)
        #expect(try reader.readDate() == Date(timeIntervalSinceReferenceDate: 12.25))
        #expect(try reader.readUUID() == identifier)
        #expect(reader.isAtEnd == true)
        #expect(reader.nextTypeCode == nil)
    }

    @Test("a nested tuple begins and ends with its codes")
    func nested() throws {
        let element = TupleElement.nested([.null, .nested([]), .integer(7)])
        let bytes = try TupleWriter.encoding(of: [element])
        #expect(bytes == [0x04, 0x01, 0x04, 0x00, 0x11, 0x07, 0x00])
        var reader = TupleReader(bytes.span)
        #expect(try reader.readElement() == element)
        #expect(reader.isAtEnd == true)
    }

    @Test("content of every length around a scanned block is read completely, wherever it has a zero byte")
    func contentLengths() throws {
        for count in 0..<50 {
            let plain = [UInt8](repeating: 0x61, count: count)
            for zeroIndex in 0...count {
                var content = plain
                if zeroIndex < count { content[zeroIndex] = 0 }
                let bytes = try TupleWriter.encoding(of: [.bytes(content), .string("end")])
                var reader = TupleReader(bytes.span)
                #expect(try reader.readBytes() == content)
                #expect(try reader.readString() == "end")
            }
        }
    }

    @Test("a buffer with capacity is not reallocated")
    func reusedBuffer() {
        var buffer: [UInt8] = []
        buffer.reserveCapacity(256)
        let capacity = buffer.capacity
        for round in 0..<100 {
            buffer.removeAll(keepingCapacity: true)
            TupleWriter.appendString("0b1c2d3e-4f50-6172-8394-a5b6c7d8e9f0", to: &buffer)
            TupleWriter.appendInteger(Int64(round), to: &buffer)
            TupleWriter.appendBytes([0, 1, 2], to: &buffer)
            #expect(buffer.capacity == capacity)
        }
    }

    @Test("elements are equal if their bytes are: equivalent texts differ, integers of both cases do not")
    func equality() {
        #expect(TupleElement.string("\u{E9}") != .string("e\u{301}"))
        #expect(TupleElement.integer(5) == .unsigned(5))
        #expect(TupleElement.integer(5).hashValue == TupleElement.unsigned(5).hashValue)
        #expect(TupleElement.integer(-1) != .unsigned(.max))
        #expect(TupleElement.double(0.0) != .double(-0.0))
        #expect(TupleElement.double(.nan) == .double(.nan))
        #expect(TupleElement.double(5) != .integer(5))
        // Identifiers that differ only in their last byte.
        let (first, second) = (UUID(uuid: Self.identifier(1)), UUID(uuid: Self.identifier(2)))
        #expect(TupleElement.uuid(first) != .uuid(second))
    }

    @Test("the upper bound of a prefix is the next key that lacks it")
    func upperBounds() {
        #expect(prefixUpperBound(of: [1, 2]) == [1, 3])
        #expect(prefixUpperBound(of: [1, 0xFF, 0xFF]) == [2])
        #expect(prefixUpperBound(of: [0xFE]) == [0xFF])
        #expect(prefixUpperBound(of: [0]) == [1])
        #expect(prefixUpperBound(of: [0xFF, 0xFF]) == nil)
        #expect(prefixUpperBound(of: []) == nil)
    }

    private static func identifier(_ last: UInt8) -> uuid_t { (9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last) }
}
