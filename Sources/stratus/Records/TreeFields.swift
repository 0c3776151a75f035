// How a file is written down as a record: its types and fields. Everything that reads them goes by these names.

import StratusModel

/// The record types of an imported tree.
enum TreeType {
    static let folder: RecordType = "Folder"
    static let file: RecordType = "File"
    static let symbolicLink: RecordType = "SymbolicLink"

    static let all: Set<RecordType> = [folder, file, symbolicLink]
}

/// The fields of the records of an imported tree.
enum TreeField {
    /// String: the name in its folder; escaped where the bytes are not UTF-8.
    static let name: FieldKey = "name"
    /// Bytes: the name as it is on disk, only where it is not UTF-8.
    static let rawName: FieldKey = "rawName"
    /// Int64: how many bytes a file has.
    static let size: FieldKey = "size"
    /// Date: when the content last changed.
    static let modified: FieldKey = "modified"
    /// Int64: the permission bits.
    static let mode: FieldKey = "mode"
    /// Bytes: the SHA-256 of a small file.
    static let sha256: FieldKey = "sha256"
    /// String: where a symbolic link points; escaped where the bytes are not UTF-8.
    static let target: FieldKey = "target"
    /// Bytes: the target as it is on disk, only where it is not UTF-8.
    static let rawTarget: FieldKey = "rawTarget"
    /// Bytes: the path below the top, only where the record name is too short for it.
    static let path: FieldKey = "path"
    /// String, on the top: the directory that was imported, escaped where the bytes are not UTF-8.
    static let origin: FieldKey = "origin"

    /// What a line of a listing shows.
    static let listed: Set<FieldKey> = [name, size, modified, target]
}

extension Record {
    /// What the record is called among its siblings: its `name`, or its record name where it has none.
    var label: String {
        if case .string(let name)? = fields[TreeField.name]?.value { return name }
        return name.text
    }
}
