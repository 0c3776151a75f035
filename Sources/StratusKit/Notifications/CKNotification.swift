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
