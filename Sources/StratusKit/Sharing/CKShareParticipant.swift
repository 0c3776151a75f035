// The people of a share: participants, requesters of access, and blocked people. The classes are top-level because
// Foundation on Linux cannot archive nested classes; clients write `CKShare.Participant`, `CKShare.AccessRequester` and
// `CKShare.BlockedIdentity`.
//
// Invariants: what only the server decides changes only when the server has answered. Clients may change role and
// permission; a change made during a save remains after it. Requesters and blocked people are immutable.

public import Foundation
import StratusCloud
import StratusModel
import StratusStore

/// Identifies one share object, so that its participants know where they were added.
final class ShareMark: Sendable {}

/// What a participant keeps behind its lock.
struct ParticipantState: Sendable {
    var facts: ParticipantFacts
    /// The account that the server answered: `__defaultOwner__` means its person.
    var viewer: AccountID?
    var roleEditNumber: UInt64?
    var permissionEditNumber: UInt64?
    var lastEditNumber: UInt64 = 0
    /// The share that the participant was added to, as long as it exists (C-16).
    weak var share: ShareMark?

    mutating func forgetEdits(upTo number: UInt64) {
        if let edit = roleEditNumber, edit <= number { roleEditNumber = nil }
        if let edit = permissionEditNumber, edit <= number { permissionEditNumber = nil }
    }
}

/// A person who takes part in a share or is invited to it. Fetch participants (P-01), or create one with
/// ``oneTimeURLParticipant()``. Two are equal if they are the same person (C-18).
public final class CKShareParticipant: NSObject, NSSecureCoding, NSCopying, Sendable {
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

    let state: Locked<ParticipantState>

    init(_ facts: ParticipantFacts, viewer: AccountID? = nil, share: ShareMark? = nil) {
        state = Locked(ParticipantState(facts: facts, viewer: viewer, share: share))
        super.init()
    }

    /// A participant without an identity: the first person who uses the URL that `CKShare.oneTimeURL(for:)` returns
    /// after the save (P-16).
    public class func oneTimeURLParticipant() -> Self {
        Self(
            ParticipantFacts(id: UUID.drawn().uuidString, identity: IdentityFacts(hasAccount: false), isOneTime: true))
    }

    var facts: ParticipantFacts { state.withLock { $0.facts } }

    /// The person.
    public var userIdentity: CKUserIdentity { CKUserIdentity(facts.identity) }

    /// The participant's role. A change takes effect when an owner or administrator saves the share.
    public var role: CKShare.ParticipantRole {
        get { CKShare.ParticipantRole(rawValue: facts.role) ?? .unknown }
        set {
            state.withLock { state in
                state.facts.role = newValue.rawValue
                state.lastEditNumber += 1
                state.roleEditNumber = state.lastEditNumber
            }
        }
    }

    /// What the participant may do with shared records. A change takes effect when an owner or administrator saves the
    /// share.
    public var permission: CKShare.ParticipantPermission {
        get { CKShare.ParticipantPermission(rawValue: facts.permission) ?? .unknown }
        set {
            state.withLock { state in
                state.facts.permission = newValue.rawValue
                state.lastEditNumber += 1
                state.permissionEditNumber = state.lastEditNumber
            }
        }
    }

    /// Whether the participant has accepted.
    public var acceptanceStatus: CKShare.ParticipantAcceptanceStatus {
        CKShare.ParticipantAcceptanceStatus(rawValue: facts.status) ?? .unknown
    }

    /// The participant's identifier within the share.
    public var participantID: CKShare.Participant.ID { facts.id }

    /// ``participantID`` under its older name.
    public var __participantID: CKShare.Participant.ID { participantID }

    /// Whether the participant had requested access (P-20).
    public var isApprovedRequester: Bool { facts.isApprovedRequester }

    /// When the server added the participant (P-21); nil before that.
    public var dateAddedToShare: Date? { facts.added }

    // MARK: Who it is

    /// The user record if known, otherwise the normalised handle, otherwise the participant's own identifier (C-18).
    private enum CanonicalIdentity: Hashable {
        /// The person of an account, whose own record is called `__defaultOwner__`.
        case caller(AccountID)
        case person(PersonKey)
        case participant(String)
    }

