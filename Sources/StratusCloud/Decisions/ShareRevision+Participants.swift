// Step 4 of saving a share: who stays, who goes and who comes. The claim's list is the whole list; the owner is in it
// whether named or not.

import StratusModel

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
