// Subscriptions and their notification info, as objects: properties, comparison and what is sent.

import Foundation
import StratusCloud
import StratusModel
import StratusStore
import StratusTestSupport
import Testing

@testable import StratusKit

@Suite struct SubscriptionObjectTests {
    private let now = Date(timeIntervalSinceReferenceDate: 800_000_000)

    @Test("a subscription has the properties it was created with, and its kind")
    func content() {
        let query = SubscriptionSamples.query()
        #expect(query.subscriptionID == "query")
        #expect(query.subscriptionType == .query)
        #expect(query.recordType == "Note")
        #expect(query.zoneID == SubscriptionSamples.zoneID)
        #expect(query.predicate == NSPredicate(format: "age > 3 AND name = 'ä'"))
        #expect(query.querySubscriptionOptions == [.firesOnRecordCreation, .firesOnce])
        let zone = SubscriptionSamples.zone()
        #expect(zone.subscriptionType == .recordZone)
        #expect(zone.recordType == "Note")
        #expect(zone.zoneID == SubscriptionSamples.otherZoneID)
        let database = SubscriptionSamples.database()
        #expect(database.subscriptionType == .database)
        #expect(database.recordType == nil)
        database.recordType = "Note"
        #expect(database.recordType == "Note")
        #expect(CKRecordZoneSubscription(zoneID: .default, subscriptionID: "x").recordType == nil)
    }

    @Test("kinds and options have the numbers of Apple's systems, and a query subscription fires on everything")
    func numbers() {
        #expect([CKSubscription.SubscriptionType.query, .recordZone, .database].map(\.rawValue) == [1, 2, 3])
        let options: [CKQuerySubscription.Options] = [
            .firesOnRecordCreation, .firesOnRecordUpdate, .firesOnRecordDeletion, .firesOnce,
        ]
        #expect(options.map(\.rawValue) == [1, 2, 4, 8])
        let plain = CKQuerySubscription(recordType: "T", predicate: NSPredicate(value: true), subscriptionID: "s")
        #expect(plain.querySubscriptionOptions.rawValue == 7)
        #expect(plain.zoneID == nil)
        #expect(plain.notificationInfo == nil)
    }

    @Test("the deprecated initialisers give each subscription its own name")
    func oldInitialisers() {
        func made<Kind: LegacyQuerySubscription>(_ type: Kind.Type) -> Kind {
            type.init(recordType: "T", predicate: NSPredicate(value: true), options: .firesOnRecordUpdate)
        }
        func made<Kind: LegacyZoneSubscription>(zone type: Kind.Type) -> Kind { type.init(zoneID: .default) }
        func made<Kind: LegacyDatabaseSubscription>(database type: Kind.Type) -> Kind { type.init() }
        let ids =
            [made(CKQuerySubscription.self), made(CKQuerySubscription.self)].map(\.subscriptionID)
            + [made(zone: CKRecordZoneSubscription.self).subscriptionID]
            + [made(database: CKDatabaseSubscription.self).subscriptionID]
        #expect(Set(ids).count == 4)
        #expect(ids.allSatisfy { UUID(uuidString: $0) != nil })
    }

    @Test("notification info has all properties, empty by default, and can be changed in place")
    func info() throws {
        let info = SubscriptionSamples.info()
        #expect(info.alertBody == "new")
        #expect(info.alertLocalizationKey == "NEW")
        #expect(info.alertLocalizationArgs == ["title"])
        #expect(info.title == "T")
        #expect(info.titleLocalizationKey == "TT")
        #expect(info.titleLocalizationArgs == ["a", "b"])
        #expect(info.subtitle == "S")
        #expect(info.subtitleLocalizationKey == "SS")
        #expect(info.subtitleLocalizationArgs == [])
        #expect(info.alertActionLocalizationKey == "ACT")
        #expect(info.alertLaunchImage == "launch.png")
        #expect(info.soundName == "default")
        #expect(info.desiredKeys == ["title", "größe"])
        #expect(info.category == "C")
        #expect(info.shouldBadge)
        #expect(info.shouldSendContentAvailable)
        #expect(info.shouldSendMutableContent)
        #expect(info.collapseIDKey == "K")
        let plain = CKSubscription.NotificationInfo()
        #expect(plain.alertBody == nil)
        #expect(plain.desiredKeys == nil)
        #expect(!plain.shouldBadge)
        #expect(!plain.shouldSendContentAvailable)
        #expect(!plain.shouldSendMutableContent)

        let subscription = SubscriptionSamples.database()
        let given = CKSubscription.NotificationInfo(alertBody: "a")
        subscription.notificationInfo = given
        given.alertBody = "b"
        #expect(subscription.notificationInfo?.alertBody == "a")
        subscription.notificationInfo?.alertBody = "c"
        #expect(subscription.notificationInfo?.alertBody == "c")
        let sent = try subscription.makeSave(now: now)
        #expect(sent.template?.alert.body.text == "c")
    }

