// Fuzzing the values of subscriptions and notifications: any bytes are refused, or decode and encode to the same bytes.

import FoundationEssentials
import StratusLayout
import StratusModel

extension FuzzTarget {
    package static let subscription = FuzzTarget(
        name: "subscription",
        // Versions, kinds, flags, triggers and types; numbers too long or too large; text that is not UTF-8.
        dictionary: (UInt8(0)...0x10).map { [$0] } + [
            [0x01, 0x01], [0x01, 0x00], [0x80, 0x00], [0xFF, 0xFF], [0xC1, 0xBF], [0xED, 0xA0, 0x80], [0x01, 0x61],
            [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01],
        ],
        validInput: { random in
            switch random.below(4) {
            case 0: subscriptionEntry(&random).encoded()
            case 1: notificationEntry(&random).encoded()
            case 2:
                DeviceEntry(
                    next: RecordGenerator.number(&random), count: RecordGenerator.number(&random),
                    badge: RecordGenerator.number(&random)
                ).encoded()
            default: outboxEntry(&random).encoded()
            }
        },
        check: { input in
            let parts = SubscriptionKeyParts(container: "c", user: "u", database: 1, id: "s")
            let keys = [
                GlobalKeys.subscription(parts), GlobalKeys.device(of: "a", "d"),
                GlobalKeys.notification(for: "a", "d", order: 1),
                GlobalKeys.outbox(DatabaseNumber(1), counter: 1, index: 0),
            ]
            var isRead = false
            for key in keys {
                let line = ValueDescription.text(of: input, forKey: key)
                if let problem = LayoutChecks.unsafeScalar(in: line) { return .violation("\(problem) in \(line)") }
                if !line.hasPrefix("damaged value") { isRead = true }
            }
            // As the types of their keys: every other target tries every decoder.
            for type in [SubscriptionEntry.self, DeviceEntry.self, NotificationEntry.self, OutboxEntry.self]
                as [any LayoutValue.Type]
            {
                if let problem = problem(input, type) { return .violation(problem) }
            }
            return isRead ? .accepted : .refused
        })

    private static func problem<Value: LayoutValue>(_ input: [UInt8], _ type: Value.Type) -> String? {
        guard let value = try? Value(decoding: input.span), value.encoded() != input else { return nil }
        return "\(type) accepts what it writes otherwise"
    }

    private static func phrase(_ random: inout SplitMix64) -> NotificationPhrase {
        NotificationPhrase(
            text: text(&random), localizationKey: text(&random),
            arguments: random.isOne(in: 2) ? nil : (0..<random.below(3)).map { _ in RecordGenerator.text(&random) })
    }

    private static func text(_ random: inout SplitMix64) -> String? {
        random.isOne(in: 2) ? nil : RecordGenerator.text(&random)
    }

    private static func fields(_ random: inout SplitMix64) -> [FieldKey: FieldValue] {
        var fields: [FieldKey: FieldValue] = [:]
        for (key, field) in RecordGenerator.record(&random).record.fields where field.value.fitsNotification {
            fields[key] = field.value
        }
        return fields
    }

    private static func subscriptionEntry(_ random: inout SplitMix64) -> SubscriptionEntry {
        let subject: SubscriptionEntry.Subject
        switch random.below(3) {
        case 0:
            subject = .query(
                SubscribedQuery(
                    recordType: RecordType(RecordGenerator.text(&random)), query: random.bytes(count: random.below(20)),
                    matchesNothing: random.isOne(in: 2), zone: text(&random).map { ZoneName($0) },
                    triggers: UInt8(random.below(16)), predicateArchive: random.bytes(count: random.below(20))))
        case 1:
            subject = .zone(
                ZoneName(RecordGenerator.text(&random)), recordType: text(&random).map { RecordType($0) })
        default: subject = .database(recordType: text(&random).map { RecordType($0) })
        }
        guard random.isOne(in: 2) else { return SubscriptionEntry(subject: subject, template: nil) }
        return SubscriptionEntry(subject: subject, template: template(&random))
    }

    private static func template(_ random: inout SplitMix64) -> NotificationTemplate {
        var template = NotificationTemplate()
        template.alert.body = phrase(&random)
        template.alert.title = phrase(&random)
        template.alert.soundName = text(&random)
        template.alert.isMutable = random.isOne(in: 2)
        template.collapseKey = text(&random)
        template.desiredKeys = random.isOne(in: 2) ? nil : [RecordGenerator.text(&random)]
        template.badges = random.isOne(in: 2)
        return template
    }

    private static func notificationEntry(_ random: inout SplitMix64) -> NotificationEntry {
        let zone = ZoneName(RecordGenerator.text(&random))
        let subjects: [NotificationEntry.Subject?] = [
            nil, .database, .zone(zone), .prunedQuery, .prunedZone,
            .query(
                reason: UInt8(1 + random.below(3)), record: RecordGenerator.name(&random), zone: zone,
                fields: fields(&random)),
        ]
        var entry = NotificationEntry(
            slot: random.bytes(count: NotificationEntry.slotByteCount), id: random.isOne(in: 2) ? nil : random.uuid(),
            container: text(&random).map { ContainerName($0) }, subscription: RecordGenerator.text(&random),
            owner: UserName(RecordGenerator.text(&random)), database: UInt8(1 + random.below(3)),
            subject: random.element(of: subjects))
        entry.alert.body = phrase(&random)
        entry.alert.subtitle = phrase(&random)
        entry.alert.category = text(&random)
        entry.alert.isContentAvailable = random.isOne(in: 2)
        entry.badge = random.isOne(in: 2) ? nil : RecordGenerator.number(&random)
        entry.isPruned = random.isOne(in: 2)
        return entry
    }

    private static func outboxEntry(_ random: inout SplitMix64) -> OutboxEntry {
        let types = random.isOne(in: 2) ? nil : [RecordType(RecordGenerator.text(&random))]
        let user = UserName(RecordGenerator.text(&random))
        let name = RecordGenerator.name(&random)
        let news: [OutboxEntry.News] = [
            .records(types), .zoneDeleted,
            .shares([SharedNews(share: name, types: types, users: random.isOne(in: 2) ? nil : [user])]),
            .matches([
                QueryMatch(
                    user: user, subscription: RecordGenerator.text(&random), reason: UInt8(1 + random.below(3)),
                    record: name, fields: fields(&random))
            ]), .subscriptionEnded(RecordGenerator.text(&random), random.isOne(in: 2) ? nil : template(&random)),
        ]
        return OutboxEntry(
            container: ContainerName(RecordGenerator.text(&random)), owner: text(&random).map { UserName($0) },
            zone: ZoneName(RecordGenerator.text(&random)),
            zoneNumber: ZoneNumber(max(1, RecordGenerator.number(&random))),
            identity: random.uuid(), sequence: RecordGenerator.number(&random),
            originAccount: text(&random).map { AccountID($0) }, originDevice: text(&random),
            last: random.isOne(in: 2) ? nil : user, news: random.element(of: news))
    }
}
