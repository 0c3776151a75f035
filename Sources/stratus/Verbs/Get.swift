// stratus get: shows one record with all its fields.

import ArgumentParser
import StratusLayout
import StratusModel

struct Get: PlaceCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows a record with all its fields.",
        discussion: """
            --json: {"record","type","parent","share","changeTag","changeSequence","created":{"date","user"},\
            "modified":{"date","user"},"fields":{KEY:{"type","value","encrypted"}}}
            The content of a share has the type "share", without the secrets of its URLs. Dates are ISO 8601 and bytes \
            hexadecimal. --exact prints only the fields, without loss, as one JSON object for 'stratus put --fields'; \
            it leaves out assets, which are set from files.

            Example: stratus get /share/doc/README --store ./store
            """)

    @Argument(help: RecordArgument.help)
    var record: RecordArgument

    @Flag(help: "Print only the fields, without loss.")
    var exact = false

    @OptionGroup var store: StoreArguments
    @OptionGroup var zone: ZoneArguments
    @OptionGroup var acting: ActingArguments

    func run() throws {
        try StoreSession.with(store.at(record.place), acting.opening) { session, console in
            let stored = try session.read(zone, acting) { try $0.listedRecord($0.resolve(record, $1, console)) }
            if exact {
                // One object and nothing else, with or without --json.
                let console = Console(usesJSON: true)
                try console.object(FieldJSON.object(of: stored.record.fields) { !$0.holdsAsset }, isDated: false)
                return try console.flush()
            }
            try show(stored, console)
            try console.object(Self.object(of: stored))
        }
    }

    private func show(_ stored: StoredRecord, _ console: Console) throws {
        let record = stored.record
        func line(_ key: String, _ value: String) throws {
            let padding = String(repeating: " ", count: max(0, 10 - key.count))
            try console.line(console.styled("\(key)\(padding)", .dim) + " \(value)")
        }
        try line("record", VisibleText.of(record.name.text))
        try line("type", VisibleText.of(record.type.text))
        try line("parent", record.parent.map { VisibleText.of($0.text) } ?? "none")
        if let share = record.share { try line("share", "root of " + VisibleText.of(share.text)) }
        try line("changeTag", "\(VisibleText.of(stored.system.changeTag)) (sequence \(stored.system.changeSequence))")
        try line("created", Self.text(of: stored.system.created))
        try line("modified", Self.text(of: stored.system.modified))
        try console.line(console.styled("fields", .dim))
        for (key, field) in record.fields {
            let mark = field.isEncrypted ? " (encrypted)" : ""
            // The server's data of a share contains secrets: never show them.
            let text = key == ShareContent.fieldKey ? Self.shareText(field) : field.value.visibleText
            try console.line("  \(VisibleText.of(key.text)) = \(text)\(mark)")
        }
    }

    private static func shareText(_ field: Field) -> String {
        VisibleText.of(ValueDescription.contentText(field.value))
    }

    private static func text(of stamp: Stamp) -> String {
        "\(Quantities.date(stamp.date)) by \(VisibleText.of(stamp.user.text))"
    }

    private static func object(of stored: StoredRecord) -> JSONObject {
        let record = stored.record
        var fields: JSONObject = [:]
        for (key, field) in record.fields {
            let isShare = key == ShareContent.fieldKey
            var object: JSONObject =
                isShare ? ["type": "share", "value": shareText(field)] : field.value.object
            object.add("encrypted", field.isEncrypted)
            fields.add(key.text, object)
        }
        func object(of stamp: Stamp) -> JSONObject {
            ["date": Quantities.timestamp(stamp.date), "user": stamp.user.text]
        }
        return [
            "record": record.name.text, "type": record.type.text, "parent": record.parent?.text,
            "share": record.share?.text, "changeTag": stored.system.changeTag,
            "changeSequence": stored.system.changeSequence, "created": object(of: stored.system.created),
            "modified": object(of: stored.system.modified), "fields": fields,
        ]
    }
}
