// The people of a share as plain values: what a share object holds, and what archives contain.
//
// An archive contains them as one block of JSON. Foundation's archiver takes equal objects for one object, so it must
// not see them one by one; see `NSCoder.encodeText`. Clients keep archives: never change the meaning of a key, and make
// new keys optional. Roles, permissions and statuses keep their numbers; a foreign number means `unknown`.

import Foundation
import StratusCloud
import StratusModel

/// A person.
struct IdentityFacts: Codable, Hashable, Sendable {
    var email: String?
    var phone: String?
    /// The user record that was looked up.
    var lookupUser: String?
    var user: String?
    /// The parts of the name in the order of `PersonName.parts`. Missing parts are empty.
    var name: [String]?
    /// The pronunciation of the name, in the same order.
    var phoneticName: [String]?
    var hasAccount: Bool?
}

extension IdentityFacts {
    init(_ identity: ClientIdentity) { self.init(CKUserIdentity(identity)) }

    init(_ identity: CKUserIdentity) {
        self.init(user: identity.userRecordID?.recordName, hasAccount: identity.hasiCloudAccount)
        email = identity.lookupInfo?.emailAddress
        phone = identity.lookupInfo?.phoneNumber
        lookupUser = identity.lookupInfo?.userRecordID?.recordName
        func parts(_ name: PersonNameComponents) -> [String] { PersonName(name).parts.map { $0 ?? "" } }
        name = identity.nameComponents.map(parts)
        phoneticName = identity.nameComponents?.phoneticRepresentation.map(parts)
    }

    var lookup: IdentityLookup? {
        email.map { .email($0) } ?? phone.map { .phone($0) } ?? lookupUser.map { .userRecord($0) }
    }
}

extension CKUserIdentity {
    convenience init(_ facts: IdentityFacts) {
        self.init(
            ClientIdentity(
                lookup: facts.lookup, userName: facts.user, name: facts.name.flatMap(PersonName.init(parts:)),
                hasAccount: facts.hasAccount ?? false),
            phoneticName: facts.phoneticName.flatMap(PersonName.init(parts:)))
    }
}

/// A participant.
struct ParticipantFacts: Codable, Hashable, Sendable {
    var id: String
    var identity: IdentityFacts
    var role = CKShare.ParticipantRole.privateUser.rawValue
    var permission = CKShare.ParticipantPermission.readOnly.rawValue
    var status = CKShare.ParticipantAcceptanceStatus.pending.rawValue
    /// Seconds since the beginning of 2001.
    var addedSeconds: Double?
    var isApprovedRequester = false
    var oneTimeURL: String?
    var isOneTime = false
    /// Whether an archive of a single participant says that it is the current user. A share names that participant.
    var isCurrentUser: Bool?
}

extension ParticipantFacts {
    /// The account that will save a new share (C-15).
    static func placeholderOwner() -> ParticipantFacts {
        var facts = ParticipantFacts(
            id: UUID.drawn().uuidString, identity: IdentityFacts(user: CKCurrentUserDefaultName, hasAccount: true))
        facts.role = CKShare.ParticipantRole.owner.rawValue
        facts.permission = CKShare.ParticipantPermission.readWrite.rawValue
        facts.status = CKShare.ParticipantAcceptanceStatus.accepted.rawValue
        return facts
    }

    init(_ participant: ClientParticipant) {
        id = participant.id
        identity = IdentityFacts(participant.identity)
        role = Int(participant.role.rawValue)
        permission = Int(participant.permission.rawValue)
        status = Int(participant.status.rawValue)
        addedSeconds = participant.added?.timeIntervalSinceReferenceDate
        isApprovedRequester = participant.isApprovedRequester
        oneTimeURL = participant.oneTimeURL
        isOneTime = participant.isOneTime
    }

    var added: Date? { addedSeconds.map { Date(timeIntervalSinceReferenceDate: $0) } }

    // The people of a share in archives of Apple's systems, where they are objects.
    //
    // Apple does not document how its objects are archived; the keys come from archives that its systems wrote. Clients
    // keep such archives because they cannot create these objects themselves. Data that Apple's format has no key for
    // is archived under keys of our own.

    /// Returns nil if the archive has no participant.
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

/// A person who requests access, or may not.
struct PetitionerFacts: Codable, Hashable, Sendable {
    var id: String
    var identity: IdentityFacts
}

extension PetitionerFacts {
    init(_ petitioner: ClientPetitioner) {
        self.init(id: petitioner.id, identity: IdentityFacts(petitioner.identity))
    }
}

/// A share without its fields.
struct ShareFacts: Codable, Hashable, Sendable {
    /// Nil for a share of a whole zone.
    var root: String?
    var url: String?
    var publicPermission = CKShare.ParticipantPermission.none.rawValue
    var allowsAccessRequests = false
    var participants: [ParticipantFacts]
    var ownerID: String
    var currentUserID: String?
    var requesters: [PetitionerFacts] = []
    var blocked: [PetitionerFacts] = []

    /// A share that is not saved yet.
    init(root: String?) {
        self.root = root
        let owner = ParticipantFacts.placeholderOwner()
        participants = [owner]
        ownerID = owner.id
        currentUserID = owner.id
    }

    init(_ share: ClientShare) {
        root = share.root?.recordName
        url = share.url
        publicPermission = Int(share.publicPermission.rawValue)
        allowsAccessRequests = share.allowsAccessRequests
        participants = share.participants.map { ParticipantFacts($0) }
        ownerID = share.ownerID
        currentUserID = share.currentUserID
        requesters = share.requesters.map { PetitionerFacts($0) }
        blocked = share.blocked.map { PetitionerFacts($0) }
        addMissingOwner()
    }

