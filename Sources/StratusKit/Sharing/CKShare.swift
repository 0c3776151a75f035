// A share, as clients know it: a record that says who takes part.
//
// Invariants: what only the server decides (URL, statuses, dates, the owner) changes only when the server has answered.
// Everything a client sets is a claim, which the server judges when the share is saved.

public import Foundation
import StratusCloud
import StratusModel
import StratusStore

/// A share: a record that makes a hierarchy of records, or a whole zone, accessible to others.
///
/// Save the share of a hierarchy together with its root (SH-04), and the share of a zone alone. Mistakes that raise an
/// exception on Apple's systems are remembered and fail the save; see ``StratusMisuse``.
open class CKShare: CKRecord, @unchecked Sendable {
    // Unchecked because it inherits from `CKRecord` and follows its rules: its own state is locked.

    private let mark: ShareMark
    let sharing: Locked<ShareState>

    /// Creates a share of a record and everything below it, and sets the record's `share` (C-12).
    /// - Parameter rootRecord: The record. Save it together with the share.
    public convenience init(rootRecord: CKRecord) {
        let shareID = CKRecord.ID(recordName: "Share-\(UUID.drawn().uuidString)", zoneID: rootRecord.recordID.zoneID)
        self.init(rootRecord: rootRecord, shareID: shareID)
    }

    /// Creates a share of a record and everything below it, and sets the record's `share` (C-12).
    /// - Parameters:
    ///   - rootRecord: The record. Save it together with the share.
    ///   - shareID: The share's own identifier, in the zone of the record.
    public init(rootRecord: CKRecord, shareID: CKRecord.ID) {
        let rootID = rootRecord.recordID
        mark = ShareMark()
        sharing = Locked(
            ShareState(ShareFacts(root: rootID.recordName), in: rootID.zoneID, viewer: nil, mark: mark))
        super.init(recordType: CKRecord.SystemType.share, recordID: shareID)
        guard shareID.zoneID == rootID.zoneID else {
            note(Misuse("Share must be in the same zone as the current record"))
            return
        }
        rootRecord.withParts { $0.share = CKReference(recordID: shareID, action: .none) }
    }

    /// Creates a share of a whole zone. Its name is always `CKRecordNameZoneWideShare` (C-13).
    /// - Parameter recordZoneID: The zone.
    public init(recordZoneID: CKRecordZone.ID) {
        mark = ShareMark()
        sharing = Locked(ShareState(ShareFacts(root: nil), in: recordZoneID, viewer: nil, mark: mark))
        let shareID = CKRecord.ID(recordName: CKRecordNameZoneWideShare, zoneID: recordZoneID)
        super.init(recordType: CKRecord.SystemType.share, recordID: shareID)
    }

    /// A share with this content.
    init(_ recordID: CKRecord.ID, _ content: HeldRecord, sharing makeSharing: (ShareMark) -> ShareState) {
        mark = ShareMark()
        sharing = Locked(makeSharing(mark))
        super.init(recordType: CKRecord.SystemType.share, recordID: recordID)
        withParts { $0 = content }
    }

    /// Decodes a share, or the system fields of one. The content of an archive is a claim. An archive that holds
    /// no share, or a part that is not understood, gives a share that cannot be saved.
    public required init(coder: NSCoder) {
        let recordID = coder.decodeValue(of: CKRecordID.self, forKey: CoderKey.recordID)
        let content = HeldRecord(coder: coder)
        let isShare = coder.decodeText(forKey: CoderKey.recordType) == CKRecord.SystemType.share
        mark = ShareMark()
        let zoneID = recordID?.zoneID ?? CKRecordZoneID.default
        sharing = Locked(ShareState(coder: coder, in: zoneID, mark: mark))
        super.init(
            recordType: CKRecord.SystemType.share, recordID: recordID ?? CKRecordID(recordName: "", zoneID: zoneID))
        if isShare, recordID != nil, let content, !ShareState.isDamaged(in: coder),
            !ArchivedKeys.hasUnsupportedPart("CKShare", in: coder)
        {
            withParts { $0 = content }
        } else {
            withParts { $0.misuse = Self.damage }
        }
    }

