// stratus ls: what lies directly below a record.

import ArgumentParser
import StratusModel
import StratusRecords
import StratusStore

struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ls",
        abstract: "Lists the records directly below a record.",
        discussion: """
            '/' lists the records that have no parent; finding them looks at every record of the zone.

            --json: one line a record: {"record","name","type","parent","share","hasChildren","size","modified","target"}

            Example: stratus ls /share/doc --store ./store
            """)

    @Argument(help: RecordAddress.help)
    var record = RecordAddress(path: "/")

    @Flag(help: "Show record names instead of labels.")
    var names = false

    @OptionGroup var store: StoreArguments
    @OptionGroup var zone: ZoneArguments

    func run() throws {
        let console = Console(usesJSON: store.json)
        try StoreSession.with(store, .reading) { session in
            try session.read(session.zone(zone)) { zone in
                let parent = record.isTop ? nil : try zone.resolve(record)
                try zone.visitChildrenOrTops(of: parent) { child in
                    guard let line = try RecordLine(child, zone) else { return .next }
                    let label = names ? VisibleText.of(child.name.text) : line.label(console)
                    try console.line(line.columns(console) + label)
                    try console.object(line.object)
                    return .next
                }
            }
        }
        try console.flush()
    }
}
