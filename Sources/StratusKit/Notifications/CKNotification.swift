// What a device is told of a change: the base of the kinds of notifications.
//
// Invariants: immutable; made of payloads alone, so that a notification is the same whether it came from the store or
// over a wire. A payload from outside is a claim: a client that gets one looks at what it may see anyway.

public import Foundation
import StratusCloud
import StratusModel

/// A notification: a hint that something has changed. Notifications are coalesced and may be dropped, so that whoever
/// gets one fetches what has changed (N-05).
///
/// ```swift
/// if let notification = CKNotification(fromRemoteNotificationDictionary: userInfo),
///     notification.subscriptionID == "changes"
/// {
///     await fetchChanges()
/// }
/// ```
public class CKNotification: NSObject, @unchecked Sendable {
    // Unchecked because the class has subclasses: neither it nor they have anything that changes.

    /// The type of `notificationID`.
    public typealias ID = CKNotificationID

    /// The kinds of notifications.
    public enum NotificationType: Int, Sendable {
        /// Of a query subscription.
        case query = 1
        /// Of a zone subscription.
        case recordZone = 2
        /// Of one that was marked as read; never made here.
        case readNotification = 3
        /// Of a database subscription.
        case database = 4
    }

    let content: NotificationContent

    init(_ content: NotificationContent) {
        self.content = content
        super.init()
    }

    /// Which kind it is, and so of which class.
    public final var notificationType: CKNotification.NotificationType { content.type }

    /// Its identity; nil where it was pruned.
    public final var notificationID: CKNotification.ID? { content.told.id.map { CKNotificationID($0) } }

    /// The identifier of the container in which something has changed; nil where it was pruned, which it is first.
    public final var containerIdentifier: String? { content.told.container?.text }

    /// Whose subscription it is of.
    public final var subscriptionOwnerUserRecordID: CKRecord.ID? {
        content.told.subscriptionOwner.map { CKRecordID(recordName: $0.text) }
    }

    /// Whether something was left out, so that the notification is not too large (N-06).
    public final var isPruned: Bool { content.told.isPruned }

    /// The subscription it is of.
    public final var subscriptionID: CKSubscription.ID? { content.told.subscriptionID }

    public override var description: String {
        let parts = [
            subscriptionID.map { "subscriptionID=\($0)" }, containerIdentifier.map { "container=\($0)" },
            isPruned ? "pruned" : nil,
        ]
        return "<\(type(of: self)): \(parts.compactMap { $0 }.joined(separator: ", "))>"
    }

    /// A notification of the class of its kind.
    static func make(_ content: NotificationContent) -> CKNotification {
        switch content.type {
        case .query: CKQueryNotification(content)
        case .recordZone: CKRecordZoneNotification(content)
        case .database: CKDatabaseNotification(content)
        case .readNotification: CKNotification(content)
        }
    }
}

// MARK: Payloads

/// What `CKNotification` is lent. Nothing else conforms to it.
///
/// An initialiser of a class cannot make an object of a subclass, but one that a protocol lends can.
public protocol StratusReceivedNotification {}

extension CKNotification: StratusReceivedNotification {}

extension StratusReceivedNotification where Self: CKNotification {
    /// The notification of a payload, of the class of its kind; nil where the payload is none of CloudKit's (N-09), or,
    /// for a subclass, where the notification is of another kind.
    ///
    /// Whatever the dictionary holds, it decodes or it does not.
    /// - Parameter notificationDictionary: What a device got: `userInfo` of a ``Stratus/RemoteNotification``, also
    /// after it
    ///   went over a wire as JSON or as a property list.
    public init?(fromRemoteNotificationDictionary notificationDictionary: [AnyHashable: Any]) {
        guard let content = NotificationPayload.content(of: notificationDictionary),
            let made = CKNotification.make(content) as? Self
        else { return nil }
        self = made
    }
}

// MARK: What is shown

/// What the system shows of a notification.
extension CKNotification {
    /// The text.
    @available(*, deprecated, message: "The system shows it: ask the system's notification.")
    public final var alertBody: String? { content.told.alert.body.text }

    /// The key of the text among the app's own texts.
    @available(*, deprecated, message: "The system shows it: ask the system's notification.")
    public final var alertLocalizationKey: String? { content.told.alert.body.localizationKey }

    /// What fills the places of that text.
    @available(*, deprecated, message: "The system shows it: ask the system's notification.")
    public final var alertLocalizationArgs: [String]? { content.told.alert.body.arguments }

    /// The title.
    @available(*, deprecated, message: "The system shows it: ask the system's notification.")
    public final var title: String? { content.told.alert.title.text }

    /// The key of the title among the app's own texts.
    @available(*, deprecated, message: "The system shows it: ask the system's notification.")
    public final var titleLocalizationKey: String? { content.told.alert.title.localizationKey }

    /// What fills the places of that title.
    @available(*, deprecated, message: "The system shows it: ask the system's notification.")
    public final var titleLocalizationArgs: [String]? { content.told.alert.title.arguments }

    /// The line below the title.
    @available(*, deprecated, message: "The system shows it: ask the system's notification.")
    public final var subtitle: String? { content.told.alert.subtitle.text }

    /// The key of that line among the app's own texts.
    @available(*, deprecated, message: "The system shows it: ask the system's notification.")
    public final var subtitleLocalizationKey: String? { content.told.alert.subtitle.localizationKey }

    /// What fills the places of that line.
    @available(*, deprecated, message: "The system shows it: ask the system's notification.")
    public final var subtitleLocalizationArgs: [String]? { content.told.alert.subtitle.arguments }

