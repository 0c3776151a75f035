// A live record as bytes, laid out so that the header, or a single field, is read without reading the rest.
//
// Byte layout (the primitives are in `ValueWriter`, the values of fields in `FieldCodec`):
//   kind 1 · flags (1 parent, 2 share, 4 modified by its creator) · text: type · number: change sequence ·
//   fixed 32: tag salt · date: created · text: creator · date: modified · (not 4) text: modifier ·
//   (1) text: parent · (2) text: share · number: how many fields ·
//   each field, in the byte order of keys: text: key · type byte (0x80: encrypted) · number: length · value
//
// Invariants: keys ascend strictly, lengths fit, nothing follows the last field; else `.corruptValue`. Equal records
// have equal bytes. The record's name is in its key, not here.

package import StratusModel

/// Which fields of a record to decode.
package enum FieldSelection: Hashable, Sendable {
    case all
    case none
    case only(Set<FieldKey>)
}

/// Turns live records into bytes and back.
package enum RecordCodec {
    /// Empties `bytes`, keeping its capacity, and writes a record into it; see `RecordChunks.split` for large ones.
    ///
    /// Throws `.invalidValue` when a field cannot be stored (a list of mixed kinds or of lists, an asset's digest of
    /// another length), and `.tooLarge` for a record over `LayoutLimits`.
    package static func encode(_ stored: StoredRecord, into bytes: inout [UInt8]) throws(LayoutError) {
        bytes.removeAll(keepingCapacity: true)
        RecordHeader.append(stored, to: &bytes)
        let headerByteCount = bytes.count
        let entries = stored.record.fields.entries
        let fields = entries.span
        ValueWriter.append(number: UInt64(fields.count), to: &bytes)
        for index in fields.indices {
            let byteCount = try FieldCodec.byteCount(fields[index].value.value)
            guard bytes.count - headerByteCount + byteCount <= LayoutLimits.maximumFieldsByteCount else {
                throw LayoutError(
                    .tooLarge, "The record is too large: move content into assets or into further records.",
                    ["name": stored.record.name.text, "limit": "\(LayoutLimits.maximumRecordByteCount)"])
            }
            ValueWriter.append(fields[index].key.text, to: &bytes)
            let encryptedBit = fields[index].value.isEncrypted ? FieldTypeByte.encryptedBit : 0
            bytes.append(FieldTypeByte(of: fields[index].value.value).rawValue | encryptedBit)
            ValueWriter.append(number: UInt64(byteCount), to: &bytes)
            try FieldCodec.append(fields[index].value.value, to: &bytes)
        }
    }

    /// The bytes that a record's fields take as they are stored: with their keys, types and lengths. More than
    /// `LayoutLimits.maximumFieldsByteCount` cannot be stored.
    ///
    /// Throws `.invalidValue` for a field that cannot be stored at all.
    package static func fieldsByteCount(of record: Record) throws(LayoutError) -> Int {
        var count = FieldCodec.numberByteCount(UInt64(record.fields.count))
        let entries = record.fields.entries
        let fields = entries.span
        for index in fields.indices {
            let keyByteCount = fields[index].key.text.utf8.count
            let byteCount = try FieldCodec.byteCount(fields[index].value.value)
            count += FieldCodec.numberByteCount(UInt64(keyByteCount)) + keyByteCount
            count += 1 + FieldCodec.numberByteCount(UInt64(byteCount)) + byteCount
        }
        return count
    }

    package static func encoded(_ stored: StoredRecord) throws(LayoutError) -> [UInt8] {
        var bytes: [UInt8] = []
        try encode(stored, into: &bytes)
        return bytes
    }

    /// The record in `bytes`, with the fields that are asked for.
    ///
    /// Throws `.corruptValue`, also when a field that is not asked for has a length or key that cannot be.
    package static func decode(
        _ name: RecordName, _ bytes: Span<UInt8>, fields selection: FieldSelection = .all
    ) throws(LayoutError) -> StoredRecord {
        var reader = ValueReader(bytes, "Record")
        let header = try RecordHeader.read(&reader)
        var stored = StoredRecord(
            record: Record(name: name, type: header.type, parent: header.parent, share: header.share),
            system: header.system)
        if case .none = selection { return stored }
        var cursor = FieldCursor(count: try reader.readCount())
        if case .all = selection { stored.record.fields.reserveCapacity(cursor.remainingCount) }
        while let entry = try cursor.next(&reader) {
            let key = FieldKey(try entry.key(reader))
            if case .only(let keys) = selection, !keys.contains(key) {
                try reader.skip(byteCount: entry.byteCount)
                continue
            }
            let value = try FieldCodec.read(entry.type, byteCount: entry.byteCount, &reader)
            stored.record.fields.append(ascending: key, Field(value, isEncrypted: entry.isEncrypted))
        }
        try reader.expectEnd()
        return stored
    }

    /// One field, or nil when the record does not have it. The others are passed over.
    package static func field(_ key: FieldKey, in bytes: Span<UInt8>) throws(LayoutError) -> Field? {
        var reader = ValueReader(bytes, "Record")
        try RecordHeader.skip(&reader)
        var cursor = FieldCursor(count: try reader.readCount())
        while let entry = try cursor.next(&reader) {
            guard entry.isKey(key, reader) else {
                try reader.skip(byteCount: entry.byteCount)
                continue
            }
            let value = try FieldCodec.read(entry.type, byteCount: entry.byteCount, &reader)
            return Field(value, isEncrypted: entry.isEncrypted)
        }
        return nil
    }

    /// Whether the record is deleted. Throws `.corruptValue` when `bytes` are no record at all.
    package static func isTombstone(_ bytes: Span<UInt8>) throws(LayoutError) -> Bool {
        try RecordValueKind(of: bytes) == .tombstone
    }

    /// How many values the record lies in whose first value is `first`: 1 for a whole record or a tombstone.
    package static func chunkCount(in first: Span<UInt8>) throws(LayoutError) -> Int {
        try RecordChunks.count(in: first)
    }
}

