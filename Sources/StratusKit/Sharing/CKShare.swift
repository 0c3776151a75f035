// A share as clients know it: a record that says who takes part.
//
// Invariants: what only the server decides (URL, statuses, dates, who the owner is) changes only when the server has
// answered; everything that a client sets is a claim, which the server judges when the share is saved.

public import Foundation
import StratusCloud
import StratusModel
import StratusStore

/// A share: a record that opens a hierarchy of records, or a whole zone, to others.
///
/// A share of a hierarchy is saved together with its root (SH-04), one of a zone alone. Mistakes that raise an exception
/// on Apple's systems are remembered and fail the save; see ``StratusMisuse``.
open class CKShare: CKRecord, @unchecked Sendable {
    // Unchecked because it inherits from CKRecord, whose rules it follows: its own state is locked.

    private let mark: ShareMark
    let sharing: Locked<ShareState>

    /// A share of a record and everything below it. The record's `share` is set at once (C-12).
    /// - Parameter rootRecord: The record, which is saved together with the share.
    public convenience init(rootRecord: CKRecord) {
        let shareID = CKRecord.ID(recordName: "Share-\(UUID.drawn().uuidString)", zoneID: rootRecord.recordID.zoneID)
        self.init(rootRecord: rootRecord, shareID: shareID)
    }

    /// A share of a record and everything below it. The record's `share` is set at once (C-12).
    /// - Parameters:
    ///   - rootRecord: The record, which is saved together with the share.
    ///   - shareID: The share's own identifier, in the zone of the record.
    public init(rootRecord: CKRecord, shareID: CKRecord.ID) {
        let rootID = rootRecord.recordID
        mark = ShareMark()
        sharing = Locked(
            ShareState(ShareFacts(root: rootID.recordName), in: rootID.zoneID, viewer: nil, mark: mark))
        super.init(recordType: CKRecord.SystemType.share, recordID: shareID)
        guard shareID.zoneID == rootID.zoneID else {
            note(SharingMisuse(text: "Share must be in the same zone as the current record"))
            return
        }
        rootRecord.state.withLock { $0.share = CKReference(recordID: shareID, action: .none) }
    }

    /// A share of a whole zone; its name is always `CKRecordNameZoneWideShare` (C-13).
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
        state.withLock { $0 = content }
    }

    /// Decodes a share, or the system fields of one. What an archive says is a claim. One that holds no share, or a
    /// part that is not understood, gives a share that cannot be saved.
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
            state.withLock { $0 = content }
        } else {
            state.withLock { $0.misuse = Self.damage }
        }
    }

    /// What fails the save of a share that was decoded from something else.
    private static let damage = """
        The archive that the share was decoded from holds no share, or a part that is not understood: fetch the share.
        """

    /// Whether it was decoded from something else, or not wholly.
    var isDamaged: Bool { state.withLock { $0.misuse == Self.damage } }

    // MARK: Who takes part

    /// Where people accept; nil until the share was saved (C-14).
    open var url: URL? { sharing.withLock { $0.url }.flatMap { URL(string: $0) } }

    /// Those who take part or are invited, as many of them as the user may know of (P-08). The elements are the share's
    /// own: their role and permission can be changed.
    open var participants: [CKShare.Participant] { sharing.withLock { $0.entries.map(\.participant) } }

    /// A copy of the participant who owns the share; a placeholder until the share was saved (C-15).
    open var owner: CKShare.Participant {
        let (owner, facts) = sharing.withLock { ($0.participant($0.ownerID), $0.base) }
        return (owner ?? CKShareParticipant((facts ?? ShareFacts(root: nil)).participants[0])).copy(in: nil)
    }

    /// A copy of the user's own participant; nil where the user does not take part.
    open var currentUserParticipant: CKShare.Participant? {
        sharing.withLock { $0.participant($0.currentUserID) }?.copy(in: nil)
    }

    /// What everybody may do who has the URL. Unless it is `none`, people join by the URL, and nobody is invited (P-05).
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

    /// Makes a change that may be a mistake, which is remembered then.
    final func change(_ body: (inout ShareState, ShareMark) throws(SharingMisuse) -> Void) {
        let mistake: SharingMisuse? = sharing.withLock { sharing in
            do throws(SharingMisuse) {
                try body(&sharing, mark)
                return nil
            } catch {
                return error
            }
        }
        if let mistake { note(mistake) }
    }

    private func note(_ mistake: SharingMisuse) {
        state.withLock { StratusMisuse.note(mistake.text, in: &$0.misuse) }
    }
}

