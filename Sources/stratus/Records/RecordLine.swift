// A record as one line of a listing, and as one JSON object of it.

import StratusLayout
import StratusModel
import StratusRecords

/// What a listing shows of a record.
struct RecordLine {
    let record: Record
    let hasChildren: Bool

    /// Reads what a listing shows; nil when the record is gone.
    init?(_ child: Child, _ zone: ZoneReader) throws {
        guard let record = try zone.record(child.name, fields: .only(TreeField.listed))?.record else { return nil }
        self.record = record
        hasChildren = child.hasChildren
    }

    /// The label as a terminal may see it: folders end with "/", links say where they point.
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

    /// `{"record":…,"name":…,"type":…,"parent":…,"share":…,"hasChildren":…,"size":…,"modified":…}`
    var object: JSONObject {
        var object: JSONObject = [
            "record": .string(record.name.text), "name": .string(record.label), "type": .string(record.type.text),
            "parent": JSONValue(record.parent?.text), "share": JSONValue(record.share?.text),
            "hasChildren": .boolean(hasChildren),
        ]
        if case .int64(let count)? = record.fields[TreeField.size]?.value { object.add("size", .integer(count)) }
        if case .date(let date)? = record.fields[TreeField.modified]?.value {
            object.add("modified", Quantities.timestamp(date))
        }
        if case .string(let target)? = record.fields[TreeField.target]?.value { object.add("target", .string(target)) }
        return object
    }
}
