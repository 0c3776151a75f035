// Appends elements to a buffer so that the order of the bytes is the order of the values.
//
// Byte layout (numbers in `TupleTypeCode`, which never change):
//   null      01
//   bytes     02, the bytes escaped as `TupleEscape` says, 00
//   string    03, the UTF-8 bytes escaped likewise, 00
//   nested    04, the elements, 00
//   integer   10 for zero; 10+n, then n bytes big-endian, for a positive one; 10-n, then the n bytes of the ones'
//             complement of the magnitude, for a negative one; n is the smallest that holds the magnitude (1...8)
//   double    20, 8 bytes big-endian of `Double.orderedBits`
//   boolean   28 false, 29 true
//   UUID      30, its 16 bytes
//   date      38, 8 bytes of the seconds since the reference date, as a double
//
// A value has exactly one encoding, and no encoding is the beginning of another one.

package import FoundationEssentials

/// Appends elements to a buffer the caller reuses: nothing is allocated while its capacity suffices.
package enum TupleWriter {
    package static func appendNull(to buffer: inout [UInt8]) {
        buffer.append(TupleTypeCode.null)
    }

    package static func appendBoolean(_ value: Bool, to buffer: inout [UInt8]) {
        buffer.append(value ? TupleTypeCode.booleanTrue : TupleTypeCode.booleanFalse)
    }

    package static func appendDouble(_ value: Double, to buffer: inout [UInt8]) {
        buffer.append(TupleTypeCode.double)
        appendBigEndian(value.orderedBits, byteCount: 8, to: &buffer)
    }

    /// Appends a date as the seconds since the reference date, with every bit of that number.
    package static func appendDate(_ value: Date, to buffer: inout [UInt8]) {
        buffer.append(TupleTypeCode.date)
        appendBigEndian(value.timeIntervalSinceReferenceDate.orderedBits, byteCount: 8, to: &buffer)
    }

    package static func appendUUID(_ value: UUID, to buffer: inout [UInt8]) {
        buffer.append(TupleTypeCode.uuid)
        let halves = value.bigEndianHalves
        appendBigEndian(halves.high, byteCount: 8, to: &buffer)
        appendBigEndian(halves.low, byteCount: 8, to: &buffer)
    }

    package static func appendInteger(_ value: Int64, to buffer: inout [UInt8]) {
        guard value < 0 else { return appendInteger(UInt64(value), to: &buffer) }
        let byteCount = byteCount(of: value.magnitude)
        buffer.append(TupleTypeCode.integerZero - UInt8(byteCount))
        appendBigEndian(~value.magnitude, byteCount: byteCount, to: &buffer)
    }

    package static func appendInteger(_ value: UInt64, to buffer: inout [UInt8]) {
        let byteCount = byteCount(of: value)
        buffer.append(TupleTypeCode.integerZero + UInt8(byteCount))
        appendBigEndian(value, byteCount: byteCount, to: &buffer)
    }

    /// Appends any Swift string, NUL included. The order is that of the UTF-8 bytes, not Swift's canonical one.
    package static func appendString(_ value: String, to buffer: inout [UInt8]) {
        buffer.append(TupleTypeCode.string)
        let start = buffer.count
        buffer.append(contentsOf: value.utf8)
        finishContent(from: start, in: &buffer)
    }

    package static func appendBytes(_ value: [UInt8], to buffer: inout [UInt8]) {
        buffer.append(TupleTypeCode.bytes)
        let start = buffer.count
        buffer.append(contentsOf: value)
        finishContent(from: start, in: &buffer)
    }

    package static func appendBytes(_ value: Span<UInt8>, to buffer: inout [UInt8]) {
        buffer.append(TupleTypeCode.bytes)
        let start = buffer.count
        buffer.append(copying: value)
        finishContent(from: start, in: &buffer)
    }

    /// Begins a nested tuple: what is appended until the matching `endNested` is inside it.
    ///
    /// The caller keeps the depth within `TupleLimits.maximumNestedDepth`; readers refuse more.
    package static func beginNested(to buffer: inout [UInt8]) {
        buffer.append(TupleTypeCode.nested)
    }

    package static func endNested(to buffer: inout [UInt8]) {
        buffer.append(TupleTypeCode.end)
    }
}

extension TupleWriter {
    /// How many bytes the magnitude of an integer needs: 0 for zero, else 1...8.
    private static func byteCount(of magnitude: UInt64) -> Int {
        (UInt64.bitWidth - magnitude.leadingZeroBitCount + 7) / 8
    }

    private static func appendBigEndian(_ value: UInt64, byteCount: Int, to buffer: inout [UInt8]) {
        var shift = (byteCount - 1) * 8
        while shift >= 0 {
            buffer.append(UInt8(truncatingIfNeeded: value >> UInt64(shift)))
            shift -= 8
        }
    }

    /// Escapes the content that was copied to the end of the buffer, if it needs it, and ends it.
    ///
    /// The scan has no early exit, so that it is vectorised: almost no content needs escapes.
    private static func finishContent(from start: Int, in buffer: inout [UInt8]) {
        let escapeCount = countEscapes(buffer.span.extracting(start...))
        if escapeCount > 0 { escapeContent(from: start, escapeCount: escapeCount, in: &buffer) }
        buffer.append(TupleTypeCode.end)
    }

    private static func countEscapes(_ content: Span<UInt8>) -> Int {
        var count = 0
        for index in content.indices { count &+= content[index] <= TupleEscape.lead ? 1 : 0 }
        return count
    }

    /// Moves the content apart from its end on, in place, so that every 0x00 and 0x01 gets its escape.
    private static func escapeContent(from start: Int, escapeCount: Int, in buffer: inout [UInt8]) {
        var source = buffer.count
        buffer.append(contentsOf: repeatElement(0, count: escapeCount))
        var target = buffer.count
        while source > start {
            source -= 1
            target -= 1
            let byte = buffer[source]
            if byte <= TupleEscape.lead {
                buffer[target] = byte == 0 ? TupleEscape.zero : TupleEscape.one
                target -= 1
                buffer[target] = TupleEscape.lead
            } else {
                buffer[target] = byte
            }
        }
    }
}
