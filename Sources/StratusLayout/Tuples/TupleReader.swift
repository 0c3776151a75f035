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
