// A file as a record: its fields, its CloudKit record, its name.

import Foundation
import StratusCloud
import StratusKit
import StratusLayout
import StratusModel

enum FileRecord {
    /// Special files have no record; the importer never requests their type.
    static func type(of kind: FileKind) -> RecordType {
        switch kind {
        case .folder: TreeType.folder
        case .file, .special: TreeType.file
        case .symbolicLink: TreeType.symbolicLink
        }
    }

    /// The fields that are known without opening the file.
    static func fields(of file: WalkedFile) -> RecordFields {
        let facts = file.facts
        var fields: RecordFields = [
            TreeField.name: Field(.string(file.name.displayText)),
            TreeField.modified: Field(.date(date(facts))),
            TreeField.mode: Field(.int64(facts.permissions)),
        ]
        if file.name.validText == nil { fields[TreeField.rawName] = Field(.bytes(file.name.bytes)) }
        // The size of a folder depends on its file system.
        if facts.kind == .file { fields[TreeField.size] = Field(.int64(facts.byteCount)) }
        return fields
    }

    static func setTarget(_ target: [UInt8], in fields: inout RecordFields) {
        let name = FileName(target)
        fields[TreeField.target] = Field(.string(name.displayText))
        fields[TreeField.size] = Field(.int64(Int64(target.count)))
        if name.validText == nil { fields[TreeField.rawTarget] = Field(.bytes(target)) }
    }

    /// The date in whole microseconds, which a `Date` holds exactly enough to be the same on every run.
    private static func date(_ facts: FileFacts) -> Date {
        let microseconds = facts.modifiedNanoseconds / 1_000
        return Date(timeIntervalSince1970: Double(facts.modifiedSeconds) + Double(microseconds) / 1_000_000)
    }
}

extension CKRecord {
    /// A record with the differences from `stored`, or with everything if nothing is stored. Saved with the policy
    /// `changedKeys`, it keeps the server's other values: the parent of the record, and its share.
    convenience init(
        _ record: StratusModel.Record, changing stored: StratusModel.Record?, in client: ZoneClient
    ) throws {
        self.init(recordType: record.type.text, recordID: client.recordID(record.name))
        for (key, field) in record.fields where stored?.fields[key] != field {
            setObject(try field.value.clientValue(in: client), forKey: key.text)
        }
        for key in (stored?.fields ?? [:]).keys where record.fields[key] == nil { setObject(nil, forKey: key.text) }
        if stored == nil, let parent = record.parent { setParent(client.recordID(parent)) }
    }
}

/// Record names for files. A name depends only on the file's path below the imported directory: not on its content, the
/// machine, or the place of its record in the store.
///
/// Invariants: a record name is the top's name, "/" and the path below the top, escaped like file names. A name that
/// would be longer than 255 bytes is cut, and ends with "%~" and the path's digest. No escaped path contains "%~", so
/// no two paths have the same name. A folder's name is a prefix of the names of everything in it, so a tree is
/// contiguous in the store.
struct TreeNaming {
    /// The longest record name, in bytes: within the limit of 255 characters for all characters (L-07).
    private static let maximumByteCount = 255
    private static let digestByteCount = 20
    private static let digestMark = "%~"

    /// The record name of the imported directory itself.
    let top: RecordName

    init(top: FileName) { self.top = RecordName(top.escapedText) }

    /// The record name for a path below the top; the empty path is the top.
    func name(of relativePath: [UInt8]) -> RecordName {
        if relativePath.isEmpty { return top }
        let whole = "\(top.text)/\(PercentText.escaping(relativePath))"
        guard whole.utf8.count > Self.maximumByteCount else { return RecordName(whole) }
        let digest = Hex.text(Array(ContentDigest.sha256(relativePath).prefix(Self.digestByteCount)))
        let kept = Self.prefix(
            of: whole, byteCount: Self.maximumByteCount - Self.digestMark.utf8.count - digest.utf8.count)
        return RecordName(kept + Self.digestMark + digest)
    }

    /// The record name of the folder of a path; nil for the top.
    func parent(of relativePath: [UInt8]) -> RecordName? {
        if relativePath.isEmpty { return nil }
        guard let slash = relativePath.lastIndex(of: UInt8(ascii: "/")) else { return top }
        return name(of: Array(relativePath[..<slash]))
    }

    /// Whether a record name is cut and does not contain the whole path.
    func isCut(_ name: RecordName) -> Bool { name.text.contains(Self.digestMark) }

    /// The path of a record of the tree: from its name, or from its field `path` if the name is cut. Nil for records
    /// that no import has created.
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

    /// A prefix of the text that ends between characters and not inside an escaped byte.
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
