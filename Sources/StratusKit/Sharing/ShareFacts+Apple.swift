// A share's people in archives of Apple's systems, where they are objects.
//
// Apple does not say how its objects are archived; the keys are those of archives that clients have published in their
// tests. Clients keep such archives because these objects cannot be made otherwise. The parts of names are not read: they
// stand in a class of Foundation's that it does not have on Linux.

import Foundation

extension IdentityFacts {
    init(_ identity: CKUserIdentity) {
        self.init(user: identity.userRecordID?.recordName, hasAccount: identity.hasiCloudAccount)
        email = identity.lookupInfo?.emailAddress
        phone = identity.lookupInfo?.phoneNumber
        lookupUser = identity.lookupInfo?.userRecordID?.recordName
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
    }
}

extension ShareFacts {
    /// Nil where the archive holds no participants.
    init?(ofApple coder: NSCoder) {
        let classes: [AnyClass] = [NSArray.self, CKShareParticipant.self]
        guard let people = coder.decodeValue(of: classes, forKey: CoderKey.Apple.participants) as? NSArray else {
            return nil
        }
        self.init(root: coder.decodeValue(of: CKRecordID.self, forKey: CoderKey.Apple.rootRecordID)?.recordName)
        participants = people.compactMap { ($0 as? CKShareParticipant)?.facts }
        ownerID = participants.first { $0.role == CKShare.ParticipantRole.owner.rawValue }?.id ?? ""
        currentUserID = participants.first { $0.identity.user == CKCurrentUserDefaultName }?.id
        publicPermission = Int(clamping: coder.decodeNumber(forKey: CoderKey.Apple.publicPermission))
        url = coder.decodeValue(of: NSURL.self, forKey: CoderKey.Apple.url)?.absoluteString
        addMissingOwner()
    }
}
