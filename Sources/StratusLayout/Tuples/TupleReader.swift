// Reads elements out of bytes in place. `TupleWriter` has the byte layout.
//
// Invariants: whatever the bytes, nothing traps and nothing is read outside them. A reader that threw stands where it
// stood before the call. Only the one canonical encoding of a value is read, so what was read can be written again as
// the same bytes.

package import FoundationEssentials

/// Reads elements one after the other from bytes it does not copy.
///
/// Every `read…` throws `.endOfBytes` when the bytes stop before the element does, `.unexpectedType` when the next
/// element is of another type, `.unknownType` when it is of none; further codes are named where they can occur.
package struct TupleReader: ~Escapable {
    let bytes: Span<UInt8>
    /// How many bytes have been read: the offset of the next element.
    package private(set) var position: Int
    /// How many nested tuples have been entered and not left.
    package private(set) var depth: Int

    @_lifetime(copy bytes)
    package init(_ bytes: Span<UInt8>) {
        self.bytes = bytes
        self.position = 0
        self.depth = 0
    }

    /// Whether there is no element left: the bytes are at their end.
    package var isAtEnd: Bool { position >= bytes.count }

    /// The type code of the next element; nil at the end. It may also be `TupleTypeCode.end` or no type's code.
    package var nextTypeCode: UInt8? { isAtEnd ? nil : bytes[position] }

    package var isNextNull: Bool { nextTypeCode == TupleTypeCode.null }

    /// Throws `.trailingBytes` when there is an element left.
    package func expectEnd() throws(TupleError) {
        guard isAtEnd else { throw TupleError(.trailingBytes, position: position, typeCode: nextTypeCode) }
    }

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
        let bits = try bigEndian(at: position + 1, byteCount: 8)
        position += 9
        return Double(orderedBits: bits)
    }

    package mutating func readDate() throws(TupleError) -> Date {
        try expect(TupleTypeCode.date)
        let bits = try bigEndian(at: position + 1, byteCount: 8)
        position += 9
        return Date(timeIntervalSinceReferenceDate: Double(orderedBits: bits))
    }

    package mutating func readUUID() throws(TupleError) -> UUID {
        try expect(TupleTypeCode.uuid)
        let high = try bigEndian(at: position + 1, byteCount: 8)
        let low = try bigEndian(at: position + 9, byteCount: 8)
        position += 17
        return UUID(high: high, low: low)
    }

    /// Enters the nested tuple that is next. Throws `.nestedTooDeep` beyond `TupleLimits.maximumNestedDepth`.
    package mutating func beginNested() throws(TupleError) {
        try expect(TupleTypeCode.nested)
        guard depth < TupleLimits.maximumNestedDepth else { throw failure(.nestedTooDeep) }
        position += 1
        depth += 1
    }

    /// Whether the nested tuple entered last has no element left.
    package var isAtNestedEnd: Bool { depth > 0 && nextTypeCode == TupleTypeCode.end }

    /// Leaves the nested tuple entered last. Throws `.unexpectedType` when it has an element left or none was entered.
    package mutating func endNested() throws(TupleError) {
        guard let code = nextTypeCode else { throw failure(.endOfBytes) }
        guard isAtNestedEnd else { throw TupleError(.unexpectedType, position: position, typeCode: code) }
        position += 1
        depth -= 1
    }
}

extension TupleReader {
    /// Puts the reader back where it stood, after an element that could not be read whole.
    mutating func restore(position: Int, depth: Int) {
        self.position = position
        self.depth = depth
    }

    /// Moves on by a number of bytes that the caller has looked at.
    mutating func advance(by byteCount: Int) {
        position += byteCount
    }

    func failure(_ code: TupleError.Code) -> TupleError {
        TupleError(code, position: position, typeCode: nextTypeCode)
    }

    /// The error for an element that is not of the type asked for.
    func mismatch(_ code: UInt8) -> TupleError {
        TupleError(TupleTypeCode.isKnown(code) ? .unexpectedType : .unknownType, position: position, typeCode: code)
    }

    func expect(_ expected: UInt8) throws(TupleError) {
        guard let code = nextTypeCode else { throw failure(.endOfBytes) }
        guard code == expected else { throw mismatch(code) }
    }

    /// The number in `byteCount` bytes (at most 8) from `start` on.
    func bigEndian(at start: Int, byteCount: Int) throws(TupleError) -> UInt64 {
        guard byteCount <= bytes.count - start else { throw failure(.endOfBytes) }
        var value: UInt64 = 0
        for index in start..<start + byteCount { value = value << 8 | UInt64(bytes[index]) }
        return value
    }
}

extension TupleTypeCode {
    /// Whether an element can begin with this byte.
    static func isKnown(_ code: UInt8) -> Bool {
        switch code {
        case null, bytes, string, nested, integerLowest...integerHighest, double, booleanFalse, booleanTrue, uuid, date:
            true
        default: false
        }
    }
}

// Reads integers: from one byte for zero to nine, in the fewest bytes that hold the magnitude, else refused.

extension TupleReader {
    /// Reads an integer. Throws `.integerOutOfRange` above `Int64.max`, `.notCanonical` for needless bytes.
    package mutating func readInteger() throws(TupleError) -> Int64 {
        let number = try integer()
        guard let value = number.signed else { throw failure(.integerOutOfRange) }
        advance(by: number.byteCount)
        return value
    }

