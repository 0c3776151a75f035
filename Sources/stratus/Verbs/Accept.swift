// stratus accept and stratus invite: how people come into a share.

import ArgumentParser
import Foundation
import StratusKit

struct Accept: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Accepts a share by its URL for a person.",
        discussion: """
            The URL is a secret, and other users of this machine can see arguments: write '-' to read it from standard \
            input.

            --json: {"user","share","root","owner","container","zone","role","permission","status"}

            Example: echo "$URL" | stratus accept - --as bob@example.com --store ./store
            """)

    @Argument(help: ArgumentHelp("The share's URL, or '-' to read it from standard input.", valueName: "url"))
    var url: String

    @Option(name: .customLong("as"), help: PersonArgument.help)
    var person: PersonArgument

    @OptionGroup var store: WholeStoreArguments

    func run() throws {
        // 'stratus share show --url' indents it.
        let text = (url == "-" ? readLine() ?? "" : url).trimmingCharacters(in: .whitespaces)
        guard let url = URL(string: text), url.scheme != nil else {
            throw ToolError(.usage, "This is not a URL: 'stratus share show --url' shows the URL of a share.")
        }
        try StoreSession.with(store, .existingAsClient) { session, console in
            let account = try session.hostAccount(person)
            let metadata = try session.host.open(url, as: account)
            let share = metadata.share.recordID
            let (role, permission) = (metadata.participantRole, metadata.participantPermission)
            try console.line(
                "\(VisibleText.of(person.text)) takes part in share \(VisibleText.of(share.recordName)) as \(role), "
                    + "\(permission)")
            try console.object([
                "user": account.userRecordName, "share": share.recordName,
                "root": metadata.hierarchicalRootRecordID?.recordName,
                "owner": metadata.ownerIdentity.userRecordID?.recordName, "container": metadata.containerIdentifier,
                "zone": share.zoneID.zoneName, "role": "\(role)", "permission": "\(permission)",
                "status": "\(metadata.participantStatus)",
            ])
        }
    }
}

struct Invite: PlaceCommand {
    static let configuration = CommandConfiguration(
        abstract: "Invites people to a share. Creates the share if the record has none.",
        discussion: """
            The tool sends no mail: give people the URL that --url shows. Name a person without an account by an \
            e-mail address or a telephone number.

            --json: as 'stratus share show', and "url" with --url.

            Example: stratus invite /share/doc bob@example.com --permission readWrite --url --store ./store
            """)

    @Argument(help: "A shared record, or the record that becomes the root of a new share.")
    var record: RecordArgument

    @Argument(help: PersonArgument.help)
    var people: [PersonArgument]

    @Option(help: "The permission of the invited people: none, readOnly or readWrite.")
    var permission = PermissionChoice.readOnly

    @Option(help: "privateUser, or administrator for people who may invite others.")
    var role = RoleChoice.privateUser

    @OptionGroup var secret: URLArguments
    @OptionGroup var store: StoreArguments
    @OptionGroup var zone: ZoneArguments
    @OptionGroup var acting: ActingArguments

    func run() throws {
        let (permission, role) = (self.permission.permission, self.role.role)
        try ShareEdit(record: record, verb: self, secret: secret).run(creating: true, looking: people) {
            shareID, container, lookups in
            try await container.invite(lookups, to: shareID, permission: permission, role: role)
        }
    }
}
