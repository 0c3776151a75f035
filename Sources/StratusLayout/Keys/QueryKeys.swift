// Ranges of the indexes that queries read, and how a scan goes on behind a name.

import FoundationEssentials
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

// How the values of fields stand in the keys of the fields keyspace, so that the order of keys is the order of values.
//
//   no value     null                     number   double: the nearest one; -0.0 as 0.0, every NaN as one
//   reference    bytes: the target's name date     date, likewise
//   text         string                   place    integer: its cell (`LocationCell`)
//   list         one entry for each different item; of more than `maximumItemCount` one entry `true` instead
//
// Names and texts are cut after `maximumTextByteCount` bytes, see `cut`. Integers beyond 2^53 share the double next to them. Such an
// entry stands for several values (`isExact` is false): who reads it looks at the record. Bytes, assets and encrypted
// values have no entries. The words of searchable texts stand in the tokens keyspace; for a field with more than
// `maximumItemCount` of them the empty word stands there instead. These rules are on disk; they never change.

/// The value of a field as it stands in the key of an index.
package enum IndexedValue {
    /// Texts and names are cut after so many bytes.
    package static let maximumTextByteCount = 128
    /// Different items of a list, or words of a field, that are entered one by one.
    package static let maximumItemCount = 256

    package static let missing = TupleElement.null
    /// Stands for all items of a list that has too many.
    package static let tooMany = TupleElement.boolean(true)
    /// Stands for all words of a field that has too many.
    package static let tooManyWords = ""

    /// The element under which one value is entered; nil when it is not.
    package static func element(of value: FieldValue) -> TupleElement? {
        switch value {
        case .reference(let reference): .bytes(Array(cut(reference.target.text).utf8))
        case .string(let text): .string(cut(text))
        case .int64(let number): .double(Double(number))
        case .double(let number): .double(canonical(number))
        case .date(let date):
            .date(.init(timeIntervalSinceReferenceDate: canonical(date.timeIntervalSinceReferenceDate)))
        case .location(let place): LocationCell(place).map { .integer(Int64($0.number)) }
        case .bytes, .asset, .list: nil
        }
    }

    /// Whether records under this element all have the same value there.
    package static func isExact(_ element: TupleElement) -> Bool {
        switch element {
        case .string(let text): text.utf8.count <= maximumTextByteCount - 4
        case .bytes(let bytes): bytes.count <= maximumTextByteCount - 4
        case .double(let number): !(abs(number) >= 0x1p53) || !number.isFinite
        case .date, .null: true
        default: false
        }
    }

    /// The beginning of a text that is entered. Where a character lies across the end, the last one of Unicode stands for
    /// it and all that follows: it sorts behind every character that would have had room, as that one does.
    package static func cut(_ text: String) -> String {
        guard text.utf8.count > maximumTextByteCount else { return text }
        var end = text.utf8.index(text.startIndex, offsetBy: maximumTextByteCount)
        guard text.utf8[end] & 0xC0 == 0x80 else { return String(text.unicodeScalars[..<end]) }
        while text.utf8[end] & 0xC0 == 0x80 { end = text.utf8.index(before: end) }
        return String(text.unicodeScalars[..<end]) + "\u{10FFFF}"
    }

    private static func canonical(_ number: Double) -> Double { number.isNaN ? .nan : number + 0.0 }
}

/// A cell of the Earth: latitude and longitude in 24 bits each, whose bits alternate, so that what lies near one another
/// has numbers in few ranges. A cell is at most 2.4 metres wide.
package struct LocationCell: Hashable, Sendable {
    package static let bitCount = 24
    private static let count = Double(1 << bitCount)

    package let x: UInt32
    package let y: UInt32

    package init(x: UInt32, y: UInt32) {
        self.x = x
        self.y = y
    }

    /// The cell of a place; nil for what is no place on Earth.
    package init?(_ place: Location) {
        guard place.isOnEarth else { return nil }
        self.init(
            x: Self.column(longitudeDegrees: place.longitudeDegrees),
            y: Self.row(latitudeDegrees: place.latitudeDegrees))
    }

    package static func column(longitudeDegrees: Double) -> UInt32 { step((longitudeDegrees + 180) / 360) }
    package static func row(latitudeDegrees: Double) -> UInt32 { step((latitudeDegrees + 90) / 180) }

    /// The cell's place on the curve: the bits of row and column by turns, the row's first.
    package var number: UInt64 { Self.spread(y) << 1 | Self.spread(x) }

    private static func step(_ part: Double) -> UInt32 { UInt32(max(0, min(count - 1, (part * count).rounded(.down)))) }

    private static func spread(_ value: UInt32) -> UInt64 {
        var bits = UInt64(value)
        bits = (bits | bits << 16) & 0x0000_FFFF_0000_FFFF
        bits = (bits | bits << 8) & 0x00FF_00FF_00FF_00FF
        bits = (bits | bits << 4) & 0x0F0F_0F0F_0F0F_0F0F
        bits = (bits | bits << 2) & 0x3333_3333_3333_3333
        return (bits | bits << 1) & 0x5555_5555_5555_5555
    }
}
