// What a host is told when somebody has been invited: all that a mail or a message would carry.

package import StratusModel

/// An invitation that a commit has made. Whoever holds its URL and is the person may accept.
package struct ShareInvitation: Hashable, Sendable {
    package var container: ContainerName
    package var zone: ZoneName
    package var share: RecordName
    /// Who owns the share.
    package var owner: UserName
    /// Who has saved it.
    package var inviter: UserName
    package var participant: ParticipantID
    /// To whom it goes; nil where the participant was named by a user record, or by nothing at all (P-16).
    package var handle: Handle?
    /// The account that is invited, where it is known.
    package var user: UserName?
    package var role: ParticipantRole
    package var permission: ParticipantPermission
    /// The share's URL, or the participant's own. Secret.
    package var url: String
    /// The share's title, where it has one.
    package var title: String?

    package init(
        container: ContainerName, zone: ZoneName, share: RecordName, owner: UserName, inviter: UserName,
        participant: ParticipantID, handle: Handle?, user: UserName?, role: ParticipantRole,
        permission: ParticipantPermission, url: String, title: String?
    ) {
        self.container = container
        self.zone = zone
        self.share = share
        self.owner = owner
        self.inviter = inviter
        self.participant = participant
        self.handle = handle
        self.user = user
        self.role = role
        self.permission = permission
        self.url = url
        self.title = title
    }
}
