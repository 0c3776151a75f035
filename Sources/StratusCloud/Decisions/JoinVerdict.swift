// What somebody who holds a URL of a share is to it, and what becomes of the share when they accept: pure.
//
// In this order: the owner and whoever takes part already are members (M-06); a blocked person is an outsider, whatever
// URL they hold; of several invitations that are one person's the one that lets them do most counts; a one-time
// URL admits whoever uses it first and was not invited otherwise (P-16, P-17); the URL of a public share admits everybody
// (P-05); all others are outsiders.

import FoundationEssentials
import StratusModel

/// Who holds a URL: an account in good standing, with the addresses that the host has verified.
struct ShareGuest: Hashable, Sendable {
    let user: UserName
    let handles: Set<Handle>

    init(user: UserName, handles: Set<Handle> = []) {
        self.user = user
        self.handles = handles
    }

    init(_ account: Account) { self.init(user: account.userName, handles: account.handles) }

    /// Whether an invitation that nobody has accepted is this person's.
    func isInvited(by participant: ShareParticipant) -> Bool {
        guard participant.status == .pending else { return false }
        if let user = participant.user { return user == self.user }
        guard case .handle(let handle)? = participant.invitation else { return false }
        return handles.contains(handle)
    }
}

enum JoinVerdict: Hashable, Sendable {
    /// The owner, or somebody who has accepted.
    case member(ShareParticipant)
    /// Somebody who has not accepted the place that is theirs.
    case invited(ShareParticipant)
    /// Anybody, by the URL of a public share.
    case open
    /// Somebody with another's one-time URL who has a place of their own to accept (P-17).
    case invitedOtherwise(ShareParticipant)
    case outsider

    /// `oneTime` is the participant whose one-time URL it is; nil for the share's own.
    init(_ content: ShareContent, guest: ShareGuest, oneTime: ParticipantID?) {
        if let member = content.participants.first(where: { $0.status == .accepted && $0.user == guest.user }) {
            self = .member(member)
            return
        }
        guard !content.blocked.contains(where: { $0.user == guest.user }) else {
            self = .outsider
            return
        }
        let own = Self.invitation(of: guest, in: content)
        if let oneTime {
            if let own {
                self = .invitedOtherwise(own)
                return
            }
            let place = content.participants.first { $0.id == oneTime && $0.isUnusedOneTime }
            self = place.map { .invited($0) } ?? .outsider
            return
        }
        if let own {
            self = .invited(own)
        } else {
            self = content.publicPermission == .none ? .outsider : .open
        }
    }

    /// Of several the one that lets the person do most, the first one of equals.
    private static func invitation(of guest: ShareGuest, in content: ShareContent) -> ShareParticipant? {
        var best: ShareParticipant?
        for participant in content.participants where guest.isInvited(by: participant) {
            guard let known = best else {
                best = participant
                continue
            }
            if participant.weight > known.weight { best = participant }
        }
        return best
    }

    /// The participant that the person is, or would be once they have accepted; nil for an outsider. `id` is the one drawn
    /// for somebody who is new.
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
    /// Throws `tooManyParticipants`, `participantAlreadyInvited` (P-17), and `notFound` for an outsider, to whom the
    /// caller may know more to say.
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
        // No person takes part twice, and nobody who takes part asks for it.
        content.participants.removeAll { $0.id != participant.id && guest.isInvited(by: $0) }
        content.requesters.removeAll { $0.user == guest.user }
        if let index = content.participants.firstIndex(where: { $0.id == participant.id }) {
            content.participants[index] = participant
            return content
        }
        let count = content.participants.count { $0.role != .owner }
        guard count < limit else { throw Self.tooMany(limit: limit) }
        content.participants.append(participant)
        return content
    }

    /// The answer to a URL that leads nowhere, or nowhere for this person: one for all (M-04, M-05, X-18).
    static var notFound: CloudError {
        CloudError(.unknownItem, inner: CloudError.InnerCode.unknownItem, "Share not found")
    }

    static var alreadyInvited: CloudError {
        CloudError(
            .participantAlreadyInvited,
            "The person is invited to the share by another way: accept that invitation by the share's own URL.")
    }

    static func tooMany(limit: Int) -> CloudError {
        CloudError(
            .tooManyParticipants, "The share has as many participants as it may have: its owner has to remove some.",
            ["limit": "\(limit)"])
    }

    /// The answer to an outsider. Only a share that lets people ask for access may be known to them (M-04); one that has
    /// invited an address which belongs to nobody yet may have meant them (P-18).
    static func outsiderError(_ content: ShareContent, hasUnclaimedHandle: Bool) -> CloudError {
        guard content.allowsAccessRequests else { return notFound }
        guard hasUnclaimedHandle else {
            return CloudError(
                .permissionFailure, inner: CloudError.InnerCode.permission,
                "The share is for those who were invited: ask its owner for access."
            ).ofSharing(rule: "M-04")
        }
        return CloudError(
            .participantMayNeedVerification,
            "The share may be meant for an address of the person that is not verified: have the host verify it."
        ).ofSharing(rule: "P-18")
    }
}

extension ShareParticipant {
    /// Whether the participant stands for whoever uses a URL first that nobody has used (P-16).
    var isUnusedOneTime: Bool {
        guard case .oneTime? = invitation else { return false }
        return status == .pending
    }

    fileprivate var weight: (UInt8, UInt8) { (role == .administrator ? 1 : 0, permission.rawValue) }
}

extension ShareContent {
    /// What a participant may do: public users always what the share grants to everybody.
    func permission(of participant: ShareParticipant) -> ParticipantPermission {
        participant.role == .publicUser ? publicPermission : participant.permission
    }
}

// What becomes of a share when somebody asks for access: (share, what they are to it, who they are) → requesters or
// refusal.

enum AccessRequestVerdict {
    /// People who wait for an answer, of one share.
    static let requesterLimit = 100
    /// People who may not ask, of one share.
    static let blockedLimit = 1_000

    /// Who asks for access after somebody has asked. It stays as it is for those who have asked already, or are blocked,
    /// who are told no more than that (P-20, X-18); nil for those who need not ask.
    ///
    /// Throws `notFound` where nobody can ask, `limitExceeded` where too many have.
    static func requesters(
        of content: ShareContent, _ verdict: JoinVerdict, askedBy guest: ShareGuest, id: ParticipantID, date: Date
    ) throws(CloudError) -> [SharePetitioner]? {
        guard verdict == .outsider else { return nil }
        guard content.allowsAccessRequests else { throw JoinVerdict.notFound }
        guard !content.requesters.contains(where: { $0.user == guest.user }) else { return content.requesters }
        guard content.requesters.count < requesterLimit else {
            throw CloudError(
                .limitExceeded, inner: CloudError.InnerCode.limit,
                "Too many people wait for access to the share: ask again when its owner has answered some.",
                ["limit": "\(requesterLimit)"]
            ).ofSharing(rule: "P-20")
        }
        guard !content.blocked.contains(where: { $0.user == guest.user }) else { return content.requesters }
        let petitioner = SharePetitioner(id: id, user: guest.user, handle: handle(of: guest), date: date)
        return content.requesters + [petitioner]
    }

    /// By what the owner can invite the person: an e-mail address if there is one.
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
