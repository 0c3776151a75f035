// stratus zones: lists, creates, deletes and purges the zones of a database.

import ArgumentParser
import FoundationEssentials
import StratusKit
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

struct Zones: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists, creates and deletes zones.",
        discussion: "Example: stratus zones --store ./store",
        subcommands: [ListZones.self, CreateZone.self, DeleteZone.self, PurgeZones.self],
        defaultSubcommand: ListZones.self)

    struct ListZones: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "Lists the zones of the database.",
            discussion: """
                With --as it lists the person's own zones and those shared with them, in all databases of the container.

                --json: one line per zone: {"zone","address","records","sequence","horizon","created","identity"}; \
                with --as {"zone","owner"}, where owner is null for the person's own zones.

                Example: stratus zones list --store ./store
                """)

        @OptionGroup var store: StoreArguments
        @OptionGroup var acting: ActingArguments

        func run() throws {
            try StoreSession.with(store, acting.opening) { session, console in
                if acting.person != nil { return try show(session.container(acting), console) }
                let database = try session.database
                try session.engine.read { reader in
                    let owner = try session.owner(of: database, in: reader)
                    try reader.visitZones(in: database) { listing in
                        let id = ZoneID(database: database, name: listing.name)
                        let header = try reader.existingZone(id).header()
                        let created = listing.entry.created.date
                        let address = PlaceAddress(database, ownedBy: owner, zone: listing.name).text
                        try console.line(
                            "\(VisibleText.of(listing.name.text))  \(Quantities.count(header.recordCount, "record")), "
                                + "sequence \(Quantities.count(header.sequence)), created \(Quantities.date(created))")
                        try console.object([
                            "zone": listing.name.text, "address": address, "records": header.recordCount,
                            "sequence": header.sequence, "horizon": header.horizon,
                            "created": Quantities.timestamp(created), "identity": header.identity.uuidString,
                        ])
                        return .next
                    }
                }
            }
        }

        private func show(_ container: CKContainer, _ console: Console) throws {
            let zones = try Blocking.wait {
                try await container.privateCloudDatabase.allRecordZones()
                    + container.sharedCloudDatabase.allRecordZones()
            }
            for zone in zones.map(\.zoneID) {
                let owner = zone.ownerName == CKCurrentUserDefaultName ? nil : zone.ownerName
                try console.line(VisibleText.of(zone.zoneName) + (owner.map { "  of \(VisibleText.of($0))" } ?? ""))
                try console.object(["zone": zone.zoneName, "owner": owner])
            }
        }
    }

    struct CreateZone: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "create",
            abstract: "Creates a zone, and the store if there is none.",
            discussion: """
                An existing zone stays unchanged. In a private database, only the owner can create zones.

                --json: {"zone","created"}

                Example: stratus zones create notes --store ./store
                """)

        @OptionGroup var named: NamedZoneArguments
        @OptionGroup var store: StoreArguments
        @OptionGroup var acting: ActingArguments

        func run() throws {
            try StoreSession.with(store, .creatingAsClient) { session, console in
                let id = try session.zone(named.zone(store))
                let isNew = try session.createZone(id, acting)
                try console.line("zone \(VisibleText.of(id.name.text)) \(isNew ? "created" : "exists")")
                try console.object(["zone": id.name.text, "created": isNew])
            }
        }
    }

    struct DeleteZone: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "delete",
            abstract: "Deletes a zone with all its records.",
            discussion: """
                Deletes the zone at once, then removes its entries. If that is interrupted, continue with 'stratus \
                zones purge'.

                --json: {"zone","deleted","entriesRemoved"}; with --dry-run {"dryRun","would","zone","records"}

                Example: stratus zones delete notes --force --store ./store
                """)

        @OptionGroup var named: NamedZoneArguments
        @OptionGroup var deed: DeedArguments
        @OptionGroup var store: StoreArguments
        @OptionGroup var acting: ActingArguments

        func run() throws {
            try StoreSession.with(store, .existingAsClient) { session, console in
                let zone = try session.zone(named.zone(store))
                guard zone.database.scope == .private else {
                    throw ToolError(
                        .refused,
                        "The zone of a public database cannot be deleted: delete its records with 'stratus rm'.")
                }
                try session.requireOwner(acting, of: zone, "Only the owner can delete a zone.")
                let count = try session.read(zone) { try $0.header().recordCount }
                let what = "delete zone \(zone.name.text) with its \(Quantities.count(count, "record"))"
                let details: JSONObject = ["zone": zone.name.text, "records": count]
                guard try deed.mayDo(what, details, console) else { return }
                guard try session.deleteZone(zone, acting) else {
                    throw try session.engine.read { try $0.noZone(zone) }
                }
                let removed = try Zones.purge(session, console).entriesDeleted
                try console.line(
                    "zone \(VisibleText.of(zone.name.text)) deleted; "
                        + "\(Quantities.count(removed, "entry", "entries")) removed")
                try console.object(["zone": zone.name.text, "deleted": true, "entriesRemoved": removed])
            }
        }
    }

    struct PurgeZones: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "purge",
            abstract: "Removes the remaining entries of deleted zones and accounts.",
            discussion: """
                You can interrupt it; the next run or host continues.

                --json: {"zonesFinished","entriesRemoved","commits"}

                Example: stratus zones purge --store ./store
                """)

        @OptionGroup var store: StoreArguments

        func run() throws {
            try StoreSession.with(store, .existingAsClient) { session, console in
                let progress = try Zones.purge(session, console)
                try console.line(
                    "\(Quantities.count(progress.zonesFinished, "zone")) purged; "
                        + "\(Quantities.count(progress.entriesDeleted, "entry", "entries")) removed")
                try console.object([
                    "zonesFinished": progress.zonesFinished, "entriesRemoved": progress.entriesDeleted,
                    "commits": progress.commits,
                ])
            }
        }
    }

    /// Removes the entries of deleted zones and accounts, and shows the progress.
    static func purge(_ session: StoreSession, _ console: Console) throws -> PurgeProgress {
        StopSignal.stopAtSafePoints()
        let progress = try session.purge(console)
        guard !StopSignal.isRequested else {
            // The deletion itself is done: running the same verb again would find nothing to delete.
            throw ToolError(
                .interrupted,
                "Interrupted; the deletion is done, and 'stratus zones purge' removes the remaining entries.")
        }
        return progress
    }
}
