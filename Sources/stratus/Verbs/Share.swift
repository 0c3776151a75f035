// stratus share: lists, shows, creates, opens and stops shares. URLs are secrets: only --url shows them.

import ArgumentParser
import Foundation
import StratusKit
import StratusModel
import StratusRecords
import StratusStore

struct Share: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows and changes shares.",
        discussion: """
            The share of a record includes everything below it. There is at most one share root on the path from a \
            record to the top: the store refuses a second root above, below or at the same record.

            Example: stratus share create /share/doc --store ./store
            """,
        subcommands: [ListShares.self, ShowShare.self, CreateShare.self, SetPublicPermission.self, StopShare.self],
        defaultSubcommand: ListShares.self)

    struct ListShares: PlaceCommand {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "Lists the shares of a zone.",
            discussion: """
                With --as it lists the shares that the person sees.

                --json: one line per share: {"share","root","publicPermission","participants","pending"}; root is null \
                for a share of the whole zone; participants includes the owner.

                Example: stratus share list --zone files --store ./store
                """)

        @OptionGroup var store: StoreArguments
        @OptionGroup var zone: ZoneArguments
        @OptionGroup var acting: ActingArguments

        func run() throws {
            try StoreSession.with(store, acting.opening) { session, console in
                try session.read(zone, acting) { zone, sight in
                    // A person who sees few of many shares gets no output for a long time.
                    let looked = try LookCounter("looking", of: zone, on: console)
                    try zone.visitShareNames(looking: looked.add) { name in
                        guard try sight.sees(name), let content = try zone.shareContent(name) else { return .next }
                        let pending = content.participants.count { $0.status == .pending }
                        let subject = content.root.map { VisibleText.of($0.text) } ?? "the whole zone"
                        try console.line(
                            "\(VisibleText.of(name.text))  \(subject), "
                                + "\(Quantities.count(content.participants.count, "participant")), \(pending) pending, "
                                + "public permission \(content.publicPermission)")
                        try console.object([
                            "share": name.text, "root": content.root?.text,
                            "publicPermission": "\(content.publicPermission)",
                            "participants": content.participants.count, "pending": pending,
                        ])
                        return .next
                    }
                }
            }
        }
    }

    struct ShowShare: PlaceCommand {
        static let configuration = CommandConfiguration(
            commandName: "show",
            abstract: "Shows a share and its participants.",
            discussion: """
                With --as it shows what the person may see.

                --json: {"share","root","publicPermission","allowsAccessRequests","participants":[{"id","user","handle",\
                "role","permission","status","added"}],"requesters":[{"id","user","handle"}],"blocked":[…]}, and "url" \
                with --url.

                Example: stratus share show /share/doc --url --store ./store
                """)

        @Argument(help: "The share, by its record name, or a record that is in it.")
        var record: RecordArgument

        @OptionGroup var secret: URLArguments
        @OptionGroup var store: StoreArguments
        @OptionGroup var zone: ZoneArguments
        @OptionGroup var acting: ActingArguments

        func run() throws {
            try StoreSession.with(store.at(record.place), acting.opening) { session, console in
                let (name, seen, viewer) = try session.read(zone, acting) { zone, sight in
                    let found = try zone.share(of: zone.resolve(record, sight, console))
                    return (found.name, sight.seen(found.content), sight.viewer)
                }
                try session.engine.read { reader in
                    let people = People(reader: reader, viewer: viewer)
                    try ShareSummary(name: name, content: seen, url: secret.url(of: seen)).show(people, console)
                }
            }
        }
    }

    struct CreateShare: PlaceCommand {
        static let configuration = CommandConfiguration(
            commandName: "create",
            abstract: "Shares a record and everything below it. Invites no one yet.",
            discussion: """
                --json: {"record","share","cost":{…}}, and "url" with --url.

                Example: stratus share create /share/doc --share documents --store ./store
                """)

        @Argument(help: RecordArgument.help)
        var record: RecordArgument

        @Option(help: ArgumentHelp("The share's record name; random if you give none.", valueName: "name"))
        var share: String?

        @OptionGroup var secret: URLArguments
        @OptionGroup var store: StoreArguments
        @OptionGroup var zone: ZoneArguments
        @OptionGroup var acting: ActingArguments

        func run() throws {
            try StoreSession.with(store.at(record.place), .existingAsClient) { session, console in
                let id = try session.zone(zone)
                let name = try session.read(zone, acting) { try $0.resolve(record, $1, console) }
                let root = try session.client(of: id, acting).recordID(name)
                let container = try session.container(acting)
                let (made, cost) = try StepCost.measuring(session) { try container.makeShare(of: root, named: share) }
                let madeName = made.recordID.recordName
                try console.line("\(VisibleText.of(name.text)) is the root of share \(VisibleText.of(madeName))")
                if secret.url, let url = made.url { try console.line(url.absoluteString) }
                try console.line(cost.summary)
                var object: JSONObject = ["record": name.text, "share": madeName, "cost": cost.object]
                if secret.url { object.add("url", made.url?.absoluteString) }
                try console.object(object)
            }
        }
    }

    struct SetPublicPermission: PlaceCommand {
        static let configuration = CommandConfiguration(
            commandName: "permission",
            abstract: "Sets the public permission of a share: what anyone with its URL may do.",
            discussion: """
                readOnly and readWrite open the share. That ends the pending invitations, and turns participants who \
                have accepted into publicUsers with the public permission. none closes the share and removes all \
                publicUsers: only invited people take part then.

                --json: as 'stratus share show'; with --dry-run {"dryRun","would","share","participants"}, where \
                participants is the number of people to remove.

                Example: stratus share permission /share/doc readOnly --store ./store
                """)

        @Argument(help: "The share, by its record name, or a record that is in it.")
        var record: RecordArgument

        @Argument(help: "The permission: none, readOnly or readWrite.")
        var permission: PermissionChoice

        @OptionGroup var secret: URLArguments
        @OptionGroup var deed: DeedArguments
        @OptionGroup var store: StoreArguments
        @OptionGroup var zone: ZoneArguments
        @OptionGroup var acting: ActingArguments

        func run() throws {
            let permission = self.permission.permission
            try ShareEdit(record: record, verb: self, secret: secret).run(unless: isStopped) {
                shareID, container, _ in
                try await container.setPublicPermission(permission, of: shareID)
            }
        }

        /// Whether the change would remove people and the user does not confirm it. Does not ask if it removes no one.
        private func isStopped(_ session: StoreSession, _ name: RecordName, _ console: Console) throws -> Bool {
            let id = try session.zone(zone)
            let content = try session.read(id) { try $0.shareContent(name) }
            guard let content else { return false }
            let isClosing = permission == .none
            let removed = content.participants.count {
                isClosing ? $0.role == .publicUser : $0.role != .owner && $0.status == .pending
            }
            guard removed > 0 || deed.dryRun else { return false }
            var what = "give share \(name.text) the public permission \(permission.rawValue)"
            let whom = isClosing ? "participation" : "invitation"
            if removed > 0 { what += ", which ends \(Quantities.count(removed, whom))" }
            let details: JSONObject = ["share": name.text, "participants": removed]
            return try !deed.mayDo(what, details, console)
        }
    }

    struct StopShare: PlaceCommand {
        static let configuration = CommandConfiguration(
            commandName: "stop",
            abstract: "Stops a share: only the owner sees its records from then on.",
            discussion: """
                The records stay.

                --json: {"share","root","participants","cost":{…}}; with --dry-run {"dryRun","would",…}

                Example: stratus share stop /share/doc --force --store ./store
                """)

        @Argument(help: "The share, by its record name, or its root.")
        var record: RecordArgument

        @OptionGroup var deed: DeedArguments
        @OptionGroup var store: StoreArguments
        @OptionGroup var zone: ZoneArguments
        @OptionGroup var acting: ActingArguments

        func run() throws {
            try StoreSession.with(store.at(record.place), .existingAsClient) { session, console in
                let id = try session.zone(zone)
                // If a participant deletes a share, they leave it.
                try session.requireOwner(
                    acting, of: id,
                    "Only the owner can stop a share. To leave it, use 'stratus participants leave'.")
                let found = try session.read(id) { zone in
                    let name = try zone.resolve(record, console)
                    let found = try zone.share(of: name)
                    guard name == found.name || name == found.content.root else {
                        throw ToolError(
                            .refused, "The record is not the root of its share: name the share or its root.",
                            [
                                "record": name.text, "share": found.name.text,
                                "root": found.content.root?.text ?? "the whole zone",
                            ])
                    }
                    return found
                }
                let others = found.content.participants.count - 1
                let object: JSONObject = [
                    "share": found.name.text, "root": found.content.root?.text, "participants": others + 1,
                ]
                let what = "share \(found.name.text) with \(Quantities.count(others, "other participant"))"
                guard try deed.mayDo("stop \(what)", object, console) else { return }
                let client = try session.client(of: id, acting)
                let (_, cost) = try StepCost.measuring(session) { try client.delete([found.name]) }
                try console.line("stopped \(VisibleText.of(what))")
                try console.line(cost.summary)
                try console.object(object + ["cost": cost.object])
            }
        }
    }
}
