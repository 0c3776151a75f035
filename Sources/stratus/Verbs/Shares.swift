// stratus shares: the shares of a zone, who takes part in one, and what has happened to them. URLs are secrets, and shown
// to those alone who ask for them.

import ArgumentParser
import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

struct Shares: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows shares, who takes part, and what has happened to them.",
        discussion: "Example: stratus shares --store ./store",
        subcommands: [ListShares.self, ShowShare.self, ListShareEvents.self],
        defaultSubcommand: ListShares.self)

    struct ListShares: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "Lists the shares of a zone.",
            discussion: """
                --json: one line a share: {"share","root","publicPermission","participants","pending"}; root is null for \
                a share of the whole zone, and the owner is counted.

                Example: stratus shares list --zone files --store ./store
                """)

        @OptionGroup var store: StoreArguments
        @OptionGroup var zone: ZoneArguments

        func run() throws {
            let console = Console(usesJSON: store.json)
            try StoreSession.with(store, .reading) { session in
                try session.read(session.zone(zone)) { zone in
                    try zone.visitShares { name, content in
                        let pending = content.participants.count { $0.status == .pending }
                        let subject = content.root.map { VisibleText.of($0.text) } ?? "the whole zone"
                        try console.line(
                            "\(VisibleText.of(name.text))  \(subject), "
                                + "\(Quantities.count(content.participants.count, "participant")), \(pending) pending, "
                                + "public permission \(content.publicPermission)")
                        try console.object([
                            "share": .string(name.text), "root": JSONValue(content.root?.text),
                            "publicPermission": .string("\(content.publicPermission)"),
                            "participants": JSONValue(content.participants.count), "pending": JSONValue(pending),
                        ])
                    }
                }
            }
            try console.flush()
        }
    }

    struct ShowShare: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show",
            abstract: "Shows who takes part in a share.",
            discussion: """
                --json: {"share","root","publicPermission","allowsAccessRequests","participants":[{"id","user","handle",\
                "role","permission","status","added"}],"requesters":[{"id","user","handle"}],"blocked":[…]}, and "url" \
                with --url.

                Example: stratus shares show /share/doc --url --store ./store
                """)

        @Argument(help: "The share, by its record name, or a record that is in it.")
        var record: RecordAddress

        @Flag(help: "Show the share's URL too: whoever has it and is invited may accept.")
        var url = false

        @OptionGroup var store: StoreArguments
        @OptionGroup var zone: ZoneArguments

        func run() throws {
            let console = Console(usesJSON: store.json)
            let found = try StoreSession.with(store, .reading) { session in
                try session.read(session.zone(zone)) { zone in try zone.share(of: zone.resolve(record)) }
            }
            // What a host has URLs begin with is its own choice and in no store.
            let link = url ? ShareLink.url(CloudOptions().shareURLBase, found.content.token) : nil
            let summary = ShareSummary(found.name, found.content, url: link)
            for line in summary.lines { try console.line(line) }
            try console.object(summary.object)
            try console.flush()
        }
    }

    struct ListShareEvents: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "events",
            abstract: "Lists what has happened to the shares of a zone, in order.",
            discussion: """
                --json: one line an event: {"date","actor","event","share","root","participant","user","handle",\
                "oldPermission","newPermission","oldRole","newRole"}

                Example: stratus shares events --zone files --store ./store
                """)

        @OptionGroup var store: StoreArguments
        @OptionGroup var zone: ZoneArguments

        func run() throws {
            let console = Console(usesJSON: store.json)
            try StoreSession.with(store, .readingAsClient) { session in
                let zone = try session.zone(zone)
                var position: ShareEventPosition?
                repeat {
                    let page = try session.service.shareEvents(of: zone, after: position)
                    for event in page.events {
                        try console.line(ShareSummary.line(of: event))
                        try console.object(ShareSummary.object(of: event))
                    }
                    position = page.next
                } while position != nil
            }
            try console.flush()
        }
    }
}

extension ZoneReader {
    /// Visits every share of the zone in the byte order of their names.
    func visitShares(_ visit: (RecordName, ShareContent) throws -> Void) throws {
        var names: [RecordName] = []
        try store.scan(keys.types(of: ShareContent.recordType).keyRange) { key, _ in
            names.append(try keys.readTypeKey(key).name)
            return .next
        }
        for name in names {
            if let content = try record(name)?.record.shareContent() { try visit(name, content) }
        }
    }

    /// The share that a record is, or that it is in.
    ///
    /// Throws `notFound` where it is in none.
    func share(of name: RecordName) throws -> (name: RecordName, content: ShareContent) {
        if let content = try record(name)?.record.shareContent() { return (name, content) }
        let share = try shareMembership(of: name)?.share ?? ShareContent.zoneWideName
        guard let content = try record(share)?.record.shareContent() else {
            throw ToolError(.notFound, "The record is in no share.", ["record": name.text])
        }
        return (share, content)
    }
}
