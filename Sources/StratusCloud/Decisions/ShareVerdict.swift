// The effect of saving a share: (stored content, claim, editor, people as the server knows them, secrets) → new
// content, or refusal. A pure decision. Everything in a claim is resolved again: no client can make itself owner,
// accept for another person, or add public users.
//
//   1. Check the editor: only owner and administrators change a share.                       (P-14, X-13)
//   2. Check the identifiers and roles of the claim.                                         (P-04, X-22)
//   3. Unblock and deny people.                                                              (P-20)
//   4. Revise the participants: who stays, goes and comes, and for a new public permission.  (C-16, P-05 … P-07)
//   5. Block people, who are then neither participants nor requesters.                       (P-20)
//   6. Check the number of participants.                                                    
//
// The invariants of the content are those of `ShareContent`. In a public share everyone who has accepted, except the
// owner and administrators, is a public user with the public permission; a private share has no public users (P-05,
//

import FoundationEssentials
import StratusModel

/// A person whom a claim names, as the server knows them.
struct ResolvedPerson: Hashable, Sendable {
    /// In its normalised form; nil for a person who is named by a user record.
    var handle: Handle?
    /// The user, or the owner of the handle; nil if it belongs to no account now.
    var user: UserName?
}

/// The secrets for the save of a share. The server draws them before the transaction, whose body may run twice.
struct ShareSecrets: Hashable, Sendable {
    /// When the share is saved (P-21).
    var date: Date
    /// For the share's URL, if its root has none yet.
    var token: ShareToken
    /// For the one-time URL of each participant of the claim, by index.
    var oneTimeTokens: [ShareToken]
    var ownerID: ParticipantID
    /// For each participant of the claim, by index, if its own identifier cannot be used.
    var participantIDs: [ParticipantID]
}

/// Everything that the save of a share depends on.
struct ShareSituation: Sendable {
    /// Nil for a new share.
    var stored: ShareContent?
    /// The root of a new share; nil for one of a whole zone.
    var root: RecordName?
    /// The token of a new share's URL: the root's own, if it has one.
    var token: ShareToken
    var owner: UserName
    var editor: UserName
    /// The people whom the claims of new participants name, by index in the claim.
    var people: [Int: ResolvedPerson]
    /// The owners of the handles by which people were invited who have not accepted.
    var handleOwners: [Handle: UserName]
    var secrets: ShareSecrets
    var participantLimit: Int
}

/// A share's new content.
struct ShareRevision: Hashable, Sendable {
    var content: ShareContent
    /// The participants to whom the host must send an invitation.
    var invited: [ParticipantID] = []
    /// The people who had requested access and are invited now (P-20).
    var approved: [UserName] = []
}

extension ShareRevision {
    init(_ claim: ShareClaim, _ situation: ShareSituation) throws(CloudError) {
        content =
            situation.stored
            ?? ShareContent(
                root: situation.root, token: situation.token, publicPermission: claim.publicPermission ?? .none,
                participants: [
                    ShareParticipant(
                        id: situation.secrets.ownerID, role: .owner, permission: .readWrite, status: .accepted,
                        user: situation.owner, added: situation.secrets.date)
                ])
        guard content.participants.contains(where: { $0.user == situation.editor && $0.managesShare }) else {
            throw Self.notAllowed
        }
        try Self.check(claim, content, isNew: situation.stored == nil)
        content.allowsAccessRequests = claim.allowsAccessRequests
        let unblocked = Set(claim.unblocked.map { ParticipantID($0) })
        let denied = Set(claim.denied.map { ParticipantID($0) })
        content.blocked.removeAll { unblocked.contains($0.id) }
        content.requesters.removeAll { denied.contains($0.id) }
        try reviseParticipants(claim, situation)
        try block(claim, situation)
        guard invited.isEmpty || content.participants.count - 1 <= situation.participantLimit else {
            throw CloudError(
                .tooManyParticipants, "The share has too many participants. Remove some of them.",
                [
                    "limit": "\(situation.participantLimit)", "participants": "\(content.participants.count - 1)",
                    "rule": "X-10",
                ])
        }
    }

    /// The share after a person has left it (P-13); nil if they do not participate.
    init?(leaving user: UserName, _ stored: ShareContent) {
        let found = stored.participants.firstIndex { $0.user == user && $0.status == .accepted && $0.role != .owner }
        guard let found else { return nil }
        content = stored
        content.participants.remove(at: found)
    }