    /// Fails the save of a share that was decoded from something else.
    private static let damage = """
        The share was decoded from an archive without a share, or with a part that is not understood. Fetch the share.
        """

    /// Whether it was decoded from something else, or only in part.
    var isDamaged: Bool { state.withLock { $0.misuse == Self.damage } }

    // MARK: Who takes part

    /// The URL for accepting the share; nil until the share is saved (C-14).
    open var url: URL? { sharing.withLock { $0.url }.flatMap { URL(string: $0) } }

    /// The participants, including invited people, as far as the user may see them (P-08). You can change the role and
    /// permission of these objects.
    open var participants: [CKShare.Participant] { sharing.withLock { $0.entries.map(\.participant) } }

    /// A copy of the owner's participant; a placeholder until the share is saved (C-15).
    open var owner: CKShare.Participant {
        let (owner, facts) = sharing.withLock { ($0.participant($0.ownerID), $0.base) }
        return (owner ?? CKShareParticipant((facts ?? ShareFacts(root: nil)).participants[0])).copy(in: nil)
    }

    /// A copy of the user's own participant; nil if the user does not take part.
    open var currentUserParticipant: CKShare.Participant? {
        sharing.withLock { $0.participant($0.currentUserID) }?.copy(in: nil)
    }

    /// What anyone with the URL may do. Unless it is `none`, people join by the URL, and you cannot invite people
    /// (P-05).
    open var publicPermission: CKShare.ParticipantPermission {
        get { sharing.withLock { $0.publicPermission } }
        set {
            sharing.withLock { sharing in
                sharing.publicPermission = newValue
                sharing.publicPermissionEditNumber = sharing.nextEditNumber()
            }
        }
    }

    // MARK: Copying and archiving

    open override class func classFallbacksForKeyedArchiver() -> [String] { ["CKShare"] }

    override func makeRecord(_ state: HeldRecord, isAncestor: Bool) -> CKRecord {
        let now = sharing.value
        let viewer = state.origin?.account
        let zoneID = recordID.zoneID
        return CKShare(recordID, state) { mark in
            guard isAncestor else { return now.copied(to: mark) }
            let facts = now.base ?? ShareFacts(root: now.rootID?.recordName)
            var ancestor = ShareState(facts, in: zoneID, viewer: viewer, mark: mark)
            ancestor.base = now.base
            return ancestor
        }
    }

    open override func encodeSystemFields(with coder: NSCoder) {
        super.encodeSystemFields(with: coder)
        sharing.value.encodeBase(with: coder)
    }

    open override func encode(with coder: NSCoder) {
        super.encode(with: coder)
        sharing.value.encodeEdited(with: coder)
    }

    // MARK: Exchange with the server

    override func beginSharing() -> (any SentSharing)? { sharing.value.beginSave() }

    override func absorbSharing(
        _ saved: ClientShare?, isNews: Bool, origin: RecordOrigin?, sent: (any SentSharing)?
    ) {
        guard let sent = sent as? SentShareState else { return }
        let zoneID = recordID.zoneID
        sharing.withLock {
            $0.absorb(saved, isNews: isNews, viewer: origin?.account, sent: sent, in: zoneID, mark: mark)
        }
    }

    /// Makes a change. If it is a mistake, the share remembers it.
    final func change(_ body: (inout ShareState, ShareMark) throws -> Void) {
        do {
            try sharing.withLock { try body(&$0, mark) }
        } catch {
            if let mistake = error as? Misuse { note(mistake) }
        }
    }

    private func note(_ mistake: Misuse) {
        withParts { StratusMisuse.note(mistake.text, in: &$0.misuse) }
    }
}