// The references of a record, found without decoding its other fields.

extension RecordCodec {
    /// Every reference in the fields of a record, lists of references included, in the order of keys and items.
    package static func references(
        in bytes: Span<UInt8>
    ) throws(LayoutError) -> [(field: FieldKey, reference: RecordReference)] {
        var reader = ValueReader(bytes, "Record")
        try RecordHeader.skip(&reader)
        var cursor = FieldCursor(count: try reader.readCount())
        var references: [(field: FieldKey, reference: RecordReference)] = []
        while let entry = try cursor.next(&reader) {
            let end = reader.position + entry.byteCount
            switch entry.type {
            case .reference:
                let reference = try FieldCodec.readReference(byteCount: entry.byteCount, &reader)
                references.append((FieldKey(try entry.key(reader)), reference))
            case .list:
                guard try FieldCodec.readItemType(byteCount: entry.byteCount, &reader) == .reference else { break }
                let field = FieldKey(try entry.key(reader))
                while reader.position < end {
                    let byteCount = try reader.readCount()
                    guard byteCount <= end - reader.position else {
                        throw reader.corrupt("A list's item is too long.")
                    }
                    references.append((field, try FieldCodec.readReference(byteCount: byteCount, &reader)))
                }
            default: break
            }
            try reader.skip(byteCount: end - reader.position)
        }
        try reader.expectEnd()
        return references
    }
}

// Everything about a record but its fields; it stands at the beginning of the value, in the first chunk too.

/// A live record without its fields.
package struct RecordHeader: Hashable, Sendable {
    package var type: RecordType
    package var parent: RecordName?
    package var share: RecordName?
    package var system: SystemFields

    package init(type: RecordType, parent: RecordName?, share: RecordName?, system: SystemFields) {
        self.type = type
        self.parent = parent
        self.share = share
        self.system = system
    }
}

extension RecordHeader {
    /// Bits of the byte behind the kind. Never change.
    enum Flag {
        static let parent: UInt8 = 1
        static let share: UInt8 = 2
        /// The record was last modified by who created it: the user is not repeated.
        static let sameUser: UInt8 = 4
        static let all: UInt8 = 7
    }

    static func append(_ stored: StoredRecord, to bytes: inout [UInt8]) {
        let isSameUser = stored.system.created.user == stored.system.modified.user
        bytes.append(RecordValueKind.live.rawValue)
        var flags: UInt8 = stored.record.parent != nil ? Flag.parent : 0
        if stored.record.share != nil { flags |= Flag.share }
        if isSameUser { flags |= Flag.sameUser }
        bytes.append(flags)
        ValueWriter.append(stored.record.type.text, to: &bytes)
        ValueWriter.append(number: stored.system.changeSequence, to: &bytes)
        ValueWriter.append(fixed: stored.system.tagSalt, to: &bytes)
        ValueWriter.append(stored.system.created.date, to: &bytes)
        ValueWriter.append(stored.system.created.user.text, to: &bytes)
        ValueWriter.append(stored.system.modified.date, to: &bytes)
        if !isSameUser { ValueWriter.append(stored.system.modified.user.text, to: &bytes) }
        if let parent = stored.record.parent { ValueWriter.append(parent.text, to: &bytes) }
        if let share = stored.record.share { ValueWriter.append(share.text, to: &bytes) }
    }

