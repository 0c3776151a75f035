// stratus path: the records above a record, and the share it is in.

import ArgumentParser
import StratusModel
import StratusRecords

struct Path: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows the records above a record, and the share it is in.",
        discussion: """
            --json: {"record","path","chain":[{"record","name","shareRoot"}],"share":{"root","share"}}; the chain goes \
            from the record without parent down to the record, and share is null where it is in none.

            Example: stratus path /share/doc/README --store ./store
            """)

    @Argument(help: RecordAddress.help)
    var record: RecordAddress

    @OptionGroup var store: StoreArguments
    @OptionGroup var zone: ZoneArguments
    @OptionGroup var acting: ActingArguments

    func run() throws {
        let console = Console(usesJSON: store.json)
        let chain = try StoreSession.with(store.at(record.place), acting.opening) { session in
            let id = try session.zone(zone)
            let sight = try session.sight(of: id, acting)
            return try session.read(id) { zone in
                try ParentChain(of: zone.resolve(record, sight, console), zone, sight)
            }
        }
        for line in chain.lines(console) { try console.line(line) }
        try console.object(chain.object)
        try console.flush()
    }
}
