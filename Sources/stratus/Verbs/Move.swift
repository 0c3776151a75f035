// stratus move: a record and everything below it goes under another record.

import ArgumentParser
import StratusModel
import StratusRecords

struct Move: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Moves a record, with everything below it, under another record.",
        discussion: """
            One record is written, however many lie below it. Moving under '/' leaves the record without a parent. The \
            move is refused when the record would lie below itself, or in two shares at once.

            --json: {"record","from","to","cost":{…}}; to is null for a record without parent.

            Example: stratus move /share/doc --under /share/man --store ./store
            """)

    @Argument(help: RecordAddress.help)
    var record: RecordAddress

    @Option(help: ArgumentHelp("The record that becomes the parent, or '/' for none.", valueName: "record"))
    var under: RecordAddress

    @OptionGroup var store: StoreArguments
    @OptionGroup var zone: ZoneArguments
    @OptionGroup var acting: ActingArguments

    func run() throws {
        let console = Console(usesJSON: store.json)
        try StoreSession.with(store.at(record.place), acting.writing) { session in
            let zone = try session.zone(zone)
            let (name, parent) = try session.read(zone) { zone in
                (try zone.resolve(record, console), under.isTop ? nil : try zone.resolve(under, console))
            }
            let (old, cost) = try StepCost.measuring(session) {
                // Another process's store is changed by its server alone.
                guard acting.person != nil || session.served != nil else {
                    return try RecordChange.move(name, under: parent, in: zone, session)
                }
                return try session.client(of: zone, acting).move(name, under: parent)
            }
            let from = old.map { VisibleText.of($0.text) } ?? "/"
            let to = parent.map { VisibleText.of($0.text) } ?? "/"
            try console.line("moved \(VisibleText.of(name.text)) from \(from) to \(to)")
            try console.line(cost.summary)
            try console.object([
                "record": .string(name.text), "from": JSONValue(old?.text), "to": JSONValue(parent?.text),
                "cost": .object(cost.object),
            ])
        }
        try console.flush()
    }
}
