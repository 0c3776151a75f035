// Appends elements to a buffer so that the order of the bytes is the order of the values.
//
// Byte layout (numbers in `TupleTypeCode`, which never change):
//   null      01
//   bytes     02, the bytes with the escapes of `TupleEscape`, 00
//   string    03, the UTF-8 bytes with the same escapes, 00
//   nested    04, the elements, 00
//   integer   10 for zero; 10+n, then n bytes big-endian, for a positive one; 10-n, then the n bytes of the ones'
//             complement of the magnitude, for a negative one; n is the smallest that holds the magnitude (1...8)
//   double    20, 8 bytes big-endian of `Double.orderedBits`
//   boolean   28 false, 29 true
//   UUID      30, its 16 bytes
//   date      38, 8 bytes of the seconds since the reference date, as a double
//
// A value has exactly one encoding, and no encoding is the beginning of another one. So all tuples that begin with
// given elements are one range, from the bytes of those elements up to `prefixUpperBound` of them.

package import FoundationEssentials
import StratusStore

/// Appends elements to a buffer that the caller reuses. Allocates nothing while the buffer's capacity suffices.
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
        let bytes = value.bytes
        buffer.append(copying: bytes.span)
    }

    package static func appendInteger(_ value: Int64, to buffer: inout [UInt8]) {
        guard value < 0 else { return appendInteger(UInt64(value), to: &buffer) }
        let byteCount = byteCount(of: value.magnitude)
        buffer.append(TupleTypeCode.integerZero - UInt8(byteCount))
        appendBigEndian(~value.magnitude, byteCount: byteCount, to: &buffer)
    }

    package static func appendInteger(_ value: UInt64, to buffer: inout [UInt8]) {
        // A shortcut: most numbers in keys are keyspace tags and zone numbers.
        if (1...0xFF).contains(value) {
            buffer.append(TupleTypeCode.integerZero + 1)
            buffer.append(UInt8(value))
            return
        }
        let byteCount = byteCount(of: value)
        buffer.append(TupleTypeCode.integerZero + UInt8(byteCount))
        appendBigEndian(value, byteCount: byteCount, to: &buffer)
    }

    /// Appends any Swift string, NUL included. It sorts by its UTF-8 bytes, not in Swift's canonical order.
    package static func appendString(_ value: String, to buffer: inout [UInt8]) {
        appendContent(value.utf8Span.span, typeCode: TupleTypeCode.string, to: &buffer)
    }

    package static func appendBytes(_ value: [UInt8], to buffer: inout [UInt8]) {
        appendContent(value.span, typeCode: TupleTypeCode.bytes, to: &buffer)
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

    /// Appends the type code, the content with its escapes, and the end.
    ///
    /// Almost no content needs escapes, so it is copied unchanged unless the scan finds a byte that does.
    private static func appendContent(_ content: Span<UInt8>, typeCode: UInt8, to buffer: inout [UInt8]) {
        let escapes = needsEscapes(content)
        buffer.append(addingCapacity: content.count + 2) { output in
            output.append(typeCode)
            if !escapes {
                for index in content.indices { output.append(content[index]) }
                output.append(TupleTypeCode.end)
            }
        }
        if escapes { appendEscaped(content, to: &buffer) }
    }

    /// Whether a byte of the content is 0x00 or 0x01. There is no early exit, so that the loop is vectorised.
    private static func needsEscapes(_ content: Span<UInt8>) -> Bool {
        var lowest: UInt8 = .max
        for index in content.indices { lowest = min(lowest, content[index]) }
        return lowest <= TupleEscape.lead
    }

    private static func appendEscaped(_ content: Span<UInt8>, to buffer: inout [UInt8]) {
        for index in content.indices {
            let byte = content[index]
            if byte <= TupleEscape.lead {
                buffer.append(TupleEscape.lead)
                buffer.append(byte == 0 ? TupleEscape.zero : TupleEscape.one)
            } else {
                buffer.append(byte)
            }
        }
        buffer.append(TupleTypeCode.end)
    }
}

extension TupleWriter {
    /// Appends any element.
    ///
    /// Throws `.nestedTooDeep` if tuples are nested more deeply than `TupleLimits.maximumNestedDepth`, and leaves the
    /// buffer unchanged.
    package static func append(_ element: TupleElement, to buffer: inout [UInt8]) throws(TupleError) {
        let start = buffer.count
        do throws(TupleError) {
            try append(element, depth: 0, to: &buffer)
        } catch {
            buffer.removeSubrange(start...)
            throw error
        }
    }

    /// The encoding of several elements, one after the other.
    ///
    /// Throws `.nestedTooDeep` as `append` does.
    package static func encoding(of elements: [TupleElement]) throws(TupleError) -> [UInt8] {
        var buffer: [UInt8] = []
        for element in elements { try append(element, depth: 0, to: &buffer) }
        return buffer
    }

    private static func append(_ element: TupleElement, depth: Int, to buffer: inout [UInt8]) throws(TupleError) {
        switch element {
        case .null: appendNull(to: &buffer)
        case .bytes(let value): appendBytes(value, to: &buffer)
        case .string(let value): appendString(value, to: &buffer)
        case .integer(let value): appendInteger(value, to: &buffer)
        case .unsigned(let value): appendInteger(value, to: &buffer)
        case .double(let value): appendDouble(value, to: &buffer)
        case .boolean(let value): appendBoolean(value, to: &buffer)
        case .uuid(let value): appendUUID(value, to: &buffer)
        case .date(let value): appendDate(value, to: &buffer)
        case .nested(let elements):
            guard depth < TupleLimits.maximumNestedDepth else {
                throw TupleError(.nestedTooDeep, position: buffer.count)
            }
            buffer.append(TupleTypeCode.nested)
            for element in elements { try append(element, depth: depth + 1, to: &buffer) }
            buffer.append(TupleTypeCode.end)
        }
    }
}

/// The smallest key greater than every key that begins with `prefix`; nil if there is none (no bytes, or only 0xFF).
package func prefixUpperBound(of prefix: [UInt8]) -> [UInt8]? {
    guard let last = prefix.lastIndex(where: { $0 != 0xFF }) else { return nil }
    var bound = Array(prefix[...last])
    bound[last] += 1
    return bound
}