    /// Adds an owner if the server or an archive named none.
    mutating func addMissingOwner() {
        guard !participants.contains(where: { $0.id == ownerID }) else { return }
        let owner = ParticipantFacts.placeholderOwner()
        participants.insert(owner, at: 0)
        ownerID = owner.id
    }

    /// Returns nil if the archive has no participants under the key.
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

    /// The participants as objects, for an archive in Apple's format.
    var archivedParticipants: NSMutableArray {
        NSMutableArray(
            array: participants.map { participant in
                var participant = participant
                participant.isCurrentUser = participant.id == currentUserID
                return CKShareParticipant(participant)
            })
    }
}

// The people of a share in an archive.
//
// The content of an archive is a claim: the server resolves it again when the share is saved. An archive that
// was edited by hand decodes to its content, with one owner added if necessary.

/// The people of a share, with the unsaved changes.
struct ArchivedShare: Codable, Sendable {
    var facts: ShareFacts
    /// The identifiers of participants that the client added.
    var added: [String]
    var denied: [String]
    var blocked: [String]
    var unblocked: [String]
}

extension ShareState {
    /// What the server last said. It is archived with the system fields.
    func encodeBase(with coder: NSCoder) {
        guard !coder.isOfApple else {
            // The participants are objects there.
            var rest = base
            rest?.participants = []
            return coder.encodeBlock(rest, forKey: CoderKey.sharing)
        }
        coder.encodeBlock(base ?? ShareFacts(root: rootID?.recordName), forKey: CoderKey.sharing)
    }

    private var addedIDs: [String] {
        entries.filter { $0.addedEditNumber != nil }.map(\.participant.participantID)
    }

    /// The current state. It is archived with the values.
    func encodeEdited(with coder: NSCoder) {
        var edited = ArchivedShare(
            facts: facts, added: addedIDs, denied: deniedEditNumbers.keys.sorted(),
            blocked: blockedEditNumbers.keys.sorted(), unblocked: unblockedEditNumbers.keys.sorted())
        if coder.isOfApple {
            encodeForApple(with: coder)
            edited.facts.participants = []
        }
        coder.encodeBlock(edited, forKey: CoderKey.editedSharing)
    }

    /// Whether an archive has data about participants that cannot be read.
    static func isDamaged(in coder: NSCoder) -> Bool {
        hasForeignMembers(in: coder)
            || coder.hasDamagedBlock(ShareFacts.self, forKey: CoderKey.sharing)
            || coder.hasDamagedBlock(ArchivedShare.self, forKey: CoderKey.editedSharing)
    }

    /// Decodes an archive of either format. Without data about participants, the share has only an owner.
    init(coder: NSCoder, in zoneID: CKRecordZoneID, mark: ShareMark) {
        var base = coder.decodeBlock(ShareFacts.self, forKey: CoderKey.sharing)
        let edited = coder.decodeBlock(ArchivedShare.self, forKey: CoderKey.editedSharing)
        let ofApple = ShareFacts(ofApple: coder, participantsKey: CoderKey.Apple.participants)
        var facts = edited?.facts ?? ofApple ?? base ?? ShareFacts(root: nil)
        if let ofApple {
            facts.participants = ofApple.participants
            let fetched =
                ShareFacts(ofApple: coder, participantsKey: CoderKey.Apple.lastFetchedParticipants) ?? ofApple
            base?.participants = fetched.participants
            // A share without a tag was never saved.
            if edited == nil, base == nil, coder.containsValue(forKey: CoderKey.changeTag) { base = fetched }
        } else if base?.url == nil {
            // A share without a URL was never saved.
            base = nil
        }
        facts.addMissingOwner()
        self.init(facts, in: zoneID, viewer: nil, mark: mark)
        self.base = base
        if ofApple != nil { adoptAppleChanges(in: coder) }
        guard let edited else { return }
        noteAdded(Set(edited.added))
        for id in edited.denied { deniedEditNumbers[id] = nextEditNumber() }
        for id in edited.blocked { blockedEditNumbers[id] = nextEditNumber() }
        for id in edited.unblocked { unblockedEditNumbers[id] = nextEditNumber() }
    }

    private mutating func noteAdded(_ added: Set<String>) {
        for index in entries.indices where added.contains(entries[index].participant.participantID) {
            entries[index].addedEditNumber = nextEditNumber()
        }
    }

    private mutating func adoptAppleChanges(in coder: NSCoder) {
        func identifiers(_ key: String) -> [String] {
            (coder.decodeMembers(of: NSString.self, forKey: key) ?? []).map { String($0) }.sorted()
        }
        noteAdded(Set(identifiers(CoderKey.Apple.addedParticipants)))
        for id in identifiers(CoderKey.Apple.removedParticipants) { removedEditNumbers[id] = nextEditNumber() }
    }

    /// Whether a key of participants has any other value.
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
        coder.encode(facts.archivedParticipants, forKey: CoderKey.Apple.participants)
        coder.encode(base?.archivedParticipants, forKey: CoderKey.Apple.lastFetchedParticipants)
        coder.encode(set(addedIDs), forKey: CoderKey.Apple.addedParticipants)
        coder.encode(set(Array(removedEditNumbers.keys)), forKey: CoderKey.Apple.removedParticipants)
        coder.encode(Int64(publicPermission.rawValue), forKey: CoderKey.Apple.publicPermission)
        coder.encode(rootID, forKey: CoderKey.Apple.rootRecordID)
        coder.encode(url.flatMap { NSURL(string: $0) }, forKey: CoderKey.Apple.url)
    }
}
