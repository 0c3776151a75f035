// stratus invite: people are invited to a share.

import ArgumentParser
import StratusKit
import StratusModel
import StratusRecords

struct Invite: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Invites people to a share, which is made where there is none.",
        discussion: """
            Whoever is invited gets no mail by this tool: hand them the URL that --url shows. Somebody without an account \
            is invited by an address.

            --json: as 'stratus share show', and "url" with --url.

            Example: stratus invite /share/doc bob@example.com --permission readWrite --url --store ./store
            """)

    @Argument(help: "A record that is shared already, or that becomes the root of a share.")
    var record: RecordAddress

    @Argument(help: PersonAddress.help)
    var people: [PersonAddress]

    @Option(help: "What they may do: none, readOnly or readWrite.")
    var permission = PermissionChoice.readOnly

    @Option(help: "privateUser, or administrator for those who may invite others.")
    var role = RoleChoice.privateUser

    @OptionGroup var secret: URLArguments
    @OptionGroup var store: StoreArguments
    @OptionGroup var zone: ZoneArguments
    @OptionGroup var acting: ActingArguments

    func run() throws {
        let (permission, role) = (self.permission.permission, self.role.role)
        let change = ShareChange(record, store, zone, acting, secret)
        try change.run(creating: true, looking: people) { host, shareID, container, lookups in
            try await host.invite(lookups, to: shareID, in: container, permission: permission, role: role)
        }
    }
}
