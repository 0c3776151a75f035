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