    @Test("every property of notification info changes independently")
    func properties() {
        typealias Info = CKSubscription.NotificationInfo
        let changes: [(Info) -> Void] = [
            { $0.alertBody = "x" }, { $0.alertLocalizationKey = "x" }, { $0.alertLocalizationArgs = ["x"] },
            { $0.title = "x" }, { $0.titleLocalizationKey = "x" }, { $0.titleLocalizationArgs = ["x"] },
            { $0.subtitle = "x" }, { $0.subtitleLocalizationKey = "x" }, { $0.subtitleLocalizationArgs = ["x"] },
            { $0.alertActionLocalizationKey = "x" }, { $0.alertLaunchImage = "x" }, { $0.soundName = "x" },
            { $0.desiredKeys = ["x"] }, { $0.shouldBadge = true }, { $0.shouldSendContentAvailable = true },
            { $0.shouldSendMutableContent = true }, { $0.category = "x" }, { $0.collapseIDKey = "x" },
        ]
        let changed = changes.map { change in
            let info = Info()
            change(info)
            return info
        }
        #expect(Set(changed.map(\.template)).count == changes.count)
        #expect(changed.allSatisfy { $0 != Info() && $0 == $0.copy() as? Info && $0 !== $0.copy() as? Info })
    }

    @Test("subscriptions are equal if kind and properties are equal, and copies are separate objects")
    func equality() throws {
        for (subscription, same) in zip(SubscriptionSamples.all, SubscriptionSamples.all) {
            #expect(subscription == same)
            #expect(subscription.hash == same.hash)
            #expect(subscription !== same)
            let copy = try #require(subscription.copy() as? CKSubscription)
            #expect(copy == subscription)
            #expect(copy !== subscription)
            #expect(type(of: copy) == type(of: subscription))
            copy.notificationInfo = CKSubscription.NotificationInfo(alertBody: "another")
            #expect(copy != subscription)
        }
        #expect(CKDatabaseSubscription(subscriptionID: "a") != CKDatabaseSubscription(subscriptionID: "b"))
        #expect(
            CKDatabaseSubscription(subscriptionID: "a")
                != CKRecordZoneSubscription(zoneID: .default, subscriptionID: "a"))
        let query = SubscriptionSamples.query()
        #expect(query != SubscriptionSamples.query("other"))
        #expect(query != SubscriptionSamples.query(type: "Other"))
        #expect(query != SubscriptionSamples.query("query", NSPredicate(value: true)))
        #expect(query != SubscriptionSamples.query(options: .firesOnRecordCreation))
        let elsewhere = SubscriptionSamples.query()
        elsewhere.zoneID = nil
        #expect(query != elsewhere)
        let zone = SubscriptionSamples.zone()
        zone.recordType = nil
        #expect(zone != SubscriptionSamples.zone())
    }

    @Test("a subscription is sent in the server's terms, and the server's answer is the subscription again")
    func exchange() throws {
        for subscription in SubscriptionSamples.all {
            let sent = try subscription.makeSave(now: now)
            let told = CKSubscription.from(sent)
            #expect(told == subscription)
            #expect(type(of: told) == type(of: subscription))
            #expect(try told.makeSave(now: now) == sent)
        }
        let sent = try SubscriptionSamples.query().makeSave(now: now)
        guard case .query(let query, let zone, let triggers, _) = sent.subject else {
            Issue.record("No query was sent.")
            return
        }
        #expect(query.recordType == "Note")
        #expect(zone == SubscriptionSamples.zoneID.address)
        #expect(query.filters.map(PredicateSamples.words) == ["age greaterThan 3", "name equals 'ä'"])
        #expect(triggers == [.creation, .once])
        #expect(try SubscriptionSamples.zone().makeSave(now: now).template == nil)
    }

    @Test("every predicate round-trips through the server, and a damaged one is refused or different")
    func predicates() throws {
        var generator = PredicateGenerator(SplitMix64.announced("predicates of subscriptions"))
        let random = SplitMix64.announced("damaged predicates of subscriptions")
        var readCount = 0
        for number in 0..<120 {
            let syntax = generator.syntax(depth: number % 4)
            let block = ArchivedQuery.block(of: syntax)
            #expect(block == ArchivedQuery.block(of: syntax))
            #expect(ArchivedQuery.predicate(inBlock: block)?.content == .success(syntax), "number \(number)")
            var changes = random.generator(forCase: number)
            for _ in 0..<10 {
                var damaged = block
                damaged[changes.below(damaged.count)] = UInt8(changes.below(256))
                if changes.isOne(in: 4) { damaged.removeLast(changes.below(damaged.count)) }
                guard let read = ArchivedQuery.predicate(inBlock: damaged) else { continue }
                readCount += 1
                _ = read.predicate.description
            }
        }
        #expect((1..<1_200).contains(readCount))
        #expect(ArchivedQuery.predicate(inBlock: []) == nil)
    }

    @Test("[X-25] a predicate that the server returns damaged fails the next save")
    func damagedPredicate() {
        let told = ClientSubscription(
            id: "x",
            subject: .query(ClientQuery(recordType: "T"), zone: nil, triggers: .creation, predicateArchive: [9]))
        let subscription = CKSubscription.from(told)
        #expect((subscription as? CKQuerySubscription)?.recordType == "T")
        #expect(throws: Misuse.self) { try subscription.makeSave(now: now) }
    }
}
