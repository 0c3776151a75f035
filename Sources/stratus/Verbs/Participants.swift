// stratus participants: lists, changes and removes the participants of a share.

import ArgumentParser
import StratusKit
import StratusModel
import StratusRecords

struct Participants: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists, changes and removes the participants of a share.",
        discussion: "Example: stratus participants /share/doc --store ./store",
        subcommands: [ListParticipants.self, ChangeParticipant.self, RemoveParticipant.self, LeaveShare.self],
        defaultSubcommand: ListParticipants.self)

    private static let shareHelp: ArgumentHelp = "The share, by its record name, or a record in it."

    struct ListParticipants: PlaceCommand {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "Lists the participants of a share, the owner first.",
            discussion: """
                With --as it lists the participants that the person may see.

                --json: one line per participant: {"id","user","externalID","handle","as","permission","status","added"}

                Example: stratus participants list /share/doc --store ./store
                """)

        @Argument(help: Participants.shareHelp)
        var record: RecordArgument

        @OptionGroup var store: StoreArguments
        @OptionGroup var zone: ZoneArguments
        @OptionGroup var acting: ActingArguments

        func run() throws {
            try StoreSession.with(store.at(record.place), acting.opening) { session, console in
                let id = try session.zone(zone)
                let sight = try session.sight(of: id, acting)
                try session.engine.read { reader in
                    let zone = try reader.knownZone(id)
                    let content = try zone.share(of: zone.resolve(record, sight, console)).content
                    let people = People(reader: reader, viewer: sight.viewer)
                    for one in sight.seen(content).participants {
                        let (role, permission) = ("\(one.role)", "\(one.permission)")
                        try console.line(
                            "\(try people.title(of: one.user, one))  \(role), \(permission), \(one.status) "
                                + "since \(Quantities.date(one.added))")
                        let person = try people.object(of: one.user, one, role: role, permission: permission)
                        try console.object(
                            ["id": one.id.text] + person
                                + ["status": "\(one.status)", "added": Quantities.timestamp(one.added)])
                    }
                }
            }
        }
    }

    struct ChangeParticipant: PlaceCommand {
        static let configuration = CommandConfiguration(
            commandName: "change",
            abstract: "Changes the permission or the role of a participant.",
            discussion: """
                --json: as 'stratus share show'.

                Example: stratus participants change /share/doc bob@example.com --permission readOnly --store ./store
                """)

        @Argument(help: Participants.shareHelp)
        var record: RecordArgument

        @Argument(help: PersonArgument.help)
        var person: PersonArgument

        @Option(help: "The permission: none, readOnly or readWrite.")
        var permission: PermissionChoice?

        @Option(help: "privateUser, or administrator for people who may invite others.")
        var role: RoleChoice?

        @OptionGroup var store: StoreArguments
        @OptionGroup var zone: ZoneArguments
        @OptionGroup var acting: ActingArguments

        func validate() throws {
            guard permission != nil || role != nil else { throw ValidationError("Give --permission or --role.") }
        }

        func run() throws {
            let (permission, role) = (self.permission?.permission, self.role?.role)
            try ShareEdit(record: record, verb: self).run(naming: person) { _, participant in
                if let permission { participant.permission = permission }
                if let role { participant.role = role }
            }
        }
    }

    struct RemoveParticipant: PlaceCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove",
            abstract: "Removes a person from a share.",
            discussion: """
                --json: as 'stratus share show'; with --dry-run {"dryRun","would",…}

                Example: stratus participants remove /share/doc bob@example.com --force --store ./store
                """)

        @Argument(help: Participants.shareHelp)
        var record: RecordArgument

        @Argument(help: PersonArgument.help)
        var person: PersonArgument

        @OptionGroup var deed: DeedArguments
        @OptionGroup var store: StoreArguments
        @OptionGroup var zone: ZoneArguments
        @OptionGroup var acting: ActingArguments

        func run() throws {
            try ShareEdit(record: record, verb: self).run(
                naming: person,
                unless: {
                    try ShareEdit.requireGuest(person, in: $1, of: zone, $0)
                    let what = "remove \(person.text) from the share of \(record.text)"
                    return try !deed.mayDo(what, ["record": record.text, "person": person.text], $2)
                }
            ) { $0.removeParticipant($1) }
        }
    }

    struct LeaveShare: PlaceCommand {
        static let configuration = CommandConfiguration(
            commandName: "leave",
            abstract: "Leaves a share on behalf of a participant.",
            discussion: """
                --json: as 'stratus share show'; with --dry-run {"dryRun","would",…}

                Example: stratus participants leave /share/doc --as bob@example.com --force --store ./store
                """)

        @Argument(help: Participants.shareHelp)
        var record: RecordArgument

        @OptionGroup var deed: DeedArguments
        @OptionGroup var store: StoreArguments
        @OptionGroup var zone: ZoneArguments
        @OptionGroup var acting: ActingArguments

        func validate() throws {
            guard acting.person != nil else { throw ValidationError("Name the person who leaves with --as.") }
        }

        func run() throws {
            guard let person = acting.person else { return }
            try ShareEdit(record: record, verb: self).run(
                unless: {
                    try ShareEdit.requireGuest(person, in: $1, of: zone, $0)
                    let what = "leave the share of \(record.text) for \(person.text)"
                    return try !deed.mayDo(what, ["record": record.text, "person": person.text], $2)
                }
            ) { shareID, container, _ in
                try await container.sharedCloudDatabase.deleteRecord(withID: shareID)
            }
        }
    }
}
