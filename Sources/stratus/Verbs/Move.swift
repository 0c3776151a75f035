// stratus move and stratus rm: change the place of a record, and delete records.

import ArgumentParser
import StratusLayout
import StratusModel
import StratusRecords

struct Move: PlaceCommand {
    static let configuration = CommandConfiguration(
        abstract: "Moves a record, with everything below it, under another record.",
        discussion: """
            The verb writes one record, however many are below it. Moving under '/' removes the parent. The store \
            refuses the move if the record would be below itself or in two shares at once.

            --json: {"record","from","to","cost":{…}}; to is null for a record without a parent.

            Example: stratus move /share/doc --under /share/man --store ./store
            """)

    @Argument(help: RecordArgument.help)
    var record: RecordArgument

    @Option(help: ArgumentHelp("The new parent, or '/' for none.", valueName: "record"))
    var under: RecordArgument

    @OptionGroup var store: StoreArguments
    @OptionGroup var zone: ZoneArguments
    @OptionGroup var acting: ActingArguments

    func run() throws {
        try StoreSession.with(store.at(record.place), acting.writing) { session, console in
            let zone = try session.zone(zone)
            let (name, parent) = try session.read(self.zone, acting) { zone, sight in
                (try zone.resolve(record, sight, console), under.isTop ? nil : try zone.resolve(under, sight, console))
            }
            let (old, cost) = try StepCost.measuring(session) {
                // If another process has the store, only its server changes records.
                guard acting.person != nil || session.served != nil else {
                    return try RecordEdit.move(name, under: parent, in: zone, session)
                }
                return try session.client(of: zone, acting).move(name, under: parent)
            }
            let from = old.map { VisibleText.of($0.text) } ?? "/"
            let to = parent.map { VisibleText.of($0.text) } ?? "/"
            let shown = VisibleText.of(name.text)
            try console.line(old == parent ? "\(shown) is already in \(to)" : "moved \(shown) from \(from) to \(to)")
            try console.line(cost.summary)
            try console.object(["record": name.text, "from": old?.text, "to": parent?.text, "cost": cost.object])
        }
    }
}

struct Remove: PlaceCommand {
    static let configuration = CommandConfiguration(
        commandName: "rm",
        abstract: "Deletes a record, and with --recursive everything below it.",
        discussion: """
            Without --recursive the verb refuses a record that has others below it. With it, records are deleted from \
            the leaves up, 400 per commit; run an interrupted deletion again to finish it. Shares of deleted records, \
            and records that refer to one with a deleteSelf reference, are deleted too. "alsoDeleted" counts them as \
            the difference of the zone's record counts, so other writers of the store can distort it.

            --json: {"record","deleted","alsoDeleted","cost":{…}}; with --dry-run {"dryRun","would","record","records"}

            Example: stratus rm /share/doc --recursive --force --store ./store
            """)

    @Argument(help: RecordArgument.help)
    var record: RecordArgument

    @Flag(name: .shortAndLong, help: "Delete everything below the record too.")
    var recursive = false

    @OptionGroup var deed: DeedArguments
    @OptionGroup var store: StoreArguments
    @OptionGroup var zone: ZoneArguments
    @OptionGroup var acting: ActingArguments

    func run() throws {
        try StoreSession.with(store.at(record.place), .existingAsClient) { session, console in
            let zone = try session.zone(zone)
            let name = try session.read(self.zone, acting) { try $0.resolve(record, $1, console) }
            try session.requireMayDelete(name, in: zone, acting)
            try requireLeaf(name, in: zone, session)
            let count = try recordCount(name, zone, session, console)
            let what = recursive ? "\(Quantities.count(count, "record")): \(name.text) and all below" : name.text
            let details: JSONObject = ["record": name.text, "records": count]
            guard try deed.mayDo("delete \(what)", details, console) else { return }
            StopSignal.stopAtSafePoints()
            let progress = ProgressLine("deleting", total: count, on: console)
            let countBefore = try session.read(zone) { try $0.header().recordCount }
            let (deleted, cost) = try StepCost.measuring(session) {
                if recursive {
                    return try RecordEdit.deleteSubtree(name, in: zone, session, acting, progress: progress.update)
                }
                try session.delete([name], in: zone, acting)
                return 1
            }
            let left = try session.read(zone) { try $0.header().recordCount }
            let others = max(0, Int(clamping: countBefore) - Int(clamping: left) - deleted)
            try console.line("deleted \(Quantities.count(deleted, "record")): \(VisibleText.of(name.text))")
            if others > 0 {
                try console.line(
                    "also deleted \(Quantities.count(others, "record")): shares, and records with a deleteSelf reference"
                )
            }
            try console.line(cost.summary)
            try console.object(["record": name.text, "deleted": deleted, "alsoDeleted": others, "cost": cost.object])
        }
    }

    /// Throws `refused` if the record has others below it and --recursive is missing.
    private func requireLeaf(_ name: RecordName, in zone: ZoneID, _ session: StoreSession) throws {
        guard !recursive, try session.read(zone, { try $0.child(name).hasChildren }) else { return }
        throw ToolError(
            .refused, "The record has others below it: use --recursive to delete them too, or move them first.",
            ["record": name.text])
    }

    private func recordCount(
        _ name: RecordName, _ zone: ZoneID, _ session: StoreSession, _ console: Console
    ) throws -> Int {
        guard recursive else { return 1 }
        return try session.read(zone) { zone in
            let looked = try LookCounter("counting", of: zone, on: console)
            var count = 1
            try zone.visitSubtree(below: name) { _, _ in
                count += 1
                looked.add()
                return .next
            }
            return count
        }
    }
}