    /// Reads an integer. Throws `.integerOutOfRange` below zero, `.notCanonical` for needless bytes.
    package mutating func readUnsigned() throws(TupleError) -> UInt64 {
        let number = try integer()
        guard !number.isNegative else { throw failure(.integerOutOfRange) }
        advance(by: number.byteCount)
        return number.magnitude
    }

    /// Reads an integer as an element: `.integer` where it fits, else `.unsigned`.
    mutating func readIntegerElement() throws(TupleError) -> TupleElement {
        let number = try integer()
        if !number.isNegative, number.magnitude > UInt64(Int64.max) {
            advance(by: number.byteCount)
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

    /// The integer that is next; the reader stays where it is.
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

// Reads bytes and strings: content that ends with 0x00 and in which 0x01 begins an escape.

extension TupleReader {
    /// Reads bytes. Throws `.notCanonical` for an escape that no byte has.
    package mutating func readBytes() throws(TupleError) -> [UInt8] {
        try expect(TupleTypeCode.bytes)
        let content = try content()
        let value =
            content.escapeCount == 0
            ? [UInt8](copying: bytes.extracting(content.start..<content.end)) : unescaped(content)
        advance(by: content.end + 1 - position)
        return value
    }

    /// Reads a string. Throws `.invalidText` when it is not UTF-8, `.notCanonical` for an escape that no byte has.
    package mutating func readString() throws(TupleError) -> String {
        try expect(TupleTypeCode.string)
        let content = try content()
        let value =
            content.escapeCount == 0
            ? text(bytes.extracting(content.start..<content.end)) : text(unescaped(content).span)
        guard let value else { throw failure(.invalidText) }
        advance(by: content.end + 1 - position)
        return value
    }

    /// Passes over a string with the checks that reading makes.
    package mutating func skipString() throws(TupleError) {
        try expect(TupleTypeCode.string)
        try skipContent(isText: true)
    }

    /// Passes over bytes or a string with the checks that reading makes.
    mutating func skipContent(isText: Bool) throws(TupleError) {
        let content = try content()
        if isText {
            let isValid =
                content.escapeCount == 0
                ? isUTF8(bytes.extracting(content.start..<content.end)) : isUTF8(unescaped(content).span)
            guard isValid else { throw failure(.invalidText) }
        }
        advance(by: content.end + 1 - position)
    }

    /// Where the content of bytes or a string lies, and how many escapes are in it.
    private struct Content {
        var start: Int
        var end: Int
        var escapeCount: Int
    }

    /// The content of the element that is next, its escapes checked; the reader stays where it is.
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
    /// Whole blocks are looked at without an early exit, so that the inner loop is vectorised.
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

    private func text(_ bytes: Span<UInt8>) -> String? {
        guard let text = try? UTF8Span(validating: bytes) else { return nil }
        return String(copying: text)
    }

    private func isUTF8(_ bytes: Span<UInt8>) -> Bool {
        (try? UTF8Span(validating: bytes)) != nil
    }
}

// Reads elements whose type is known only when the program runs, and passes over elements.

extension TupleReader {
    /// Reads the next element, whatever its type. Throws what the typed readers throw, and `.nestedTooDeep`.
    package mutating func readElement() throws(TupleError) -> TupleElement {
        guard let code = nextTypeCode else { throw failure(.endOfBytes) }
        switch code {
        case TupleTypeCode.null:
            try readNull()
            return .null
        case TupleTypeCode.bytes: return .bytes(try readBytes())
        case TupleTypeCode.string: return .string(try readString())
        case TupleTypeCode.nested: return .nested(try readNested())
        case TupleTypeCode.integerLowest...TupleTypeCode.integerHighest: return try readIntegerElement()
        case TupleTypeCode.double: return .double(try readDouble())
        case TupleTypeCode.booleanFalse, TupleTypeCode.booleanTrue: return .boolean(try readBoolean())
        case TupleTypeCode.uuid: return .uuid(try readUUID())
        case TupleTypeCode.date: return .date(try readDate())
        default: throw mismatch(code)
        }
    }

    /// Reads the nested tuple that is next.
    package mutating func readNested() throws(TupleError) -> [TupleElement] {
        let start = position
        let startDepth = depth
        do throws(TupleError) {
            var elements: [TupleElement] = []
            try beginNested()
            while !isAtNestedEnd { elements.append(try readElement()) }
            try endNested()
            return elements
        } catch {
            restore(position: start, depth: startDepth)
            throw error
        }
    }

    /// Reads all elements up to the end of the bytes.
    package mutating func readAllElements() throws(TupleError) -> [TupleElement] {
        let start = position
        do throws(TupleError) {
            var elements: [TupleElement] = []
            while !isAtEnd { elements.append(try readElement()) }
            return elements
        } catch {
            restore(position: start, depth: depth)
            throw error
        }
    }

    /// Passes over the next element without making a value of it, with every check that reading it makes.
    package mutating func skipElement() throws(TupleError) {
        guard let code = nextTypeCode else { throw failure(.endOfBytes) }
        switch code {
        case TupleTypeCode.bytes: try skipContent(isText: false)
        case TupleTypeCode.string: try skipContent(isText: true)
        case TupleTypeCode.nested: try skipNested()
        default: _ = try readElement()
        }
    }

    private mutating func skipNested() throws(TupleError) {
        let start = position
        let startDepth = depth
        do throws(TupleError) {
            try beginNested()
            while !isAtNestedEnd { try skipElement() }
            try endNested()
        } catch {
            restore(position: start, depth: startDepth)
            throw error
        }
    }
}
