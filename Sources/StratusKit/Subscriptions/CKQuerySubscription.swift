// A subscription to the records that match a query.
//
// Invariants: type, predicate and options never change. The predicate is checked once, when the subscription is
// created; a mistake is stored and fails every save.

public import Foundation
import StratusCloud
import StratusStore

/// A subscription to records of a type that match a predicate, in a zone or in the whole database. You can save it in
/// private and public databases (N-01).
///
/// It accepts the same predicates as ``CKQuery``. Without creation, update or deletion among its options, which raises
/// an exception on Apple's systems (N-04), saving it fails with `invalidArguments`.
public final class CKQuerySubscription: CKSubscription, @unchecked Sendable {
    // Unchecked because it inherits from CKSubscription, whose rules it follows.

    /// When a query subscription fires.
    public struct Options: OptionSet, Hashable, Sendable {
        /// One bit for each option, as on Apple's systems.
        public let rawValue: UInt
        /// Creates options from their bits.
        public init(rawValue: UInt) { self.rawValue = rawValue }

        /// When a record matches for the first time.
        public static let firesOnRecordCreation = Options(rawValue: 1 << 0)
        /// When a record that matches is changed.
        public static let firesOnRecordUpdate = Options(rawValue: 1 << 1)
        /// When a record that matches is deleted, or no longer matches.
        public static let firesOnRecordDeletion = Options(rawValue: 1 << 2)
        /// Once; then the server deletes the subscription.
        public static let firesOnce = Options(rawValue: 1 << 3)

        /// The options for events; at least one must be set.
        fileprivate static let events: Options = [.firesOnRecordCreation, .firesOnRecordUpdate, .firesOnRecordDeletion]
    }

    private let type: String
    private let captured: CapturedPredicate
    /// When it fires.
    public let querySubscriptionOptions: CKQuerySubscription.Options
    private let zone: Locked<CKRecordZoneID?>

    init(id: String, recordType: String, captured: CapturedPredicate, options: Options, zoneID: CKRecordZoneID? = nil) {
        type = recordType
        self.captured = captured
        querySubscriptionOptions = options
        zone = Locked(zoneID)
        super.init(id: id, type: .query)
        if let mistake { StratusMisuse.note(mistake) }
    }

    /// Creates a subscription, which is not saved yet.
    /// - Parameters:
    ///   - recordType: The type of the records.
    ///   - predicate: The predicate that they match; `NSPredicate(value: true)` for all.
    ///   - subscriptionID: The name of the subscription, unique among the user's in the database.
    ///   - options: When it fires.
    public convenience init(
        recordType: CKRecord.RecordType, predicate: NSPredicate, subscriptionID: CKSubscription.ID,
        options: CKQuerySubscription.Options = [
            .firesOnRecordCreation, .firesOnRecordUpdate, .firesOnRecordDeletion,
        ]
    ) {
        self.init(
            id: subscriptionID, recordType: recordType, captured: CapturedPredicate(predicate), options: options)
    }

    /// Creates a subscription with a generated name.
    @available(*, deprecated, message: "Pass a subscriptionID, by which you find the subscription again.")
    public convenience init(
        recordType: CKRecord.RecordType, predicate: NSPredicate, options: CKQuerySubscription.Options
    ) {
        self.init(
            recordType: recordType, predicate: predicate, subscriptionID: UUID.drawn().uuidString, options: options)
    }

    /// The type of the records.
    public var recordType: CKRecord.RecordType? { type }

    /// The predicate. Each call returns a new object, because a compound predicate can be changed.
    public var predicate: NSPredicate { captured.predicate }

    /// The zone of the records; nil for all zones of the database.
    public var zoneID: CKRecordZone.ID? {
        get { zone.value }
        set { zone.withLock { $0 = newValue } }
    }

    public override var description: String { "<CKQuerySubscription: \(subscriptionID), \(type), \(predicate)>" }

    // MARK: The server's subscription

    /// Mistakes that raise an exception on Apple's systems.
    private var mistake: String? {
        if type.isEmpty { return "A CKQuerySubscription needs a record type." }
        guard querySubscriptionOptions.isDisjoint(with: .events) else { return nil }
        return "A CKQuerySubscription fires on creation, update or deletion of records: choose at least one of them."
    }

    override func subject(now: Date) throws(Misuse) -> SubscriptionSubject {
        if let mistake { throw Misuse(mistake) }
        let syntax = try captured.content.get()
        let lowered = try LoweredPredicate(syntax, now: now)
        return .query(
            ClientQuery(recordType: type, filters: lowered.filters, matchesNothing: lowered.matchesNothing),
            zone: zoneID?.address, triggers: SubscriptionTriggers(rawValue: querySubscriptionOptions.rawValue),
            predicateArchive: ArchivedQuery.block(of: syntax))
    }

    override func isToSame(as other: CKSubscription) -> Bool {
        guard let other = other as? CKQuerySubscription else { return false }
        return type == other.type && captured == other.captured
            && querySubscriptionOptions == other.querySubscriptionOptions && zoneID == other.zoneID
    }

    // MARK: Copying and archiving

    /// Returns another object with the same content.
    public override func copy(with zone: NSZone? = nil) -> Any {
        CKQuerySubscription(
            id: subscriptionID, recordType: type, captured: captured, options: querySubscriptionOptions, zoneID: zoneID
        ).inheriting(from: self)
    }

    public static override func classFallbacksForKeyedArchiver() -> [String] { ["CKQuerySubscription"] }

    /// Archives the subscription, mistakes included.
    public override func encode(with coder: NSCoder) {
        super.encode(with: coder)
        coder.encodeText(type, forKey: CoderKey.recordType)
        coder.encode(Int64(querySubscriptionOptions.rawValue & 0xFF), forKey: CoderKey.subscriptionOptions)
        coder.encode(zoneID, forKey: CoderKey.zoneID)
        ArchivedQuery.encode(captured, with: coder)
    }

    /// Decodes a subscription. Returns nil if identifier, type or predicate is missing, as in archives from Apple's
    /// systems.
    public required convenience init?(coder: NSCoder) {
        guard let id = coder.decodeText(forKey: CoderKey.subscriptionID),
            let recordType = coder.decodeText(forKey: CoderKey.recordType),
            let captured = ArchivedQuery.predicate(in: coder)
        else { return nil }
        self.init(
            id: id, recordType: recordType, captured: captured,
            options: Options(
                rawValue: UInt(clamping: coder.decodeNumber(forKey: CoderKey.subscriptionOptions)) & 0xFF),
            zoneID: coder.decodeValue(of: CKRecordZoneID.self, forKey: CoderKey.zoneID))
        adoptInfo(of: coder)
    }
}
