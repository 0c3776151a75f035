// What a person wants to hear of: the base of the three kinds of subscriptions.
//
// Invariants: identifier and kind never change; the rest stands behind locks, because subscriptions are shared by
// threads. Each kind says in `subject` what it asks of the server, and keeps what it is made of.

public import Foundation
import StratusCloud
import StratusStore

/// The base of the three kinds of subscriptions. It is saved in a database, and from then on the person's devices are
/// notified of what others do there: each device of the person's but the one that did it (N-05).
///
/// A subscription belongs to one person and one database (N-08). Two are equal when they are of one kind and say the
/// same.
public class CKSubscription: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Unchecked because the class has subclasses: all that can change, here and there, stands behind locks.

    /// The type of `subscriptionID`.
    public typealias ID = String

    /// What a subscription's notifications say and do.
    public typealias NotificationInfo = CKNotificationInfo

    /// The kinds of subscriptions.
    public enum SubscriptionType: Int, Sendable {
        /// To records for which a query holds.
        case query = 1
        /// To a zone.
        case recordZone = 2
        /// To a database.
        case database = 3
    }

    /// The name of the subscription, unique among the person's in the database. Saving another one under it replaces
    /// this one (N-07).
    public let subscriptionID: CKSubscription.ID
    /// Which kind it is.
    public let subscriptionType: CKSubscription.SubscriptionType
    private let info = Locked<CKNotificationInfo?>(nil)

    init(id: String, type: SubscriptionType) {
        subscriptionID = id
        subscriptionType = type
        super.init()
    }

    /// What its notifications say and do; nil for silent ones (N-03). Setting it copies. The object can be changed in
    /// place; saving the subscription again makes it so.
    public final var notificationInfo: CKSubscription.NotificationInfo? {
        get { info.value }
        set {
            let copy = newValue.map { CKNotificationInfo($0.template) }
            info.withLock { $0 = copy }
        }
    }

    // MARK: What each kind says of itself

    /// What is subscribed to, in the server's words.
    /// - Parameter now: What `now()` is in a predicate.
    /// - Returns: The subject.
    /// - Throws: A mistake, for which CloudKit raises an exception or refuses the subscription.
    func subject(now: Date) throws(PredicateProblem) -> SubscriptionSubject {
        preconditionFailure("A kind of subscription says what is subscribed to.")
    }

    /// Whether another one of this kind is to the same.
    func isToSame(as other: CKSubscription) -> Bool { false }

    // MARK: Equality, copying and archiving

    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKSubscription else { return false }
        if self === other { return true }
        return subscriptionType == other.subscriptionType && subscriptionID == other.subscriptionID
            && notificationInfo?.template == other.notificationInfo?.template && isToSame(as: other)
    }

    public override var hash: Int { subscriptionID.hashValue }

    public override var description: String { "<\(type(of: self)): \(subscriptionID)>" }

    /// Another object that says the same.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// The same with the notifications of another one, for copies.
    final func inheriting(from other: CKSubscription) -> Self {
        notificationInfo = other.notificationInfo
        return self
    }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    /// Archives identifier and notifications; each kind adds its own.
    public func encode(with coder: NSCoder) {
        coder.encodeText(subscriptionID, forKey: CoderKey.subscriptionID)
        coder.encode(notificationInfo, forKey: CoderKey.subscriptionInfo)
    }

    /// Decodes nothing: only the three kinds are archived.
    public required convenience init?(coder: NSCoder) { return nil }

    /// Takes the notifications of an archive.
    final func adoptInfo(of coder: NSCoder) {
        notificationInfo = coder.decodeValue(of: CKNotificationInfo.self, forKey: CoderKey.subscriptionInfo)
    }
}

extension CKSubscription: StratusFormatArgument {}

// Subscriptions between client and server. What the server hands back of a predicate is the archive that a client made
// of it: a claim like any archive, which has to go through the parser.

extension CKSubscription {
    /// What a save of this subscription sends.
    /// - Parameter now: What `now()` is in a predicate.
    /// - Returns: The subscription in the server's words.
    /// - Throws: A mistake, which fails the save.
    final func makeSave(now: Date) throws(PredicateProblem) -> ClientSubscription {
        ClientSubscription(
            id: subscriptionID, subject: try subject(now: now), template: notificationInfo?.template)
    }

    /// A subscription as the server tells of it, of the class of its kind.
    static func from(_ told: ClientSubscription) -> CKSubscription {
        let made: CKSubscription =
            switch told.subject {
            case .query(let query, let zone, let triggers, let predicateArchive):
                CKQuerySubscription(
                    id: told.id, recordType: query.recordType,
                    captured: ArchivedQuery.predicate(inBlock: predicateArchive) ?? unreadablePredicate,
                    options: CKQuerySubscription.Options(rawValue: triggers.rawValue),
                    zoneID: zone.map { CKRecordZoneID($0) })
            case .zone(let zone, let recordType):
                CKRecordZoneSubscription(id: told.id, zoneID: CKRecordZoneID(zone), recordType: recordType)
            case .database(let recordType):
                CKDatabaseSubscription(id: told.id, recordType: recordType)
            }
        made.notificationInfo = told.template.map { CKNotificationInfo($0) }
        return made
    }

    private static var unreadablePredicate: CapturedPredicate {
        CapturedPredicate(
            .failure(PredicateProblem("The predicate of the subscription cannot be read: save one anew.")))
    }
}

