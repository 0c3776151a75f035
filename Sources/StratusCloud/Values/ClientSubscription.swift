// Subscriptions as they cross the line between client and server.

package import FoundationEssentials
package import StratusModel

/// What makes a query subscription fire (N-04). The bits are those of the client's option set; they are stored.
package struct SubscriptionTriggers: OptionSet, Hashable, Sendable {
    package let rawValue: UInt
    package init(rawValue: UInt) { self.rawValue = rawValue }

    package static let creation = SubscriptionTriggers(rawValue: 1 << 0)
    package static let update = SubscriptionTriggers(rawValue: 1 << 1)
    package static let deletion = SubscriptionTriggers(rawValue: 1 << 2)
    /// It is deleted once it has fired.
    package static let once = SubscriptionTriggers(rawValue: 1 << 3)
}

/// What is subscribed to.
package enum SubscriptionSubject: Hashable, Sendable {
    /// Records for which a query holds, in one zone or in all of the database. The client's own archive of its predicate
    /// is kept and handed back as it came, and never read.
    case query(ClientQuery, zone: ZoneAddress?, triggers: SubscriptionTriggers, predicateArchive: [UInt8])
    /// Whatever happens in a zone, or what happens to the records of one type there.
    case zone(ZoneAddress, recordType: String?)
    /// Whatever happens in the database, or what happens to the records of one type.
    case database(recordType: String?)
}

/// A subscription of one person in one database (N-08).
package struct ClientSubscription: Hashable, Sendable {
    package var id: String
    package var subject: SubscriptionSubject
    /// Nil is a silent one (N-03).
    package var template: NotificationTemplate?

    package init(id: String, subject: SubscriptionSubject, template: NotificationTemplate? = nil) {
        self.id = id
        self.subject = subject
        self.template = template
    }
}

// Notifications as devices get them: hints that something happened, of which any may be missing (N-05).

/// Why a query subscription fired. The raw values are those of the client's; they are stored.
package enum QueryNotificationReason: UInt8, Hashable, Sendable, CaseIterable {
    case recordCreated = 1
    case recordUpdated = 2
    case recordDeleted = 3
}

/// What a notification is about.
package enum NotificationSubject: Hashable, Sendable {
    /// `fields` are those that the subscription desired, as far as the record has them.
    case query(reason: QueryNotificationReason, record: RecordAddress, fields: [String: ClientValue])
    case zone(ZoneAddress)
    case database
    /// Of a query subscription and of a zone's, of which nothing more is left (N-06).
    case prunedQuery
    case prunedZone
}

/// One notification for one device. What is nil was never there or was pruned (N-06).
package struct ClientNotification: Hashable, Sendable {
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
