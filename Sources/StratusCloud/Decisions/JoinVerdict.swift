// The relation of a person with a share's URL to that share, and the share after they accept it or request access.
// Pure decisions.
//
// The rules, in this order:
//   1. The owner and people who take part already are members (M-06).
//   2. A blocked person is an outsider with any URL.
//   3. Of several invitations for one person, the one with the most rights counts.
//   4. A one-time URL admits the first person who uses it, if they were not invited otherwise (P-16, P-17).
//   5. The URL of a public share admits everyone (P-05).
//   6. All others are outsiders.

import FoundationEssentials
import StratusModel

/// The person with a URL: an account in good standing, with the handles that the host has verified.
struct ShareGuest: Hashable, Sendable {
    let user: UserName
    var handles: Set<Handle> = []

    /// Whether a pending invitation is for this person.
    func isInvited(by participant: ShareParticipant) -> Bool {
        guard participant.status == .pending else { return false }
        if let user = participant.user { return user == self.user }
        guard case .handle(let handle)? = participant.invitation else { return false }
        return handles.contains(handle)
    }
}

extension ShareGuest {
    init(_ account: StoredAccount) { self.init(user: account.userName, handles: account.handles) }
}

enum JoinVerdict: Hashable, Sendable {
    /// The owner, or a person who has accepted.
    case member(ShareParticipant)
    /// A person with a place that they have not accepted.
    case invited(ShareParticipant)
    /// Any person with the URL of a public share.
    case open
    /// A person with another's one-time URL who has their own place to accept (P-17).
    case invitedOtherwise(ShareParticipant)
    case outsider

    /// `oneTime` is the participant of the one-time URL; nil for the share's own URL.
    init(_ content: ShareContent, guest: ShareGuest, oneTime: ParticipantID?) {
        if let member = content.participants.first(where: { $0.status == .accepted && $0.user == guest.user }) {
            self = .member(member)
            return
        }
        guard !content.blocked.contains(where: { $0.user == guest.user }) else {
            self = .outsider
            return
        }
        // The invitation with the most rights; the first of equals.
        let own = content.participants.filter { guest.isInvited(by: $0) }.max { $0.weight < $1.weight }
        if let oneTime {
            let place = content.participants.first { $0.id == oneTime && $0.isUnusedOneTime }
            self = own.map { .invitedOtherwise($0) } ?? place.map { .invited($0) } ?? .outsider
        } else if let own {
            self = .invited(own)
        } else {
            self = content.publicPermission == .none ? .outsider : .open
        }
    }

    /// The participant that the person is, or would be after accepting; nil for an outsider. `id` is for a new
    /// participant.
    func participant(in content: ShareContent, guest: ShareGuest, id: ParticipantID, date: Date) -> ShareParticipant? {
        switch self {
        case .member(let participant), .invited(let participant): participant
        case .open:
            ShareParticipant(
                id: id, role: .publicUser, permission: content.publicPermission, status: .pending, user: guest.user,
                added: date)
        case .invitedOtherwise, .outsider: nil
        }
    }

    /// The share after the person has accepted.
    ///
    /// Throws `tooManyParticipants`, `participantAlreadyInvited` (P-17), and `notFound` for an outsider, for
    /// whom the caller may have a better error.
    func accepted(
        in content: ShareContent, guest: ShareGuest, id: ParticipantID, date: Date, limit: Int
    ) throws(CloudError) -> ShareContent {
        switch self {
        case .member: return content
        case .invitedOtherwise: throw Self.alreadyInvited
        case .outsider: throw Self.notFound
        case .invited, .open: break
        }
        guard var participant = self.participant(in: content, guest: guest, id: id, date: date) else { return content }
        var content = content
        // A public share has no private users (P-06).
        if content.publicPermission != .none, participant.role == .privateUser {
            participant.role = .publicUser
            participant.permission = content.publicPermission
        }
        participant.status = .accepted
        participant.user = guest.user
        // No person participates twice, and no participant requests access.
        content.participants.removeAll { $0.id != participant.id && guest.isInvited(by: $0) }
        content.requesters.removeAll { $0.user == guest.user }
        if let index = content.participants.firstIndex(where: { $0.id == participant.id }) {
            content.participants[index] = participant
            return content
        }
        let count = content.participants.count { $0.role != .owner }
        guard count < limit else {
            throw CloudError(
                .tooManyParticipants, "The share has the maximum number of participants. Its owner must remove some.",
                ["limit": "\(limit)"])
        }
        content.participants.append(participant)
        return content
    }

