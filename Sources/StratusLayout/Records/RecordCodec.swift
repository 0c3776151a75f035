// The values of the records keyspace: live records, laid out so that the header or the references are read without
// decoding the other fields, and tombstones.
//
// Byte layout of a live record (`LayoutValue.swift` has the primitives, `FieldCodec` the values of fields):
//   kind 1 · flags (1 parent, 2 share, 4 modified by its creator) · text: type · number: change sequence ·
//   fixed 32: tag salt · date: created · text: creator · date: modified · (not 4) text: modifier ·
//   (1) text: parent · (2) text: share · number: how many fields ·
//   each field, in the byte order of keys: text: key · type byte (0x80: encrypted) · number: length · value
//
// Invariants: keys ascend strictly, lengths fit, nothing follows the last field; else `.corruption`. Equal records
// have equal bytes. The record's name is in its key, not here.

package import StratusModel
package import StratusStore

/// The fields of a record to decode.
package enum FieldSelection: Hashable, Sendable {
    case all
    case none
    case only(Set<FieldKey>)

    /// Below this number it costs less to compare keys one by one than to make a text of a field's key and to hash it.
    private static let comparedKeyCount = 8

    /// The key of a field; nil if it is not selected. Throws `.corruption` if it is not UTF-8.
    fileprivate func key(
        of entry: FieldEntry, _ reader: borrowing ValueReader
    ) throws(StoreError) -> FieldKey? {
        guard case .only(let keys) = self else { return FieldKey(try entry.key(reader)) }
        if keys.count < Self.comparedKeyCount {
            if let key = keys.first(where: { entry.hasKey($0.text, reader) }) { return key }
            _ = try entry.keyText(reader)
            return nil
        }
        let key = FieldKey(try entry.key(reader))
        return keys.contains(key) ? key : nil
    }
}

