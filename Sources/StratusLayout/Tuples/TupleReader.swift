// Reads elements in place. `TupleWriter` describes the byte layout.
//
// Invariants: for any bytes, nothing traps and nothing is read outside them. A reader that threw has not moved.
// Only the canonical encoding of a value is read, so writing a value that was read gives the same bytes.

package import FoundationEssentials
import StratusStore

/// Reads elements one after the other from bytes that it does not copy.
///
/// Every `read…` throws `.endOfBytes` if the bytes stop before the element does, `.unexpectedType` if the next element
/// has another type, and `.unknownType` if it has none. Functions that throw further codes name them.
package struct TupleReader: ~Escapable {
    private let bytes: Span<UInt8>
    /// How many bytes have been read: the offset of the next element.
    package private(set) var position: Int

    @_lifetime(copy bytes)
    package init(_ bytes: Span<UInt8>) {
        self.bytes = bytes
        self.position = 0
    }

    /// Whether no element is left.
    package var isAtEnd: Bool { position >= bytes.count }

    /// The type code of the next element; nil at the end. It may also be `TupleTypeCode.end` or no type's code.
    package var nextTypeCode: UInt8? { isAtEnd ? nil : bytes[position] }

    package var isNextNull: Bool { nextTypeCode == TupleTypeCode.null }

    package mutating func readNull() throws(TupleError) {
        try expect(TupleTypeCode.null)
        position += 1
    }

    package mutating func readBoolean() throws(TupleError) -> Bool {
        guard let code = nextTypeCode else { throw failure(.endOfBytes) }
        guard code == TupleTypeCode.booleanTrue || code == TupleTypeCode.booleanFalse else { throw mismatch(code) }
        position += 1
        return code == TupleTypeCode.booleanTrue
    }

    /// Reads a double with every bit it was written with, -0.0 and NaN included.
    package mutating func readDouble() throws(TupleError) -> Double {
        try expect(TupleTypeCode.double)
        return try readOrderedDouble()
    }

    package mutating func readDate() throws(TupleError) -> Date {
        try expect(TupleTypeCode.date)
        return Date(timeIntervalSinceReferenceDate: try readOrderedDouble())
    }

    package mutating func readUUID() throws(TupleError) -> UUID {
        try expect(TupleTypeCode.uuid)
        guard bytes.count - position >= 17 else { throw failure(.endOfBytes) }
        position += 17
        return UUID(bytes.extracting(position - 16..<position))
    }

    /// Reads the next element of any type. Throws what the typed readers throw, and `.nestedTooDeep`.
    package mutating func readElement() throws(TupleError) -> TupleElement {
        let start = position
        do throws(TupleError) {
            return try readElement(depth: 0)
        } catch {
            position = start
            throw error
        }
    }

    private mutating func readElement(depth: Int) throws(TupleError) -> TupleElement {
        guard let code = nextTypeCode else { throw failure(.endOfBytes) }
        switch code {
        case TupleTypeCode.null:
            try readNull()
            return .null
        case TupleTypeCode.bytes: return .bytes(try readBytes())
        case TupleTypeCode.string: return .string(try readString())
        case TupleTypeCode.nested: return .nested(try readNested(depth: depth))
        case TupleTypeCode.integerLowest...TupleTypeCode.integerHighest: return try readIntegerElement()
        case TupleTypeCode.double: return .double(try readDouble())
        case TupleTypeCode.booleanFalse, TupleTypeCode.booleanTrue: return .boolean(try readBoolean())
        case TupleTypeCode.uuid: return .uuid(try readUUID())
        case TupleTypeCode.date: return .date(try readDate())
        default: throw mismatch(code)
        }
    }

    /// `depth`: how many tuples contain this one.
    private mutating func readNested(depth: Int) throws(TupleError) -> [TupleElement] {
        guard depth < TupleLimits.maximumNestedDepth else { throw failure(.nestedTooDeep) }
        position += 1
        var elements: [TupleElement] = []
        while nextTypeCode != TupleTypeCode.end { elements.append(try readElement(depth: depth + 1)) }
        position += 1
        return elements
    }

    private mutating func readOrderedDouble() throws(TupleError) -> Double {
        let bits = try bigEndian(at: position + 1, byteCount: 8)
        position += 9
        return Double(orderedBits: bits)
    }

    private func failure(_ code: TupleError.Code) -> TupleError {
        TupleError(code, position: position, typeCode: nextTypeCode)
    }

    /// The error for an element that does not have the requested type.
    private func mismatch(_ code: UInt8) -> TupleError {
        TupleError(TupleTypeCode.isKnown(code) ? .unexpectedType : .unknownType, position: position, typeCode: code)
    }

    private func expect(_ expected: UInt8) throws(TupleError) {
        guard let code = nextTypeCode else { throw failure(.endOfBytes) }
        guard code == expected else { throw mismatch(code) }
    }

    /// The number in `byteCount` bytes (at most 8) from `start` on.
    private func bigEndian(at start: Int, byteCount: Int) throws(TupleError) -> UInt64 {
        guard byteCount <= bytes.count - start else { throw failure(.endOfBytes) }
        var value: UInt64 = 0
        for index in start..<start + byteCount { value = value << 8 | UInt64(bytes[index]) }
        return value
    }
}

