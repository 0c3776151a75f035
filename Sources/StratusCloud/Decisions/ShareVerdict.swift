// What saving a share comes to: (content as stored, claim, who saves, people as the server knows them, secrets) →
// new content, or refusal. Everything in a claim is resolved anew: nobody makes themself owner, accepts for another, or
// adds public users. No input or output.
//
//   1. Only owner and administrators change a share (P-14, X-13).
//   2. Identifiers and roles of the claim.                                 (P-04, X-22)
//   3. Who is unblocked, and who is denied.                                (P-20)
//   4. Who stays, goes and comes; what a new public permission does.       (ShareRevision+Participants; C-16, P-05 … P-07)
//   5. Who is blocked, and so neither participant nor requester any more.  (P-20)
//   6. The number of participants.                                        
//
// Invariants of the content are those of `ShareContent`. In a public share everybody who has accepted is a public user
// with the public permission, but for its owner and administrators; in a private one nobody is (P-05, X-14).

import FoundationEssentials
import StratusModel

/// Somebody whom a claim names, as the server knows them.
enum ResolvedPerson: Hashable, Sendable {
    /// A handle in its normalised form, with the account that owns it now.
    case handle(Handle, owner: UserName?)
    case userRecord(UserName)

    var handle: Handle? { if case .handle(let handle, _) = self { handle } else { nil } }

    var user: UserName? {
        switch self {
        case .handle(_, let owner): owner
        case .userRecord(let user): user
        }
    }
}

/// What only the server may draw for the save of a share: before its transaction, whose body may run twice.
struct ShareSecrets: Hashable, Sendable {
    /// When the share is saved (P-21).
    var date: Date
    /// For the share's URL, should its root have none yet.
    var token: ShareToken
    /// For the one-time URL of each participant of the claim, by place.
    var oneTimeTokens: [ShareToken]
    var ownerID: ParticipantID
    /// For each participant of the claim, by place, should its own identifier not do.
    var participantIDs: [ParticipantID]
}

/// All that the save of a share depends on.
struct ShareSituation: Sendable {
    /// Nil for a new share.
    var stored: ShareContent?
    /// The root of a new share; nil for one of a whole zone.
    var root: RecordName?
    /// The token of a new share's URL: the root's own, where it has one.
    var token: ShareToken
    var owner: UserName
    var editor: UserName
    /// Who is named by the claims of new participants, by their place in the claim.
    var people: [Int: ResolvedPerson]
    /// Who owns the handles by which people have been invited who have not accepted.
    var handleOwners: [Handle: UserName]
    var secrets: ShareSecrets
    var participantLimit: Int
}

enum ShareVerdict: Sendable {
    case write(ShareRevision)
    case refused(CloudError)

    init(_ claim: ShareClaim, _ situation: ShareSituation) {
        do throws(CloudError) {
            self = .write(try ShareRevision(claim, situation))
        } catch { self = .refused(error) }
    }
}

/// A share's new content.
struct ShareRevision: Hashable, Sendable {
    var content: ShareContent
    /// Who is to be told that they are invited.
    var invited: [ParticipantID] = []
    /// Who had asked for access, and is invited now (P-20).
    var approved: [UserName] = []
}

extension ShareRevision {
    init(_ claim: ShareClaim, _ situation: ShareSituation) throws(CloudError) {
        content =
            situation.stored
            ?? ShareContent(
                root: situation.root, token: situation.token, publicPermission: claim.publicPermission ?? .none,
                participants: [Self.owner(situation)])
        guard content.participants.contains(where: { $0.user == situation.editor && $0.managesShare }) else {
            throw Self.notAllowed
        }
        try Self.check(claim, content, isNew: situation.stored == nil)
        content.allowsAccessRequests = claim.allowsAccessRequests
        unblock(claim)
        deny(claim)
        try reviseParticipants(claim, situation)
        try block(claim, situation)
        guard invited.isEmpty || content.participants.count - 1 <= situation.participantLimit else {
            throw CloudError(
                .tooManyParticipants, "The share has more participants than it may have: remove some of them.",
                [
                    "limit": "\(situation.participantLimit)", "participants": "\(content.participants.count - 1)",
                    "rule": "X-10",
                ])
        }
    }

    /// What is left of a share when somebody leaves it (P-13); nil when they do not take part.
    init?(leaving user: UserName, _ stored: ShareContent) {
        let found = stored.participants.firstIndex { $0.user == user && $0.status == .accepted && $0.role != .owner }
        guard let found else { return nil }
        content = stored
        content.participants.remove(at: found)
    }

