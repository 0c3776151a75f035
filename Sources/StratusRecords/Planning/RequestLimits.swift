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
        let entries = record.fields.entries
        let fields = entries.span
        for index in fields.indices {
            try Self.checkSchemaName(fields[index].key.text, "field", of: record)
            guard fields[index].value.value.mayRefer else { continue }
            for target in fields[index].value.value.targets {
                try Self.checkName(target.text, "reference in \(fields[index].key)")
            }
        }
    }

    fileprivate static func checkName(_ text: String, _ role: String) throws {
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

extension ZoneID {
    /// Throws `invalidRequest` for a name of the zone, its container or its owner that is empty or too long.
    func checkLimits() throws {
        try RecordMutation.checkName(name.text, "zone")
        try RecordMutation.checkName(database.container.text, "container")
        if let owner = database.owner { try RecordMutation.checkName(owner.text, "owner") }
    }
}

extension Stamp {
    /// Throws `invalidRequest` for a user name that is empty or too long.
    func checkLimits() throws {
        try RecordMutation.checkName(user.text, "user")
    }
}

extension FieldValue {
    fileprivate var mayRefer: Bool {
        switch self {
        case .reference, .list: true
        default: false
        }
    }

    /// The records that a reference or a list of references points at.
    fileprivate var targets: [RecordName] {
        switch self {
        case .reference(let reference): [reference.target]
        case .list(let elements): elements.flatMap(\.targets)
        default: []
        }
    }
}
