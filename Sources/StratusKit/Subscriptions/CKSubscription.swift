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
