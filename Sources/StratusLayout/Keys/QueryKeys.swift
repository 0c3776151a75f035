// The keys that queries read: how the values of fields become elements of keys, so that the order of keys is the order
// of values, and the ranges of the fields and tokens keyspaces.
//
//   no value     null                     number   double: the nearest one; -0.0 as 0.0, every NaN as one
//   reference    bytes: the target's name date     date, with the same rules
//   text         string                   place    integer: its cell (`LocationCell`)
//   list         one entry for each different item; of more than `maximumItemCount` one entry `true` instead
//
// Names and texts are cut after `maximumTextByteCount` bytes, see `cut`. Integers beyond 2^53 share the double next to
// them. Such an entry represents several values (`isExact` is false), so its reader compares the record too. Bytes,
// assets and encrypted values have no entries. Words of searchable texts are in the tokens keyspace; a field with more
// than `maximumItemCount` of them has the empty word instead. These rules are on disk; they never change.

import FoundationEssentials
package import StratusModel
package import StratusStore

/// The value of a field as an element of an index's key.
package enum IndexedValue {
    /// The number of bytes after which texts and names are cut.
    package static let maximumTextByteCount = 128
    /// The most items of a list, or words of a field, that get an entry each.
    package static let maximumItemCount = 256

    package static let missing = TupleElement.null
    /// Represents all items of a list that has too many.
    package static let tooMany = TupleElement.boolean(true)
    /// Represents all words of a field that has too many.
    package static let tooManyWords = ""

    /// The element of one value's entry; nil if it has none.
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

    /// Whether all records under this element have the same value.
    package static func isExact(_ element: TupleElement) -> Bool {
        switch element {
        case .string(let text): text.utf8.count <= maximumTextByteCount - 4
        case .bytes(let bytes): bytes.count <= maximumTextByteCount - 4
        case .double(let number): !(abs(number) >= 0x1p53) || !number.isFinite
        case .date, .null: true
        default: false
        }
    }

    /// The beginning of a text that its entry holds. If a character crosses the end, the last one of Unicode replaces
    /// it and everything after it: it sorts after every character that would have fit, as the replaced one does.
    package static func cut(_ text: String) -> String {
        guard text.utf8.count > maximumTextByteCount else { return text }
        var end = text.utf8.index(text.startIndex, offsetBy: maximumTextByteCount)
        guard text.utf8[end] & 0xC0 == 0x80 else { return String(text.unicodeScalars[..<end]) }
        while text.utf8[end] & 0xC0 == 0x80 { end = text.utf8.index(before: end) }
        return String(text.unicodeScalars[..<end]) + "\u{10FFFF}"
    }

    private static func canonical(_ number: Double) -> Double { number.isNaN ? .nan : number + 0.0 }
}

