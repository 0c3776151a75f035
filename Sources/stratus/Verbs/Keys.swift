// stratus keys: shows the keys and values of a store as readable lines.

import ArgumentParser
import StratusLayout
import StratusRecords
import StratusStore

struct Keys: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows keys and values as readable lines.",
        discussion: """
            To select a range, name the beginning of a key as this verb prints it: global, 'db 1', 'db 1 / zone 1 / \
            children', 'db 1 / zone 1 / children / "share"'. Without a prefix the verb shows everything. Damaged keys \
            and values are shown in hexadecimal, with the reason.

            --json: one line per entry: {"key","value","keyHex","valueByteCount"}; then {"isMoreComing":true,"limit"} \
            if --limit left some out

            Example: stratus keys 'db 1 / zone 1 / shareRoots' --store ./store
            """)

    @Argument(help: ArgumentHelp("The beginning of the keys to show.", valueName: "prefix"))
    var prefix: String?

    @Option(
        parsing: .unconditional, help: ArgumentHelp("Show at most this many entries; 0 for all.", valueName: "count"))
    var limit = 0

    @Flag(help: "Show the last entries first.")
    var reverse = false

    @OptionGroup var store: WholeStoreArguments

    func validate() throws {
        guard limit >= 0 else { throw ValidationError("--limit must be a number of entries, or 0 for all.") }
        do {
            _ = try range()
        } catch {
            throw ValidationError("This is not the beginning of a key: \(VisibleText.of("\(error)"))")
        }
    }

    func run() throws {
        let range = try range()
        try StoreSession.with(store, .reading) { session, console in
            try session.engine.read(.wholeStore) { reader in
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
                        "key": keyText, "value": valueText, "keyHex": Hex.text(key), "valueByteCount": value.count,
                    ])
                    return .next
                }
            }
        }
    }

    private func range() throws -> KeyRange {
        guard let prefix else { return KeyRange.everything }
        return try KeyDescription.range(of: prefix)
    }
}
