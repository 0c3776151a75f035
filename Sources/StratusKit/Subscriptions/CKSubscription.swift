// Subscriptions: the base class of the three kinds, their exchange with the server, and the kinds for zones and
// databases.
//
// Invariants: identifier and kind never change; locks guard the rest, because threads share subscriptions. Each kind
// returns in `subject` what it subscribes to, and stores its own values.

public import Foundation
import StratusCloud
import StratusStore

/// The base class of the three kinds of subscriptions. Once you save one in a database, the user's devices are notified
/// of changes there: each of the user's devices except the one that made the change (N-05).
///
/// A subscription belongs to one user and one database (N-08). Two are equal when their kind and content are equal.
public class CKSubscription: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Unchecked because the class has subclasses: locks guard everything that can change in it and in them.

    /// The type of `subscriptionID`.
    public typealias ID = String

    /// The content of a subscription's notifications.
    public typealias NotificationInfo = CKNotificationInfo

    /// The kinds of subscriptions.
    public enum SubscriptionType: Int, Sendable {
        /// To records that match a query.
        case query = 1
        /// To a zone.
        case recordZone = 2
        /// To a database.
        case database = 3
    }

    /// The name of the subscription, unique among the user's in the database. Saving another one under it replaces this
    /// one (N-07).
    public let subscriptionID: CKSubscription.ID
    /// The kind of the subscription.
    public let subscriptionType: CKSubscription.SubscriptionType
    private let info = Locked<CKNotificationInfo?>(nil)

    init(id: String, type: SubscriptionType) {
        subscriptionID = id
        subscriptionType = type
        super.init()
    }

    /// The content of its notifications; nil for silent ones (N-03). Setting it copies the value. You can change the
    /// object in place; save the subscription again to apply the change.
    public final var notificationInfo: CKSubscription.NotificationInfo? {
        get { info.value }
        set {
            let copy = newValue.map { CKNotificationInfo($0.template) }
            info.withLock { $0 = copy }
        }
    }

    // MARK: Properties of each kind

    /// The subject of the subscription, for the server.
    /// - Parameter now: The value of `now()` in a predicate.
    /// - Returns: The subject.
    /// - Throws: A mistake, for which CloudKit raises an exception or refuses the subscription.
    func subject(now: Date) throws(Misuse) -> SubscriptionSubject {
        preconditionFailure("A subclass of CKSubscription must override subject(now:).")
    }

    /// Whether another subscription of this kind has the same subject.
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

    /// Returns another object with the same content.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// The subscription with the notifications of another one, for copies.
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

    /// Sets the notifications to those of an archive.
    final func adoptInfo(of coder: NSCoder) {
        notificationInfo = coder.decodeValue(of: CKNotificationInfo.self, forKey: CoderKey.subscriptionInfo)
    }

    // Subscriptions between client and server. The server returns a predicate as the archive that a client created.
    // Like any archive it is not trusted and has to pass the parser.

    /// The subscription for a save.
    /// - Parameter now: The value of `now()` in a predicate.
    /// - Returns: The subscription for the server.
    /// - Throws: A mistake, which fails the save.
    final func makeSave(now: Date) throws(Misuse) -> ClientSubscription {
        ClientSubscription(
            id: subscriptionID, subject: try subject(now: now), template: notificationInfo?.template)
    }

    /// A subscription from the server, of the class of its kind.
    static func from(_ subscription: ClientSubscription) -> CKSubscription {
        let made: CKSubscription =
            switch subscription.subject {
            case .query(let query, let zone, let triggers, let predicateArchive):
                CKQuerySubscription(
                    id: subscription.id, recordType: query.recordType,
                    captured: ArchivedQuery.predicate(inBlock: predicateArchive) ?? unreadablePredicate,
                    options: CKQuerySubscription.Options(rawValue: triggers.rawValue),
                    zoneID: zone.map { CKRecordZoneID($0) })
            case .zone(let zone, let recordType):
                CKRecordZoneSubscription(id: subscription.id, zoneID: CKRecordZoneID(zone), recordType: recordType)
            case .database(let recordType):
                CKDatabaseSubscription(id: subscription.id, recordType: recordType)
            }
        made.notificationInfo = subscription.template.map { CKNotificationInfo($0) }
        return made
    }

    private static var unreadablePredicate: CapturedPredicate {
        CapturedPredicate(
            .failure(Misuse("The predicate of the subscription cannot be read: save the subscription again."))
        )
    }
}

