// The fields that a file's facts make.

import FoundationEssentials
import StratusModel

enum FileRecord {
    /// Special files have no record; asking for their type is a programmer's error that the importer excludes.
    static func type(of kind: FileKind) -> RecordType {
        switch kind {
        case .folder: TreeType.folder
        case .file, .special: TreeType.file
        case .symbolicLink: TreeType.symbolicLink
        }
    }

    /// Everything that is known without opening the file.
    static func fields(of file: WalkedFile) -> RecordFields {
        let facts = file.facts
        var fields: RecordFields = [
            TreeField.name: Field(.string(file.name.displayText)),
            TreeField.modified: Field(.date(date(facts))),
            TreeField.mode: Field(.int64(facts.permissions)),
        ]
        if file.name.validText == nil { fields[TreeField.rawName] = Field(.bytes(file.name.bytes)) }
        // The size of a folder says how its file system stores it, and changes with that.
        if facts.kind == .file { fields[TreeField.size] = Field(.int64(facts.byteCount)) }
        return fields
    }

    static func setTarget(_ target: [UInt8], in fields: inout RecordFields) {
        let name = FileName(target)
        fields[TreeField.target] = Field(.string(name.displayText))
        fields[TreeField.size] = Field(.int64(Int64(target.count)))
        if name.validText == nil { fields[TreeField.rawTarget] = Field(.bytes(target)) }
    }

    /// The date to the microsecond, which a `Date` holds exactly enough to be the same on every run.
    private static func date(_ facts: FileFacts) -> Date {
        let microseconds = facts.modifiedNanoseconds / 1_000
        return Date(timeIntervalSince1970: Double(facts.modifiedSeconds) + Double(microseconds) / 1_000_000)
    }
}
