// Notifications as devices get them: hints that something happened, of which any may be missing (N-05).

package import FoundationEssentials
package import StratusModel

/// Why a query subscription fired. The raw values are those of the client's; they are stored.
package enum QueryNotificationReason: UInt8, Hashable, Codable, Sendable, CaseIterable {
    case recordCreated = 1
    case recordUpdated = 2
    case recordDeleted = 3
}

/// What a notification is about.
package enum NotificationSubject: Hashable, Codable, Sendable {
    /// `fields` are those that the subscription desired, as far as the record has them.
    case query(reason: QueryNotificationReason, record: RecordAddress, fields: [String: ClientValue])
    case zone(ZoneAddress)
    case database
    /// Of a query subscription and of a zone's, of which nothing more is left (N-06).
    case prunedQuery
    case prunedZone
}

/// One notification for one device. What is nil was never there or was pruned (N-06).
package struct ClientNotification: Hashable, Codable, Sendable {
    package var id: UUID?
    package var container: ContainerName?
    package var subscriptionID: String?
    /// Whose subscription it is.
    package var subscriptionOwner: UserName?
    package var database: DatabaseSelector
    package var subject: NotificationSubject?
    /// The subscription's template, filled.
    package var alert: NotificationAlert
    package var badge: Int?
    package var isPruned: Bool

    package init(
        id: UUID?, container: ContainerName?, subscriptionID: String?, subscriptionOwner: UserName?,
        database: DatabaseSelector, subject: NotificationSubject?, alert: NotificationAlert = NotificationAlert(),
        badge: Int? = nil, isPruned: Bool = false
    ) {
        self.id = id
        self.container = container
        self.subscriptionID = subscriptionID
        self.subscriptionOwner = subscriptionOwner
        self.database = database
        self.subject = subject
        self.alert = alert
        self.badge = badge
        self.isPruned = isPruned
    }
}

/// A device of a person, by the name its host gave it: unique among that person's.
package struct DeviceAddress: Hashable, Sendable {
    package var account: AccountID
    package var name: String

    package init(account: AccountID, name: String) {
        self.account = account
        self.name = name
    }
}
