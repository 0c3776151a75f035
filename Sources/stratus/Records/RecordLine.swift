// How records are listed: as one line, as a chain of parents, and by which types and fields.

import StratusLayout
import StratusModel
import StratusRecords

/// A record in a listing, as a line and as a JSON object.
struct RecordLine {
    let record: Record
    let hasChildren: Bool

    /// Reads the record; nil if it no longer exists.
    init?(_ child: Child, _ zone: ZoneReader) throws {
        guard let record = try zone.record(child.name, fields: .only(TreeField.listed))?.record else { return nil }
        self.record = record
        hasChildren = child.hasChildren
    }

    /// The label for a terminal: folders end with "/", links show their target.
    func label(_ console: Console) -> String {
        let label = VisibleText.of(record.label)
        var text =
            switch record.type {
            case TreeType.folder: console.styled(label, .blue) + "/"
            case TreeType.symbolicLink: console.styled(label, .cyan)
            default: hasChildren ? console.styled(label, .blue) + "/" : label
            }
        if case .string(let target)? = record.fields[TreeField.target]?.value {
            text += " → \(VisibleText.of(target))"
        }
        if let share = record.share {
            text += "  " + console.styled("[root of share \(VisibleText.of(share.text))]", .green)
        }
        return text
    }

    /// "File       1,234  2026-01-31 12:00:00  " with the type, the size and the date in columns.
    func columns(_ console: Console) -> String {
        let type = VisibleText.of(record.type.text)
        var size = ""
        if case .int64(let count)? = record.fields[TreeField.size]?.value { size = Quantities.count(count) }
        var date = ""
        if case .date(let modified)? = record.fields[TreeField.modified]?.value { date = Quantities.date(modified) }
        let left = Self.padded(type, to: 12)
        let middle = String(repeating: " ", count: max(0, 14 - size.count)) + size
        return console.styled("\(left) \(middle)  \(Self.padded(date, to: 19))", .dim) + "  "
    }

    private static func padded(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }

    /// `{"record":…,"name":…,"type":…,"parent":…,"share":…,"hasChildren":…,"size":…,"modified":…,"target":…}`; null for
    /// what the record does not have.
    var object: JSONObject {
        var (size, modified, target): (Int64?, String?, String?)
        if case .int64(let count)? = record.fields[TreeField.size]?.value { size = count }
        if case .date(let date)? = record.fields[TreeField.modified]?.value { modified = Quantities.timestamp(date) }
        if case .string(let text)? = record.fields[TreeField.target]?.value { target = text }
        return [
            "record": record.name.text, "name": record.label, "type": record.type.text, "parent": record.parent?.text,
            "share": record.share?.text, "hasChildren": hasChildren, "size": size, "modified": modified,
            "target": target,
        ]
    }
}

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
    /// Bytes: the name on disk, only if it is not UTF-8.
    static let rawName: FieldKey = "rawName"
    /// Int64: the size of a file in bytes.
    static let size: FieldKey = "size"
    /// Date: the last change of the content.
    static let modified: FieldKey = "modified"
    /// Int64: the permission bits.
    static let mode: FieldKey = "mode"
    /// Bytes: the SHA-256 of a small file.
    static let sha256: FieldKey = "sha256"
    /// String: the target of a symbolic link; escaped if the bytes are not UTF-8.
    static let target: FieldKey = "target"
    /// Bytes: the target on disk, only if it is not UTF-8.
    static let rawTarget: FieldKey = "rawTarget"
    /// Bytes: the path below the top, only if the record name cannot hold it.
    static let path: FieldKey = "path"
    /// String, on the top: the imported directory, escaped if the bytes are not UTF-8.
    static let origin: FieldKey = "origin"

    /// The fields in a line of a listing.
    static let listed: Set<FieldKey> = [name, size, modified, target]
}

extension Record {
    /// The record's name among its siblings: its field `name`, or else its record name.
    var label: String {
        if case .string(let name)? = fields[TreeField.name]?.value { return name }
        return name.text
    }
}

/// A record, everything above it, and the share it is in.
struct ParentChain {
    /// From the highest record that is seen down to the record itself.
    let records: [(name: RecordName, label: String)]
    let membership: ShareMembership?

    /// Reads the chain of an existing record.
    ///
    /// Throws `unknownRecord` if it does not exist, `hierarchyTooDeep` and `corruption`.
    init(of name: RecordName, _ zone: ZoneReader, _ sight: Sight = .all) throws {
        membership = try zone.shareMembership(of: name)
        let ancestors = try (zone.ancestors(of: name) ?? []).filter { try sight.sees($0) }
        records = try ([name] + ancestors).reversed().map { name in
            (name, try zone.record(name, fields: .only([TreeField.name]))?.record.label ?? name.text)
        }
    }

    /// The path of names.
    var path: String { records.map { "/" + $0.label }.joined() }

    func lines(_ console: Console) -> [String] {
        var lines = records.enumerated().map { level, record in
            let mark =
                record.name == membership?.root
                ? "  " + console.styled("[root of share \(VisibleText.of(membership?.share.text ?? ""))]", .green) : ""
            return String(repeating: "  ", count: level) + VisibleText.of(record.label) + mark
        }
        if let membership {
            lines.append(
                "in share \(VisibleText.of(membership.share.text)), whose root is \(VisibleText.of(membership.root.text))"
            )
        } else {
            lines.append("in no share")
        }
        return lines
    }

    var object: JSONObject {
        [
            "record": records.last?.name.text, "path": path,
            "chain": records.map { name, label -> JSONObject in
                ["record": name.text, "name": label, "shareRoot": name == membership?.root]
            },
            "share": membership.map { ["root": $0.root.text, "share": $0.share.text] as JSONObject },
        ]
    }
}