    /// Reads the header of a live record; of a large one, from its first chunk as it lies in the store.
    ///
    /// Throws `.corruptValue`, also for a tombstone.
    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "Record")
        if try RecordValueKind(of: bytes) == .firstChunk { _ = try RecordChunks.readFirstHeader(&reader) }
        self = try Self.read(&reader)
    }

    /// Reads the header and leaves `reader` at the number of fields.
    static func read(_ reader: inout ValueReader) throws(LayoutError) -> RecordHeader {
        let flags = try readFlags(&reader)
        let type = RecordType(try reader.readText())
        let sequence = try reader.readNumber()
        let salt = try reader.readFixed32()
        let created = Stamp(date: try reader.readDate(), user: UserName(try reader.readText()))
        var modified = Stamp(date: try reader.readDate(), user: created.user)
        if flags & Flag.sameUser == 0 {
            modified.user = UserName(try reader.readText())
            guard modified.user != created.user else { throw reader.corrupt("A user is repeated needlessly.") }
        }
        let parent = flags & Flag.parent != 0 ? RecordName(try reader.readText()) : nil
        let share = flags & Flag.share != 0 ? RecordName(try reader.readText()) : nil
        return RecordHeader(
            type: type, parent: parent, share: share,
            system: SystemFields(
                changeSequence: sequence, tagSalt: salt, created: created,
                modified: modified))
    }

    /// Passes over the header and leaves `reader` at the number of fields.
    static func skip(_ reader: inout ValueReader) throws(LayoutError) {
        let flags = try readFlags(&reader)
        try reader.skipText()
        _ = try reader.readNumber()
        try reader.skip(byteCount: 12)
        try reader.skipText()
        try reader.skip(byteCount: 8)
        if flags & Flag.sameUser == 0 { try reader.skipText() }
        if flags & Flag.parent != 0 { try reader.skipText() }
        if flags & Flag.share != 0 { try reader.skipText() }
    }

    private static func readFlags(_ reader: inout ValueReader) throws(LayoutError) -> UInt8 {
        guard try reader.readByte() == RecordValueKind.live.rawValue else {
            throw reader.corrupt("The value is not a whole live record: join its chunks, or read it as a tombstone.")
        }
        let flags = try reader.readByte()
        guard flags & ~Flag.all == 0 else { throw reader.corrupt("A flag of the record is unknown.") }
        return flags
    }
}

extension ValueReader {
    /// Passes over a text without looking at it.
    mutating func skipText() throws(LayoutError) {
        try skip(byteCount: try readCount())
    }
}

// What a deleted record leaves under its own key, so that one read answers live, deleted or never seen.

/// A deleted record.
///
/// Bytes: kind 2 · version 1 · flags (1 had a parent) · text: type · number: sequence ·
/// date: deleted · text: deleter · (1) text: parent.
package struct Tombstone: LayoutValue {
    /// The sequence of the deletion in the zone's feed.
    package var sequence: UInt64
    package var type: RecordType
    /// The parent the record had when it was deleted.
    package var parent: RecordName?
    package var deleted: Stamp

    package init(sequence: UInt64, type: RecordType, parent: RecordName?, deleted: Stamp) {
        self.sequence = sequence
        self.type = type
        self.parent = parent
        self.deleted = deleted
    }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(RecordValueKind.tombstone.rawValue)
        bytes.append(1)
        bytes.append(parent == nil ? 0 : 1)
        ValueWriter.append(type.text, to: &bytes)
        ValueWriter.append(number: sequence, to: &bytes)
        ValueWriter.append(deleted.date, to: &bytes)
        ValueWriter.append(deleted.user.text, to: &bytes)
        if let parent { ValueWriter.append(parent.text, to: &bytes) }
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "Tombstone")
        guard try reader.readByte() == RecordValueKind.tombstone.rawValue else {
            throw reader.corrupt("The value is not a tombstone.")
        }
        try reader.expectVersion(1)
        let flags = try reader.readByte()
        guard flags <= 1 else { throw reader.corrupt("A flag of the tombstone is unknown.") }
        type = RecordType(try reader.readText())
        sequence = try reader.readNumber()
        deleted = Stamp(date: try reader.readDate(), user: UserName(try reader.readText()))
        parent = flags == 1 ? RecordName(try reader.readText()) : nil
        try reader.expectEnd()
    }
}

// The first byte of every value in the records keyspace.

/// What lies under a key of the records keyspace. The raw values are stored: they never change.
package enum RecordValueKind: UInt8, Hashable, Sendable, CaseIterable {
    /// A live record, whole.
    case live = 1
    case tombstone = 2
    /// The first chunk of a live record too large for one value; the other chunks lie under the keys behind.
    case firstChunk = 3
    /// A later chunk.
    case laterChunk = 4

    /// What `value` is. Throws `.corruptValue` when it is empty or begins with no kind's number.
    package init(of value: Span<UInt8>) throws(LayoutError) {
        guard !value.isEmpty, let kind = RecordValueKind(rawValue: value[0]) else {
            throw .corruptValue(
                "The value is no record, tombstone or chunk: check or restore the store.", value, at: 0, in: "Record")
        }
        self = kind
    }
}
