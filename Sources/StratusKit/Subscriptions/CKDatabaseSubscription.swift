// A subscription to whatever happens in a database.

public import Foundation
import StratusCloud
import StratusStore

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
