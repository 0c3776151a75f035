// Appends elements whose type is known only when the program runs.

extension TupleWriter {
    /// Appends any element.
    ///
    /// Throws `.nestedTooDeep` when tuples lie deeper inside one another than `TupleLimits.maximumNestedDepth`; the
    /// buffer is then as it was.
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
            beginNested(to: &buffer)
            for element in elements { try append(element, depth: depth + 1, to: &buffer) }
            endNested(to: &buffer)
        }
    }
}
