// Notifications of changes: the base class, its kinds, their identity and their content.
//
// Invariants: a notification is immutable and consists only of its payload, so that it is the same whether it came from
// the store or over a network. A payload from outside is not trusted: a client that gets one fetches only what it may
// see anyway.

public import Foundation
import StratusCloud
import StratusModel

/// A notification: a hint that something has changed. Notifications are coalesced and may be dropped. When you get one,
/// fetch what has changed (N-05).
///
/// ```swift
/// if let notification = CKNotification(fromRemoteNotificationDictionary: userInfo),
///     notification.subscriptionID == "changes"
/// {
///     await fetchChanges()
/// }
/// ```
public class CKNotification: NSObject, @unchecked Sendable {
    // Unchecked because the class has subclasses: it and they have no mutable state.

    /// The type of `notificationID`.
    public typealias ID = CKNotificationID

    /// The kinds of notifications.
    public enum NotificationType: Int, Sendable {
        /// Of a query subscription.
        case query = 1
        /// Of a zone subscription.
        case recordZone = 2
        /// Of a notification that was marked as read; never created here.
        case readNotification = 3
        /// Of a database subscription.
        case database = 4
    }

    let content: NotificationContent

    init(_ content: NotificationContent) {
        self.content = content
        super.init()
    }

    /// The kind of the notification, which decides its class.
    public final var notificationType: CKNotification.NotificationType { content.type }

    /// The identity; nil if it was pruned.
    public final var notificationID: CKNotification.ID? { content.notification.id.map { CKNotificationID($0) } }

    /// The identifier of the container in which something has changed; nil if it was pruned. It is pruned first.
    public final var containerIdentifier: String? { content.notification.container?.text }

    /// The user whose subscription fired.
    public final var subscriptionOwnerUserRecordID: CKRecord.ID? {
        content.notification.subscriptionOwner.map { CKRecordID(recordName: $0.text) }
    }

    /// Whether something was left out because the notification was too large (N-06).
    public final var isPruned: Bool { content.notification.isPruned }

    /// The subscription that fired.
    public final var subscriptionID: CKSubscription.ID? { content.notification.subscriptionID }

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

    // MARK: Alert, badge and sound

    // What the system shows of a notification.

    /// The text.
    @available(*, deprecated, message: "The system shows it: ask the system's notification.")
    public final var alertBody: String? { content.notification.alert.body.text }

    /// The key of the text among the app's own texts.
    @available(*, deprecated, message: "The system shows it: ask the system's notification.")
    public final var alertLocalizationKey: String? { content.notification.alert.body.localizationKey }

    /// The values for the placeholders of that text.
    @available(*, deprecated, message: "The system shows it: ask the system's notification.")
    public final var alertLocalizationArgs: [String]? { content.notification.alert.body.arguments }

    /// The title.
    @available(*, deprecated, message: "The system shows it: ask the system's notification.")
    public final var title: String? { content.notification.alert.title.text }

    /// The key of the title among the app's own texts.
    @available(*, deprecated, message: "The system shows it: ask the system's notification.")
    public final var titleLocalizationKey: String? { content.notification.alert.title.localizationKey }

    /// The values for the placeholders of that title.
    @available(*, deprecated, message: "The system shows it: ask the system's notification.")
    public final var titleLocalizationArgs: [String]? { content.notification.alert.title.arguments }

    /// The line below the title.
    @available(*, deprecated, message: "The system shows it: ask the system's notification.")
    public final var subtitle: String? { content.notification.alert.subtitle.text }

    /// The key of that line among the app's own texts.
    @available(*, deprecated, message: "The system shows it: ask the system's notification.")
    public final var subtitleLocalizationKey: String? { content.notification.alert.subtitle.localizationKey }

    /// The values for the placeholders of that line.
    @available(*, deprecated, message: "The system shows it: ask the system's notification.")
    public final var subtitleLocalizationArgs: [String]? { content.notification.alert.subtitle.arguments }

    /// The key of the action's title among the app's own texts.
    @available(*, deprecated, message: "The system shows it: ask the system's notification.")
    public final var alertActionLocalizationKey: String? { content.notification.alert.actionLocalizationKey }

    /// The name of the image to show while the app is launched.
    @available(*, deprecated, message: "The system shows it: ask the system's notification.")
    public final var alertLaunchImage: String? { content.notification.alert.launchImage }

    /// The number on the app's icon.
    @available(*, deprecated, message: "The system shows it: ask the system's notification.")
    public final var badge: NSNumber? { content.notification.badge.map { NSNumber(value: $0) } }

