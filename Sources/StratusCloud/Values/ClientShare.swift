// Shares and people as they pass between client and server: what the server returns, and what a client claims.

package import FoundationEssentials
package import StratusModel

/// A person as a client sees them.
package struct ClientIdentity: Hashable, Codable, Sendable {
    /// How the person was invited or found.
    package var lookup: IdentityLookup?
    /// The record name of the user record, `__defaultOwner__` for the caller's own; nil if it is not known (P-03).
    package var userName: String?
    package var name: PersonName?
    package var hasAccount: Bool

    package init(lookup: IdentityLookup?, userName: String?, name: PersonName?, hasAccount: Bool) {
        self.lookup = lookup
        self.userName = userName
        self.name = name
        self.hasAccount = hasAccount
    }
}

/// A participant as a client sees them.
package struct ClientParticipant: Hashable, Codable, Sendable {
    package var id: String
    package var identity: ClientIdentity
    package var role = ParticipantRole.privateUser
    package var permission = ParticipantPermission.readOnly
    package var status = AcceptanceStatus.pending
    /// Nil for a person who was only looked up.
    package var added: Date?
    package var isApprovedRequester = false
    /// The URL that only this participant can use; nil for callers who may not know it (P-16).
    package var oneTimeURL: String?
    /// Whether the participant was invited by a one-time URL that is still unused.
    package var isOneTime = false
}

/// A person who requests access, or is blocked from requesting it, as the owner and administrators see them.
package struct ClientPetitioner: Hashable, Codable, Sendable {
    package var id: String
    /// Its look-up can be used to invite the person.
    package var identity: ClientIdentity
}

/// The parts of a share outside its fields: as much as the caller may know.
package struct ClientShare: Hashable, Codable, Sendable {
    /// Nil for a share of a whole zone.
    package var root: RecordAddress?
    package var url: String
    package var publicPermission: ParticipantPermission
    package var allowsAccessRequests: Bool
    /// The owner first. The caller is among them if they participate.
    package var participants: [ClientParticipant]
    package var ownerID: String
    /// The caller's own entry; nil if they do not participate yet.
    package var currentUserID: String?
    package var requesters: [ClientPetitioner] = []
    package var blocked: [ClientPetitioner] = []
}

/// A participant as a client wants them: a claim. It cannot claim that a person has accepted.
package struct ParticipantClaim: Hashable, Codable, Sendable {
    /// The identifier of a participant of the share, or a new one.
    package var id: String
    /// The person to invite; nil for an existing participant, and for a one-time URL.
    package var lookup: IdentityLookup?
    package var isOneTime: Bool
    /// Nil for a value that the client does not know.
    package var role: ParticipantRole?
    package var permission: ParticipantPermission?
    /// Whether the client has added the participant since it fetched the share. Such a participant stays when the
    /// public permission changes (P-07).
    package var isAdded: Bool

    package init(
        id: String, lookup: IdentityLookup? = nil, isOneTime: Bool = false, role: ParticipantRole?,
        permission: ParticipantPermission?, isAdded: Bool = false
    ) {
        self.id = id
        self.lookup = lookup
        self.isOneTime = isOneTime
        self.role = role
        self.permission = permission
        self.isAdded = isAdded
    }
}

/// The parts of a share outside its fields, as a client wants them. Everything here is a claim.
package struct ShareClaim: Hashable, Codable, Sendable {
    /// The root of a new share; nil for a whole zone. The server knows the root of an existing share.
    package var root: RecordAddress?
    /// Nil for a value that the client does not know.
    package var publicPermission: ParticipantPermission?
    package var allowsAccessRequests: Bool
    /// All participants that the share shall have, with or without the owner's entry.
    package var participants: [ParticipantClaim]
    /// Identifiers of requesters and of blocked people.
    package var denied: [String]
    package var blocked: [String]
    package var unblocked: [String]

    package init(
        root: RecordAddress?, publicPermission: ParticipantPermission? = ParticipantPermission.none,
        allowsAccessRequests: Bool = false, participants: [ParticipantClaim] = [], denied: [String] = [],
        blocked: [String] = [], unblocked: [String] = []
    ) {
        self.root = root
        self.publicPermission = publicPermission
        self.allowsAccessRequests = allowsAccessRequests
        self.participants = participants
        self.denied = denied
        self.blocked = blocked
        self.unblocked = unblocked
    }
}

/// An invitation that a commit has created, with all that a mail or message to the person needs. The person accepts it
/// with its URL.
package struct ShareInvitation: Hashable, Sendable {
    package var container: ContainerName
    package var zone: ZoneName
    package var share: RecordName
    /// The owner of the share.
    package var owner: UserName
    /// The person who saved the share.
    package var inviter: UserName
    package var participant: ParticipantID
    /// The handle to send it to; nil if the participant was named by a user record or not at all (P-16).
    package var handle: Handle?
    /// The invited account, if known.
    package var user: UserName?
    package var role: ParticipantRole
    package var permission: ParticipantPermission
    /// The share's URL, or the participant's own. Secret.
    package var url: String
    /// The share's title, if it has one.
    package var title: String?
}

/// A person as a client names them.
package enum IdentityLookup: Hashable, Codable, Sendable {
    case email(String)
    case phone(String)
    /// The record name of the person's user record.
    case userRecord(String)

    /// The handle, if the person is named by one.
    package var handle: Handle? {
        switch self {
        case .email(let address): .email(address)
        case .phone(let number): .phone(number)
        case .userRecord: nil
        }
    }
}

/// A person who was found and has allowed to be found.
package struct DiscoveredIdentity: Hashable, Codable, Sendable {
    package var lookup: IdentityLookup
    package var userName: UserName
    package var name: PersonName
}