// Integers take one byte for zero and up to nine for others. Only the fewest bytes that hold the magnitude are read.
extension TupleReader {
    /// Reads an integer. Throws `.integerOutOfRange` above `Int64.max`, and `.notCanonical` for needless bytes.
    package mutating func readInteger() throws(TupleError) -> Int64 {
        let number = try integer()
        guard let value = number.signed else { throw failure(.integerOutOfRange) }
        position += number.byteCount
        return value
    }

    /// Reads an integer. Throws `.integerOutOfRange` below zero, and `.notCanonical` for needless bytes.
    package mutating func readUnsigned() throws(TupleError) -> UInt64 {
        let number = try integer()
        guard !number.isNegative else { throw failure(.integerOutOfRange) }
        position += number.byteCount
        return number.magnitude
    }

    /// Reads an integer as an element: `.integer` if it fits, else `.unsigned`.
    private mutating func readIntegerElement() throws(TupleError) -> TupleElement {
        let number = try integer()
        if !number.isNegative, number.magnitude > UInt64(Int64.max) {
            position += number.byteCount
            return .unsigned(number.magnitude)
        }
        return .integer(try readInteger())
    }

    /// An integer between `-UInt64.max` and `UInt64.max`, and how many bytes it takes with its type code.
    private struct EncodedInteger {
        var magnitude: UInt64
        var isNegative: Bool
        var byteCount: Int

        var signed: Int64? {
            guard isNegative else { return Int64(exactly: magnitude) }
            // Subtracting from zero in the wider range reaches Int64.min, whose magnitude no Int64 holds.
            return magnitude <= Int64.min.magnitude ? Int64(truncatingIfNeeded: 0 &- magnitude) : nil
        }
    }

    /// The next integer. The reader does not move.
    private func integer() throws(TupleError) -> EncodedInteger {
        guard let code = nextTypeCode else { throw failure(.endOfBytes) }
        guard (TupleTypeCode.integerLowest...TupleTypeCode.integerHighest).contains(code) else { throw mismatch(code) }
        let isNegative = code < TupleTypeCode.integerZero
        let byteCount = Int(isNegative ? TupleTypeCode.integerZero - code : code - TupleTypeCode.integerZero)
        guard byteCount > 0 else { return EncodedInteger(magnitude: 0, isNegative: false, byteCount: 1) }
        var magnitude = try bigEndian(at: position + 1, byteCount: byteCount)
        if isNegative { magnitude = ~magnitude & (UInt64.max >> UInt64(64 - byteCount * 8)) }
        guard magnitude >> UInt64((byteCount - 1) * 8) != 0 else { throw failure(.notCanonical) }
        return EncodedInteger(magnitude: magnitude, isNegative: isNegative, byteCount: 1 + byteCount)
    }
}

