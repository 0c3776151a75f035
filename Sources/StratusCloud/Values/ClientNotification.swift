// Notifications as devices get them: hints that something happened, of which any may be missing (N-05).

package import FoundationEssentials
package import StratusModel

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
}

/// What a notification says and does where it arrives: the subscription's template, filled.
package struct NotificationAlert: Hashable, Sendable {
    /// A text, or a key and what fills its gaps.
    package struct Phrase: Hashable, Sendable {
        package var text: String?
        package var localizationKey: String?
        package var localizationArguments: [String]?

        package init(text: String? = nil, localizationKey: String? = nil, localizationArguments: [String]? = nil) {
            self.text = text
            self.localizationKey = localizationKey
            self.localizationArguments = localizationArguments
        }
    }

    package var alert = Phrase()
    package var title = Phrase()
    package var subtitle = Phrase()
    package var actionLocalizationKey: String?
    package var launchImage: String?
    package var soundName: String?
    package var badge: Int?
    package var isContentAvailable = false
    package var isMutable = false
    package var category: String?

    package init() {}
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
    package var alert: NotificationAlert
    package var isPruned: Bool

    package init(
        id: UUID?, container: ContainerName?, subscriptionID: String?, subscriptionOwner: UserName?,
        database: DatabaseSelector, subject: NotificationSubject?, alert: NotificationAlert = NotificationAlert(),
        isPruned: Bool = false
    ) {
        self.id = id
        self.container = container
        self.subscriptionID = subscriptionID
        self.subscriptionOwner = subscriptionOwner
        self.database = database
        self.subject = subject
        self.alert = alert
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