/// A cell of the Earth: latitude and longitude in 24 bits each, with alternating bits, so that places near one another
/// have numbers in few ranges. A cell is at most 2.4 metres wide.
package struct LocationCell: Hashable, Sendable {
    package static let bitCount = 24
    private static let count = Double(1 << bitCount)

    package let x: UInt32
    package let y: UInt32

    package init(x: UInt32, y: UInt32) {
        self.x = x
        self.y = y
    }

    /// The cell of a place; nil for a place that is not on Earth.
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

/// The parts of a key of the fields keyspace.
package typealias FieldKeyParts = (type: RecordType, field: FieldKey, value: TupleElement, name: RecordName)
/// The parts of a key of the tokens keyspace.
package typealias TokenKeyParts = (token: String, field: FieldKey, name: RecordName)

/// Where a range of one field's entries begins or ends.
package enum FieldEdge: Hashable, Sendable {
    /// Before, or after, all entries of the field.
    case start
    case end
    /// Before, or after, all entries of an element.
    case before(TupleElement)
    case after(TupleElement)
    /// Before, or after, all elements of the same kind as this one.
    case beforeKind(of: TupleElement)
    case afterKind(of: TupleElement)
    /// Before, or after, all texts with this beginning.
    case beforeTexts(beginning: String)
    case afterTexts(beginning: String)
}

extension ZoneKeys {
    /// The key of the state of a type's indexes in the zone.
    package func queryIndexes(of type: RecordType) -> [UInt8] { key(.queryIndexes, type) }
    /// The type in a key of the query indexes keyspace. Throws `.corruption`.
    package func readQueryIndexesKey(_ key: Span<UInt8>) throws(StoreError) -> RecordType {
        try read(key, .queryIndexes) { $0 }
    }

    /// Appends the key of an entry whose element nests no tuples, such as those of `IndexedValue`.
    package func fieldEntry(
        type: RecordType, field: FieldKey, element: TupleElement, name: RecordName, into key: inout [UInt8]
    ) {
        begin(.fields, &key)
        type.append(to: &key)
        field.append(to: &key)
        element.append(to: &key)
        name.append(to: &key)
    }

    package func readFieldKey(_ key: Span<UInt8>) throws(StoreError) -> FieldKeyParts {
        try read(key, .fields) { ($0, $1, $2, $3) }
    }

    /// The entries of a field between two edges; empty if the first is after the second.
    ///
    /// Throws `.invalidRequest` if an element nests tuples too deeply.
    package func fieldEntries(
        type: RecordType, field: FieldKey, from lower: FieldEdge = .start, to upper: FieldEdge = .end
    ) throws(StoreError) -> KeyRange {
        let prefix = fieldPrefix(type, field)
        return KeyRange(from: try Self.bound(lower, prefix), upTo: try Self.bound(upper, prefix))
    }

    /// The entries of one element, in the order of names. `readName(_:prefixByteCount:)` wants the number of bytes of
    /// `lower`.
    ///
    /// Throws `.invalidRequest` if the element nests tuples too deeply.
    package func fieldEntries(
        type: RecordType, field: FieldKey, element: TupleElement
    ) throws(StoreError) -> KeyRange {
        try fieldEntries(type: type, field: field, from: .before(element), to: .after(element))
    }

    /// How many bytes come before the element in the key of a field's entry.
    package func fieldPrefixByteCount(type: RecordType, field: FieldKey) -> Int { fieldPrefix(type, field).count }

    /// The element in a key out of `fieldEntries`, and the offset of its record's name, which is the rest of the key.
    /// Throws `.corruption`.
    package static func readFieldEntry(
        _ key: Span<UInt8>, prefixByteCount: Int
    ) throws(StoreError) -> (element: TupleElement, nameOffset: Int) {
        var reader = try KeyReader(key, after: prefixByteCount, in: ZoneKeyspace.fields)
        let entry = (try reader.readElement(), try reader.skipName())
        try reader.expectEnd()
        return entry
    }

    /// The name that is the rest of a key after the prefix of a range. Throws `.corruption`.
    package static func readName(_ key: Span<UInt8>, prefixByteCount: Int) throws(StoreError) -> RecordName {
        var reader = try KeyReader(key, after: prefixByteCount)
        return try reader.finish { $0 }
    }

    package func token(_ token: String, field: FieldKey, name: RecordName, into key: inout [UInt8]) {
        begin(.tokens, &key)
        token.append(to: &key)
        field.append(to: &key)
        name.append(to: &key)
    }
    /// The records with a word in a field, in the order of names.
    package func tokens(_ token: String, field: FieldKey) -> KeyRange { range(.tokens, token, field) }
    package func readTokenKey(_ key: Span<UInt8>) throws(StoreError) -> TokenKeyParts {
        try read(key, .tokens) { ($0, $1, $2) }
    }

    private func fieldPrefix(_ type: RecordType, _ field: FieldKey) -> [UInt8] { key(.fields, type, field) }

    private static func bound(_ edge: FieldEdge, _ prefix: [UInt8]) throws(StoreError) -> [UInt8] {
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

    private static func encoding(of element: TupleElement) throws(StoreError) -> [UInt8] {
        do throws(TupleError) { return try TupleWriter.encoding(of: [element]) } catch {
            throw StoreError(.invalidRequest, "The indexed value nests tuples too deeply.")
        }
    }
}

extension KeyRange {
    /// The rest of a range whose keys are `lower` and a name: from this name on, or after it.
    package func names(from name: RecordName, isInclusive: Bool) -> KeyRange {
        var start = lower
        name.append(to: &start)
        return isInclusive ? KeyRange(from: start, upTo: upper) : after(start)
    }
}