// Bytes and strings end with 0x00. In their content 0x01 begins an escape.
extension TupleReader {
    /// Reads bytes. Throws `.notCanonical` for an invalid escape.
    package mutating func readBytes() throws(TupleError) -> [UInt8] {
        try readContent(TupleTypeCode.bytes) { [UInt8](copying: $0) }
    }

    /// Reads a string. Throws `.invalidText` if it is not UTF-8, and `.notCanonical` for an invalid escape.
    package mutating func readString() throws(TupleError) -> String {
        try readContent(TupleTypeCode.string) { bytes in
            guard let text = try? UTF8Span(validating: bytes) else { return nil }
            return String(copying: text)
        }
    }

    /// Skips a string, with the checks of `readString`.
    package mutating func skipString() throws(TupleError) {
        try readContent(TupleTypeCode.string) { bytes in
            (try? UTF8Span(validating: bytes)) == nil ? nil : ()
        }
    }

    /// Reads what `decode` makes of the content of bytes or a string. Throws `.invalidText` for nil.
    private mutating func readContent<Value>(
        _ typeCode: UInt8, _ decode: (Span<UInt8>) -> Value?
    ) throws(TupleError) -> Value {
        try expect(typeCode)
        let content = try content()
        let value =
            content.escapeCount == 0
            ? decode(bytes.extracting(content.start..<content.end)) : decode(unescaped(content).span)
        guard let value else { throw failure(.invalidText) }
        position = content.end + 1
        return value
    }

    /// The offsets of the content of bytes or a string, and the number of its escapes.
    private struct Content {
        var start: Int
        var end: Int
        var escapeCount: Int
    }

    /// The content of the next element, its escapes checked. The reader does not move.
    private func content() throws(TupleError) -> Content {
        let start = position + 1
        var content = Content(start: start, end: start, escapeCount: 0)
        while true {
            content.end = ordinaryEnd(from: content.end)
            guard content.end < bytes.count else { throw failure(.endOfBytes) }
            if bytes[content.end] == TupleTypeCode.end { return content }
            guard content.end + 1 < bytes.count else { throw failure(.endOfBytes) }
            let escaped = bytes[content.end + 1]
            guard escaped == TupleEscape.zero || escaped == TupleEscape.one else { throw failure(.notCanonical) }
            content.escapeCount += 1
            content.end += 2
        }
    }

    /// The offset of the first byte from `start` on that ends the content or begins an escape; else the end.
    ///
    /// Whole blocks are scanned without an early exit, so that the inner loop is vectorised.
    private func ordinaryEnd(from start: Int) -> Int {
        let blockByteCount = 16
        var offset = start
        while bytes.count - offset >= blockByteCount {
            let block = bytes.extracting(offset..<offset + blockByteCount)
            var lowest: UInt8 = .max
            for index in 0..<blockByteCount { lowest = min(lowest, block[index]) }
            if lowest <= TupleEscape.lead { break }
            offset += blockByteCount
        }
        while offset < bytes.count, bytes[offset] > TupleEscape.lead { offset += 1 }
        return offset
    }

    /// The content without its escapes, which `content()` has checked.
    private func unescaped(_ content: Content) -> [UInt8] {
        var value: [UInt8] = []
        value.reserveCapacity(content.end - content.start - content.escapeCount)
        var offset = content.start
        while offset < content.end {
            var byte = bytes[offset]
            if byte == TupleEscape.lead {
                offset += 1
                byte = bytes[offset] == TupleEscape.zero ? 0 : 1
            }
            value.append(byte)
            offset += 1
        }
        return value
    }
}
