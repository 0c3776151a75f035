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
