// stratus containers and stratus databases: the places of a store, with what they hold.

import ArgumentParser
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

struct Containers: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists the containers of a store.",
        discussion: """
            A container exists when it has a database or a schema.

            --json: one line per container: {"container","databases","zones","records","types"}

            Example: stratus containers --store ./store
            """)

    private typealias Tally = (databases: Int, zones: Int, records: Int, types: Int)

    @OptionGroup var store: WholeStoreArguments

    func run() throws {
        try StoreSession.with(store, .reading) { session, console in
            let tallies = try session.engine.read { try Self.tallies($0, console) }
            for (container, tally) in tallies.sorted(by: { $0.key < $1.key }) {
                try console.line(
                    "\(VisibleText.of(container.text))  \(Quantities.count(tally.databases, "database")), "
                        + "\(Quantities.count(tally.zones, "zone")), \(Quantities.count(tally.records, "record")), "
                        + "\(Quantities.count(tally.types, "record type"))")
                try console.object([
                    "container": container.text, "databases": tally.databases, "zones": tally.zones,
                    "records": tally.records, "types": tally.types,
                ])
            }
        }
    }

    private static func tallies(_ reader: RecordReader, _ console: Console) throws -> [ContainerName: Tally] {
        var tallies: [ContainerName: Tally] = [:]
        let progress = try reader.progressOfDatabases(console)
        try reader.visitDatabases { id, _ in
            let (zones, records) = try reader.zoneAndRecordCount(in: id)
            let old = tallies[id.container] ?? (0, 0, 0, 0)
            tallies[id.container] = (old.databases + 1, old.zones + zones, old.records + records, 0)
            progress.add()
            return .next
        }
        try reader.store.forEach(in: GlobalKeys.keyspace(.schema)) { key, _ in
            let parts = try GlobalKeys.readSchemaKey(key)
            tallies[parts.container, default: (0, 0, 0, 0)].types += parts.type == nil ? 0 : 1
        }
        return tallies
    }
}

extension RecordReader {
    /// The progress of looking at all databases.
    fileprivate func progressOfDatabases(_ console: Console) throws -> ProgressLine {
        ProgressLine("looking at databases", total: try entryCount(in: GlobalKeys.keyspace(.databases)), on: console)
    }

    /// The number of zones and records in a database.
    fileprivate func zoneAndRecordCount(in database: DatabaseID) throws -> (zones: Int, records: Int) {
        let zones = try zones(in: database).map { ZoneID(database: database, name: $0.name) }
        let records = try zones.reduce(0) { try $0 + Int(summable: existingZone($1).header().recordCount) }
        return (zones.count, records)
    }
}

struct Databases: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists the databases of a store with their addresses.",
        discussion: """
            A person's private database exists when it has a zone. Zones that others share are not listed here: \
            'stratus zones list --as PERSON' lists them.

            --json: one line per database: {"address","container","scope","owner","externalID","zones","records"}

            Example: stratus databases --store ./store
            """)

    @OptionGroup var store: WholeStoreArguments

    func run() throws {
        try StoreSession.with(store, .reading) { session, console in
            try session.engine.read { reader in
                let progress = try reader.progressOfDatabases(console)
                try reader.visitDatabases { id, _ in
                    let owner = try session.owner(of: id, in: reader)
                    let (zones, records) = try reader.zoneAndRecordCount(in: id)
                    let address = PlaceAddress(id, ownedBy: owner).text
                    try console.line(
                        "\(VisibleText.of(address))  \(Quantities.count(zones, "zone")), "
                            + Quantities.count(records, "record"))
                    try console.object([
                        "address": address, "container": id.container.text, "scope": "\(id.scope)",
                        "owner": id.owner?.text, "externalID": owner?.externalID, "zones": zones, "records": records,
                    ])
                    progress.add()
                    return .next
                }
            }
        }
    }
}
