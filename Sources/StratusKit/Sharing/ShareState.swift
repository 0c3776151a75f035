// What a share keeps behind its lock in addition to its fields: the participants, and the client's changes.
//
// Invariants: the participant named by `ownerID` always exists. No participant is listed twice. Changes are numbered,
// so that a change made during a save remains after it.

import StratusCloud
import StratusModel
import StratusStore

/// The variable part of a share, without its fields.
struct ShareState: Sendable {
    /// A participant in the share's list.
    struct Entry: Sendable {
        let participant: CKShareParticipant
        /// The number of the client's change that added the participant.
        var addedEditNumber: UInt64?
    }

    /// The root of the hierarchy; nil for a share of a whole zone.
    var rootID: CKRecordID?
    var url: String?
    var publicPermission: CKShare.ParticipantPermission
    var allowsAccessRequests: Bool
    /// The owner first.
    var entries: [Entry]
    var ownerID: String
    var currentUserID: String?
    var requesters: [CKShareAccessRequester]
    var blocked: [CKShareBlockedIdentity]

    /// What the server last said; nil for a share that was never saved.
    var base: ShareFacts?

    var publicPermissionEditNumber: UInt64?
    var allowsAccessRequestsEditNumber: UInt64?
    /// The numbers of the changes that removed participants, requesters and blocked people, by identifier.
    var removedEditNumbers: [String: UInt64] = [:]
    var deniedEditNumbers: [String: UInt64] = [:]
    var blockedEditNumbers: [String: UInt64] = [:]
    var unblockedEditNumbers: [String: UInt64] = [:]
    var lastEditNumber: UInt64 = 0

    /// From facts of the server, of an archive, or of a new share.
    /// - Parameters:
    ///   - facts: The facts.
    ///   - zoneID: The share's zone.
    ///   - viewer: The account that they are for.
    ///   - mark: The share.
    init(_ facts: ShareFacts, in zoneID: CKRecordZoneID, viewer: AccountID?, mark: ShareMark) {
        rootID = facts.root.map { CKRecordID(recordName: $0, zoneID: zoneID) }
        url = facts.url
        publicPermission = CKShare.ParticipantPermission(rawValue: facts.publicPermission) ?? .unknown
        allowsAccessRequests = facts.allowsAccessRequests
        entries = facts.participants.map { Entry(participant: CKShareParticipant($0, viewer: viewer, share: mark)) }
        ownerID = facts.ownerID
        currentUserID = facts.currentUserID
        requesters = facts.requesters.map { CKShareAccessRequester($0) }
        blocked = facts.blocked.map { CKShareBlockedIdentity($0) }
    }

    mutating func nextEditNumber() -> UInt64 {
        lastEditNumber += 1
        return lastEditNumber
    }

    func participant(_ id: String?) -> CKShareParticipant? {
        entries.first { $0.participant.participantID == id }?.participant
    }

    /// The current facts, including changes.
    var facts: ShareFacts {
        var facts = base ?? ShareFacts(root: rootID?.recordName)
        facts.root = rootID?.recordName
        facts.url = url
        facts.publicPermission = publicPermission.rawValue
        facts.allowsAccessRequests = allowsAccessRequests
        facts.participants = entries.map(\.participant.facts)
        facts.ownerID = ownerID
        facts.currentUserID = currentUserID
        facts.requesters = requesters.map(\.facts)
        facts.blocked = blocked.map(\.facts)
        return facts
    }

    /// The same with its own participants, for another share object.
    func copied(to mark: ShareMark) -> ShareState {
        var copy = self
        copy.entries = entries.map { entry in
            Entry(participant: entry.participant.copy(in: mark), addedEditNumber: entry.addedEditNumber)
        }
        return copy
    }

    // MARK: Changes

    /// Adds a participant, or updates the one who is the same person (C-16).
    mutating func add(_ participant: CKShareParticipant, to mark: ShareMark) throws(Misuse) {
        try requirePrivate()
        let other = participant.state.withLock { $0.share }
        guard other == nil || other === mark else {
            throw Misuse("The participant was added to another share. Remove it there, or fetch it again.")
        }
        let number = nextEditNumber()
        guard let index = entries.firstIndex(where: { $0.participant.isSamePerson(as: participant) }) else {
            participant.state.withLock { $0.share = mark }
            removedEditNumbers[participant.participantID] = nil
            entries.append(Entry(participant: participant, addedEditNumber: number))
            return
        }
        let existing = entries[index].participant
        guard existing.participantID != ownerID else { return }
        entries[index].addedEditNumber = number
        guard existing !== participant else { return }
        existing.role = participant.role
        existing.permission = participant.permission
    }

    mutating func remove(_ participant: CKShareParticipant) throws(Misuse) {
        try requirePrivate()
        let index =
            entries.firstIndex { $0.participant === participant }
            ?? entries.firstIndex { $0.participant == participant }
        guard let index else {
            throw Misuse("The participant is not in this share, so it cannot be removed.")
        }
        let existing = entries[index].participant
        guard existing.participantID != ownerID else {
            throw Misuse("The owner cannot be removed from a share.")
        }
        entries.remove(at: index)
        existing.state.withLock { $0.share = nil }
        removedEditNumbers[existing.participantID] = nextEditNumber()
    }

