// What is known of a share's people, as plain values: what a share holds, and what stands in archives.
//
// In an archive they are one block of JSON, so that Foundation's archiver, which takes equal objects for one, does not
// meet them one by one; see `NSCoder.encodeText`. Clients keep archives: a key never changes its meaning, and new ones
// are optional. Numbers of roles, permissions and statuses are kept as they came: a foreign one is `unknown`
//

import Foundation
import StratusCloud
import StratusModel

/// A person.
struct IdentityFacts: Codable, Hashable, Sendable {
    var email: String?
    var phone: String?
    /// The user record that was looked for.
    var lookupUser: String?
    var user: String?
    /// The parts of the name, in the order of `PersonName.parts`, empty where there is none.
    var name: [String]?
    /// How the name is said, in the same order.
    var phoneticName: [String]?
    var hasAccount: Bool?

    init(user: String? = nil, hasAccount: Bool) {
        self.user = user
        self.hasAccount = hasAccount
    }

    init(_ identity: ClientIdentity) {
        switch identity.lookup {
        case .email(let address): email = address
        case .phone(let number): phone = number
        case .userRecord(let name): lookupUser = name
        case nil: break
        }
        user = identity.userName
        name = identity.name.map { $0.parts.map { $0 ?? "" } }
        hasAccount = identity.hasAccount
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

/// Somebody who takes part.
struct ParticipantFacts: Codable, Hashable, Sendable {
    var id: String
    var identity: IdentityFacts
    var role: Int
    var permission: Int
    var status: Int
    /// Seconds since the beginning of 2001.
    var addedSeconds: Double?
    var isApprovedRequester: Bool
    var oneTimeURL: String?
    var isOneTime: Bool
    /// Whether an archive of one participant says that it is of the current user. A share names that participant.
    var isCurrentUser: Bool?

    /// Somebody who is not in a share yet (C-18).
    init(id: String, identity: IdentityFacts, isOneTime: Bool = false) {
        self.id = id
        self.identity = identity
        role = CKShare.ParticipantRole.privateUser.rawValue
        permission = CKShare.ParticipantPermission.readOnly.rawValue
        status = CKShare.ParticipantAcceptanceStatus.pending.rawValue
        isApprovedRequester = false
        self.isOneTime = isOneTime
    }

    /// Whoever will save a new share (C-15).
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

    var lookup: IdentityLookup? { identity.lookup }
    var added: Date? { addedSeconds.map { Date(timeIntervalSinceReferenceDate: $0) } }
}

/// Somebody who asks for access, or may not.
struct PetitionerFacts: Codable, Hashable, Sendable {
    var id: String
    var identity: IdentityFacts

    init(id: String, identity: IdentityFacts) {
        self.id = id
        self.identity = identity
    }

    init(_ petitioner: ClientPetitioner) {
        self.init(id: petitioner.id, identity: IdentityFacts(petitioner.identity))
    }
}

/// A share beside its fields.
struct ShareFacts: Codable, Hashable, Sendable {
    /// Nil for a share of a whole zone.
    var root: String?
    var url: String?
    var publicPermission: Int
    var allowsAccessRequests: Bool
    var participants: [ParticipantFacts]
    var ownerID: String
    var currentUserID: String?
    var requesters: [PetitionerFacts]
    var blocked: [PetitionerFacts]

    /// A share that is not saved yet.
    init(root: String?) {
        self.root = root
        publicPermission = CKShare.ParticipantPermission.none.rawValue
        allowsAccessRequests = false
        let owner = ParticipantFacts.placeholderOwner()
        participants = [owner]
        ownerID = owner.id
        currentUserID = owner.id
        requesters = []
        blocked = []
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

    /// Whatever was told or decoded, a share has an owner to show.
    mutating func addMissingOwner() {
        guard !participants.contains(where: { $0.id == ownerID }) else { return }
        let owner = ParticipantFacts.placeholderOwner()
        participants.insert(owner, at: 0)
        ownerID = owner.id
    }
}

// MARK: Archiving

extension NSCoder {
    /// Archives plain values as one block, or nothing.
    func encodeBlock(_ block: (some Encodable)?, forKey key: String) {
        guard let block else { return }
        // Every value here can be written: numbers that JSON has no words for are written as such words.
        let encoder = JSONEncoder()
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        encoder.outputFormatting = .sortedKeys
        guard let data = try? encoder.encode(block) else { return }
        encode(data as NSData, forKey: key)
    }

    /// The values of a block; nil where there is none, or it holds something else.
    func decodeBlock<Block: Decodable>(_ type: Block.Type, forKey key: String) -> Block? {
        let decoder = JSONDecoder()
        decoder.nonConformingFloatDecodingStrategy = .convertFromString(
            positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        guard let data = decodeValue(of: NSData.self, forKey: key) else { return nil }
        let block = try? decoder.decode(type, from: Data(referencing: data))
        if block == nil {
            (self as? any ArchiveReader)?.noteUnknown(
                "A block of values in the archive is damaged. Archive the object again.", ["key": key])
        }
        return block
    }

    /// Whether there is a block that does not decode. An object that could do without it does not decode then.
    func hasDamagedBlock<Block: Decodable>(_ type: Block.Type, forKey key: String) -> Bool {
        containsValue(forKey: key) && decodeBlock(type, forKey: key) == nil
    }
}
