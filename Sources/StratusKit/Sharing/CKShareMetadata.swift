// What a person with the URL of a share learns about it. The class is top-level because Foundation on Linux cannot
// archive nested classes; clients write `CKShare.Metadata`.
//
// Invariants: it is immutable, because it returns copies of share and root. Its content after decoding is a
// claim: only its URL is sent to the server.

public import Foundation
import StratusCloud
import StratusModel
import StratusStore

/// What an invited person learns about a share, and needs to accept it. Two are equal if their content is (C-18).
public final class CKShareMetadata: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// The content in addition to the records.
    struct Facts: Codable, Hashable, Sendable {
        /// The requested URL.
        var url: String
        var container: String
        var role: Int
        var status: Int
        var permission: Int
        var owner: IdentityFacts
        // The rest comes from Apple's archives only. Our server says the same in the share and the root.
        /// The participant who asked, if the share does not list them.
        var caller: ParticipantFacts?
        var rootType: String?
        /// The names of the records from the shared item up to the root.
        var hierarchy: [String]?
        /// Apple's number of the container's environment.
        var environment: Int?
    }

    let facts: Facts
    private let toldShare: CKShare
    private let toldRoot: CKRecord?

    init(_ facts: Facts, share: CKShare, root: CKRecord?) {
        self.facts = facts
        toldShare = share
        toldRoot = root
        super.init()
    }

    /// Converts the server's answer.
    convenience init(_ metadata: ClientShareMetadata, share: CKShare, root: CKRecord?) {
        self.init(
            Facts(
                url: metadata.url, container: metadata.container.text, role: Int(metadata.role.rawValue),
                status: Int(metadata.status.rawValue), permission: Int(metadata.permission.rawValue),
                owner: IdentityFacts(metadata.owner)),
            share: share, root: root)
    }

    /// The container in which to accept the share (M-01).
    public var containerIdentifier: String { facts.container }

    /// A copy of the share.
    public var share: CKShare { toldShare.copy() as? CKShare ?? toldShare }

    /// The root of the hierarchy; nil for a share of a whole zone.
    public var hierarchicalRootRecordID: CKRecord.ID? { toldShare.sharing.withLock { $0.rootID } }

    /// The root of the hierarchy; the share itself for a share of a whole zone.
    @available(*, deprecated, renamed: "hierarchicalRootRecordID")
    public var rootRecordID: CKRecord.ID { hierarchicalRootRecordID ?? toldShare.recordID }

    /// A copy of the root, if it was requested (M-02).
    public var rootRecord: CKRecord? { toldRoot?.copy() as? CKRecord }

    /// The user's role in the share, or the role that accepting gives.
    public var participantRole: CKShare.ParticipantRole { CKShare.ParticipantRole(rawValue: facts.role) ?? .unknown }

    /// Whether the user has accepted.
    public var participantStatus: CKShare.ParticipantAcceptanceStatus {
        CKShare.ParticipantAcceptanceStatus(rawValue: facts.status) ?? .unknown
    }

    /// What the user may do, or could do after accepting.
    public var participantPermission: CKShare.ParticipantPermission {
        CKShare.ParticipantPermission(rawValue: facts.permission) ?? .unknown
    }

    /// Who owns the share.
    public var ownerIdentity: CKUserIdentity { CKUserIdentity(facts.owner) }

    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKShareMetadata else { return false }
        return self === other
            || (facts == other.facts && toldShare.recordID == other.toldShare.recordID
                && toldShare.recordChangeTag == other.toldShare.recordChangeTag
                && toldRoot?.recordID == other.toldRoot?.recordID
                && toldRoot?.recordChangeTag == other.toldRoot?.recordChangeTag)
    }

    public override var hash: Int { toldShare.recordID.hash }

    public override var description: String {
        // The URL is a secret, so it is left out.
        """
        <CKShareMetadata: \(facts.container), share=\(toldShare.recordID), role=\(participantRole), \
        status=\(participantStatus), permission=\(participantPermission)>
        """
    }

    // MARK: Copying and archiving

    /// The same object, which never changes.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    public static override func classFallbacksForKeyedArchiver() -> [String] { ["CKShareMetadata"] }

    /// Archives everything, including the URL, by which the share can be accepted.
    public func encode(with coder: NSCoder) {
        if coder.isOfApple { return encodeForApple(share: toldShare, root: toldRoot, with: coder) }
        coder.encodeBlock(facts, forKey: CoderKey.metadata)
        coder.encode(toldShare, forKey: CoderKey.metadataShare)
        coder.encode(toldRoot, forKey: CoderKey.metadataRoot)
    }

    /// Decodes the metadata. Returns nil if it contains no share. Its content is a claim.
    public convenience init?(coder: NSCoder) {
        guard let share = coder.decodeValue(of: CKShare.self, forKey: CoderKey.metadataShare) else {
            self.init(ofApple: coder)
            return
        }
        guard let facts = coder.decodeBlock(Facts.self, forKey: CoderKey.metadata), !share.isDamaged else { return nil }
        self.init(facts, share: share, root: coder.decodeValue(of: CKRecord.self, forKey: CoderKey.metadataRoot))
    }

    // Metadata of shares in archives of Apple's systems.
    //
    // Apple identifies the share to its servers by tokens, which are useless here and are not read. Our server uses the
    // URL, which is stored under a key of our own, and in the share.

    private typealias Key = CoderKey.Apple

    /// Decodes an archive of Apple's. Returns nil if it has no share or no container.
    convenience init?(ofApple coder: NSCoder) {
        guard let share = coder.decodeValue(of: CKShare.self, forKey: Key.share), !share.isDamaged,
            let container = coder.decodeValue(of: ArchivedContainerID.self, forKey: Key.container)
        else { return nil }
        guard !coder.hasForeignMembers(CKRecordID.self, forKey: Key.hierarchy) else { return nil }
        let caller = coder.decodeValue(of: CKShareParticipant.self, forKey: Key.callingParticipant)?.facts
        let owner = coder.decodeValue(of: CKUserIdentity.self, forKey: Key.ownerIdentity) ?? share.owner.userIdentity
        let rootID = coder.decodeValue(of: CKRecordID.self, forKey: Key.rootRecordID)
        let root = coder.decodeValue(of: CKRecord.self, forKey: Key.rootRecord)
        let isListed = share.sharing.withLock { sharing in
            if let rootID { sharing.rootID = rootID }
            guard sharing.participant(caller?.id) != nil else { return false }
            sharing.currentUserID = caller?.id
            return true
        }
        func number(_ key: String) -> Int { Int(clamping: coder.decodeNumber(forKey: key)) }
        var facts = Facts(
            url: coder.decodeText(forKey: CoderKey.url) ?? share.url?.absoluteString ?? "",
            container: container.identifier, role: number(Key.callerRole), status: number(Key.callerStatus),
            permission: number(Key.callerPermission), owner: IdentityFacts(owner))
        let rootType = coder.decodeText(forKey: Key.rootRecordType)
        let hierarchy = coder.decodeMembers(of: CKRecordID.self, forKey: Key.hierarchy)?.map(\.recordName)
        // Drop what share and root also say, so that two with the same content are equal (C-18).
        facts.caller = isListed ? nil : caller
        facts.rootType = rootType == root?.recordType ? nil : rootType
        facts.hierarchy = hierarchy == [rootID?.recordName ?? ""] || hierarchy?.isEmpty == true ? nil : hierarchy
        facts.environment = container.environment == 0 ? nil : Int(clamping: container.environment)
        self.init(facts, share: share, root: root)
    }

    func encodeForApple(share: CKShare, root: CKRecord?, with coder: NSCoder) {
        let rootID = hierarchicalRootRecordID
        let names = facts.hierarchy ?? rootID.map { [$0.recordName] } ?? []
        let zoneID = share.recordID.zoneID
        let caller =
            facts.caller.map { CKShareParticipant($0) }
            ?? share.currentUserParticipant.map { participant in
                var facts = participant.facts
                facts.isCurrentUser = true
                return CKShareParticipant(facts)
            }
        coder.encode(share, forKey: Key.share)
        coder.encodeText(facts.url, forKey: CoderKey.url)
        coder.encode(
            ArchivedContainerID(identifier: facts.container, environment: Int64(facts.environment ?? 0)),
            forKey: Key.container)
        coder.encode(ownerIdentity, forKey: Key.ownerIdentity)
        coder.encode(caller, forKey: Key.callingParticipant)
        coder.encode(Int64(facts.role), forKey: Key.callerRole)
        coder.encode(Int64(facts.status), forKey: Key.callerStatus)
        coder.encode(Int64(facts.permission), forKey: Key.callerPermission)
        coder.encode(rootID, forKey: Key.rootRecordID)
        coder.encodeText(facts.rootType ?? root?.recordType, forKey: Key.rootRecordType)
        coder.encode(root, forKey: Key.rootRecord)
        coder.encode(
            NSArray(array: names.map { CKRecordID(recordName: $0, zoneID: zoneID) }), forKey: Key.hierarchy)
    }
}

/// The identifier of a container, as Apple archives it.
final class ArchivedContainerID: NSObject, NSSecureCoding {
    let identifier: String
    /// Apple's number of the environment: development or production.
    let environment: Int64

    init(identifier: String, environment: Int64) {
        self.identifier = identifier
        self.environment = environment
        super.init()
    }

    convenience init?(coder: NSCoder) {
        guard let identifier = coder.decodeText(forKey: CoderKey.Apple.containerIdentifier) else { return nil }
        self.init(
            identifier: identifier, environment: coder.decodeNumber(forKey: CoderKey.Apple.containerEnvironment))
    }

    static var supportsSecureCoding: Bool { true }

    override class func classFallbacksForKeyedArchiver() -> [String] { ["CKContainerID"] }

    func encode(with coder: NSCoder) {
        coder.encodeText(identifier, forKey: CoderKey.Apple.containerIdentifier)
        coder.encode(environment, forKey: CoderKey.Apple.containerEnvironment)
    }
}
