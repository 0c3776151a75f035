// The content of a share that only the server writes: who takes part, and how. And the events of a share, and the
// secret of its URL.
//
// Invariants: exactly one participant is the owner, and is the first; no two participants are the same person; no
// person is both a participant and a requester or blocked; a requester is not blocked.

package import FoundationEssentials

/// The name of a participant within its share: opaque and random.
package struct ParticipantID: ByteComparedName {
    package let text: String
    package init(_ text: String) { self.text = text }
}

/// The role of a participant. The raw values are stored; they equal the client's and never change (P-04).
package enum ParticipantRole: UInt8, Hashable, Codable, Sendable, CaseIterable {
    case owner = 1
    case administrator = 2
    /// A person who was invited.
    case privateUser = 3
    /// A person who came by the link of a public share.
    case publicUser = 4
}

/// The permission of a participant for shared records. The raw values are stored; they equal the client's and never
/// change.
package enum ParticipantPermission: UInt8, Hashable, Codable, Sendable, CaseIterable {
    /// The participant is listed and sees nothing (P-09).
    case none = 1
    case readOnly = 2
    case readWrite = 3
}

/// Whether a participant has accepted. The raw values are stored; they equal the client's and never change (P-02).
/// Removed participants are not stored.
package enum AcceptanceStatus: UInt8, Hashable, Codable, Sendable, CaseIterable {
    case pending = 1
    case accepted = 2
}

/// How a participant was invited.
package enum ParticipantInvitation: Hashable, Sendable {
    /// By an address, in its normalised form.
    case handle(Handle)
    /// By their user record, which `ShareParticipant.user` names.
    case userRecord
    /// By a link that the first person to open it can use (P-16).
    case oneTime(ShareToken)
}

/// A person who takes part in a share, or is invited to.
package struct ShareParticipant: Hashable, Sendable {
    package var id: ParticipantID
    package var role: ParticipantRole
    /// For public users this is the share's public permission.
    package var permission: ParticipantPermission
    package var status: AcceptanceStatus
    /// Nil for the owner and for public users.
    package var invitation: ParticipantInvitation?
    /// The person, once known: the owner, everyone who has accepted, everyone who was invited by user record.
    package var user: UserName?
    package var added: Date
    /// Whether the person had requested access (P-20).
    package var isApprovedRequester: Bool

    package init(
        id: ParticipantID, role: ParticipantRole, permission: ParticipantPermission, status: AcceptanceStatus,
        invitation: ParticipantInvitation? = nil, user: UserName? = nil, added: Date, isApprovedRequester: Bool = false
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

/// A person who requests access, or can no longer request it (P-20).
package struct SharePetitioner: Hashable, Sendable {
    package var id: ParticipantID
    package var user: UserName
    /// The address by which the owner can invite the person.
    package var handle: Handle?
    /// The time of the request or the block.
    package var date: Date

    package init(id: ParticipantID, user: UserName, handle: Handle?, date: Date) {
        self.id = id
        self.user = user
        self.handle = handle
        self.date = date
    }
}

/// The content of a share that only the server writes.
package struct ShareContent: Hashable, Sendable {
    /// The type of every share's record (SH-02).
    package static let recordType: RecordType = "cloudkit.share"
    /// The only name of the share of a whole zone (C-13).
    package static let zoneWideName: RecordName = "cloudkit.zoneshare"
    /// The field of the share's record that stores the content. No client can name it (L-09).
    package static let fieldKey: FieldKey = "___sharing"

    /// The root of a hierarchical share; nil for one of a whole zone.
    package var root: RecordName?
    /// The secret of the share's URL. It never changes for a root.
    package var token: ShareToken
    package var publicPermission: ParticipantPermission
    package var allowsAccessRequests: Bool
    /// The owner first, then in the order of their addition.
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

/// The kind of an event. The raw values are stored; they never change.
package enum ShareEventKind: UInt8, Hashable, Sendable, CaseIterable {
    /// The share was created.
    case shared = 1
    /// The share was deleted: only the owner still sees its records.
    case stopped = 2
    case invited = 3
    /// A person accepted, or came by the link of a public share.
    case joined = 4
    /// A participant left, or deleted their account.
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

/// An event of a share, for its owner to look up: who did what to whom, and when.
package struct ShareTrailEvent: Hashable, Sendable {
    package var date: Date
    /// The user who did it.
    package var actor: UserName
    package var kind: ShareEventKind
    package var share: RecordName
    /// Nil for a share of a whole zone.
    package var root: RecordName?
    /// The person it was done to, if it concerns one person: their entry in the share, their user name, or the address
    /// of their invitation, as far as known then.
    package var participant: ParticipantID?
    package var user: UserName?
    package var handle: Handle?
    /// The change of a permission (the share's own if the public permission changed) or of a role.
    package var oldPermission: ParticipantPermission?
    package var newPermission: ParticipantPermission?
    package var oldRole: ParticipantRole?
    package var newRole: ParticipantRole?

    package init(date: Date, actor: UserName, kind: ShareEventKind, share: RecordName, root: RecordName?) {
        self.date = date
        self.actor = actor
        self.kind = kind
        self.share = share
        self.root = root
    }
}

/// The secret of a share's URL or of a participant's one-time URL: 128 random bits. Its description does not show it.
///
/// Invariant: its text is 22 characters of the URL-safe base 64 alphabet, and no other text is the same token.
package struct ShareToken: Hashable, Sendable, CustomStringConvertible {
    package static let byteCount = 16
    package let bytes: [UInt8]

    /// A token of 16 bytes from the system's generator; nil for another number of bytes.
    package init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    /// The token in a URL; nil for any other text.
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
        // 22 digits hold four bits more than 16 bytes. They are zero in the canonical text.
        guard bits & 0b1111 == 0 else { return nil }
        self.init(bytes: bytes)
    }

    /// The text of the token in a URL.
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

    /// Whether two tokens are the same, in a time that does not depend on where they differ.
    package func isSame(as other: ShareToken) -> Bool {
        var difference: UInt8 = 0
        for (own, others) in zip(bytes, other.bytes) { difference |= own ^ others }
        return difference == 0
    }

    package var description: String { "secret" }

    /// The alphabet of URLs. Foundation writes the standard one, and a conversion costs more than the loops above.
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
}
