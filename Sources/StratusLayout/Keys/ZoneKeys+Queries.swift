// Ranges of the indexes that queries read, and how a scan goes on behind a name.

package import StratusModel

/// Where a range of one field's entries begins or ends.
package enum FieldEdge: Hashable, Sendable {
    /// Before, or behind, all entries of the field.
    case start
    case end
    /// Before, or behind, all entries of an element.
    case before(TupleElement)
    case after(TupleElement)
    /// Before, or behind, all elements of the same kind as this one.
    case beforeKind(of: TupleElement)
    case afterKind(of: TupleElement)
    /// Before, or behind, all texts that begin so.
    case beforeTexts(beginning: String)
    case afterTexts(beginning: String)
}

extension ZoneKeys {
    /// The key of what a zone has of a type's records in its indexes.
    package func queryIndexes(of type: RecordType) -> [UInt8] {
        key {
            begin(.queryIndexes, into: &$0)
            TupleWriter.appendString(type.text, to: &$0)
        }
    }
    package var queryIndexes: LayoutRange { keyspace(.queryIndexes) }
    /// The type of a key of the query indexes keyspace. Throws `.corruptKey`.
    package func readQueryIndexesKey(_ key: Span<UInt8>) throws(LayoutError) -> RecordType {
        var reader = try reader(key, .queryIndexes)
        let type = RecordType(try reader.readText())
        try reader.expectEnd()
        return type
    }

    /// The entries of a field between two edges; empty where the first lies behind the second.
    ///
    /// Throws `.invalidValue` when an element nests tuples too deeply.
    package func fieldEntries(
        type: RecordType, field: FieldKey, from lower: FieldEdge = .start, to upper: FieldEdge = .end
    ) throws(LayoutError) -> LayoutRange {
        let prefix = fieldPrefix(type, field)
        return LayoutRange(lower: try Self.bound(lower, prefix), upper: try Self.bound(upper, prefix))
    }

    /// The entries of one element, in the order of names; `lower` is the prefix that `readName(_:prefixByteCount:)`
    /// wants.
    ///
    /// Throws `.invalidValue` when the element nests tuples too deeply.
    package func fieldEntries(
        type: RecordType, field: FieldKey, element: TupleElement
    ) throws(LayoutError) -> LayoutRange {
        try fieldEntries(type: type, field: field, from: .before(element), to: .after(element))
    }

    /// How many bytes stand before the element in a key of a field's entry.
    package func fieldPrefixByteCount(type: RecordType, field: FieldKey) -> Int { fieldPrefix(type, field).count }

    /// The records with a word in a field, in the order of names.
    package func tokens(_ token: String, field: FieldKey) -> LayoutRange {
        KeyBuilder.range(
            of: key {
                begin(.tokens, into: &$0)
                TupleWriter.appendString(token, to: &$0)
                TupleWriter.appendString(field.text, to: &$0)
            })
    }

    /// The element of a key out of `fieldEntries`, and where the name of its record begins, which is the rest of the key.
    /// Throws `.corruptKey`.
    package static func readFieldEntry(
        _ key: Span<UInt8>, prefixByteCount: Int
    ) throws(LayoutError) -> (element: TupleElement, nameOffset: Int) {
        var reader = try KeyReader(key, after: prefixByteCount, in: .zone(.fields))
        let entry = (try reader.readElement(), try reader.skipName())
        try reader.expectEnd()
        return entry
    }

    /// The name that is all there is behind the prefix of a range. Throws `.corruptKey`.
    package static func readName(_ key: Span<UInt8>, prefixByteCount: Int) throws(LayoutError) -> RecordName {
        var reader = try KeyReader(key, after: prefixByteCount, in: .unknown)
        let name = try reader.readName()
        try reader.expectEnd()
        return name
    }

    private func fieldPrefix(_ type: RecordType, _ field: FieldKey) -> [UInt8] {
        key {
            begin(.fields, into: &$0)
            TupleWriter.appendString(type.text, to: &$0)
            TupleWriter.appendString(field.text, to: &$0)
        }
    }

    private static func bound(_ edge: FieldEdge, _ prefix: [UInt8]) throws(LayoutError) -> [UInt8] {
        switch edge {
        case .start: prefix
        case .end: KeyBuilder.upperBound(of: prefix)
        case .before(let element): prefix + (try encoding(of: element))
        case .after(let element): KeyBuilder.upperBound(of: prefix + (try encoding(of: element)))
        case .beforeKind(let element): prefix + (try encoding(of: element)).prefix(1)
        case .afterKind(let element): KeyBuilder.upperBound(of: prefix + (try encoding(of: element)).prefix(1))
        case .beforeTexts(let beginning): prefix + (try encoding(of: .string(beginning))).dropLast()
        case .afterTexts(let beginning):
            KeyBuilder.upperBound(of: prefix + (try encoding(of: .string(beginning))).dropLast())
        }
    }

    private static func encoding(of element: TupleElement) throws(LayoutError) -> [UInt8] {
        do throws(TupleError) { return try TupleWriter.encoding(of: [element]) } catch {
            throw LayoutError(.invalidValue, "The indexed value nests tuples too deeply.")
        }
    }
}

extension LayoutRange {
    /// The rest of a range whose keys are `lower` and a name: from this name on, or behind it.
    package func names(from name: RecordName, isInclusive: Bool) -> LayoutRange {
        var start = lower
        TupleWriter.appendString(name.text, to: &start)
        return LayoutRange(lower: isInclusive ? start : KeyBuilder.successor(of: start), upper: upper)
    }

    /// The rest of a range behind one of its keys, in the direction of the scan.
    package func rest(behind key: [UInt8], isForward: Bool) -> LayoutRange {
        isForward
            ? LayoutRange(lower: KeyBuilder.successor(of: key), upper: upper) : LayoutRange(lower: lower, upper: key)
    }

    package var isEmpty: Bool { !lower.lexicographicallyPrecedes(upper) }
}