extension CKRecord {
    /// A record from the server: a `CKShare` if it is a share.
    /// - Parameters:
    ///   - answer: What the server sent.
    ///   - recordID: An object with the answer's address, if there is one.
    ///   - origin: Where it was fetched, and by which account.
    ///   - download: Creates private copies of its assets; nil if assets have no content (S-07).
    /// - Returns: The record.
    static func from(
        _ answer: ClientRecord, _ recordID: CKRecordID? = nil, origin: RecordOrigin?,
        download: @autoclosure () -> (any AssetDownload)? = nil
    ) -> CKRecord {
        answer.type == SystemType.share
            ? CKShare(share: answer, origin: origin, download: download())
            : CKRecord(answer, recordID, origin: origin, download: download())
    }
}

extension CKShare {
    /// A share from the server.
    convenience init(share answer: ClientRecord, origin: RecordOrigin?, download: (any AssetDownload)? = nil) {
        let recordID = CKRecordID(answer.address)
        self.init(recordID, HeldRecord(answer, origin: origin, download: download)) { mark in
            let facts = answer.sharing.map { ShareFacts($0) }
            var state = ShareState(
                facts ?? ShareFacts(root: nil), in: recordID.zoneID, viewer: origin?.account, mark: mark)
            state.base = facts
            return state
        }
    }

    // Participants, access requests and blocked people.

    /// Invites a person, or changes the participant who is the same person (C-16). The invitation is sent when the
    /// share is saved. This is a mistake, which fails the save, unless `publicPermission` is `none` (C-17).
    /// - Parameter participant: A participant that was fetched or created for a one-time URL, and is in no other share.
    public func addParticipant(_ participant: CKShare.Participant) {
        change { sharing, mark in try sharing.add(participant, to: mark) }
    }

    /// Removes a participant when the share is saved. Removing someone who was never added is a mistake, which fails
    /// the save (C-16).
    /// - Parameter participant: One of `participants`, or an equal one.
    public func removeParticipant(_ participant: CKShare.Participant) {
        change { sharing, _ in try sharing.remove(participant) }
    }

    /// The URL that only one participant can use, who was created by `oneTimeURLParticipant()`. Once they have
    /// accepted, the share's own URL (P-16).
    /// - Parameter participantID: The participant's identifier.
    /// - Returns: The URL; nil until the share is saved, and for any other participant.
    public func oneTimeURL(for participantID: CKShare.Participant.ID) -> URL? {
        sharing.withLock { $0.participant(participantID) }?.facts.oneTimeURL.flatMap { URL(string: $0) }
    }

    /// ``oneTimeURL(for:)`` under its name before macOS 26 and iOS 26.
    public func __oneTimeURL(forParticipantID participantID: CKShare.Participant.ID) -> URL? {
        oneTimeURL(for: participantID)
    }

    /// Whether people who have the URL and are not invited may request access (P-20). Default: false. Only the owner
    /// and administrators may set it; for others it is a mistake, which fails the save.
    public var allowsAccessRequests: Bool {
        get { sharing.withLock { $0.allowsAccessRequests } }
        set { change { sharing, _ in try sharing.setAllowsAccessRequests(newValue) } }
    }

    /// The people who request access, visible to the owner and administrators. To grant access, invite the person by
    /// `participantLookupInfo`.
    public var requesters: [CKShare.AccessRequester] { sharing.withLock { $0.requesters } }

    /// The people who may not request access, visible to the owner and administrators.
    public var blockedIdentities: [CKShare.BlockedIdentity] { sharing.withLock { $0.blocked } }

    /// Denies requests for access when the share is saved. The people may request access again.
    /// - Parameter requesters: Some of `requesters`.
    public func denyRequesters(_ requesters: [CKShare.AccessRequester]) {
        change { sharing, _ in try sharing.deny(requesters) }
    }

