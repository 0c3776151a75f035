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

// What happened to a share, for its owner to look up: who did what to whom, and when.

/// What happened to a share. The raw values are stored; they never change.
package enum ShareEventKind: UInt8, Hashable, Sendable, CaseIterable {
    /// The share was made.
    case shared = 1
    /// The share was deleted: nobody but the owner sees anything by it any more.
    case stopped = 2
    case invited = 3
    /// Somebody accepted, or came by the link of a public share.
    case joined = 4
    /// Somebody left of their own accord, or deleted their account.
    case left = 5
    case removed = 6
    case permissionChanged = 7
    case roleChanged = 8
    case publicPermissionChanged = 9
    case accessRequested = 10
    case requestDenied = 11
    case blocked = 12
    case unblocked = 13
}

/// One thing that happened to a share.
package struct ShareEvent: Hashable, Sendable {
    package var date: Date
    /// Who did it.
    package var actor: UserName
    package var kind: ShareEventKind
    package var share: RecordName
    /// Nil for a share of a whole zone.
    package var root: RecordName?
    /// Whom it was done to, where it concerns one person: their entry in the share, who they are, or how they were
    /// invited, as far as it was known then.
    package var participant: ParticipantID?
    package var user: UserName?
    package var handle: Handle?
    /// What changed, where it was a permission (the share's own where the public permission changed) or a role.
    package var oldPermission: ParticipantPermission?
    package var newPermission: ParticipantPermission?
    package var oldRole: ParticipantRole?
    package var newRole: ParticipantRole?

    package init(
        date: Date, actor: UserName, kind: ShareEventKind, share: RecordName, root: RecordName?,
        participant: ParticipantID? = nil, user: UserName? = nil, handle: Handle? = nil,
        oldPermission: ParticipantPermission? = nil, newPermission: ParticipantPermission? = nil,
        oldRole: ParticipantRole? = nil, newRole: ParticipantRole? = nil
    ) {
        self.date = date
        self.actor = actor
        self.kind = kind
        self.share = share
        self.root = root
        self.participant = participant
        self.user = user
        self.handle = handle
        self.oldPermission = oldPermission
        self.newPermission = newPermission
        self.oldRole = oldRole
        self.newRole = newRole
    }
}

// The secret part of a share's URL: 128 bits that nobody can guess.
//
// Invariant: its text is 22 characters of the URL-safe base 64 alphabet, and no other text is the same token.

/// The secret of a share's URL or of a participant's one-time URL. Its description does not show it.
package struct ShareToken: Hashable, Sendable, CustomStringConvertible {
    package static let byteCount = 16
    package let bytes: [UInt8]

    /// A token of 16 bytes from the system's generator; nil for another number of them.
    package init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    /// The token that a URL shows; nil for a text that is none.
    package init?(text: String) {
        let digits = Array(text.utf8)
        guard digits.count == 22 else { return nil }
        var bytes: [UInt8] = []
        var bits: UInt32 = 0
        var bitCount = 0
        for digit in digits {
            guard let value = Self.alphabet.firstIndex(of: digit) else { return nil }
            bits = bits << 6 | UInt32(value)
            bitCount += 6
            if bitCount >= 8 {
                bitCount -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(bitCount)))
            }
        }
        // 22 digits hold four bits more than 16 bytes: they are zero in the only text that is written.
        guard bits & 0b1111 == 0 else { return nil }
        self.init(bytes: bytes)
    }

    /// The token as a URL shows it.
    package var text: String {
        var text = ""
        var bits: UInt32 = 0
        var bitCount = 0
        for byte in bytes + [0, 0] {
            bits = bits << 8 | UInt32(byte)
            bitCount += 8
            while bitCount >= 6, text.utf8.count < 22 {
                bitCount -= 6
                text.unicodeScalars.append(Unicode.Scalar(Self.alphabet[Int(bits >> UInt32(bitCount) & 0x3F)]))
            }
        }
        return text
    }

    /// Whether two tokens are the same, in a time that says nothing of where they differ.
    package func isSame(as other: ShareToken) -> Bool {
        var difference: UInt8 = 0
        for (own, others) in zip(bytes, other.bytes) { difference |= own ^ others }
        return difference == 0
    }

    package var description: String { "secret" }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
}