    /// The key of the action's title among the app's own texts.
    @available(*, deprecated, message: "The system shows it: ask the system's notification.")
    public final var alertActionLocalizationKey: String? { content.told.alert.actionLocalizationKey }

    /// The name of the image to show while the app is launched.
    @available(*, deprecated, message: "The system shows it: ask the system's notification.")
    public final var alertLaunchImage: String? { content.told.alert.launchImage }

    /// The number on the app's icon.
    @available(*, deprecated, message: "The system shows it: ask the system's notification.")
    public final var badge: NSNumber? { content.told.badge.map { NSNumber(value: $0) } }

    /// The name of the sound to play.
    @available(*, deprecated, message: "The system shows it: ask the system's notification.")
    public final var soundName: String? { content.told.alert.soundName }

    /// The name of the group of actions to offer.
    @available(*, deprecated, message: "The system shows it: ask the system's notification.")
    public final var category: String? { content.told.alert.category }
}

// The kinds of notifications.

/// A notification of a query subscription: a record has begun to match, was changed, or was deleted or matches no more.
public final class CKQueryNotification: CKNotification, @unchecked Sendable {
    // Unchecked because it inherits from CKNotification, whose rules it follows.

    /// Why a query subscription fired.
    public enum Reason: Int, Sendable {
        /// A record begins to match.
        case recordCreated = 1
        /// A record that matches was changed.
        case recordUpdated = 2
        /// A record that matched was deleted, or matches no more.
        case recordDeleted = 3
    }

    /// Why the subscription fired; `recordUpdated` where it was pruned.
    public var queryNotificationReason: CKQueryNotification.Reason {
        content.reason.flatMap { Reason(rawValue: Int($0.rawValue)) } ?? .recordUpdated
    }

    /// The values of the fields that the subscription wanted to come along (L-13), as far as the record has them; nil
    /// where there are none. Texts may be cut off after 100 characters (L-17).
    public var recordFields: [String: Any]? {
        content.fields.isEmpty ? nil : content.fields.mapValues { HeldValue($0).object }
    }

    /// The record; nil where it was pruned.
    public var recordID: CKRecord.ID? { content.recordID }

    /// The database the record is in.
    public var databaseScope: CKDatabase.Scope { content.databaseScope }

    /// Whether the record is in the public database.
    @available(*, deprecated, message: "Use databaseScope.")
    public var isPublicDatabase: Bool { databaseScope == .public }
}

/// A notification of a zone subscription: something has happened in the zone.
public final class CKRecordZoneNotification: CKNotification, @unchecked Sendable {
    // Unchecked because it inherits from CKNotification, whose rules it follows.

    /// The zone; nil where it was pruned.
    public var recordZoneID: CKRecordZone.ID? { content.zoneID }

    /// The database the zone is in.
    public var databaseScope: CKDatabase.Scope { content.databaseScope }
}

/// A notification of a database subscription: something has happened in the database.
public final class CKDatabaseNotification: CKNotification, @unchecked Sendable {
    // Unchecked because it inherits from CKNotification, whose rules it follows.

    /// Which database.
    public var databaseScope: CKDatabase.Scope { content.databaseScope }
}

// The identity of a notification. Top-level, because Foundation on Linux cannot archive nested classes; clients say
// `CKNotification.ID`.
//
// Invariant: immutable, so that it may be shared by threads and used as a dictionary key.

/// The identity of a notification, equal by value. Only the server makes them.
public final class CKNotificationID: NSObject, NSSecureCoding, NSCopying, Sendable {
    let id: UUID

    init(_ id: UUID) {
        self.id = id
        super.init()
    }

    public override func isEqual(_ object: Any?) -> Bool { (object as? CKNotificationID)?.id == id }

    public override var hash: Int { id.hashValue }

    public override var description: String { "<CKNotificationID: \(id.uuidString)>" }

    // MARK: Copying and archiving

    /// The same object, which never changes.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    public static override func classFallbacksForKeyedArchiver() -> [String] { ["CKNotificationID"] }

    /// Archives the identity.
    public func encode(with coder: NSCoder) { coder.encodeText(id.uuidString, forKey: CoderKey.notificationID) }

    /// Decodes an identity; nil where there is none, as in archives from Apple's systems.
    public convenience init?(coder: NSCoder) {
        guard let id = coder.decodeText(forKey: CoderKey.notificationID).flatMap({ UUID(uuidString: $0) }) else {
            return nil
        }
        self.init(id)
    }
}

// What a notification tells, as its object keeps it.
//
// A notification that was pruned may have lost what it is about, and keeps its kind. Where a payload does not say it, it
// follows from the database: only query subscriptions are in public ones (N-01), and in the others a client does right to
// look at all of the database.

struct NotificationContent: Hashable, Sendable {
    /// All of it in the server's words.
    var told: ClientNotification
    var type: CKNotification.NotificationType
    /// What a query's payload tells although it has lost the record.
    var reason: QueryNotificationReason?
    var fields: [String: ClientValue] = [:]

    init(_ told: ClientNotification) {
        self.told = told
        switch told.subject {
        case .query(let reason, _, let fields):
            type = .query
            self.reason = reason
            self.fields = fields
        case .prunedQuery: type = .query
        case .zone, .prunedZone: type = .recordZone
        case .database: type = .database
        case nil: type = told.database == .public ? .query : .database
        }
    }

    var recordID: CKRecordID? {
        if case .query(_, let record, _)? = told.subject { CKRecordID(record) } else { nil }
    }

    var zoneID: CKRecordZoneID? {
        if case .zone(let zone)? = told.subject { CKRecordZoneID(zone) } else { nil }
    }

    var databaseScope: CKDatabase.Scope {
        switch told.database {
        case .public: .public
        case .private: .private
        case .shared: .shared
        }
    }
}
