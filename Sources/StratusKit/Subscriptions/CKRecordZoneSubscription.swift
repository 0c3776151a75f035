// A subscription to whatever happens in a zone.

public import Foundation
import StratusCloud
import StratusStore

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
