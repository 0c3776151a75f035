// One fixed sample of every value of subscriptions and notifications.

import FoundationEssentials
import StratusLayout
import StratusModel

extension LayoutSamples {
    private static let container: ContainerName = "iCloud.com.example"

    static func subscription(_ id: String, database: UInt8 = 2) -> SubscriptionKeyParts {
        SubscriptionKeyParts(container: container, user: "_alice", database: database, id: id)
    }

    private static var template: NotificationTemplate {
        var template = NotificationTemplate()
        template.alert = alert
        template.alert.body.arguments = ["title", ""]
        template.alert.title = NotificationPhrase(text: "\u{E9}")
        template.alert.subtitle = NotificationPhrase(arguments: [])
        template.collapseKey = "folder"
        template.desiredKeys = ["title", "size"]
        template.badges = true
        return template
    }

    private static var alert: NotificationAlert {
        var alert = NotificationAlert()
        alert.body = NotificationPhrase(text: "Changed", localizationKey: "CHANGED", arguments: ["Plans"])
        alert.title = NotificationPhrase(text: "Title")
        alert.subtitle = NotificationPhrase(localizationKey: "SUB")
        alert.actionLocalizationKey = "OPEN"
        alert.launchImage = "image"
        alert.soundName = "default"
        alert.category = "notes"
        alert.isContentAvailable = true
        alert.isMutable = true
        return alert
    }

    private static let fields: [FieldKey: FieldValue] = [
        "date": .date(stamp.date), "double": .double(-0.5), "int": .int64(-1),
        "place": .location(Location(latitudeDegrees: 52.5, longitudeDegrees: 13.4, timestamp: stamp.date)),
        "reference": .reference(RecordReference(target: "target", action: .deleteSelf)), "text": .string("s\u{E9}\n"),
    ]

    private static var notification: NotificationEntry {
        var entry = NotificationEntry(
            slot: digest, id: first, container: container, subscription: "sub-1", owner: "_alice", database: 1,
            subject: .query(reason: 2, record: "a.txt", zone: "_defaultZone", fields: fields))
        entry.alert = alert
        entry.badge = 300
        return entry
    }

    private static func prunedNotification(_ subject: NotificationEntry.Subject?) -> NotificationEntry {
        var entry = NotificationEntry(
            slot: digest, id: nil, container: nil, subscription: "sub-1", owner: "_alice", database: 3,
            subject: subject)
        entry.isPruned = true
        return entry
    }

    private static func outbox(_ news: OutboxEntry.News) -> OutboxEntry {
        OutboxEntry(
            container: container, owner: "_alice", zone: "Notes", zoneNumber: ZoneNumber(7), identity: first,
            sequence: 300, originAccount: "account-1", originDevice: "phone", last: "_bob", news: news)
    }

    /// Each with its key.
    static let subscriptionValues: [(key: [UInt8], value: any LayoutValue)] = [
        (
            GlobalKeys.subscription(subscription("sub-1", database: 1)),
            SubscriptionEntry(
                subject: .query(
                    SubscribedQuery(
                        recordType: "Note", query: [1, 2, 0, 255], matchesNothing: false, zone: "Notes", triggers: 15,
                        predicateArchive: [7, 8])), template: template)
        ),
        (
            GlobalKeys.subscription(subscription("sub-2")),
            SubscriptionEntry(
                subject: .query(
                    SubscribedQuery(
                        recordType: "Note", query: [], matchesNothing: true, zone: nil, triggers: 1,
                        predicateArchive: [])), template: NotificationTemplate())
        ),
        (
            GlobalKeys.subscription(subscription("sub-3")),
            SubscriptionEntry(subject: .zone("Notes", recordType: nil), template: nil)
        ),
        (
            GlobalKeys.subscription(subscription("sub-4", database: 3)),
            SubscriptionEntry(subject: .database(recordType: "Note"), template: nil)
        ),
        (GlobalKeys.device(of: "account-1", "phone"), DeviceEntry(next: 300, count: 2, badge: 5)),
        (GlobalKeys.notification(for: "account-1", "phone", order: 299), notification),
        (GlobalKeys.notification(for: "account-1", "phone", order: 300), prunedNotification(nil)),
        (
            GlobalKeys.notification(for: "account-1", "phone", order: 301),
            NotificationEntry(
                slot: digest, id: second, container: container, subscription: "sub-3", owner: "_alice", database: 2,
                subject: .zone("Notes"))
        ),
        (
            GlobalKeys.notification(for: "account-1", "phone", order: 302),
            NotificationEntry(
                slot: digest, id: second, container: container, subscription: "sub-4", owner: "_alice", database: 2,
                subject: .database)
        ),
        (GlobalKeys.notification(for: "account-1", "phone", order: 303), prunedNotification(.prunedQuery)),
        (GlobalKeys.notification(for: "account-1", "phone", order: 304), prunedNotification(.prunedZone)),
        (GlobalKeys.outbox(DatabaseNumber(3), counter: 300, index: 0), outbox(.records(["Note", "Task"]))),
        (GlobalKeys.outbox(DatabaseNumber(3), counter: 301, index: 0), outbox(.records(nil))),
        (
            GlobalKeys.outbox(DatabaseNumber(3), counter: 300, index: 1),
            outbox(
                .shares([
                    SharedNews(share: "Share-1", types: ["Note"], users: nil),
                    SharedNews(share: "Share-2", types: nil, users: ["_bob", "_carol"]),
                ]))
        ),
        (GlobalKeys.outbox(DatabaseNumber(3), counter: 302, index: 0), outbox(.zoneDeleted)),
        (GlobalKeys.outbox(DatabaseNumber(3), counter: 302, index: 1), outbox(.subscriptionEnded("sub-3", template))),
        (GlobalKeys.outbox(DatabaseNumber(3), counter: 302, index: 2), outbox(.subscriptionEnded("sub-5", nil))),
        (
            GlobalKeys.outbox(DatabaseNumber(1), counter: 300, index: 0),
            OutboxEntry(
                container: container, owner: nil, zone: "_defaultZone", zoneNumber: ZoneNumber(1), identity: second,
                sequence: 7,
                news: .matches([
                    QueryMatch(user: "_alice", subscription: "sub-1", reason: 1, record: "a.txt", fields: fields),
                    QueryMatch(user: "_bob", subscription: "sub-1", reason: 3, record: "a.txt", fields: [:]),
                ]))
        ),
    ]
}
