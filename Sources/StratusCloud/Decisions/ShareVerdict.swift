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

// Step 4 of saving a share: who stays, who goes and who comes. The claim's list is the whole list; the owner is in it
// whether named or not.

extension ShareRevision {
    mutating func reviseParticipants(_ claim: ShareClaim, _ situation: ShareSituation) throws(CloudError) {
        let old = content.publicPermission
        let new = claim.publicPermission ?? old
        let isPublicChanged = situation.stored != nil && new != old
        if isPublicChanged {
            content.publicPermission = new
        }
        var claims = Claims(claim.participants, content, situation)
        var kept = Array(content.participants.prefix(1))
        for stored in content.participants.dropFirst() {
            guard let claimed = claims.take(stored),
                Self.stays(stored, isAdded: claimed.isAdded, isPublicChanged: isPublicChanged, new)
            else { continue }
            kept.append(try revised(stored, claimed, new))
        }
        content.participants = kept
        for place in claims.newPlaces { try add(claim.participants[place], at: place, situation) }
    }

    /// Whether somebody outlasts a change of the public permission: pending ones do not; when a share becomes private,
    /// only those do who were added again (P-06, P-07).
    private static func stays(
        _ stored: ShareParticipant, isAdded: Bool, isPublicChanged: Bool, _ new: ParticipantPermission
    ) -> Bool {
        guard isPublicChanged else { return true }
        return new == .none ? isAdded : stored.status == .accepted
    }

    /// A participant who stays, with the role and permission that they get.
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
                    "Public and private participants are never mixed: make the share private first (P-05).",
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
                "Participants are added while a share is private: set its public permission to none first (P-05).",
                ["participant": claimed.id, "rule": "P-05"])
        }
        let invitation: Invitation
        let person = situation.people[place]
        if claimed.isOneTime {
            invitation = .oneTime(situation.secrets.oneTimeTokens[place])
        } else if let person {
            if try isPresent(person, claimed, situation) { return }
            invitation = person.handle.map { .handle($0) } ?? .userRecord
        } else {
            throw CloudError(
                .invalidArguments,
                "A participant is nobody the share knows, and names nobody: look the person up anew.",
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

    /// Whether somebody who is to be added is there already, invited in the same way.
    ///
    /// Throws `participantAlreadyInvited` for another way (P-17), `invalidArguments` for somebody who is blocked.
    private func isPresent(
        _ person: ResolvedPerson, _ claimed: ParticipantClaim, _ situation: ShareSituation
    ) throws(CloudError) -> Bool {
        guard !content.blocked.contains(where: { $0.isPerson(person) }) else {
            throw CloudError(
                .invalidArguments, "The person is blocked from asking for access: unblock them first (P-20).",
                ["participant": claimed.id, "rule": "P-20"])
        }
        let present = content.participants.first { $0.isPerson(person.user, person.handle, situation.handleOwners) }
        guard let present else { return false }
        if present.isInvited(as: person) { return true }
        throw CloudError(
            .participantAlreadyInvited,
            "The person takes part or is invited under another address: change that participant (P-17).",
            ["participant": claimed.id, "rule": "P-17"])
    }

    /// Takes somebody out of those who ask for access. Returns whether they were among them.
    private mutating func approve(_ person: ResolvedPerson) -> Bool {
        let found = content.requesters.filter { $0.isPerson(person) }
        content.requesters.removeAll { $0.isPerson(person) }
        approved += found.map(\.user)
        return !found.isEmpty
    }

    /// A client's identifier of a new participant, where it can be theirs: their one-time URL is asked for by it (P-16).
    private func freeID(_ text: String) -> ParticipantID? {
        let id = ParticipantID(text)
        let isPlain = (1...64).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        guard isPlain, !content.participants.contains(where: { $0.id == id }),
            !(content.requesters + content.blocked).contains(where: { $0.id == id })
        else { return nil }
        return id
    }
}

/// A claim's participants, sorted into those who are there and those who are new.
private struct Claims {
    private var byID: [ParticipantID: ParticipantClaim] = [:]
    /// The places of those who are new.
    private(set) var newPlaces: [Int] = []

    init(_ claims: [ParticipantClaim], _ content: ShareContent, _ situation: ShareSituation) {
        let known = Set(content.participants.map(\.id))
        for claim in claims where known.contains(ParticipantID(claim.id)) { byID[ParticipantID(claim.id)] = claim }
        for (place, claim) in claims.enumerated() where !known.contains(ParticipantID(claim.id)) {
            if claim.isOwnerPlaceholder(isNew: situation.stored == nil) { continue }
            let person = claim.isOneTime ? nil : situation.people[place]
            // Adding somebody again who is there in the same way changes them (C-16).
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
            byID[same.id] = again
        }
    }

    mutating func take(_ participant: ShareParticipant) -> ParticipantClaim? { byID[participant.id] }
}

extension ShareParticipant {
    /// Whether the participant was invited in this way, or is there without an invitation: by the link of a public share.
    fileprivate func isInvited(as person: ResolvedPerson) -> Bool {
        switch (invitation, person) {
        case (.handle(let own)?, .handle(let other, _)): own == other
        case (.userRecord?, .userRecord): true
        case (nil, _): role != .owner
        case (.handle?, .userRecord), (.userRecord?, .handle), (.oneTime?, _): false
        }
    }
}

extension SharePetitioner {
    /// Whether this is somebody whom a claim names: the user name decides where it is known, as with participants.
    fileprivate func isPerson(_ person: ResolvedPerson) -> Bool {
        if let other = person.user { return user == other }
        return handle != nil && handle == person.handle
    }
}