extension CKSubscription: StratusFormatArgument {}

// Subscriptions to zones.

/// A subscription to a zone of the private database other than the default zone (N-01): to all changes in it, or to
/// those of the records of one type.
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

    /// Creates a subscription, which is not saved yet.
    /// - Parameters:
    ///   - zoneID: The zone.
    ///   - subscriptionID: The name of the subscription, unique among the user's in the database.
    public convenience init(zoneID: CKRecordZone.ID, subscriptionID: CKSubscription.ID) {
        self.init(id: subscriptionID, zoneID: zoneID, recordType: nil)
    }

    /// Creates a subscription with a generated name.
    @available(*, deprecated, message: "Pass a subscriptionID, by which you find the subscription again.")
    public convenience init(zoneID: CKRecordZone.ID) {
        self.init(zoneID: zoneID, subscriptionID: UUID.drawn().uuidString)
    }

    /// The record type; nil for all changes in the zone.
    public var recordType: CKRecord.RecordType? {
        get { type.value }
        set { type.withLock { $0 = newValue } }
    }

    public override var description: String { "<CKRecordZoneSubscription: \(subscriptionID), \(zoneID)>" }

    override func subject(now: Date) throws(Misuse) -> SubscriptionSubject {
        .zone(zoneID.address, recordType: recordType)
    }

    override func isToSame(as other: CKSubscription) -> Bool {
        guard let other = other as? CKRecordZoneSubscription else { return false }
        return zoneID == other.zoneID && recordType == other.recordType
    }

    // MARK: Copying and archiving

    /// Returns another object with the same content.
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

    /// Decodes a subscription. Returns nil if identifier or zone is missing.
    public required convenience init?(coder: NSCoder) {
        guard let id = coder.decodeText(forKey: CoderKey.subscriptionID),
            let zoneID = coder.decodeValue(of: CKRecordZoneID.self, forKey: CoderKey.zoneID)
        else { return nil }
        self.init(id: id, zoneID: zoneID, recordType: coder.decodeText(forKey: CoderKey.recordType))
        adoptInfo(of: coder)
    }
}

// Subscriptions to databases.

/// A subscription to a private or shared database (N-01): to all changes in its zones except the default zone of the
/// private database (N-02), or to those of the records of one type.
public final class CKDatabaseSubscription: CKSubscription, @unchecked Sendable {
    // Unchecked because it inherits from CKSubscription, whose rules it follows.

    private let type: Locked<String?>

    init(id: String, recordType: String?) {
        type = Locked(recordType)
        super.init(id: id, type: .database)
    }

    /// Creates a subscription, which is not saved yet.
    /// - Parameter subscriptionID: The name of the subscription, unique among the user's in the database.
    public convenience init(subscriptionID: CKSubscription.ID) {
        self.init(id: subscriptionID, recordType: nil)
    }

    /// Creates a subscription with a generated name.
    @available(*, deprecated, message: "Pass a subscriptionID, by which you find the subscription again.")
    public convenience init() {
        self.init(subscriptionID: UUID.drawn().uuidString)
    }

    /// The record type; nil for all changes in the database.
    public var recordType: CKRecord.RecordType? {
        get { type.value }
        set { type.withLock { $0 = newValue } }
    }

    override func subject(now: Date) throws(Misuse) -> SubscriptionSubject {
        .database(recordType: recordType)
    }

    override func isToSame(as other: CKSubscription) -> Bool {
        guard let other = other as? CKDatabaseSubscription else { return false }
        return recordType == other.recordType
    }

    // MARK: Copying and archiving

    /// Returns another object with the same content.
    public override func copy(with zone: NSZone? = nil) -> Any {
        CKDatabaseSubscription(id: subscriptionID, recordType: recordType).inheriting(from: self)
    }

    public static override func classFallbacksForKeyedArchiver() -> [String] { ["CKDatabaseSubscription"] }

    /// Archives the subscription.
    public override func encode(with coder: NSCoder) {
        super.encode(with: coder)
        coder.encodeText(recordType, forKey: CoderKey.recordType)
    }

    /// Decodes a subscription. Returns nil if the identifier is missing.
    public required convenience init?(coder: NSCoder) {
        guard let id = coder.decodeText(forKey: CoderKey.subscriptionID) else { return nil }
        self.init(id: id, recordType: coder.decodeText(forKey: CoderKey.recordType))
        adoptInfo(of: coder)
    }
}