    /// The answer to a URL that leads to no share, or to none for this person: the same for all (M-04, M-05, X-18).
    static var notFound: CloudError {
        CloudError.notFound("Share not found")
    }

    static var alreadyInvited: CloudError {
        CloudError(
            .participantAlreadyInvited,
            "The person has another invitation to the share. Accept that one with the share's own URL.")
    }

    /// The answer to an outsider. They may know of the share only if it allows requests for access (M-04). If it has
    /// invited a handle that belongs to no account yet, they may be the invited person (P-18).
    static func outsiderError(_ content: ShareContent, hasUnclaimedHandle: Bool) -> CloudError {
        guard content.allowsAccessRequests else { return notFound }
        guard hasUnclaimedHandle else {
            return CloudError.notPermitted("The share is only for invited people. Ask its owner for access.").ofSharing(
                rule: "M-04")
        }
        return CloudError(
            .participantMayNeedVerification,
            "The share may be for an address of the person that is not verified. Ask the host to verify it."
        ).ofSharing(rule: "P-18")
    }
}

extension ShareParticipant {
    /// Whether the participant is the placeholder for the first user of an unused one-time URL (P-16).
    var isUnusedOneTime: Bool {
        guard case .oneTime? = invitation else { return false }
        return status == .pending
    }

    fileprivate var weight: (UInt8, UInt8) { (role == .administrator ? 1 : 0, permission.rawValue) }
}

extension ShareContent {
    /// The permission of a participant. Public users always have the share's public permission.
    func permission(of participant: ShareParticipant) -> ParticipantPermission {
        participant.role == .publicUser ? publicPermission : participant.permission
    }
}

/// The effect of a request for access.
enum AccessRequestVerdict {
    /// The maximum number of one share's waiting requesters.
    static let requesterLimit = 100
    /// The maximum number of people blocked from one share.
    static let blockedLimit = 1_000

    /// The requesters after a person has asked. They do not change for a person who has asked already or is blocked,
    /// and who must not notice (P-20, X-18); nil for a person who need not ask.
    ///
    /// Throws `notFound` if the share allows no requests, `limitExceeded` if too many wait.
    static func requesters(
        of content: ShareContent, _ verdict: JoinVerdict, askedBy guest: ShareGuest, id: ParticipantID, date: Date
    ) throws(CloudError) -> [SharePetitioner]? {
        guard verdict == .outsider else { return nil }
        guard content.allowsAccessRequests else { throw JoinVerdict.notFound }
        guard !content.requesters.contains(where: { $0.user == guest.user }) else { return content.requesters }
        guard content.requesters.count < requesterLimit else {
            throw CloudError.overLimit(
                "Too many people wait for access to the share. Ask again after its owner has answered some.",
                limit: requesterLimit
            ).ofSharing(rule: "P-20")
        }
        guard !content.blocked.contains(where: { $0.user == guest.user }) else { return content.requesters }
        let petitioner = SharePetitioner(id: id, user: guest.user, handle: handle(of: guest), date: date)
        return content.requesters + [petitioner]
    }

    /// The handle with which the owner can invite the person: an e-mail address if there is one.
    static func handle(of guest: ShareGuest) -> Handle? {
        guest.handles.min { left, right in
            switch (left, right) {
            case (.email, .phone): true
            case (.phone, .email): false
            default: left.text < right.text
            }
        }
    }
}
