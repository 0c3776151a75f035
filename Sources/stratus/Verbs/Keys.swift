// stratus keys: the bytes of a store in readable lines.

import ArgumentParser
import StratusLayout
import StratusRecords
import StratusStore

struct Keys: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows keys and values as readable lines.",
        discussion: """
            A range is named by the beginning of a key's line, as this verb prints it: global, 'db 1', \
            'db 1 / zone 1 / children', 'db 1 / zone 1 / children / "share"'. Without one, everything is shown. Damaged \
            keys and values are shown as hexadecimal with the reason.

            --json: one line an entry: {"key","value","keyHex","valueByteCount"}; then {"isMoreComing":true,"limit"} where \
            --limit left some out

            Example: stratus keys 'db 1 / zone 1 / shareRoots' --store ./store
            """)

    @Argument(help: ArgumentHelp("The beginning of the keys to show.", valueName: "prefix"))
    var prefix: String?

    @Option(parsing: .unconditional, help: ArgumentHelp("The most entries to show; 0 for all.", valueName: "count"))
    var limit = 0

    @Flag(help: "Show the last entries first.")
    var reverse = false

    @OptionGroup var store: WholeStoreArguments

    func validate() throws {
        guard limit >= 0 else { throw ValidationError("--limit is a number of entries, or 0 for all of them.") }
        do {
            _ = try range()
        } catch {
            throw ValidationError("This is not the beginning of a key's line: \(VisibleText.of("\(error)"))")
        }
    }

    func run() throws {
        let range = try range()
        try StoreSession.with(store, .reading) { session, console in
            try session.engine.read { reader in
                var count = 0
                try reader.store.scan(range, reverse ? .backward : .forward) { key, value in
                    guard limit == 0 || count < limit else {
                        try console.moreComing("entries", limit: limit)
                        return .stop
                    }
                    count += 1
                    let keyText = KeyDescription.text(of: key)
                    let valueText = ValueDescription.text(of: value, forKey: key)
                    try console.line(
                        "\(VisibleText.of(keyText))  \(console.styled("=", .dim))  \(VisibleText.of(valueText))")
                    try console.object([
                        "key": .string(keyText), "value": .string(valueText), "keyHex": .string(Hex.text(key)),
                        "valueByteCount": JSONValue(value.count),
                    ])
                    return .next
                }
            }
        }
    }

    private func range() throws -> KeyRange {
        guard let prefix else { return KeyRange.everything }
        return try KeyDescription.range(of: prefix).keyRange
    }
}
