// Who is invited to a share, who asks for access, and who may not.

public import Foundation
import StratusStore

extension CKShare {
    /// Invites somebody, or changes the participant who is the same person (C-16). Nobody is told before the share is
    /// saved. Only a share whose `publicPermission` is `none` takes participants; another one remembers a mistake (C-17).
    /// - Parameter participant: One that was fetched or made for a one-time URL, and is in no other share.
    public func addParticipant(_ participant: CKShare.Participant) {
        change { (sharing, mark) throws(SharingMisuse) in try sharing.add(participant, to: mark) }
    }

    /// Takes somebody out of the share, when it is saved. Who was never added is a mistake, remembered until then (C-16).
    /// - Parameter participant: One of `participants`, or an equal one.
    public func removeParticipant(_ participant: CKShare.Participant) {
        change { (sharing, _) throws(SharingMisuse) in try sharing.remove(participant) }
    }

    /// The URL that only one participant can use, who was made by `oneTimeURLParticipant()`; once they have accepted,
    /// the share's own (P-16).
    /// - Parameter participantID: The participant's name.
    /// - Returns: The URL; nil until the share was saved, and for everybody else.
    public func oneTimeURL(for participantID: CKShare.Participant.ID) -> URL? {
        sharing.withLock { $0.participant(participantID) }?.facts.oneTimeURL.flatMap { URL(string: $0) }
    }

    /// Whether people who have the URL and are not invited may ask for access (P-20). False where it was never set. To
    /// set it is the owner's and administrators' to do; by others it is a mistake, remembered until the save.
    public var allowsAccessRequests: Bool {
        get { sharing.withLock { $0.allowsAccessRequests } }
        set { change { (sharing, _) throws(SharingMisuse) in try sharing.setAllowsAccessRequests(newValue) } }
    }

    /// Those who ask for access, for the owner and administrators to see. Whoever is to have it is invited:
    /// `participantLookupInfo` says how.
    public var requesters: [CKShare.AccessRequester] { sharing.withLock { $0.requesters } }

    /// Those who may not ask for access, for the owner and administrators to see.
    public var blockedIdentities: [CKShare.BlockedIdentity] { sharing.withLock { $0.blocked } }

    /// Refuses people who ask for access, when the share is saved. They may ask again.
    /// - Parameter requesters: Some of `requesters`.
    public func denyRequesters(_ requesters: [CKShare.AccessRequester]) {
        change { (sharing, _) throws(SharingMisuse) in try sharing.deny(requesters) }
    }

    /// Refuses people who ask for access, when the share is saved. They lose what access they have, and may not ask again.
    /// - Parameter requesters: Some of `requesters`.
    public func blockRequesters(_ requesters: [CKShare.AccessRequester]) {
        change { (sharing, _) throws(SharingMisuse) in try sharing.block(requesters) }
    }

    /// Lets people ask for access again, when the share is saved.
    /// - Parameter blockedIdentities: Some of `blockedIdentities`.
    public func unblockIdentities(_ blockedIdentities: [CKShare.BlockedIdentity]) {
        change { (sharing, _) throws(SharingMisuse) in try sharing.unblock(blockedIdentities) }
    }
}