// A subscription to whatever happens in a zone.

/// A subscription to a zone of the private database that is not the default one (N-01): to whatever happens there, or
/// to what happens to the records of one type.
public final class CKRecordZoneSubscription: CKSubscription, @unchecked Sendable {
    // Unchecked because it inherits from CKSubscription, whose rules it follows.

    /// The zone.
    public let zoneID: CKRecordZone.ID
    private let type: Locked<String?>

    init(id: String, zoneID: CKRecordZoneID, recordType: String?) {
        self.zoneID = zoneID
        type = Locked(recordType)
        super.init(id: id, type: .recordZone)
    }

    /// A subscription, not yet saved.
    /// - Parameters:
    ///   - zoneID: The zone.
    ///   - subscriptionID: The name of the subscription, unique among the person's in the database.
    public convenience init(zoneID: CKRecordZone.ID, subscriptionID: CKSubscription.ID) {
        self.init(id: subscriptionID, zoneID: zoneID, recordType: nil)
    }

    /// A subscription with a name of its own.
    @available(*, deprecated, message: "Give the subscription a name, by which it is found again.")
    public convenience init(zoneID: CKRecordZone.ID) {
        self.init(zoneID: zoneID, subscriptionID: UUID.drawn().uuidString)
    }

    /// The type of the records it is to; nil for all, and for whatever else happens in the zone.
    public var recordType: CKRecord.RecordType? {
        get { type.value }
        set { type.withLock { $0 = newValue } }
    }

    public override var description: String { "<CKRecordZoneSubscription: \(subscriptionID), \(zoneID)>" }

    override func subject(now: Date) throws(PredicateProblem) -> SubscriptionSubject {
        .zone(zoneID.address, recordType: recordType)
    }

    override func isToSame(as other: CKSubscription) -> Bool {
        guard let other = other as? CKRecordZoneSubscription else { return false }
        return zoneID == other.zoneID && recordType == other.recordType
    }

    // MARK: Copying and archiving

    /// Another object that says the same.
    public override func copy(with zone: NSZone? = nil) -> Any {
        CKRecordZoneSubscription(id: subscriptionID, zoneID: zoneID, recordType: recordType).inheriting(from: self)
    }

    public static override func classFallbacksForKeyedArchiver() -> [String] { ["CKRecordZoneSubscription"] }

    /// Archives the subscription.
    public override func encode(with coder: NSCoder) {
        super.encode(with: coder)
        coder.encode(zoneID, forKey: CoderKey.zoneID)
        coder.encodeText(recordType, forKey: CoderKey.recordType)
    }

    /// Decodes a subscription; nil where identifier or zone is missing.
    public required convenience init?(coder: NSCoder) {
        guard let id = coder.decodeText(forKey: CoderKey.subscriptionID),
            let zoneID = coder.decodeValue(of: CKRecordZoneID.self, forKey: CoderKey.zoneID)
        else { return nil }
        self.init(id: id, zoneID: zoneID, recordType: coder.decodeText(forKey: CoderKey.recordType))
        adoptInfo(of: coder)
    }
}

// A subscription to whatever happens in a database.

/// A subscription to a private or shared database (N-01): to whatever happens in its zones, but for the default zone of
/// the private one (N-02), or to what happens to the records of one type.
public final class CKDatabaseSubscription: CKSubscription, @unchecked Sendable {
    // Unchecked because it inherits from CKSubscription, whose rules it follows.

    private let type: Locked<String?>

    init(id: String, recordType: String?) {
        type = Locked(recordType)
        super.init(id: id, type: .database)
    }

    /// A subscription, not yet saved.
    /// - Parameter subscriptionID: The name of the subscription, unique among the person's in the database.
    public convenience init(subscriptionID: CKSubscription.ID) {
        self.init(id: subscriptionID, recordType: nil)
    }

    /// A subscription with a name of its own.
    @available(*, deprecated, message: "Give the subscription a name, by which it is found again.")
    public convenience init() {
        self.init(subscriptionID: UUID.drawn().uuidString)
    }

    /// The type of the records it is to; nil for all, and for whatever else happens in the database.
    public var recordType: CKRecord.RecordType? {
        get { type.value }
        set { type.withLock { $0 = newValue } }
    }

    override func subject(now: Date) throws(PredicateProblem) -> SubscriptionSubject {
        .database(recordType: recordType)
    }

    override func isToSame(as other: CKSubscription) -> Bool {
        guard let other = other as? CKDatabaseSubscription else { return false }
        return recordType == other.recordType
    }

    // MARK: Copying and archiving

    /// Another object that says the same.
    public override func copy(with zone: NSZone? = nil) -> Any {
        CKDatabaseSubscription(id: subscriptionID, recordType: recordType).inheriting(from: self)
    }

    public static override func classFallbacksForKeyedArchiver() -> [String] { ["CKDatabaseSubscription"] }

    /// Archives the subscription.
    public override func encode(with coder: NSCoder) {
        super.encode(with: coder)
        coder.encodeText(recordType, forKey: CoderKey.recordType)
    }

    /// Decodes a subscription; nil where the identifier is missing.
    public required convenience init?(coder: NSCoder) {
        guard let id = coder.decodeText(forKey: CoderKey.subscriptionID) else { return nil }
        self.init(id: id, recordType: coder.decodeText(forKey: CoderKey.recordType))
        adoptInfo(of: coder)
    }
}
