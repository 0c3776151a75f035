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
            let encryptedBit = fields[index].value.isEncrypted ? FieldType.encryptedBit : 0
            bytes.append(FieldType(of: fields[index].value.value).rawValue | encryptedBit)
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