    /// Checks the claim alone and against the stored content.
    private static func check(
        _ claim: ShareClaim, _ content: ShareContent, isNew: Bool
    ) throws(CloudError) {
        var roles: [String: ParticipantRole] = [:]
        for participant in content.participants { roles[participant.id.text] = participant.role }
        var seen: Set<ParticipantID> = []
        for participant in claim.participants {
            guard seen.insert(ParticipantID(participant.id)).inserted else {
                throw CloudError(
                    .invalidArguments, "A participant is in the share twice. Name them once.",
                    ["participant": participant.id, "rule": "X-22"])
            }
            let known = roles[participant.id]
            switch participant.role {
            case .owner where known != .owner && !participant.isOwnerPlaceholder(isNew: isNew),
                .publicUser where known != .publicUser, .administrator where known == .owner,
                .privateUser where known == .owner:
                throw roleRefused(participant)
            default: continue
            }
        }
    }

    private static func roleRefused(_ participant: ParticipantClaim) -> CloudError {
        CloudError(
            .invalidArguments,
            "A client cannot make a participant owner or public user, or change the owner's role. Keep the role.",
            ["participant": participant.id, "rule": "P-04"])
    }

    static var notAllowed: CloudError {
        CloudError.notPermitted("WRITE operation not permitted", ["rule": "X-13"])
    }

    // MARK: Requests for access

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
            throw CloudError.overLimit(
                "Too many people are blocked from the share. Unblock some of them (P-20).",
                limit: AccessRequestVerdict.blockedLimit, ["rule": "P-20"])
        }
    }

    /// The person to block: a requester or a participant.
    private func petitioner(_ id: ParticipantID, _ situation: ShareSituation) -> SharePetitioner? {
        if var found = content.requesters.first(where: { $0.id == id }) {
            found.date = situation.secrets.date
            return found
        }
        guard let found = content.participants.first(where: { $0.id == id }), let user = found.user else { return nil }
        return SharePetitioner(id: id, user: user, handle: found.invitation?.handle, date: situation.secrets.date)
    }
}

extension ParticipantInvitation {
    var handle: Handle? { if case .handle(let handle) = self { handle } else { nil } }
}

extension ParticipantClaim {
    /// Whether this is the placeholder for the owner of a share that was never saved (C-15).
    func isOwnerPlaceholder(isNew: Bool) -> Bool { isNew && role == .owner && lookup == nil && !isOneTime }
}

extension ShareParticipant {
    /// The person, if known.
    func person(_ handleOwners: [Handle: UserName]) -> UserName? {
        user ?? invitation?.handle.flatMap { handleOwners[$0] }
    }

    /// Whether this is the person with that user record or handle. If both user records are known, only they decide:
    /// the handle may belong to another person since it was accepted.
    func isPerson(_ other: UserName?, _ handle: Handle?, _ handleOwners: [Handle: UserName]) -> Bool {
        if let other, let own = person(handleOwners) { return own == other }
        return handle != nil && invitation?.handle == handle
    }
}

// MARK: Participants

extension ShareRevision {
    /// Step 4. The claim's list is the whole list; the owner always stays.
    private mutating func reviseParticipants(_ claim: ShareClaim, _ situation: ShareSituation) throws(CloudError) {
        let old = content.publicPermission
        let new = claim.publicPermission ?? old
        let isPublicChanged = situation.stored != nil && new != old
        if isPublicChanged { content.publicPermission = new }
        let (known, newPlaces) = Self.split(claim.participants, content, situation)
        var kept = Array(content.participants.prefix(1))
        for stored in content.participants.dropFirst() {
            guard let claimed = known[stored.id] else { continue }
            // When the public permission changes, a participant stays only if they have accepted, or, when the share
            // becomes private, only if they were added again (P-06, P-07).
            let stays = new == .none ? claimed.isAdded : stored.status == .accepted
            if stays || !isPublicChanged { kept.append(try revised(stored, claimed, new)) }
        }
        content.participants = kept
        for place in newPlaces { try add(claim.participants[place], at: place, situation) }
    }

    /// The claims of existing participants, and the indexes of new ones.
    private static func split(
        _ claims: [ParticipantClaim], _ content: ShareContent, _ situation: ShareSituation
    ) -> (known: [ParticipantID: ParticipantClaim], newPlaces: [Int]) {
        var known: [ParticipantID: ParticipantClaim] = [:]
        var newPlaces: [Int] = []
        let ids = Set(content.participants.map(\.id))
        for claim in claims where ids.contains(ParticipantID(claim.id)) { known[ParticipantID(claim.id)] = claim }
        for (place, claim) in claims.enumerated() where !ids.contains(ParticipantID(claim.id)) {
            if claim.isOwnerPlaceholder(isNew: situation.stored == nil) { continue }
            let person = claim.isOneTime ? nil : situation.people[place]
            // Adding an existing participant again in the same way changes them (C-16).
            let same = content.participants.dropFirst().first { stored in
                guard let person else { return false }
                return stored.isPerson(person.user, person.handle, situation.handleOwners)
                    && stored.isInvited(as: person)
            }
            guard let same else {
                newPlaces.append(place)
                continue
            }
            var again = claim
            again.id = same.id.text
            again.isAdded = true
            known[same.id] = again
        }
        return (known, newPlaces)
    }