    private static func owner(_ situation: ShareSituation) -> ShareParticipant {
        ShareParticipant(
            id: situation.secrets.ownerID, role: .owner, permission: .readWrite, status: .accepted,
            user: situation.owner, added: situation.secrets.date)
    }

    /// What is wrong with the claim by itself and beside what is stored.
    private static func check(
        _ claim: ShareClaim, _ content: ShareContent, isNew: Bool
    ) throws(CloudError) {
        var roles: [String: ParticipantRole] = [:]
        for participant in content.participants { roles[participant.id.text] = participant.role }
        var seen: Set<ParticipantID> = []
        for participant in claim.participants {
            guard seen.insert(ParticipantID(participant.id)).inserted else {
                throw CloudError(
                    .invalidArguments, "A participant is named twice in one share: name them once.",
                    ["participant": participant.id, "rule": "X-22"])
            }
            let known = roles[participant.id]
            switch participant.role {
            case .owner where known != .owner && !participant.isOwnerPlaceholder(isNew: isNew),
                .publicUser where known != .publicUser:
                throw roleRefused(participant)
            case .administrator where known == .owner, .privateUser where known == .owner:
                throw roleRefused(participant)
            default: continue
            }
        }
    }

    private static func roleRefused(_ participant: ParticipantClaim) -> CloudError {
        CloudError(
            .invalidArguments,
            "Nobody is made the owner or a public user of a share, and its owner stays: leave the role as it was.",
            ["participant": participant.id, "rule": "P-04"])
    }

    static var notAllowed: CloudError {
        CloudError(
            .permissionFailure, inner: CloudError.InnerCode.permission, "WRITE operation not permitted",
            ["rule": "X-13"])
    }

    // MARK: Requests for access

    private mutating func unblock(_ claim: ShareClaim) {
        let unblocked = Set(claim.unblocked.map { ParticipantID($0) })
        content.blocked.removeAll { unblocked.contains($0.id) }
    }

    private mutating func deny(_ claim: ShareClaim) {
        let denied = Set(claim.denied.map { ParticipantID($0) })
        content.requesters.removeAll { denied.contains($0.id) }
    }

    private mutating func block(_ claim: ShareClaim, _ situation: ShareSituation) throws(CloudError) {
        for id in claim.blocked.map({ ParticipantID($0) }) {
            guard let blocked = petitioner(id, situation), blocked.user != situation.owner else { continue }
            let gone = content.participants.dropFirst().filter {
                $0.isPerson(blocked.user, blocked.handle, situation.handleOwners)
            }
            let ids = Set(gone.map(\.id))
            content.requesters.removeAll { $0.user == blocked.user }
            content.participants.removeAll { ids.contains($0.id) }
            invited.removeAll { ids.contains($0) }
            content.blocked.append(blocked)
        }
        guard claim.blocked.isEmpty || content.blocked.count <= AccessRequestVerdict.blockedLimit else {
            throw CloudError(
                .limitExceeded, inner: CloudError.InnerCode.limit,
                "Too many people are blocked from the share: unblock some of them (P-20).",
                ["limit": "\(AccessRequestVerdict.blockedLimit)", "rule": "P-20"])
        }
    }

    /// Who is meant to be blocked: somebody who asks for access, or who takes part.
    private func petitioner(_ id: ParticipantID, _ situation: ShareSituation) -> SharePetitioner? {
        if var found = content.requesters.first(where: { $0.id == id }) {
            found.date = situation.secrets.date
            return found
        }
        guard let found = content.participants.first(where: { $0.id == id }), let user = found.user else { return nil }
        return SharePetitioner(id: id, user: user, handle: found.invitation?.handle, date: situation.secrets.date)
    }
}

extension Invitation {
    var handle: Handle? { if case .handle(let handle) = self { handle } else { nil } }
}

extension ParticipantClaim {
    /// Whether this stands for the owner of a share that was never saved (C-15).
    func isOwnerPlaceholder(isNew: Bool) -> Bool { isNew && role == .owner && lookup == nil && !isOneTime }
}

extension ShareParticipant {
    /// The person, as far as they can be known.
    func person(_ handleOwners: [Handle: UserName]) -> UserName? {
        user ?? invitation?.handle.flatMap { handleOwners[$0] }
    }

    /// Whether this is the person with that user record or handle. Where both are known they alone decide: a handle may
    /// have changed hands since somebody accepted by it.
    func isPerson(_ other: UserName?, _ handle: Handle?, _ handleOwners: [Handle: UserName]) -> Bool {
        if let other, let own = person(handleOwners) { return own == other }
        return handle != nil && invitation?.handle == handle
    }
}