/// Encodes and decodes live records.
package enum RecordCodec {
    /// Empties `bytes`, keeping its capacity, and writes a record into it. Pass large ones to `RecordChunks.split`.
    ///
    /// Throws `.invalidRequest` if a field cannot be stored (a list of mixed kinds or of lists, an asset's digest of
    /// another length), and `.invalidRequest` for a record over `LayoutLimits`.
    package static func encode(_ stored: StoredRecord, into bytes: inout [UInt8]) throws(StoreError) {
        bytes.removeAll(keepingCapacity: true)
        RecordHeader.append(stored, to: &bytes)
        let headerByteCount = bytes.count
        let entries = stored.record.fields.entries
        let fields = entries.span
        ValueWriter.append(number: UInt64(fields.count), to: &bytes)
        for index in fields.indices {
            let byteCount = try FieldCodec.byteCount(fields[index].value.value)
            guard bytes.count - headerByteCount + byteCount <= LayoutLimits.maximumFieldsByteCount else {
                throw StoreError(
                    .invalidRequest, "The record is too large: move content into assets or into further records.",
                    ["name": stored.record.name.text, "limit": "\(LayoutLimits.maximumRecordByteCount)"])
            }
            ValueWriter.append(fields[index].key.text, to: &bytes)
            let encryptedBit = fields[index].value.isEncrypted ? FieldTypeByte.encryptedBit : 0
            bytes.append(FieldTypeByte(of: fields[index].value.value).rawValue | encryptedBit)
            ValueWriter.append(number: UInt64(byteCount), to: &bytes)
            try FieldCodec.append(fields[index].value.value, to: &bytes)
        }
    }

    /// The bytes that a record's fields take in storage, with their keys, types and lengths. More than
    /// `LayoutLimits.maximumFieldsByteCount` cannot be stored.
    ///
    /// Throws `.invalidRequest` for a field that cannot be stored at all.
    package static func fieldsByteCount(of record: Record) throws(StoreError) -> Int {
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

    package static func encoded(_ stored: StoredRecord) throws(StoreError) -> [UInt8] {
        var bytes: [UInt8] = []
        try encode(stored, into: &bytes)
        return bytes
    }

    /// The record in `bytes`, with the selected fields.
    ///
    /// Throws `.corruption`, also if a field that is not selected has an impossible length or key.
    package static func decode(
        _ name: RecordName, _ bytes: Span<UInt8>, fields selection: FieldSelection = .all
    ) throws(StoreError) -> StoredRecord {
        var reader = ValueReader(bytes, Record.self)
        let header = try RecordHeader.read(&reader)
        var stored = StoredRecord(
            record: Record(name: name, type: header.type, parent: header.parent, share: header.share),
            system: header.system)
        if case .none = selection { return stored }
        var cursor = FieldCursor(count: try reader.readCount())
        if case .all = selection { stored.record.fields.reserveCapacity(cursor.remainingCount) }
        while let entry = try cursor.next(&reader) {
            guard let key = try selection.key(of: entry, reader) else {
                try reader.skip(byteCount: entry.byteCount)
                continue
            }
            let value = try FieldCodec.read(entry.type, byteCount: entry.byteCount, &reader)
            stored.record.fields.append(ascending: key, Field(value, isEncrypted: entry.isEncrypted))
        }
        try reader.expectEnd()
        return stored
    }

    /// Whether the record is deleted. Throws `.corruption` if `bytes` are no record.
    package static func isTombstone(_ bytes: Span<UInt8>) throws(StoreError) -> Bool {
        try RecordValueKind(of: bytes) == .tombstone
    }

    /// The number of values of the record whose first value is `first`: 1 for a whole record or a tombstone.
    package static func chunkCount(in first: Span<UInt8>) throws(StoreError) -> Int {
        try chunks(in: first)?.count ?? 1
    }

    /// The chunks of the record whose first one is `first`, and their bytes; nil for a whole record or a tombstone.
    package static func chunks(in first: Span<UInt8>) throws(StoreError) -> (count: Int, byteCount: Int)? {
        guard try RecordValueKind(of: first) == .firstChunk else { return nil }
        var reader = ValueReader(first, RecordChunks.self, isSecret: true)
        let header = try RecordChunks.readFirstHeader(&reader)
        return (header.count, header.byteCount)
    }

    /// The header of a record and every reference in its fields, lists of references included, in the order of keys and
    /// items.
    package static func headerAndReferences(
        in bytes: Span<UInt8>
    ) throws(StoreError) -> (header: RecordHeader, references: [(field: FieldKey, reference: RecordReference)]) {
        var reader = ValueReader(bytes, Record.self)
        let header = try RecordHeader.read(&reader)
        var cursor = FieldCursor(count: try reader.readCount())
        var references: [(field: FieldKey, reference: RecordReference)] = []
        while let entry = try cursor.next(&reader) {
            switch entry.type {
            case .reference:
                let reference = try FieldCodec.readReference(byteCount: entry.byteCount, &reader)
                references.append((FieldKey(try entry.key(reader)), reference))
            case .list:
                let field = FieldKey(try entry.key(reader))
                try FieldCodec.forEachItem(byteCount: entry.byteCount, only: .reference, &reader) {
                    _, byteCount, reader throws(StoreError) in
                    references.append((field, try FieldCodec.readReference(byteCount: byteCount, &reader)))
                }
            default: try reader.skip(byteCount: entry.byteCount)
            }
        }
        try reader.expectEnd()
        return (header, references)
    }
}

/// A live record without its fields: the beginning of its value, or of its first chunk.
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
    /// Bits of the byte after the kind. Never change.
    enum Flag {
        static let parent: UInt8 = 1
        static let share: UInt8 = 2
        /// The last modifier is the creator: the user is not repeated.
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
        ValueWriter.append(stored.system.created, to: &bytes)
        ValueWriter.append(stored.system.modified.date, to: &bytes)
        if !isSameUser { ValueWriter.append(stored.system.modified.user.text, to: &bytes) }
        if let parent = stored.record.parent { ValueWriter.append(parent.text, to: &bytes) }
        if let share = stored.record.share { ValueWriter.append(share.text, to: &bytes) }
    }

    /// Reads the header of a live record; of a large one, from its first chunk.
    ///
    /// Throws `.corruption`, also for a tombstone.
    package init(decoding bytes: Span<UInt8>) throws(StoreError) {
        var reader = ValueReader(bytes, Record.self)
        if try RecordValueKind(of: bytes) == .firstChunk { _ = try RecordChunks.readFirstHeader(&reader) }
        self = try Self.read(&reader)
    }

    /// Reads the header. The number of fields comes next.
    static func read(_ reader: inout ValueReader) throws(StoreError) -> RecordHeader {
        guard try reader.readByte() == RecordValueKind.live.rawValue else {
            throw reader.corrupt("The value is not a whole live record: join its chunks, or read it as a tombstone.")
        }
        let flags = try reader.readFlags(below: Flag.all + 1)
        let type = RecordType(try reader.readText())
        let sequence = try reader.readNumber()
        let salt = try reader.readFixed32()
        let created: Stamp = try reader.read()
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
                changeSequence: sequence, tagSalt: salt, created: created, modified: modified))
    }
}

/// A deleted record, under the record's own key, so that one read distinguishes live, deleted and never seen.
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
        ValueWriter.append(deleted, to: &bytes)
        if let parent { ValueWriter.append(parent.text, to: &bytes) }
    }

    package init(decoding bytes: Span<UInt8>) throws(StoreError) {
        var reader = ValueReader(bytes, Tombstone.self)
        guard try reader.readByte() == RecordValueKind.tombstone.rawValue else {
            throw reader.corrupt("The value is not a tombstone.")
        }
        try reader.expectVersion(1)
        let hadParent = try reader.readFlag()
        type = RecordType(try reader.readText())
        sequence = try reader.readNumber()
        deleted = try reader.read()
        parent = hadParent ? RecordName(try reader.readText()) : nil
        try reader.expectEnd()
    }
}

/// The first byte of every value in the records keyspace. The raw values are stored: they never change.
package enum RecordValueKind: UInt8, Hashable, Sendable, CaseIterable {
    /// A live record, whole.
    case live = 1
    case tombstone = 2
    /// The first chunk of a live record too large for one value. The other chunks are under the next keys.
    case firstChunk = 3
    /// A later chunk.
    case laterChunk = 4

    /// The kind of `value`. Throws `.corruption` if it is empty or begins with no kind's number.
    package init(of value: Span<UInt8>) throws(StoreError) {
        guard !value.isEmpty, let kind = RecordValueKind(rawValue: value[0]) else {
            throw .corruptValue(
                "The value is no record, tombstone or chunk: check or restore the store.", value, at: 0, in: "Record")
        }
        self = kind
    }
}
