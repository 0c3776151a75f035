// A share's people in archives of Apple's systems, where they are objects.
//
// Apple does not say how its objects are archived; the keys are those of archives that its systems wrote. Clients keep
// such archives because these objects cannot be made otherwise. What Apple has no place for stands beside them under keys
// of our own.

import Foundation
import StratusModel

extension IdentityFacts {
    init(_ identity: CKUserIdentity) {
        self.init(user: identity.userRecordID?.recordName, hasAccount: identity.hasiCloudAccount)
        email = identity.lookupInfo?.emailAddress
        phone = identity.lookupInfo?.phoneNumber
        lookupUser = identity.lookupInfo?.userRecordID?.recordName
        func parts(_ name: PersonNameComponents) -> [String] { PersonName(name).parts.map { $0 ?? "" } }
        name = identity.nameComponents.map(parts)
        phoneticName = identity.nameComponents?.phoneticRepresentation.map(parts)
    }
}

extension ParticipantFacts {
    /// Nil where the archive holds no participant.
    init?(ofApple coder: NSCoder) {
        guard let id = coder.decodeText(forKey: CoderKey.Apple.participantID),
            let identity = coder.decodeValue(of: CKUserIdentity.self, forKey: CoderKey.Apple.userIdentity)
        else { return nil }
        self.init(id: id, identity: IdentityFacts(identity))
        role = Int(clamping: coder.decodeNumber(forKey: CoderKey.Apple.role))
        permission = Int(clamping: coder.decodeNumber(forKey: CoderKey.Apple.permission))
        status = Int(clamping: coder.decodeNumber(forKey: CoderKey.Apple.acceptanceStatus))
        if coder.decodeFlag(forKey: CoderKey.Apple.isCurrentUser) { isCurrentUser = true }
        addedSeconds = coder.decodeNumberIfPresent(forKey: CoderKey.addedSeconds)
        isApprovedRequester = coder.decodeFlag(forKey: CoderKey.isApprovedRequester)
        isOneTime = coder.decodeFlag(forKey: CoderKey.isOneTime)
        oneTimeURL = coder.decodeText(forKey: CoderKey.oneTimeURL)
    }

    func encodeForApple(with coder: NSCoder) {
        coder.encodeText(id, forKey: CoderKey.Apple.participantID)
        coder.encode(CKUserIdentity(identity), forKey: CoderKey.Apple.userIdentity)
        coder.encode(Int64(role), forKey: CoderKey.Apple.role)
        coder.encode(Int64(permission), forKey: CoderKey.Apple.permission)
        coder.encode(Int64(status), forKey: CoderKey.Apple.acceptanceStatus)
        coder.encode(isCurrentUser ?? false, forKey: CoderKey.Apple.isCurrentUser)
        if let addedSeconds { coder.encode(addedSeconds, forKey: CoderKey.addedSeconds) }
        if isApprovedRequester { coder.encode(true, forKey: CoderKey.isApprovedRequester) }
        if isOneTime { coder.encode(true, forKey: CoderKey.isOneTime) }
        coder.encodeText(oneTimeURL, forKey: CoderKey.oneTimeURL)
    }
}

extension ShareFacts {
    /// Nil where the archive holds no participants under the key.
    init?(ofApple coder: NSCoder, participantsKey: String) {
        guard let people = coder.decodeMembers(of: CKShareParticipant.self, forKey: participantsKey) else { return nil }
        self.init(root: coder.decodeValue(of: CKRecordID.self, forKey: CoderKey.Apple.rootRecordID)?.recordName)
        participants = people.map(\.facts)
        ownerID = participants.first { $0.role == CKShare.ParticipantRole.owner.rawValue }?.id ?? ""
        currentUserID =
            (participants.first { $0.isCurrentUser == true }
            ?? participants.first { $0.identity.user == CKCurrentUserDefaultName })?.id
        for index in participants.indices { participants[index].isCurrentUser = nil }
        publicPermission = Int(clamping: coder.decodeNumber(forKey: CoderKey.Apple.publicPermission))
        url = coder.decodeValue(of: NSURL.self, forKey: CoderKey.Apple.url)?.absoluteString
        addMissingOwner()
    }

    /// The participants as objects for an archive of Apple's.
    var archivedParticipants: NSMutableArray {
        NSMutableArray(
            array: participants.map { participant in
                var participant = participant
                participant.isCurrentUser = participant.id == currentUserID
                return CKShareParticipant(participant)
            })
    }
}

extension ShareState {
    /// Of an archive in Apple's format; nil where it holds no participants.
    init?(ofApple coder: NSCoder, in zoneID: CKRecordZoneID, mark: ShareMark) {
        guard let now = ShareFacts(ofApple: coder, participantsKey: CoderKey.Apple.participants) else { return nil }
        let fetched = ShareFacts(ofApple: coder, participantsKey: CoderKey.Apple.lastFetchedParticipants)
        // What Apple has no place for, in archives of ours.
        let edited = coder.decodeBlock(ArchivedShare.self, forKey: CoderKey.editedSharing)
        var base = coder.decodeBlock(ShareFacts.self, forKey: CoderKey.sharing)
        base?.participants = (fetched ?? now).participants
        // What has no tag was never saved.
        if edited == nil, base == nil, coder.containsValue(forKey: CoderKey.changeTag) { base = fetched ?? now }
        var facts = edited?.facts ?? now
        facts.participants = now.participants
        facts.addMissingOwner()
        self.init(facts, in: zoneID, viewer: nil, mark: mark)
        self.base = base
        noteAdded(Set(Self.identifiers(CoderKey.Apple.addedParticipants, in: coder)))
        for id in Self.identifiers(CoderKey.Apple.removedParticipants, in: coder) {
            removedEditNumbers[id] = nextEditNumber()
        }
        if let edited { adoptChanges(of: edited) }
    }

    private static func identifiers(_ key: String, in coder: NSCoder) -> [String] {
        (coder.decodeMembers(of: NSString.self, forKey: key) ?? []).map { String($0) }.sorted()
    }

    /// Whether there is something else where participants should be.
    static func hasForeignMembers(in coder: NSCoder) -> Bool {
        [CoderKey.Apple.participants, CoderKey.Apple.lastFetchedParticipants].contains {
            coder.hasForeignMembers(CKShareParticipant.self, forKey: $0)
        }
            || [CoderKey.Apple.addedParticipants, CoderKey.Apple.removedParticipants].contains {
                coder.hasForeignMembers(NSString.self, forKey: $0)
            }
    }

    func encodeForApple(with coder: NSCoder) {
        func set(_ identifiers: [String]) -> NSSet { NSSet(array: identifiers.map { NSString(string: $0) }) }
        let added = entries.filter { $0.addedEditNumber != nil }.map(\.participant.participantID)
        coder.encode(facts.archivedParticipants, forKey: CoderKey.Apple.participants)
        coder.encode(base?.archivedParticipants, forKey: CoderKey.Apple.lastFetchedParticipants)
        coder.encode(set(added), forKey: CoderKey.Apple.addedParticipants)
        coder.encode(set(Array(removedEditNumbers.keys)), forKey: CoderKey.Apple.removedParticipants)
        coder.encode(Int64(publicPermission.rawValue), forKey: CoderKey.Apple.publicPermission)
        coder.encode(rootID, forKey: CoderKey.Apple.rootRecordID)
        coder.encode(url.flatMap { NSURL(string: $0) }, forKey: CoderKey.Apple.url)
    }
}
