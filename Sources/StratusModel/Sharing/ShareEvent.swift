// What happened to a share, for its owner to look up: who did what to whom, and when.

package import FoundationEssentials

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