    /// Clients add and remove participants only while the share is private (C-17).
    private func requirePrivate() throws(Misuse) {
        guard publicPermission == .none else {
            throw Misuse("Participants are added and removed only while the publicPermission of the share is none.")
        }
    }

    /// Throws unless the current user may manage participants (P-14).
    private func requireManager() throws(Misuse) {
        let role = participant(currentUserID)?.role
        guard role == .owner || role == .administrator else {
            throw Misuse("Only the owner and administrators of a share decide about access requests.")
        }
    }

    mutating func setAllowsAccessRequests(_ isAllowed: Bool) throws(Misuse) {
        try requireManager()
        allowsAccessRequests = isAllowed
        allowsAccessRequestsEditNumber = nextEditNumber()
    }

    /// Removes requesters from the list. They may request access again (P-20).
    mutating func deny(_ requesters: [CKShareAccessRequester]) throws(Misuse) {
        try requireManager()
        let number = nextEditNumber()
        for requester in requesters where self.requesters.contains(where: { $0.facts.id == requester.facts.id }) {
            self.requesters.removeAll { $0.facts.id == requester.facts.id }
            deniedEditNumbers[requester.facts.id] = number
        }
    }

    /// Removes requesters from both lists. They may not request access again (P-20).
    mutating func block(_ requesters: [CKShareAccessRequester]) throws(Misuse) {
        try requireManager()
        let number = nextEditNumber()
        for requester in requesters where self.requesters.contains(where: { $0.facts.id == requester.facts.id }) {
            self.requesters.removeAll { $0.facts.id == requester.facts.id }
            blocked.append(CKShareBlockedIdentity(requester.facts))
            blockedEditNumbers[requester.facts.id] = number
            let person = requester.userIdentity.canonicalKey
            let gone = entries.filter { entry in
                let participant = entry.participant
                return person != nil && participant.userIdentity.canonicalKey == person
                    && participant.participantID != ownerID
            }
            for entry in gone {
                entry.participant.state.withLock { $0.share = nil }
                removedEditNumbers[entry.participant.participantID] = number
            }
            entries.removeAll { entry in gone.contains { $0.participant === entry.participant } }
        }
    }

    /// Removes people from the list of those who may not request access (P-20).
    mutating func unblock(_ identities: [CKShareBlockedIdentity]) throws(Misuse) {
        try requireManager()
        let number = nextEditNumber()
        for identity in identities where blocked.contains(where: { $0.facts.id == identity.facts.id }) {
            blocked.removeAll { $0.facts.id == identity.facts.id }
            // A person blocked since the last save is not blocked on the server.
            if blockedEditNumbers.removeValue(forKey: identity.facts.id) == nil {
                unblockedEditNumbers[identity.facts.id] = number
            }
        }
    }

    /// Begins a save. Changes made from now on remain after it.
    func beginSave() -> SentShareState {
        let known = Set((base?.participants ?? []).map(\.id))
        var participants: [(participant: CKShareParticipant, editNumber: UInt64)] = []
        var claims: [ParticipantClaim] = []
        for entry in entries {
            let participant = entry.participant
            // The account that saves a new share is its owner (C-15), and is always resolved again.
            let isNew = !known.contains(participant.participantID) && participant.participantID != ownerID
            let (claim, editNumber) = participant.claim(isAdded: entry.addedEditNumber != nil, isNew: isNew)
            participants.append((participant, editNumber))
            claims.append(claim)
        }
        return SentShareState(
            claim: ShareClaim(
                root: rootID?.address, publicPermission: publicPermission.claim,
                allowsAccessRequests: allowsAccessRequests, participants: claims,
                denied: deniedEditNumbers.keys.sorted(), blocked: blockedEditNumbers.keys.sorted(),
                unblocked: unblockedEditNumbers.keys.sorted()),
            participants: participants, lastEditNumber: lastEditNumber)
    }

    /// Takes over the server's answer to a save (C-04). Changes made since the save began stay.
    /// - Parameters:
    ///   - saved: The server's share; nil if the answer has none.
    ///   - isNews: Whether nothing newer is known.
    ///   - viewer: The account that saved.
    ///   - sent: What the save sent.
    ///   - zoneID: The share's zone.
    ///   - mark: The share.
    mutating func absorb(
        _ saved: ClientShare?, isNews: Bool, viewer: AccountID?, sent: SentShareState, in zoneID: CKRecordZoneID,
        mark: ShareMark
    ) {
        forgetEdits(upTo: sent)
        guard isNews, let saved else { return }
        let facts = ShareFacts(saved)
        absorbParticipants(saved, viewer: viewer, sent: sent, mark: mark)
        rootID = facts.root.map { CKRecordID(recordName: $0, zoneID: zoneID) }
        url = facts.url
        currentUserID = facts.currentUserID
        base = facts
        if publicPermissionEditNumber == nil {
            publicPermission = CKShare.ParticipantPermission(saved.publicPermission)
        }
        if allowsAccessRequestsEditNumber == nil { allowsAccessRequests = saved.allowsAccessRequests }
        requesters = facts.requesters.map { CKShareAccessRequester($0) }.filter {
            deniedEditNumbers[$0.facts.id] == nil && blockedEditNumbers[$0.facts.id] == nil
        }
        let blockedSince = blocked.filter { blockedEditNumbers[$0.facts.id] != nil }
        blocked =
            facts.blocked.map { CKShareBlockedIdentity($0) }.filter { unblockedEditNumbers[$0.facts.id] == nil }
            + blockedSince
    }

