// stratus who: lists the people who can see a record, with their permissions.

import ArgumentParser
import StratusCloud
import StratusModel
import StratusRecords
import StratusStore

struct Who: PlaceCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists the people who can see a record, with their permissions.",
        discussion: """
            The verb asks the server's own rules; 'stratus explain' shows the reasons. Invited people see nothing \
            before they accept. With --as it lists the people that the person may see.

            --json: {"record","share","root","publicPermission","viewers":[{"user","externalID","handle","as",\
            "permission"}],"excluded":[…],"invited":[…],"everybody","everybodyWithAccount"}; as is owner, \
            creator, administrator, privateUser or publicUser, and the last two are null outside public databases.

            Example: stratus who /share/doc/README --store ./store
            """)

    @Argument(help: RecordArgument.help)
    var record: RecordArgument

    @OptionGroup var store: StoreArguments
    @OptionGroup var zone: ZoneArguments
    @OptionGroup var acting: ActingArguments

    func run() throws {
        try StoreSession.with(store.at(record.place), .readingAsClient) { session, console in
            let id = try session.zone(zone)
            let sight = try session.sight(of: id, acting)
            let name = try session.read(id) { try $0.resolve(record, sight, console) }
            var audience = try session.service.audience(of: name, in: id)
            if let share = audience.share, !sight.isWhole {
                let content = try session.read(id) { try $0.shareContent(share) }
                audience = content.map { sight.seen(audience, $0) } ?? audience
            }
            try session.engine.read(.wholeStore) { reader in
                try show(audience, of: name, id, People(reader: reader, viewer: sight.viewer), console)
            }
        }
    }

    private func show(
        _ audience: RecordAudience, of name: RecordName, _ zone: ZoneID, _ people: People, _ console: Console
    ) throws {
        let alone = zone.database.scope == .public ? "creator" : "owner"
        for viewer in audience.viewers {
            let role = viewer.participant.map { "\($0.role)" } ?? alone
            let may = Self.text(viewer.permissions)
            try console.line("\(try people.title(of: viewer.user, viewer.participant))  \(role), may \(may)")
        }
        for one in audience.excluded {
            try console.line("\(try people.title(of: one.user, one))  participates, but has no access now")
        }
        for one in audience.invited {
            try console.line("\(try people.title(of: one.user, one))  invited as \(one.role), has not accepted")
        }
        if zone.database.scope == .public {
            try console.line(
                "anyone may \(Self.text(audience.world)); "
                    + "anyone with an account may \(Self.text(audience.anyUser))")
        } else if let share = audience.share {
            let subject = audience.root.map { "with the root \(VisibleText.of($0.text))" } ?? "of the whole zone"
            try console.line("by the share \(VisibleText.of(share.text)) \(subject)")
            if audience.publicPermission != .none {
                try console.line("anyone with its URL may join with the permission \(audience.publicPermission)")
            }
        } else {
            try console.line("it is in no share")
        }
        try console.object(object(of: audience, name, alone: alone, people))
    }

    private func object(
        of audience: RecordAudience, _ name: RecordName, alone: String, _ people: People
    ) throws -> JSONObject {
        func array(_ participants: [ShareParticipant]) throws -> [JSONObject] {
            try participants.map {
                try people.object(of: $0.user, $0, role: "\($0.role)", permission: "\($0.permission)")
            }
        }
        let isPublic = audience.world.union(audience.anyUser) != []
        return [
            "record": name.text, "share": audience.share?.text, "root": audience.root?.text,
            "publicPermission": "\(audience.publicPermission)",
            "viewers": try audience.viewers.map { viewer in
                try people.object(
                    of: viewer.user, viewer.participant, role: viewer.participant.map { "\($0.role)" } ?? alone,
                    permission: viewer.permissions.contains(.write) ? "readWrite" : "readOnly")
            },
            "excluded": try array(audience.excluded), "invited": try array(audience.invited),
            "everybody": isPublic ? Self.text(audience.world) : nil,
            "everybodyWithAccount": isPublic ? Self.text(audience.anyUser) : nil,
        ]
    }

    private static func text(_ permissions: TypePermissions) -> String {
        let words = [(TypePermissions.read, "read"), (.create, "create"), (.write, "write")]
        let granted = words.filter { permissions.contains($0.0) }.map(\.1)
        return granted.isEmpty ? "do nothing" : granted.joined(separator: ", ")
    }
}