    /// The name of the sound to play.
    @available(*, deprecated, message: "The system shows it: ask the system's notification.")
    public final var soundName: String? { content.notification.alert.soundName }

    /// The name of the group of actions to offer.
    @available(*, deprecated, message: "The system shows it: ask the system's notification.")
    public final var category: String? { content.notification.alert.category }
}

// MARK: Payloads

/// Gives `CKNotification` an initializer. Nothing else conforms to it.
///
/// An initialiser of a class cannot create an object of a subclass, but one in a protocol extension can.
public protocol StratusReceivedNotification {}

extension CKNotification: StratusReceivedNotification {}

extension StratusReceivedNotification where Self: CKNotification {
    /// Creates the notification of a payload, of the class of its kind. Returns nil if the payload is not one of
    /// CloudKit's (N-09), or, for a subclass, if the notification is of another kind.
    ///
    /// Any dictionary is safe to pass.
    /// - Parameter notificationDictionary: The payload that a device got: `userInfo` of a
    /// ``Stratus/RemoteNotification``, also after it was sent as JSON or as a property list.
    public init?(fromRemoteNotificationDictionary notificationDictionary: [AnyHashable: Any]) {
        guard let content = NotificationPayload.content(of: notificationDictionary),
            let made = CKNotification.make(content) as? Self
        else { return nil }
        self = made
    }
}

// The kinds of notifications.

/// A notification of a query subscription: a record matches now, was changed, was deleted or no longer matches.
public final class CKQueryNotification: CKNotification, @unchecked Sendable {
    // Unchecked because it inherits from CKNotification, whose rules it follows.

    /// Why a query subscription fired.
    public enum Reason: Int, Sendable {
        /// A record matches now.
        case recordCreated = 1
        /// A record that matches was changed.
        case recordUpdated = 2
        /// A record that matched was deleted, or no longer matches.
        case recordDeleted = 3
    }

    /// Why the subscription fired; `recordUpdated` if the reason was pruned.
    public var queryNotificationReason: CKQueryNotification.Reason {
        content.reason.flatMap { Reason(rawValue: Int($0.rawValue)) } ?? .recordUpdated
    }

    /// The values of the fields that the subscription includes (L-13), as far as the record has them; nil if there are
    /// none. Texts may be cut off after 100 characters (L-17).
    public var recordFields: [String: Any]? {
        content.fields.isEmpty ? nil : content.fields.mapValues { HeldValue($0).object }
    }

    /// The record; nil if it was pruned.
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

    /// The zone; nil if it was pruned.
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

// The identity of a notification. The class is top-level because Foundation on Linux cannot archive nested classes;
// clients write `CKNotification.ID`.
//
// Invariant: immutable, so that threads may share it and dictionaries use it as a key.

/// The identity of a notification, equal by value. Only the server creates it.
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

    /// Returns the same object, which never changes.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    public static override func classFallbacksForKeyedArchiver() -> [String] { ["CKNotificationID"] }

    /// Archives the identity.
    public func encode(with coder: NSCoder) { coder.encodeText(id.uuidString, forKey: CoderKey.notificationID) }

    /// Decodes an identity. Returns nil if there is none, as in archives from Apple's systems.
    public convenience init?(coder: NSCoder) {
        guard let id = coder.decodeText(forKey: CoderKey.notificationID).flatMap({ UUID(uuidString: $0) }) else {
            return nil
        }
        self.init(id)
    }
}

// The content of a notification.
//
// A pruned notification may have lost its subject, but keeps its kind. If the payload does not name the kind, it
// follows from the database: public databases have only query subscriptions (N-01), and for the others a client should
// fetch the whole database.

struct NotificationContent: Hashable, Sendable {
    /// The notification from the server.
    var notification: ClientNotification
    /// What a query's payload states although it has lost the record.
    var reason: QueryNotificationReason?
    var fields: [String: ClientValue] = [:]

    init(_ notification: ClientNotification) {
        self.notification = notification
        if case .query(let reason, _, let fields)? = notification.subject {
            (self.reason, self.fields) = (reason, fields)
        }
    }

    var type: CKNotification.NotificationType {
        switch notification.subject {
        case .query, .prunedQuery: .query
        case .zone, .prunedZone: .recordZone
        case .database: .database
        case nil: notification.database == .public ? .query : .database
        }
    }

    var recordID: CKRecordID? {
        if case .query(_, let record, _)? = notification.subject { CKRecordID(record) } else { nil }
    }

    var zoneID: CKRecordZoneID? {
        if case .zone(let zone)? = notification.subject { CKRecordZoneID(zone) } else { nil }
    }

    var databaseScope: CKDatabase.Scope { CKDatabase.Scope(notification.database) }
}
