<<<<<<< HEAD
// stratus share-root: shares a record with everything below it, or ends its share.
=======
// stratus share-root: makes a record the root of a share that nobody is invited to yet, or ends that share.
>>>>>>> origin/helper-share-joining

import ArgumentParser
import FoundationEssentials
import StratusModel
import StratusRecords

struct ShareRoot: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "share-root",
<<<<<<< HEAD
        abstract: "Shares a record with everything below it, or ends its share.",
        discussion: """
            A record and everything below it are in the share; nobody is invited yet. On a path from a record up to its top \
            there is at most one share root: a second one above, below or at the same place is refused.
=======
        abstract: "Makes a record the root of a share, or ends that share.",
        discussion: """
            The share is private, and its owner takes part in it alone. A record and everything below it are in the \
            share. On a path from a record up to its top there is at most one share root: a second one above, below or \
            at the same place is refused.
>>>>>>> origin/helper-share-joining

            Example: stratus share-root set /share/doc --store ./store
            """,
        subcommands: [SetShareRoot.self, ClearShareRoot.self])

    struct SetShareRoot: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "set",
            abstract: "Makes a record the root of a share.",
            discussion: """
                --json: {"record","share","cost":{…}}

                Example: stratus share-root set /share/doc --share documents --store ./store
                """)

        @Argument(help: RecordAddress.help)
        var record: RecordAddress

        @Option(help: ArgumentHelp("The share's record name; else one is drawn.", valueName: "name"))
        var share: String?

        @OptionGroup var store: StoreArguments
        @OptionGroup var zone: ZoneArguments

        func run() throws {
            let share = RecordName(share ?? "share-\(UUID().uuidString)")
            try ShareRoot.change(record, to: share, store, zone)
        }
    }

    struct ClearShareRoot: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "clear",
            abstract: "Ends the share that a record is the root of.",
            discussion: """
                Everybody who took part is out of it. The records stay.

                --json: {"record","share","cost":{…}}; share is the one it was the root of, or null if it was none.

                Example: stratus share-root clear /share/doc --store ./store
                """)

        @Argument(help: RecordAddress.help)
        var record: RecordAddress

        @OptionGroup var store: StoreArguments
        @OptionGroup var zone: ZoneArguments

        func run() throws { try ShareRoot.change(record, to: nil, store, zone) }
    }

    private static func change(
        _ address: RecordAddress, to share: RecordName?, _ arguments: StoreArguments, _ zoneArguments: ZoneArguments
    ) throws {
        let console = Console(usesJSON: arguments.json)
        try StoreSession.with(arguments, .existingAsClient) { session in
            let zone = try session.zone(zoneArguments)
            let name = try session.read(zone) { try $0.resolve(address) }
            let root = try session.existingClient(of: zone).recordID(name)
            let owner = try session.owner()
            let (old, cost) = try StepCost.measuring(session) { () -> RecordName? in
                guard let share else { return try owner.stopSharing(root).map { RecordName($0) } }
                _ = try owner.share(root, named: share.text)
                return nil
            }
            let record = VisibleText.of(name.text)
            if let share {
                try console.line("\(record) is the root of share \(VisibleText.of(share.text))")
            } else if let old {
                try console.line("\(record) is no longer the root of share \(VisibleText.of(old.text))")
            } else {
                try console.line("\(record) was no share root")
            }
            try console.line(cost.summary)
            try console.object([
                "record": .string(name.text), "share": JSONValue((share ?? old)?.text), "cost": .object(cost.object),
            ])
        }
        try console.flush()
    }
}
