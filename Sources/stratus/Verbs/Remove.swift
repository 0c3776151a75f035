// stratus rm: records are deleted.

import ArgumentParser
import StratusModel
import StratusRecords

struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rm",
        abstract: "Deletes a record, and with --recursive everything below it.",
        discussion: """
            A record that others lie below is refused without --recursive. With it, records are deleted from the leaves \
            up, 400 to a commit; an interrupted deletion is finished by running it again.

            --json: {"record","deleted","cost":{…}}

            Example: stratus rm /share/doc --recursive --store ./store
            """)

    @Argument(help: RecordAddress.help)
    var record: RecordAddress

    @Flag(name: .shortAndLong, help: "Delete everything below the record too.")
    var recursive = false

    @OptionGroup var store: StoreArguments
    @OptionGroup var zone: ZoneArguments

    func run() throws {
        let console = Console(usesJSON: store.json)
        try StoreSession.with(store, .existingAsClient) { session in
            let zone = try session.zone(zone)
            let name = try session.read(zone) { try $0.resolve(record) }
            let progress = Progress("deleting", total: nil, on: console)
            let (deleted, cost) = try StepCost.measuring(session) {
                if recursive {
                    return try RecordChange.deleteSubtree(name, in: zone, session, progress: progress.update)
                }
                try session.delete([name], in: zone)
                return 1
            }
            progress.finish()
            try console.line("deleted \(Quantities.count(deleted, "record")): \(VisibleText.of(name.text))")
            try console.line(cost.summary)
            try console.object([
                "record": .string(name.text), "deleted": JSONValue(deleted), "cost": .object(cost.object),
            ])
        }
        try console.flush()
    }
}
