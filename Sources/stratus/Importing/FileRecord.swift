// The fields that a file's facts make.

import Foundation
import FoundationEssentials
import StratusKit
import StratusLayout
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

// A file's record as CloudKit has it.

extension CKRecord {
    /// A record with what is to change of `stored`, or with everything where nothing is stored. Saved with the policy
    /// `changedKeys` it leaves alone what the server has besides: the place of the record, its mark as the root of a share.
    convenience init(_ record: StratusModel.Record, changing stored: StratusModel.Record?, in client: ZoneClient) {
        self.init(recordType: record.type.text, recordID: client.recordID(record.name))
        for (key, field) in record.fields where stored?.fields[key] != field { set(field.value, forKey: key.text) }
        for key in (stored?.fields ?? [:]).keys where record.fields[key] == nil { setObject(nil, forKey: key.text) }
        if stored == nil, let parent = record.parent { setParent(client.recordID(parent)) }
    }

    /// Sets a value of one of the kinds that a file's fields have.
    private func set(_ value: FieldValue, forKey key: String) {
        switch value {
        case .string(let text): self[key] = text
        case .int64(let number): self[key] = number
        case .date(let date): self[key] = date
        case .bytes(let bytes): self[key] = Data(bytes)
        case .double, .location, .reference, .asset, .list: preconditionFailure("No file has such a field.")
        }
    }
}

// Which record a file is. The name depends on where the file lies below the imported directory, and on nothing else: not
// on its content, not on the machine, not on where its record has been moved to in the store.
//
// Invariants: a record name is the top's name, "/" and the path below the top, escaped as file names are. One that would
// be longer than 255 bytes is cut, and ends with "%~" and the path's digest; "%~" stands in no escaped path, so no two
// paths have one name. A folder's name is the beginning of the names of everything in it, so a tree lies together.

struct TreeNaming {
    /// The longest record name, in bytes; within the limit of 255 characters whatever the characters are (L-07).
    private static let maximumByteCount = 255
    private static let digestByteCount = 20
    private static let digestMark = "%~"

    /// The record name of the imported directory itself.
    let top: RecordName

    init(top: FileName) { self.top = RecordName(top.escapedText) }

    /// The record name for a path below the top; the empty path is the top's.
    func name(of relativePath: [UInt8]) -> RecordName {
        if relativePath.isEmpty { return top }
        let whole = "\(top.text)/\(PercentText.escaping(relativePath))"
        guard whole.utf8.count > Self.maximumByteCount else { return RecordName(whole) }
        let digest = Hex.text(Array(ByteDigest.of(relativePath).prefix(Self.digestByteCount)))
        let kept = Self.prefix(
            of: whole, byteCount: Self.maximumByteCount - Self.digestMark.utf8.count - digest.utf8.count)
        return RecordName(kept + Self.digestMark + digest)
    }

    /// The record name of the folder that a path lies in; nil for the top.
    func parent(of relativePath: [UInt8]) -> RecordName? {
        if relativePath.isEmpty { return nil }
        guard let slash = relativePath.lastIndex(of: UInt8(ascii: "/")) else { return top }
        return name(of: Array(relativePath[..<slash]))
    }

    /// Whether the name of a record for this path does not hold all of it.
    func isCut(_ name: RecordName) -> Bool { name.text.contains(Self.digestMark) }

    /// The path that a record of the tree stands for: from its name, or from its path field where the name is cut.
    /// Nil for records that no import has made.
    func relativePath(of record: Record) -> [UInt8]? {
        if record.name == top { return [] }
        guard TreeType.all.contains(record.type), record.name.text.hasPrefix(top.text + "/") else { return nil }
        if isCut(record.name) {
            guard case .bytes(let path)? = record.fields[TreeField.path]?.value, name(of: path) == record.name else {
                return nil
            }
            return path
        }
        return PercentText.bytes(of: String(record.name.text.dropFirst(top.text.count + 1)))
    }

    /// A beginning of the text that ends between characters and not inside an escaped byte.
    private static func prefix(of text: String, byteCount: Int) -> String {
        var kept = ""
        var count = 0
        for scalar in text.unicodeScalars {
            count += UTF8.width(scalar)
            if count > byteCount { break }
            kept.unicodeScalars.append(scalar)
        }
        if let percent = kept.utf8.suffix(2).lastIndex(of: UInt8(ascii: "%")) { kept = String(kept[..<percent]) }
        return kept
    }
}
