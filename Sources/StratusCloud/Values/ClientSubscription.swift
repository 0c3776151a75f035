// Subscriptions and notifications as they pass between client and server.

package import FoundationEssentials
package import StratusModel

/// The changes that make a query subscription fire (N-04). The bits are those of the client's option set; they are
/// stored.
package struct SubscriptionTriggers: OptionSet, Hashable, Codable, Sendable {
    package let rawValue: UInt
    package init(rawValue: UInt) { self.rawValue = rawValue }

    package static let creation = SubscriptionTriggers(rawValue: 1 << 0)
    package static let update = SubscriptionTriggers(rawValue: 1 << 1)
    package static let deletion = SubscriptionTriggers(rawValue: 1 << 2)
    /// The subscription is deleted after it has fired.
    package static let once = SubscriptionTriggers(rawValue: 1 << 3)
}

/// What a subscription watches.
package enum SubscriptionSubject: Hashable, Codable, Sendable {
    /// Records that match a query, in one zone or in the whole database. The client's archive of its predicate is
    /// stored and returned unchanged, and never read.
    case query(ClientQuery, zone: ZoneAddress?, triggers: SubscriptionTriggers, predicateArchive: [UInt8])
    /// All changes in a zone, or changes of its records of one type.
    case zone(ZoneAddress, recordType: String?)
    /// All changes in the database, or changes of its records of one type.
    case database(recordType: String?)
}

/// A subscription of one person in one database (N-08).
package struct ClientSubscription: Hashable, Codable, Sendable {
    package var id: String
    package var subject: SubscriptionSubject
    /// Nil for a silent subscription (N-03).
    package var template: NotificationTemplate?

    package init(id: String, subject: SubscriptionSubject, template: NotificationTemplate? = nil) {
        self.id = id
        self.subject = subject
        self.template = template
    }
}

/// Why a query subscription fired. The raw values are those of the client's; they are stored.
package enum QueryNotificationReason: UInt8, Hashable, Codable, Sendable, CaseIterable {
    case recordCreated = 1
    case recordUpdated = 2
    case recordDeleted = 3
}

/// What a notification is about.
package enum NotificationSubject: Hashable, Codable, Sendable {
    /// `fields` are those desired keys of the subscription that the record has.
    case query(reason: QueryNotificationReason, record: RecordAddress, fields: [String: ClientValue])
    case zone(ZoneAddress)
    case database
    /// From a query or zone subscription; the details were pruned (N-06).
    case prunedQuery
    case prunedZone
}

/// One notification for one device: a hint that something changed. Any notification may be lost (N-05). A nil part was
/// never set or was pruned (N-06).
package struct ClientNotification: Hashable, Codable, Sendable {
    package var id: UUID?
    package var container: ContainerName?
    package var subscriptionID: String?
    /// The owner of the subscription.
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

/// A device of a person, by the name that its host gave it: unique among that person's devices.
package struct DeviceAddress: Hashable, Sendable {
    package var account: AccountID
    package var name: String

    package init(account: AccountID, name: String) {
        self.account = account
        self.name = name
    }
}
