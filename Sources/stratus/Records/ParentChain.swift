// A record, everything above it, and the share it is in.

import StratusLayout
import StratusModel
import StratusRecords

struct ParentChain {
    /// From the record without parent, or the highest one that is seen, down to the record itself.
    let records: [(name: RecordName, label: String)]
    let membership: ShareMembership?

    /// Reads the chain of an existing record.
    ///
    /// Throws `unknownRecord` when it does not exist, `hierarchyTooDeep` and `corruption`.
    init(of name: RecordName, _ zone: ZoneReader, _ sight: Sight = .all) throws {
        membership = try zone.shareMembership(of: name)
        let ancestors = try (zone.ancestors(of: name) ?? []).filter { try sight.sees($0) }
        records = try ([name] + ancestors).reversed().map { name in
            (name, try zone.record(name, fields: .only([TreeField.name]))?.record.label ?? name.text)
        }
    }

    /// The address by names.
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
            "record": JSONValue(records.last?.name.text), "path": .string(path),
            "chain": .array(
                records.map { record in
                    .object([
                        "record": .string(record.name.text), "name": .string(record.label),
                        "shareRoot": .boolean(record.name == membership?.root),
                    ])
                }),
            "share": membership.map {
                .object(["root": .string($0.root.text), "share": .string($0.share.text)])
            } ?? .null,
        ]
    }
}
