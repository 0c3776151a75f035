// The part of a share that one person may know: the one rule, for what clients are told and for what the tool shows.
//
// Owner and administrators who have accepted know of everybody; others of the owner, themselves and those who have accepted,
// and of nobody who asks or is blocked.

package import StratusModel

/// What one person may know of a share.
package struct SharePortion {
    package let content: ShareContent
    /// The viewer's own entry; nil for an outsider.
    package let own: ParticipantID?
    /// Whether the viewer knows everything of it.
    package let managesShare: Bool

    /// The part of a user. `own` is their entry, of somebody whom it does not name yet; nil for who is looked up.
    package init(_ content: ShareContent, viewer: UserName?, own: ParticipantID? = nil) {
        let entry = content.participants.first { own == nil ? viewer != nil && $0.user == viewer : $0.id == own }
        self.content = content
        self.own = entry?.id
        managesShare = entry.map(\.managesShare) ?? false
    }

    /// The participants that the viewer may know of, in the order of the share.
    package var participants: [ShareParticipant] {
        managesShare
            ? content.participants
            : content.participants.filter { $0.role == .owner || $0.status == .accepted || $0.id == own }
    }

    package var requesters: [SharePetitioner] { managesShare ? content.requesters : [] }
    package var blocked: [SharePetitioner] { managesShare ? content.blocked : [] }
}
