// Limits that one item of a request can break by itself, checked before anything is read.

import StratusLayout
import StratusModel

extension RecordMutation {
    /// Throws `invalidRequest` for a name that is empty or too long, and for too many fields.
    func checkLimits() throws {
        try Self.checkName(name.text, "record")
        guard case .save(let record) = self else { return }
        try Self.checkSchemaName(record.type.text, "type", of: record)
        if let parent = record.parent { try Self.checkName(parent.text, "parent") }
        if let share = record.share { try Self.checkName(share.text, "share") }
        guard record.fields.count <= RecordLimits.fieldCount else {
            throw RecordsError(
                .invalidRequest, "The record has too many fields: split it over several records.",
                ["record": record.name.text, "fields": "\(record.fields.count)", "limit": "\(RecordLimits.fieldCount)"])
        }
        for key in record.fields.keys { try Self.checkSchemaName(key.text, "field", of: record) }
    }

    private static func checkName(_ text: String, _ role: String) throws {
        let byteCount = text.utf8.count
        // 255 UTF-16 units are at least a third of that many bytes, so most names need no second count.
        guard byteCount > RecordLimits.nameUnitCount || byteCount == 0 else { return }
        guard byteCount > 0, text.utf16.count <= RecordLimits.nameUnitCount else {
            throw RecordsError(
                .invalidRequest, "A name must have 1 to 255 characters: choose another.",
                ["role": role, "characters": "\(text.utf16.count)"])
        }
    }

    private static func checkSchemaName(_ text: String, _ role: String, of record: Record) throws {
        guard (1...LayoutLimits.maximumSchemaNameByteCount).contains(text.utf8.count) else {
            throw RecordsError(
                .invalidRequest, "The name of a type or field must have 1 to 255 characters: choose another.",
                ["role": role, "record": record.name.text, "bytes": "\(text.utf8.count)"])
        }
    }
}
