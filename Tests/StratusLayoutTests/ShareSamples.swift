// Fixed samples of the values of shares. Their secrets are bytes that occur nowhere else, so that a line or an error
// that shows one can be detected.

import FoundationEssentials
import StratusLayout
import StratusModel

extension LayoutSamples {
    /// The secret of a share's URL, and of a one-time URL: each byte of them is the same.
    static let secretBytes: [UInt8] = [0xE7, 0xE9]
    static let token = secret(secretBytes[0])
    static let oneTimeToken = secret(secretBytes[1])

    private static func secret(_ byte: UInt8) -> ShareToken {
        guard let token = ShareToken(bytes: [UInt8](repeating: byte, count: ShareToken.byteCount)) else {
            preconditionFailure("A secret has 16 bytes.")
        }
        return token
    }

    private static let owner = ShareParticipant(
        id: "p-owner", role: .owner, permission: .readWrite, status: .accepted, user: "_alice", added: stamp.date)

    static let smallShare = ShareContent(root: nil, token: token, participants: [owner])

    static let fullShare = ShareContent(
        root: "folder", token: token, publicPermission: .readOnly, allowsAccessRequests: true,
        participants: [
            owner,
            ShareParticipant(
                id: "p-1", role: .administrator, permission: .readWrite, status: .accepted,
                invitation: .handle(.email("bob@example.com")), user: "_bob", added: stamp.date + 1,
                isApprovedRequester: true),
            ShareParticipant(
                id: "p-2", role: .privateUser, permission: .readOnly, status: .pending,
                invitation: .oneTime(oneTimeToken), added: stamp.date + 2),
            ShareParticipant(
                id: "p-3", role: .privateUser, permission: .none, status: .pending, invitation: .userRecord,
                user: "_carol", added: stamp.date + 3),
            ShareParticipant(
                id: "p-4", role: .publicUser, permission: .readOnly, status: .accepted, user: "_dave",
                added: stamp.date + 4),
            ShareParticipant(
                id: "p-5", role: .privateUser, permission: .readWrite, status: .pending,
                invitation: .handle(.phone("+4930123")), added: stamp.date + 5),
        ],
        requesters: [
            SharePetitioner(id: "p-6", user: "_erin", handle: .phone("+4930124"), date: stamp.date),
            SharePetitioner(id: "p-7", user: "_faythe", handle: nil, date: stamp.date),
        ],
        blocked: [SharePetitioner(id: "p-8", user: "_grace", handle: .email("g@example.com"), date: stamp.date)])

    /// The values of shares that are stored in a field of a record, and under no key of their own.
    static let shareContents = [ShareContentEntry(smallShare), ShareContentEntry(fullShare)]

    /// A record as a share is stored.
    static let shareRecord = StoredRecord(
        record: Record(
            name: "Share-1", type: ShareContent.recordType,
            fields: [
                ShareContent.fieldKey: Field(.bytes(ShareContentEntry(fullShare).encoded())),
                "cloudkit.title": Field(.string("Plans")),
            ]),
        system: SystemFields(
            changeSequence: 1, tagSalt: 0, created: stamp, modified: stamp))

    private static let smallEvent = ShareTrailEvent(
        date: stamp.date, actor: "_alice", kind: .shared, share: "cloudkit.zoneshare", root: nil)
    private static let fullEvent = {
        var event = ShareTrailEvent(
            date: stamp.date, actor: "_alice", kind: .permissionChanged, share: "Share-1", root: "folder")
        event.participant = "p-1"
        event.user = "_bob"
        event.handle = .email("bob@example.com")
        (event.oldPermission, event.newPermission) = (.readOnly, .readWrite)
        (event.oldRole, event.newRole) = (.privateUser, .administrator)
        return event
    }()

    /// Values of shares, each with its key.
    static let shareValues: [(key: [UInt8], value: any LayoutValue)] = [
        (
            GlobalKeys.shareURL(digest),
            ShareURLEntry(
                container: "iCloud.com.example", owner: "_alice", zone: "Notes", zoneIdentity: first, share: "Share-1")
        ),
        (
            GlobalKeys.shareURL([UInt8](repeating: 1, count: 32)),
            ShareURLEntry(
                container: "iCloud.com.example", owner: "_alice", zone: "Notes", zoneIdentity: second,
                share: "cloudkit.zoneshare", participant: "p-2")
        ),
        (
            GlobalKeys.acceptance(user: "_bob", zone: first, share: "Share-1"),
            AcceptanceEntry(
                container: "iCloud.com.example", owner: "_alice", zone: "Notes", role: .administrator,
                permission: .readWrite, participant: "p-1", since: 300, date: stamp.date)
        ),
        (zone.shareToken("folder"), ShareTokenEntry(token: token)),
        (zone.shareEvent(sequence: 1, index: 0), ShareEventEntry(smallEvent)),
        (zone.shareEvent(sequence: 300, index: 1), ShareEventEntry(fullEvent)),
        (zone.endedAcceptance(user: "_bob", ended: 12, share: "Share-1"), EndedPeriodEntry(began: 5)),
        (zone.clientToken(of: "_bob"), ClientTokenEntry(sequence: 300, data: [1, 0, 255])),
        (GlobalKeys.tokenSecret(), TokenSecretEntry(secret: [UInt8](repeating: secretBytes[0], count: 32))),
    ]
}
