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
            '/' lists the records that have no parent; finding them looks at every record of the zone. With --as it lists \
            what the person sees: of another's zone the roots of what is shared.

            --json: one line a record: {"record","name","type","parent","share","hasChildren","size","modified","target"}

            Example: stratus ls /share/doc --store ./store
            """)

    @Argument(help: RecordAddress.help)
    var record = RecordAddress(path: "/")

    @Flag(help: "Show record names instead of labels.")
    var names = false

    @OptionGroup var store: StoreArguments
    @OptionGroup var zone: ZoneArguments
    @OptionGroup var acting: ActingArguments

    func run() throws {
        let console = Console(usesJSON: store.json)
        try StoreSession.with(store.at(record.place), acting.opening) { session in
            let id = try session.zone(zone)
            let sight = try session.sight(of: id, acting)
            try session.read(id) { try list($0, sight, console) }
        }
        try console.flush()
    }

    /// Shows what is seen.
    func list(_ zone: ZoneReader, _ sight: Sight, _ console: Console) throws {
        let parent = record.isTop ? nil : try zone.resolve(record, sight, console)
        let progress = Progress("looking", total: nil, on: console)
        defer { progress.finish() }
        // A list tells by itself that something is going on, unless little of it is seen.
        let looked = sight.isWhole ? nil : try LookCounter(progress, of: zone)
        try zone.visitSeen(below: parent, sight, looking: { looked?.add() }) { child in
            guard let line = try RecordLine(child, zone) else { return .next }
            let label = names ? VisibleText.of(child.name.text) : line.label(console)
            try console.line(line.columns(console) + label)
            try console.object(line.object)
            return .next
        }
    }
}
