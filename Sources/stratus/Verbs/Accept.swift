// stratus accept: a share is accepted by its URL, as a tap on it does.

import ArgumentParser
import Foundation
import StratusKit
import StratusModel
import StratusRecords

struct Accept: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Accepts a share by its URL for a person.",
        discussion: """
            The URL is a secret that other users of this machine may see among the arguments: with '-' it is read from \
            standard input.

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
            throw ToolError(.usage, "This is no URL: 'stratus share show --url' shows a share's.")
        }
        try StoreSession.with(store, .existingAsClient) { session, console in
            let account = try session.hostAccount(person)
            let told = try session.host.open(url, as: account)
            let share = told.share.recordID
            let role = ShareWords.text(told.participantRole)
            let permission = ShareWords.text(told.participantPermission)
            try console.line(
                "\(VisibleText.of(person.text)) takes part in share \(VisibleText.of(share.recordName)) as \(role), "
                    + permission)
            try console.object([
                "user": .string(account.userRecordName), "share": .string(share.recordName),
                "root": JSONValue(told.hierarchicalRootRecordID?.recordName),
                "owner": JSONValue(told.ownerIdentity.userRecordID?.recordName),
                "container": .string(told.containerIdentifier), "zone": .string(share.zoneID.zoneName),
                "role": .string(role), "permission": .string(permission),
                "status": .string(ShareWords.text(told.participantStatus)),
            ])
        }
    }
}

// stratus invite: people are invited to a share.

struct Invite: PlaceCommand {
    static let configuration = CommandConfiguration(
        abstract: "Invites people to a share, which is made where there is none.",
        discussion: """
            Whoever is invited gets no mail by this tool: hand them the URL that --url shows. Somebody without an account \
            is invited by an address.

            --json: as 'stratus share show', and "url" with --url.

            Example: stratus invite /share/doc bob@example.com --permission readWrite --url --store ./store
            """)

    @Argument(help: "A record that is shared already, or that becomes the root of a share.")
    var record: RecordArgument

    @Argument(help: PersonArgument.help)
    var people: [PersonArgument]

    @Option(help: "What they may do: none, readOnly or readWrite.")
    var permission = PermissionChoice.readOnly

    @Option(help: "privateUser, or administrator for those who may invite others.")
    var role = RoleChoice.privateUser

    @OptionGroup var secret: URLArguments
    @OptionGroup var place: PlaceArguments

    func run() throws {
        let (permission, role) = (self.permission.permission, self.role.role)
        let change = ShareEdit(record, store, zone, acting, secret)
        try change.run(creating: true, looking: people) { host, shareID, container, lookups in
            try await host.invite(lookups, to: shareID, in: container, permission: permission, role: role)
        }
    }
}