extension CKRecord {
    /// A record from the server: a `CKShare` where it is a share.
    /// - Parameters:
    ///   - answer: What the server sent.
    ///   - origin: From where it was fetched, and by whom.
    ///   - download: Makes private copies of its assets; nil where assets have no content (S-07).
    /// - Returns: The record.
    static func from(_ answer: ClientRecord, origin: RecordOrigin?, download: (any AssetDownload)? = nil) -> CKRecord {
        answer.type == SystemType.share
            ? CKShare(share: answer, origin: origin, download: download)
            : CKRecord(answer, origin: origin, download: download)
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
}

// Who is invited to a share, who asks for access, and who may not.

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

// The names by which clients know the types that belong to a share.

extension CKShare {
    /// The keys of the fields that every share may have, for display (SH-15).
    public enum SystemFieldKey {
        /// What the share is called: a string.
        public static let title: CKRecord.FieldKey = "cloudkit.title"
        /// A small picture: data.
        public static let thumbnailImageData: CKRecord.FieldKey = "cloudkit.thumbnailImageData"
        /// What is shared, as a uniform type identifier: a string.
        public static let shareType: CKRecord.FieldKey = "cloudkit.type"
    }

    /// Whether a participant has accepted (P-02).
    public enum ParticipantAcceptanceStatus: Int, Sendable {
        /// A value of another version's; never the server's.
        case unknown = 0
        /// They have not accepted.
        case pending = 1
        /// They have accepted.
        case accepted = 2
        /// They were taken off the share.
        case removed = 3
    }

    /// What a participant may do with shared records.
    public enum ParticipantPermission: Int, Sendable {
        /// A value of another version's; never the server's.
        case unknown = 0
        /// Nothing: the person is listed and sees nothing (P-09).
        case none = 1
        /// They may read.
        case readOnly = 2
        /// They may read, change, delete and add.
        case readWrite = 3
    }

    /// What a participant is to a share (P-04).
    public enum ParticipantRole: Int, Sendable {
        /// A value of another version's; never the server's.
        case unknown = 0
        /// The owner of the root, or of the zone.
        case owner = 1
        /// May invite and remove people and change permissions.
        case administrator = 2
        /// Somebody who was invited.
        case privateUser = 3
        /// Somebody who came by the link of a public share.
        case publicUser = 4
    }

    /// Somebody who takes part in a share.
    public typealias Participant = CKShareParticipant
    /// A share as somebody is told of it who has its URL.
    public typealias Metadata = CKShareMetadata
    /// Somebody who asks for access.
    public typealias AccessRequester = CKShareAccessRequester
    /// Somebody who may not ask for access.
    public typealias BlockedIdentity = CKShareBlockedIdentity
}

extension CKShareParticipant {
    /// The type of `participantID`.
    public typealias ID = String
    /// The old name of `CKShare.ParticipantAcceptanceStatus`.
    @available(*, deprecated, renamed: "CKShare.ParticipantAcceptanceStatus")
    public typealias AcceptanceStatus = CKShare.ParticipantAcceptanceStatus
    /// The old name of `CKShare.ParticipantPermission`.
    @available(*, deprecated, renamed: "CKShare.ParticipantPermission")
    public typealias Permission = CKShare.ParticipantPermission
    /// The old name of `CKShare.ParticipantRole`.
    @available(*, deprecated, renamed: "CKShare.ParticipantRole")
    public typealias Role = CKShare.ParticipantRole
}

/// The name of `CKShare.ParticipantAcceptanceStatus` between two versions of Swift.
@available(*, deprecated, renamed: "CKShare.ParticipantAcceptanceStatus")
public typealias CKShare_Participant_AcceptanceStatus = CKShare.ParticipantAcceptanceStatus

/// The name of `CKShare.ParticipantPermission` between two versions of Swift.
@available(*, deprecated, renamed: "CKShare.ParticipantPermission")
public typealias CKShare_Participant_Permission = CKShare.ParticipantPermission

/// The name of `CKShare.ParticipantRole` between two versions of Swift.
@available(*, deprecated, renamed: "CKShare.ParticipantRole")
public typealias CKShare_Participant_Role = CKShare.ParticipantRole

// MARK: The server's words

// The raw values are the same on both sides; `unknown` is nobody's but the client's.

extension CKShare.ParticipantAcceptanceStatus {
    init(_ status: AcceptanceStatus) { self = status == .accepted ? .accepted : .pending }
}

extension CKShare.ParticipantPermission {
    init(_ permission: ParticipantPermission) { self = Self(rawValue: Int(permission.rawValue)) ?? .unknown }

    /// The same in the server's words; nil for `unknown`.
    var claim: ParticipantPermission? { ParticipantPermission(rawValue: UInt8(rawValue)) }
}

extension CKShare.ParticipantRole {
    init(_ role: ParticipantRole) { self = Self(rawValue: Int(role.rawValue)) ?? .unknown }

    /// The same in the server's words; nil for `unknown`.
    var claim: ParticipantRole? { ParticipantRole(rawValue: UInt8(rawValue)) }
}
