// stratus databases: the databases of a store and their addresses.

import ArgumentParser
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

struct Databases: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists the databases of a store with their addresses.",
        discussion: """
            A person's private database is there with their first zone. What others share with somebody is no database of \
            its own: 'stratus zones list --as PERSON' lists it.

            --json: one line a database: {"address","container","scope","owner","externalID","zones","records"}

            Example: stratus databases --store ./store
            """)

    @OptionGroup var whole: WholeStoreArguments

    private var store: StoreArguments { whole.arguments }

    func run() throws {
        let console = Console(usesJSON: store.json)
        try StoreSession.with(store, .reading) { session in
            try session.engine.read { reader in
                let progress = try PlaceProgress(databasesOf: reader, console)
                defer { progress.finish() }
                try reader.visitDatabases { id, _ in
                    try show(id, reader, session, console)
                    progress.add()
                    return .next
                }
            }
        }
        try console.flush()
    }

    private func show(
        _ id: DatabaseID, _ reader: RecordReader, _ session: StoreSession, _ console: Console
    ) throws {
        let owner = try session.owner(of: id, in: reader)
        var (zones, records) = (0, 0)
        try reader.visitZones(in: id) { listing in
            zones += 1
            let header = try reader.existingZone(ZoneID(database: id, name: listing.name)).header()
            records += Int(summable: header.recordCount)
            return .next
        }
        let address = PlaceAddress(id, ownedBy: owner).text
        try console.line(
            "\(VisibleText.of(address))  \(Quantities.count(zones, "zone")), "
                + Quantities.count(records, "record"))
        try console.object([
            "address": .string(address), "container": .string(id.container.text), "scope": .string("\(id.scope)"),
            "owner": JSONValue(id.owner?.text), "externalID": JSONValue(owner?.externalID),
            "zones": JSONValue(zones), "records": JSONValue(records),
        ])
    }
}