    /// Denies requests for access when the share is saved. The people lose their access and may not request it again.
    /// - Parameter requesters: Some of `requesters`.
    public func blockRequesters(_ requesters: [CKShare.AccessRequester]) {
        change { sharing, _ in try sharing.block(requesters) }
    }

    /// Lets people request access again when the share is saved.
    /// - Parameter blockedIdentities: Some of `blockedIdentities`.
    public func unblockIdentities(_ blockedIdentities: [CKShare.BlockedIdentity]) {
        change { sharing, _ in try sharing.unblock(blockedIdentities) }
    }

    // The types that belong to a share.

    /// The keys of fields that every share may have, for display (SH-15).
    public enum SystemFieldKey {
        /// The title: a string.
        public static let title: CKRecord.FieldKey = "cloudkit.title"
        /// A small picture: data.
        public static let thumbnailImageData: CKRecord.FieldKey = "cloudkit.thumbnailImageData"
        /// The kind of content, as a uniform type identifier: a string.
        public static let shareType: CKRecord.FieldKey = "cloudkit.type"
    }

    /// Whether a participant has accepted (P-02).
    public enum ParticipantAcceptanceStatus: Int, Sendable {
        /// A value of another version. The server never sends it.
        case unknown = 0
        /// They have not accepted.
        case pending = 1
        /// They have accepted.
        case accepted = 2
        /// They were removed from the share.
        case removed = 3

        init(_ status: AcceptanceStatus) { self = status == .accepted ? .accepted : .pending }
    }

    /// What a participant may do with shared records.
    public enum ParticipantPermission: Int, Sendable {
        /// A value of another version. The server never sends it.
        case unknown = 0
        /// They are listed and see nothing (P-09).
        case none = 1
        /// They may read.
        case readOnly = 2
        /// They may read, change, delete and add.
        case readWrite = 3

        // The server uses the same raw values, and has no `unknown`.
        init(_ permission: StratusModel.ParticipantPermission) {
            self = Self(rawValue: Int(permission.rawValue)) ?? .unknown
        }

        /// The same in the server's terms; nil for `unknown`.
        var claim: StratusModel.ParticipantPermission? { .init(rawValue: UInt8(rawValue)) }
    }

    /// The role of a participant in a share (P-04).
    public enum ParticipantRole: Int, Sendable {
        /// A value of another version. The server never sends it.
        case unknown = 0
        /// The owner of the root, or of the zone.
        case owner = 1
        /// May invite and remove people and change permissions.
        case administrator = 2
        /// An invited person.
        case privateUser = 3
        /// A person who joined by the link of a public share.
        case publicUser = 4

        init(_ role: StratusModel.ParticipantRole) { self = Self(rawValue: Int(role.rawValue)) ?? .unknown }

        /// The same in the server's terms; nil for `unknown`.
        var claim: StratusModel.ParticipantRole? { .init(rawValue: UInt8(rawValue)) }
    }

    /// A person who takes part in a share.
    public typealias Participant = CKShareParticipant
    /// What a person with the URL of a share learns about it.
    public typealias Metadata = CKShareMetadata
    /// A person who requests access.
    public typealias AccessRequester = CKShareAccessRequester
    /// A person who may not request access.
    public typealias BlockedIdentity = CKShareBlockedIdentity
}

/// The name of `CKShare.ParticipantAcceptanceStatus` in the time between two versions of Swift.
@available(*, deprecated, renamed: "CKShare.ParticipantAcceptanceStatus")
public typealias CKShare_Participant_AcceptanceStatus = CKShare.ParticipantAcceptanceStatus

/// The name of `CKShare.ParticipantPermission` in the time between two versions of Swift.
@available(*, deprecated, renamed: "CKShare.ParticipantPermission")
public typealias CKShare_Participant_Permission = CKShare.ParticipantPermission

/// The name of `CKShare.ParticipantRole` in the time between two versions of Swift.
@available(*, deprecated, renamed: "CKShare.ParticipantRole")
public typealias CKShare_Participant_Role = CKShare.ParticipantRole
