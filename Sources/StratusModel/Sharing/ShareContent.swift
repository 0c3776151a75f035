// What a share holds beside the fields that anybody may give it: who takes part, and how. Only the server writes it.
//
// Invariants: exactly one participant is the owner, and stands first; no two participants are the same person; nobody is
// both a participant and a requester or blocked; a requester is not blocked.

package import FoundationEssentials

/// The name of a participant within its share: opaque, drawn once.
package struct ParticipantID: ByteComparedName {
    package let text: String
    package init(_ text: String) { self.text = text }
}

/// What a participant is to a share. The raw values are stored; they are the client's own and never change (P-04).
package enum ParticipantRole: UInt8, Hashable, Codable, Sendable, CaseIterable {
    case owner = 1
    case administrator = 2
    /// Somebody who was invited.
    case privateUser = 3
    /// Somebody who came by the link of a public share.
    case publicUser = 4
}

/// What a participant may do with shared records. The raw values are stored; they are the client's own and never change.
package enum ParticipantPermission: UInt8, Hashable, Codable, Sendable, CaseIterable {
    /// Nothing: the person is listed and sees nothing (P-09).
    case none = 1
    case readOnly = 2
    case readWrite = 3
}

/// Whether a participant has accepted. The raw values are stored; they are the client's own and never change (P-02). Those
/// who were removed are not kept.
package enum AcceptanceStatus: UInt8, Hashable, Codable, Sendable, CaseIterable {
    case pending = 1
    case accepted = 2
}

/// How a participant was invited.
package enum Invitation: Hashable, Sendable {
    /// By an address, in its normalised form.
    case handle(Handle)
    /// By their user record, which `ShareParticipant.user` names.
    case userRecord
    /// By a link that whoever comes first may use (P-16).
    case oneTime(ShareToken)
}

/// Somebody who takes part in a share, or is invited to.
package struct ShareParticipant: Hashable, Sendable {
    package var id: ParticipantID
    package var role: ParticipantRole
    /// Of public users the share's public permission.
    package var permission: ParticipantPermission
    package var status: AcceptanceStatus
    /// Nil for the owner and for public users.
    package var invitation: Invitation?
    /// The person, once they are known: the owner, everybody who has accepted, those who were invited by user record.
    package var user: UserName?
    package var added: Date
    /// Whether the person had asked for access (P-20).
    package var isApprovedRequester: Bool

    package init(
        id: ParticipantID, role: ParticipantRole, permission: ParticipantPermission, status: AcceptanceStatus,
        invitation: Invitation? = nil, user: UserName? = nil, added: Date, isApprovedRequester: Bool = false
    ) {
        self.id = id
        self.role = role
        self.permission = permission
        self.status = status
        self.invitation = invitation
        self.user = user
        self.added = added
        self.isApprovedRequester = isApprovedRequester
    }
}

/// Somebody who asks for access, or may not ask any more (P-20).
package struct SharePetitioner: Hashable, Sendable {
    package var id: ParticipantID
    package var user: UserName
    /// By what the owner may invite the person.
    package var handle: Handle?
    /// When the person asked, or was blocked.
    package var date: Date

    package init(id: ParticipantID, user: UserName, handle: Handle?, date: Date) {
        self.id = id
        self.user = user
        self.handle = handle
        self.date = date
    }
}

/// What the server keeps of a share.
package struct ShareContent: Hashable, Sendable {
    /// The type of every share's record (SH-02).
    package static let recordType: RecordType = "cloudkit.share"
    /// The only name of the share of a whole zone (C-13).
    package static let zoneWideName: RecordName = "cloudkit.zoneshare"
    /// The field of the share's record under which it is stored. No client can name it (L-09).
    package static let fieldKey: FieldKey = "___sharing"

    /// The root of a hierarchical share; nil for one of a whole zone.
    package var root: RecordName?
    /// The secret of the share's URL, the same for the same root for ever.
    package var token: ShareToken
    package var publicPermission: ParticipantPermission
    package var allowsAccessRequests: Bool
    /// The owner first, then in the order in which they came.
    package var participants: [ShareParticipant]
    package var requesters: [SharePetitioner]
    package var blocked: [SharePetitioner]

    package init(
        root: RecordName?, token: ShareToken, publicPermission: ParticipantPermission = .none,
        allowsAccessRequests: Bool = false, participants: [ShareParticipant], requesters: [SharePetitioner] = [],
        blocked: [SharePetitioner] = []
    ) {
        self.root = root
        self.token = token
        self.publicPermission = publicPermission
        self.allowsAccessRequests = allowsAccessRequests
        self.participants = participants
        self.requesters = requesters
        self.blocked = blocked
    }
}