    /// A participant who stays, with their new role and permission.
    private func revised(
        _ stored: ShareParticipant, _ claimed: ParticipantClaim, _ publicPermission: ParticipantPermission
    ) throws(CloudError) -> ShareParticipant {
        var participant = stored
        if publicPermission == .none {
            participant.role = claimed.role == .administrator ? .administrator : .privateUser
            if claimed.role == nil, stored.role == .administrator { participant.role = .administrator }
        } else {
            guard stored.role != .publicUser || claimed.role != .privateUser else {
                throw CloudError(
                    .invalidArguments,
                    "A share cannot have public and private participants. Make the share private first (P-05).",
                    ["participant": stored.id.text, "rule": "P-05"])
            }
            let isAdministrator = (claimed.role ?? stored.role) == .administrator
            participant.role = isAdministrator ? .administrator : .publicUser
        }
        participant.permission =
            participant.role == .publicUser ? publicPermission : claimed.permission ?? stored.permission
        return participant
    }

    private mutating func add(
        _ claimed: ParticipantClaim, at place: Int, _ situation: ShareSituation
    ) throws(CloudError) {
        guard content.publicPermission == .none else {
            throw CloudError(
                .invalidArguments,
                "Participants can only be added to a private share. Set its public permission to none first (P-05).",
                ["participant": claimed.id, "rule": "P-05"])
        }
        let invitation: ParticipantInvitation
        let person = situation.people[place]
        if claimed.isOneTime {
            invitation = .oneTime(situation.secrets.oneTimeTokens[place])
        } else if let person {
            if try isPresent(person, claimed, situation) { return }
            invitation = person.handle.map { .handle($0) } ?? .userRecord
        } else {
            throw CloudError(
                .invalidArguments,
                "A participant is unknown to the share, and names no person. Look the person up again.",
                ["participant": claimed.id, "rule": "P-01"])
        }
        var participant = ShareParticipant(
            id: freeID(claimed.id) ?? situation.secrets.participantIDs[place],
            role: claimed.role == .administrator ? .administrator : .privateUser,
            permission: claimed.permission ?? .readOnly, status: .pending, invitation: invitation,
            user: invitation == .userRecord ? person?.user : nil, added: situation.secrets.date)
        if let person { participant.isApprovedRequester = approve(person) }
        content.participants.append(participant)
        invited.append(participant.id)
    }

    /// Whether a person to add is a participant already, invited in the same way.
    ///
    /// Throws `participantAlreadyInvited` if they were invited in another way (P-17), `invalidArguments` if blocked.
    private func isPresent(
        _ person: ResolvedPerson, _ claimed: ParticipantClaim, _ situation: ShareSituation
    ) throws(CloudError) -> Bool {
        guard !content.blocked.contains(where: { $0.isPerson(person) }) else {
            throw CloudError(
                .invalidArguments, "The person is blocked from asking for access. Unblock them first (P-20).",
                ["participant": claimed.id, "rule": "P-20"])
        }
        let present = content.participants.first { $0.isPerson(person.user, person.handle, situation.handleOwners) }
        guard let present else { return false }
        if present.isInvited(as: person) { return true }
        throw CloudError(
            .participantAlreadyInvited,
            "The person participates or is invited under another address. Change that participant (P-17).",
            ["participant": claimed.id, "rule": "P-17"])
    }

    /// Removes a person from the requesters. Returns whether they were among them.
    private mutating func approve(_ person: ResolvedPerson) -> Bool {
        let found = content.requesters.filter { $0.isPerson(person) }
        content.requesters.removeAll { $0.isPerson(person) }
        approved += found.map(\.user)
        return !found.isEmpty
    }

    /// A client's identifier of a new participant, if it can be used: the client gets the one-time URL by it (P-16).
    private func freeID(_ text: String) -> ParticipantID? {
        let id = ParticipantID(text)
        let isPlain = (1...64).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        guard isPlain, !content.participants.contains(where: { $0.id == id }),
            !(content.requesters + content.blocked).contains(where: { $0.id == id })
        else { return nil }
        return id
    }
}

extension ShareParticipant {
    /// Whether the participant was invited in this way, or joined without an invitation by the link of a public share.
    fileprivate func isInvited(as person: ResolvedPerson) -> Bool {
        switch invitation {
        case .handle(let handle)?: handle == person.handle
        case .userRecord?: person.handle == nil
        case .oneTime?: false
        case nil: role != .owner
        }
    }
}

extension SharePetitioner {
    /// Whether a claim names this person. The user name decides if it is known, as with participants.
    fileprivate func isPerson(_ person: ResolvedPerson) -> Bool {
        if let other = person.user { return user == other }
        return handle != nil && handle == person.handle
    }
}
