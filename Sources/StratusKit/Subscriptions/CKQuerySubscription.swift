// A subscription to the records for which a query holds.
//
// Invariants: type, predicate and options never change, and the predicate is looked into once, when the subscription is
// made; a mistake in them is remembered and fails every save of it.

public import Foundation
import StratusCloud
import StratusStore

/// A subscription to records of a type for which a predicate holds: in a zone, or in all of the database. It can be
/// saved in private and public databases (N-01).
///
/// Predicates are those of ``CKQuery``, and are refused as there. Without creation, update or deletion among its
/// options, which raises an exception on Apple's systems (N-04), its save fails with `invalidArguments`.
public final class CKQuerySubscription: CKSubscription, @unchecked Sendable {
    // Unchecked because it inherits from CKSubscription, whose rules it follows.

    /// When a query subscription fires.
    public struct Options: OptionSet, Hashable, Sendable {
        /// One bit for each option, as on Apple's systems.
        public let rawValue: UInt
        /// Options by their bits.
        public init(rawValue: UInt) { self.rawValue = rawValue }

        /// When a record begins to match.
        public static let firesOnRecordCreation = Options(rawValue: 1 << 0)
        /// When a record that matches is changed.
        public static let firesOnRecordUpdate = Options(rawValue: 1 << 1)
        /// When a record that matches is deleted, or ends to match.
        public static let firesOnRecordDeletion = Options(rawValue: 1 << 2)
        /// Once, and then it is deleted on the server.
        public static let firesOnce = Options(rawValue: 1 << 3)

        /// Those of which there is one at least.
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
        if let mistake {
            var memory: String?
            StratusMisuse.note(mistake, in: &memory)
        }
    }

    /// A subscription, not yet saved.
    /// - Parameters:
    ///   - recordType: The type of the records.
    ///   - predicate: What must hold for them; `NSPredicate(value: true)` for all.
    ///   - subscriptionID: The name of the subscription, unique among the person's in the database.
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

    /// A subscription with a name of its own.
    @available(*, deprecated, message: "Give the subscription a name, by which it is found again.")
    public convenience init(
        recordType: CKRecord.RecordType, predicate: NSPredicate, options: CKQuerySubscription.Options
    ) {
        self.init(
            recordType: recordType, predicate: predicate, subscriptionID: UUID.drawn().uuidString, options: options)
    }

    /// The type of the records.
    public var recordType: CKRecord.RecordType? { type }

    /// What must hold for the records. Each time an object of its own, because a compound can be changed.
    public var predicate: NSPredicate { captured.predicate }

    /// The zone the records are in; nil for all of the database's.
    public var zoneID: CKRecordZone.ID? {
        get { zone.value }
        set { zone.withLock { $0 = newValue } }
    }

    public override var description: String { "<CKQuerySubscription: \(subscriptionID), \(type), \(predicate)>" }

    // MARK: What the server is asked

    /// What raises an exception on Apple's systems.
    private var mistake: String? {
        if type.isEmpty { return "A CKQuerySubscription has a record type." }
        guard querySubscriptionOptions.isDisjoint(with: .events) else { return nil }
        return "A CKQuerySubscription fires on creation, update or deletion of records: choose one of them at least."
    }

    override func subject(now: Date) throws(PredicateProblem) -> SubscriptionSubject {
        if let mistake { throw PredicateProblem(mistake) }
        let syntax = try captured.content.get()
        let lowered = try PredicateLowering.lower(syntax, now: now)
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

    /// Another object that says the same.
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

    /// Decodes a subscription; nil where identifier, type or predicate is missing, as in archives from Apple's systems.
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