    private var canonicalIdentity: CanonicalIdentity {
        let (facts, viewer) = state.withLock { ($0.facts, $0.viewer) }
        let key = CKUserIdentity(facts.identity).canonicalKey
        if key == .user(UserName(CKCurrentUserDefaultName)) {
            return viewer.map { .caller($0) } ?? .participant(facts.id)
        }
        return key.map { .person($0) } ?? .participant(facts.id)
    }

    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKShareParticipant else { return false }
        return self === other || canonicalIdentity == other.canonicalIdentity
    }

    public override var hash: Int { canonicalIdentity.hashValue }

    public override var description: String {
        "<CKShareParticipant: \(userIdentity), role=\(role), permission=\(permission), status=\(acceptanceStatus)>"
    }

    // MARK: Copying and archiving

    /// A participant with the same content, in no share.
    public func copy(with zone: NSZone? = nil) -> Any { copy(in: nil) }

    func copy(in share: ShareMark?) -> CKShareParticipant {
        let (facts, viewer) = state.withLock { ($0.facts, $0.viewer) }
        return CKShareParticipant(facts, viewer: viewer, share: share)
    }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    public static override func classFallbacksForKeyedArchiver() -> [String] { ["CKShareParticipant"] }

    /// Archives the participant.
    public func encode(with coder: NSCoder) {
        if coder.isOfApple { return facts.encodeForApple(with: coder) }
        coder.encodeBlock(facts, forKey: CoderKey.participant)
    }

    /// Decodes a participant. Returns nil if the archive has none. Its content is a claim.
    public convenience init?(coder: NSCoder) {
        let facts = coder.decodeBlock(ParticipantFacts.self, forKey: CoderKey.participant)
        guard let facts = facts ?? ParticipantFacts(ofApple: coder),
            !ArchivedKeys.hasUnsupportedPart("CKShareParticipant", in: coder)
        else { return nil }
        self.init(facts)
    }

    // MARK: Exchange with the server

    /// A participant from the server.
    convenience init(_ participant: ClientParticipant, viewer: AccountID?, share: ShareMark? = nil) {
        self.init(ParticipantFacts(participant), viewer: viewer, share: share)
    }

    /// What a save sends for the participant, and the number of its last change.
    func claim(isAdded: Bool, isNew: Bool) -> (claim: ParticipantClaim, editNumber: UInt64) {
        let (facts, editNumber) = state.withLock { ($0.facts, $0.lastEditNumber) }
        let claim = ParticipantClaim(
            id: facts.id, lookup: isNew ? facts.identity.lookup : nil, isOneTime: facts.isOneTime,
            role: CKShare.ParticipantRole(rawValue: facts.role)?.claim,
            permission: CKShare.ParticipantPermission(rawValue: facts.permission)?.claim, isAdded: isAdded)
        return (claim, editNumber)
    }

    /// Takes over the server's answer. Changes after `sentEditNumber` stay.
    func absorb(_ participant: ClientParticipant, viewer: AccountID?, sentEditNumber: UInt64) {
        state.withLock { state in
            state.forgetEdits(upTo: sentEditNumber)
            var facts = ParticipantFacts(participant)
            if state.roleEditNumber != nil { facts.role = state.facts.role }
            if state.permissionEditNumber != nil { facts.permission = state.facts.permission }
            state.facts = facts
            state.viewer = viewer
        }
    }
}

/// A person who requests access to a share (P-20).
public final class CKShareAccessRequester: NSObject, NSSecureCoding, NSCopying, Sendable {
    let facts: PetitionerFacts

    init(_ facts: PetitionerFacts) {
        self.facts = facts
        super.init()
    }

    /// The person.
    public var userIdentity: CKUserIdentity { CKUserIdentity(facts.identity) }

    /// What to invite the person by, which gives them access.
    public var participantLookupInfo: CKUserIdentity.LookupInfo {
        CKUserIdentity.LookupInfo(facts.identity.lookup ?? .userRecord(facts.identity.user ?? ""))
    }

    /// The person as a contact. Every access creates a new one from name and handle.
    public var contact: CNContact { CNContact(userIdentity) }

    public override var description: String { "<CKShareAccessRequester: \(userIdentity)>" }

    // MARK: Copying and archiving

    /// The same object, which never changes.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    public static override func classFallbacksForKeyedArchiver() -> [String] { ["CKShareAccessRequester"] }

    /// Archives the person.
    public func encode(with coder: NSCoder) { coder.encodeBlock(facts, forKey: CoderKey.petitioner) }

    /// Decodes the person. Returns nil if the archive has none. Its content is a claim.
    public convenience init?(coder: NSCoder) {
        guard let facts = coder.decodeBlock(PetitionerFacts.self, forKey: CoderKey.petitioner) else { return nil }
        self.init(facts)
    }
}

/// A person who may not request access to a share (P-20).
public final class CKShareBlockedIdentity: NSObject, NSSecureCoding, NSCopying, Sendable {
    let facts: PetitionerFacts

    init(_ facts: PetitionerFacts) {
        self.facts = facts
        super.init()
    }

    /// The person.
    public var userIdentity: CKUserIdentity { CKUserIdentity(facts.identity) }

    /// The person as a contact. Every access creates a new one from name and handle.
    public var contact: CNContact { CNContact(userIdentity) }

    public override var description: String { "<CKShareBlockedIdentity: \(userIdentity)>" }

    // MARK: Copying and archiving

    /// The same object, which never changes.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    public static override func classFallbacksForKeyedArchiver() -> [String] { ["CKShareBlockedIdentity"] }

    /// Archives the person.
    public func encode(with coder: NSCoder) { coder.encodeBlock(facts, forKey: CoderKey.petitioner) }

    /// Decodes the person. Returns nil if the archive has none. Its content is a claim.
    public convenience init?(coder: NSCoder) {
        guard let facts = coder.decodeBlock(PetitionerFacts.self, forKey: CoderKey.petitioner) else { return nil }
        self.init(facts)
    }
}
