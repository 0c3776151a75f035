// stratus zones: the zones of a database are listed, made and deleted.

import ArgumentParser
import FoundationEssentials
import StratusLayout
import StratusModel
import StratusRecords

struct Zones: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists, makes and deletes zones.",
        discussion: "Example: stratus zones --store ./store",
        subcommands: [ListZones.self, CreateZone.self, DeleteZone.self, PurgeZones.self],
        defaultSubcommand: ListZones.self)

    struct ListZones: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "Lists the zones of the database.",
            discussion: """
                --json: one line a zone: {"zone","records","sequence","horizon","created","identity"}

                Example: stratus zones list --store ./store
                """)

        @OptionGroup var store: StoreArguments

        func run() throws {
            let console = Console(usesJSON: store.json)
            try StoreSession.with(store, .reading) { session in
                let database = try session.database
                try session.engine.read { reader in
                    for listing in try reader.zones(in: database) {
                        let id = ZoneID(database: database, name: listing.name)
                        let header = try reader.existingZone(id).header()
                        let created = listing.entry.created.date
                        try console.line(
                            "\(VisibleText.of(listing.name.text))  \(Quantities.count(header.recordCount, "record")), "
                                + "sequence \(Quantities.count(header.sequence)), made \(Quantities.date(created))")
                        try console.object([
                            "zone": .string(listing.name.text), "records": JSONValue(header.recordCount),
                            "sequence": JSONValue(header.sequence), "horizon": JSONValue(header.horizon),
                            "created": Quantities.timestamp(created),
                            "identity": .string(header.identity.uuidString),
                        ])
                    }
                }
            }
            try console.flush()
        }
    }

    struct CreateZone: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "create",
            abstract: "Makes a zone, and the store if there is none.",
            discussion: """
                A zone that exists is left as it is.

                --json: {"zone","created"}

                Example: stratus zones create --zone notes --store ./store
                """)

        @OptionGroup var store: StoreArguments
        @OptionGroup var zone: ZoneArguments

        func run() throws {
            let console = Console(usesJSON: store.json)
            let isNew = try StoreSession.with(store, .creatingAsClient) { try $0.createZone($0.zone(zone)) }
            try console.line("zone \(zone.zone) \(isNew ? "made" : "exists")")
            try console.object(["zone": .string(zone.zone), "created": .boolean(isNew)])
            try console.flush()
        }
    }

    struct DeleteZone: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "delete",
            abstract: "Deletes a zone with all its records.",
            discussion: """
                The zone is gone at once; then its entries are removed. If that is interrupted, 'stratus zones purge' \
                goes on with it.

                --json: {"zone","deleted","entriesRemoved"}; with --dry-run {"dryRun","would","zone","records"}

                Example: stratus zones delete --zone notes --force --store ./store
                """)

        @OptionGroup var deed: DeedArguments
        @OptionGroup var store: StoreArguments
        @OptionGroup var zone: ZoneArguments

        func run() throws {
            let console = Console(usesJSON: store.json)
            let progress = try StoreSession.with(store, .existingAsClient) { session -> PurgeProgress? in
                let zone = try session.zone(zone)
                let count = try session.read(zone) { try $0.header().recordCount }
                let what = "delete zone \(zone.name.text) with its \(Quantities.count(count, "record"))"
                let details: JSONObject = ["zone": .string(zone.name.text), "records": JSONValue(count)]
                guard try deed.mayDo(what, details, console) else { return nil }
                guard try session.deleteZone(zone) else {
                    throw try session.engine.read { try session.noZone(zone, $0) }
                }
                return try Zones.purge(session, console)
            }
            guard let progress else { return }
            try console.line("zone \(zone.zone) deleted; \(Quantities.count(progress.entriesDeleted)) entries removed")
            try console.object([
                "zone": .string(zone.zone), "deleted": true, "entriesRemoved": JSONValue(progress.entriesDeleted),
            ])
            try console.flush()
        }
    }

    struct PurgeZones: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "purge",
            abstract: "Removes what deleted zones have left behind.",
            discussion: """
                --json: {"zonesFinished","entriesRemoved","commits"}

                Example: stratus zones purge --store ./store
                """)

        @OptionGroup var store: StoreArguments

        func run() throws {
            let console = Console(usesJSON: store.json)
            let progress = try StoreSession.with(store, .existing) { try Zones.purge($0, console) }
            try console.line(
                "\(Quantities.count(progress.zonesFinished, "zone")) purged; "
                    + "\(Quantities.count(progress.entriesDeleted)) entries removed")
            try console.object([
                "zonesFinished": JSONValue(progress.zonesFinished),
                "entriesRemoved": JSONValue(progress.entriesDeleted),
                "commits": JSONValue(progress.commits),
            ])
            try console.flush()
        }
    }

    private static func purge(_ session: StoreSession, _ console: Console) throws -> PurgeProgress {
        let shown = Progress("removing entries", total: nil, on: console)
        defer { shown.finish() }
        func show(_ progress: PurgeProgress) -> Bool {
            shown.update(progress.entriesDeleted)
            return !Interruption.isRequested
        }
        Interruption.stopAtSafePoints()
        try session.releaseAssets()
        let progress = try session.engine.purgeDeletedZones(pause: { Waiting.aLittle() }, shouldContinue: show)
        try Interruption.safePoint()
        return progress
    }
}
