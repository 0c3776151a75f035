// The order of removal if a notification is too large.

import Foundation
import StratusLayout
import StratusModel
import StratusTestSupport
import Testing

@testable import StratusCloud

@Suite("subscriptions: pruning")
struct NotificationFillerTests {
    private static let parts = SubscriptionKeyParts(
        container: "iCloud.com.example", user: "_alice", database: 2, id: "sub")
    private static let identifier = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))

    private static var template: NotificationTemplate {
        var template = NotificationTemplate()
        template.alert.body = NotificationPhrase(text: "body", localizationKey: "KEY", arguments: ["title"])
        template.alert.title = NotificationPhrase(text: "title")
        template.alert.subtitle = NotificationPhrase(localizationKey: "SUB")
        template.alert.soundName = "sound"
        template.alert.launchImage = "image"
        template.alert.actionLocalizationKey = "action"
        template.alert.category = "category"
        template.desiredKeys = ["title"]
        template.badges = true
        return template
    }

    private static func notification(limit: Int) -> NotificationEntry {
        NotificationFiller(parts: parts, template: template, byteLimit: limit).notification(
            of: .query(reason: 1, record: "r", zone: "Notes", fields: [:]),
            ["title": .string("value")], id: identifier, badge: 3)
    }

    /// What is left of a notification, by the names of N-06.
    private static func left(_ entry: NotificationEntry) -> [String] {
        var left: [String] = []
        if entry.container != nil { left.append("container") }
        if case .query(_, _, _, let fields) = entry.subject, !fields.isEmpty { left.append("fields") }
        if case .query = entry.subject { left.append("subject") }
        if entry.alert.soundName != nil { left.append("sound") }
        if entry.alert.launchImage != nil { left.append("image") }
        if entry.alert.actionLocalizationKey != nil { left.append("action") }
        if entry.alert.body.text != nil { left.append("body") }
        if entry.alert.body.arguments != nil { left.append("arguments") }
        if entry.alert.body.localizationKey != nil { left.append("key") }
        if entry.badge != nil { left.append("badge") }
        if entry.id != nil { left.append("id") }
        return left
    }

    @Test("[N-06] content over the limit is pruned in the order of the rule, and no more than necessary")
    func order() {
        let whole = Self.notification(limit: .max)
        #expect(!whole.isPruned)
        let order = Self.left(whole)
        #expect(order.count == 11)
        var seen: Set<Int> = []
        let size = whole.encoded().count - NotificationEntry.slotByteCount
        for limit in 0...size {
            let entry = Self.notification(limit: limit)
            let left = Self.left(entry)
            seen.insert(left.count)
            // The first in the order are gone, the others are present.
            #expect(left == Array(order.suffix(left.count)))
            #expect(entry.isPruned == (limit < size))
            #expect(entry.subscription == "sub")
            #expect(entry.owner == "_alice")
            #expect(entry.slot == whole.slot)
            let byteCount = entry.encoded().count - NotificationEntry.slotByteCount
            #expect(byteCount <= limit || left.isEmpty)
        }
        #expect(seen == Set(0...11))
    }

    @Test("[N-06] a pruned notification is marked as pruned for its device, and keeps its kind")
    func told() throws {
        let told = try ClientNotification(Self.notification(limit: 100))
        #expect(told.isPruned)
        #expect(told.container == nil)
        #expect(told.subscriptionID == "sub")
        #expect(told.subscriptionOwner == "_alice")
        #expect(told.database == .private)
        let subjects: [(NotificationEntry.Subject, NotificationEntry.Subject)] = [
            (.query(reason: 1, record: "r", zone: "Notes", fields: [:]), .prunedQuery), (.zone("Notes"), .prunedZone),
            (.database, .database),
        ]
        for (subject, left) in subjects {
            let filler = NotificationFiller(parts: Self.parts, template: nil, byteLimit: 0)
            let entry = filler.notification(of: subject, [:], id: Self.identifier, badge: nil)
            #expect(entry.subject == left)
            #expect(entry.isPruned)
            #expect(entry.id == nil)
        }
    }

    @Test("[N-06] the limit is the server's option")
    func option() throws {
        let bench = try RecordBench.forSubscriptions { $0.notificationByteCount = 300 }
        try bench.subscribe(.database("d").with { $0.alert.body.text = String(repeating: "x", count: 500) })
        try bench.save(.new("a"))
        try bench.deliver()
        let told = try #require(try bench.take(bench.alice).first)
        #expect(told.isPruned)
        #expect(told.alert.body.text == nil)
        #expect(told.subject == .database)
        #expect(told.id != nil)
    }

    @Test(
        "[N-04] the reason why a query fires follows from what matched before and matches now",
        arguments: [false, true])
    func reasons(matched: Bool) {
        let all: SubscriptionTriggers = [.creation, .update, .deletion]
        let after = QueryJudge.reason(matched, true, all)
        #expect(after == (matched ? .recordUpdated : .recordCreated))
        #expect(QueryJudge.reason(matched, false, all) == (matched ? .recordDeleted : nil))
        for trigger in [SubscriptionTriggers.creation, .update, .deletion, []] {
            for matches in [false, true] {
                let reason = QueryJudge.reason(matched, matches, trigger)
                let whole = QueryJudge.reason(matched, matches, all)
                #expect(reason == nil || reason == whole)
            }
        }
    }

    @Test("the viewers of a share are those who accepted it with a permission")
    func viewers() throws {
        let seed = SplitMix64.announced("viewers of shares")
        for index in 0..<300 {
            var random = seed.generator(forCase: index)
            let content = ShareGenerator.content(&random)
            var expected: Set<UserName> = []
            for one in content.participants where one.role != .owner && one.status == .accepted {
                let permission = one.role == .publicUser ? content.publicPermission : one.permission
                if permission != .none, let user = one.user { expected.insert(user) }
            }
            #expect(content.viewers == expected, "\(index)")
        }
    }
}