    private mutating func forgetEdits(upTo sent: SentShareState) {
        let last = sent.lastEditNumber
        if let edit = publicPermissionEditNumber, edit <= last { publicPermissionEditNumber = nil }
        if let edit = allowsAccessRequestsEditNumber, edit <= last { allowsAccessRequestsEditNumber = nil }
        for index in entries.indices {
            if let edit = entries[index].addedEditNumber, edit <= last { entries[index].addedEditNumber = nil }
        }
        removedEditNumbers = removedEditNumbers.filter { $0.value > last }
        deniedEditNumbers = deniedEditNumbers.filter { $0.value > last }
        blockedEditNumbers = blockedEditNumbers.filter { $0.value > last }
        unblockedEditNumbers = unblockedEditNumbers.filter { $0.value > last }
        for (participant, editNumber) in sent.participants {
            participant.state.withLock { $0.forgetEdits(upTo: editNumber) }
        }
    }

    /// Keeps the same object for the same participant.
    private mutating func absorbParticipants(
        _ saved: ClientShare, viewer: AccountID?, sent: SentShareState, mark: ShareMark
    ) {
        let told = Set(saved.participants.map(\.id))
        var candidates = sent.participants
        for entry in entries where !candidates.contains(where: { $0.participant === entry.participant }) {
            candidates.append((entry.participant, 0))
        }
        let oldOwnerID = ownerID
        var absorbed: [Entry] = []
        for participant in saved.participants {
            let index =
                candidates.firstIndex { $0.participant.participantID == participant.id }
                ?? candidates.firstIndex { candidate in
                    // A participant with a new identifier: the owner of a new share, or a person invited in another's
                    // place.
                    let id = candidate.participant.participantID
                    guard !told.contains(id) else { return false }
                    return participant.id == saved.ownerID
                        ? id == oldOwnerID : candidate.participant.isMeant(by: participant)
                }
            guard let index else {
                absorbed.append(Entry(participant: CKShareParticipant(participant, viewer: viewer, share: mark)))
                continue
            }
            let (known, sentEditNumber) = candidates.remove(at: index)
            known.absorb(participant, viewer: viewer, sentEditNumber: sentEditNumber)
            let entry = entries.first { $0.participant === known }
            // Removed during the save.
            if entry == nil, removedEditNumbers[participant.id] != nil { continue }
            known.state.withLock { $0.share = mark }
            absorbed.append(Entry(participant: known, addedEditNumber: entry?.addedEditNumber))
        }
        let absorbedParticipants = Set(absorbed.map { ObjectIdentifier($0.participant) })
        for entry in entries where !absorbedParticipants.contains(ObjectIdentifier(entry.participant)) {
            if entry.addedEditNumber != nil {
                absorbed.append(entry)
            } else {
                entry.participant.state.withLock { $0.share = nil }
            }
        }
        ownerID = saved.ownerID
        entries = absorbed
    }
}

// The exchange with the server.

/// The people of a share when a save began.
struct SentShareState: SentSharing {
    let claim: ShareClaim
    /// The participants in the list, with the numbers of their last changes.
    let participants: [(participant: CKShareParticipant, editNumber: UInt64)]
    let lastEditNumber: UInt64
}

extension CKShareParticipant {
    /// Whether adding one updates the other (C-16), also if only one of them is known by user record. If both are, only
    /// the user record counts, because an address may have changed hands.
    fileprivate func isSamePerson(as other: CKShareParticipant) -> Bool {
        let (mine, others) = (userIdentity, other.userIdentity)
        guard !isEqual(other) else { return true }
        let key = mine.lookupInfo?.canonicalKey
        return !mine.isKnownToDiffer(from: others) && key != nil && key == others.lookupInfo?.canonicalKey
    }

    /// Whether the server means this participant by another identifier.
    fileprivate func isMeant(by participant: ClientParticipant) -> Bool {
        let key = userIdentity.lookupInfo?.canonicalKey ?? userIdentity.canonicalKey
        let identity = CKUserIdentity(participant.identity)
        guard !userIdentity.isKnownToDiffer(from: identity) else { return false }
        return key != nil && (key == identity.lookupInfo?.canonicalKey || key == identity.canonicalKey)
    }
}
