// A share's people between client and server.

import Foundation
import StratusCloud
import StratusModel
import StratusStore

/// A share's people as they were when a save began.
struct SentShareState: SentSharing {
    let claim: ShareClaim
    /// The participants that were in the list, with the numbers of their last changes.
    let participants: [(participant: CKShareParticipant, editNumber: UInt64)]
    let lastEditNumber: UInt64
}

extension ShareState {
    /// Begins a save: changes made from now on outlast it.
    func beginSave() -> SentShareState {
        let known = Set((base?.participants ?? []).map(\.id))
        var participants: [(participant: CKShareParticipant, editNumber: UInt64)] = []
        var claims: [ParticipantClaim] = []
        for entry in entries {
            let participant = entry.participant
            // The owner is whoever saves a new share (C-15), and is resolved anew.
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

    /// Takes over what the server has made of the share when it was saved (C-04). Changes made since the save began stay.
    /// - Parameters:
    ///   - saved: What the server says; nil where it does not tell.
    ///   - isNews: Whether nothing newer is known.
    ///   - viewer: Who was told.
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

    /// The same objects stand for the same participants as before.
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
                    // Who has got another name: the owner of a new share, and whoever was invited in another's place.
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
            // Taken out while the save was under way.
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

extension CKShareParticipant {
    /// Whether the server tells of the participant under another name.
    fileprivate func isMeant(by participant: ClientParticipant) -> Bool {
        let key = userIdentity.lookupInfo?.canonicalKey ?? userIdentity.canonicalKey
        let identity = CKUserIdentity(participant.identity)
        guard !userIdentity.isKnownToDiffer(from: identity) else { return false }
        return key != nil && (key == identity.lookupInfo?.canonicalKey || key == identity.canonicalKey)
    }
}
