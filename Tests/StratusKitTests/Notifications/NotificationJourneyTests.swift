// Subscriptions and their notifications, only through the public API.

import Foundation
import StratusKit
import StratusStore
import StratusTestSupport
import Testing

@Suite("Subscriptions and notifications")
struct NotificationJourneyTests {
    private let container = "iCloud.test"

    private struct Stage {
        let store: Stratus
        let phone: Stratus.Device
        let heard: Heard
        /// The person's databases on no device.
        let container: CKContainer

        var database: CKDatabase { container.privateCloudDatabase }
    }

    /// A store with a person, whose phone listens, and a zone.
    private func makeStage(_ change: (inout Stratus.Options) -> Void = { _ in }) async throws -> Stage {
        let (store, account) = try Stratus.tested(change)
        let phone = try await store.device("phone", signedInAs: account)
        let stage = Stage(
            store: store, phone: phone, heard: Heard.of(phone),
            container: store.container(container, signedInAs: account))
        try await stage.database.save(CKRecordZone(zoneName: "Notes"))
        // The type of a query must have records.
        try await stage.database.save(note("first", in: "Notes"))
        try await stage.container.publicCloudDatabase.save(note("first"))
        return stage
    }

    private let zoneID = CKRecordZone.ID(zoneName: "Notes")

    @Test("[N-04] a query subscription fires when records begin to match, change and stop matching, as its options say")
    func query() async throws {
        let stage = try await makeStage()
        let database = stage.database
        func subscribe(_ id: String, _ options: CKQuerySubscription.Options) async throws {
            let subscription = CKQuerySubscription(
                recordType: "Note", predicate: NSPredicate(format: "text = %@", "urgent"), subscriptionID: id,
                options: options)
            subscription.zoneID = zoneID
            try await database.save(subscription)
        }
        try await subscribe("creation", .firesOnRecordCreation)
        try await subscribe("update", .firesOnRecordUpdate)
        try await subscribe("deletion", .firesOnRecordDeletion)
        let record = note("a", in: "Notes")
        try await database.save(record)
        await stage.store.settle()
        #expect(stage.heard.all.isEmpty)
        record["text"] = "urgent"
        try await database.save(record)
        await stage.store.settle()
        #expect(stage.heard.all == ["creation query a recordCreated"])
        record["more"] = 1
        try await database.save(record)
        await stage.store.settle()
        #expect(stage.heard.all.dropFirst() == ["update query a recordUpdated"])
        try await database.deleteRecord(withID: record.recordID)
        await stage.store.settle()
        #expect(stage.heard.all.dropFirst(2) == ["deletion query a recordDeleted"])
    }

    @Test("[N-04] a one-time subscription is deleted after it fires")
    func once() async throws {
        let stage = try await makeStage()
        let subscription = CKQuerySubscription(
            recordType: "Note", predicate: NSPredicate(value: true), subscriptionID: "once",
            options: [.firesOnRecordCreation, .firesOnce])
        subscription.zoneID = zoneID
        try await stage.database.save(subscription)
        try await stage.database.save(note("a", in: "Notes"))
        await stage.store.settle()
        try await stage.database.save(note("b", in: "Notes"))
        await stage.store.settle()
        #expect(stage.heard.all == ["once query a recordCreated"])
        #expect(await failure { try await stage.database.subscription(for: "once") } == "unknownItem")
    }

    @Test("[L-13][L-17] the desired fields are included, cut after a hundred characters, at most three")
    func fields() async throws {
        let stage = try await makeStage()
        let subscription = CKQuerySubscription(
            recordType: "Note", predicate: NSPredicate(value: true), subscriptionID: "fields",
            options: .firesOnRecordCreation)
        subscription.zoneID = zoneID
        subscription.notificationInfo = CKSubscription.NotificationInfo(
            titleLocalizationKey: "NEW", titleLocalizationArgs: ["text"], desiredKeys: ["text", "due", "missing"])
        try await stage.database.save(subscription)
        let told = Locked<Stratus.RemoteNotification?>(nil)
        stage.phone.onNotification = { received in told.withLock { $0 = received } }
        let record = note("a", in: "Notes", text: String(repeating: "ä", count: 150))
        record["due"] = Date(timeIntervalSinceReferenceDate: 700_000_000)
        try await stage.database.save(record)
        await stage.store.settle()
        let received = try #require(told.value)
        let fields = try #require((received.notification as? CKQueryNotification)?.recordFields)
        #expect((fields["text"] as? String)?.count == 100)
        #expect(fields.count == 2)
        #expect(fields["due"] as? Date == Date(timeIntervalSinceReferenceDate: 700_000_000))
        let shown = (received.userInfo["aps"] as? [String: Any])?["alert"] as? [String: Any]
        #expect(shown?["title-loc-key"] as? String == "NEW")
        #expect((shown?["title-loc-args"] as? [String])?.first?.count == 100)

        // Over a wire it is the same.
        let data = try JSONSerialization.data(withJSONObject: received.userInfo)
        let object = try #require(try JSONSerialization.jsonObject(with: data) as? [AnyHashable: Any])
        let copy = try #require(CKQueryNotification(fromRemoteNotificationDictionary: object))
        #expect(copy.notificationID == received.notification.notificationID)
        #expect(copy.notificationID != nil)
        #expect(copy.recordID == record.recordID)
        #expect(copy.recordFields?["due"] as? Date == fields["due"] as? Date)

        subscription.notificationInfo?.desiredKeys = ["a", "b", "c", "d"]
        #expect(await failure { try await stage.database.save(subscription) } == "invalidArguments")
    }

    @Test("[N-01][N-02] each kind is saved in its database, and the default zone of a private database is ignored")
    func places() async throws {
        let stage = try await makeStage()
        let databases = [
            stage.container.privateCloudDatabase, stage.container.publicCloudDatabase,
            stage.container.sharedCloudDatabase,
        ]
        func told(_ make: () -> CKSubscription) async -> [Bool] {
            var answers: [Bool] = []
            for database in databases { answers.append(await failure { try await database.save(make()) } == "ok") }
            return answers
        }
        let query = await told {
            CKQuerySubscription(recordType: "Note", predicate: NSPredicate(value: true), subscriptionID: "query")
        }
        let zone = await told { CKRecordZoneSubscription(zoneID: zoneID, subscriptionID: "zone") }
        let inDefault = await told { CKRecordZoneSubscription(zoneID: .default, subscriptionID: "default") }
        let all = await told { CKDatabaseSubscription(subscriptionID: "all") }
        #expect(query == [true, true, false])
        #expect(zone == [true, false, false])
        #expect(inDefault == [false, false, false])
        #expect(all == [true, false, true])
        try await stage.database.deleteSubscription(withID: "query")
        try await stage.database.deleteSubscription(withID: "zone")
        try await stage.database.save(note("a"))
        await stage.store.settle()
        #expect(stage.heard.all.isEmpty)
    }

    @Test("[D-01] a participant is notified in the shared database, and the owner in the private one")
    func sharing() async throws {
        let stage = try SharingStage()
        let (bobs, alices) = await (
            try stage.store.device("phone", signedInAs: stage.bob),
            try stage.store.device("phone", signedInAs: stage.alice)
        )
        let (onBobs, onAlices) = (Heard.of(bobs), Heard.of(alices))
        let bob = try await stage.person(stage.bob)
        let (_, share) = try await stage.shareFolder { $0.addParticipant(bob) }
        try await stage.accept(share, as: stage.bob)
        try await stage.shared(stage.bob).save(CKDatabaseSubscription(subscriptionID: "shared"))
        try await stage.owned.save(CKRecordZoneSubscription(zoneID: stage.zoneID, subscriptionID: "folders"))
        await stage.store.settle()
        let (before, beforeOnAlices) = (onBobs.all.count, onAlices.all.count)

        let onAlicesPhone = alices.container(SharingStage.containerID).privateCloudDatabase
        try await onAlicesPhone.save(stage.record("second", under: "root"))
        await stage.store.settle()
        #expect(onBobs.all.dropFirst(before) == ["shared database shared"])
        #expect(onAlices.all.count == beforeOnAlices)

        // Devices of one name are different devices for different people.
        let onBobsPhone = bobs.container(SharingStage.containerID).sharedCloudDatabase
        let seen = try await onBobsPhone.record(for: stage.foreignID("second"))
        seen["text"] = "changed"
        try await onBobsPhone.save(seen)
        await stage.store.settle()
        #expect(onAlices.all.dropFirst(beforeOnAlices) == ["folders zone Folders"])
        #expect(onBobs.all.dropFirst(before).count == 1)

        // Bob is not notified of what he cannot see.
        let heard = onBobs.all.count
        try await onAlicesPhone.save(stage.record("private"))
        await stage.store.settle()
        #expect(onBobs.all.count == heard)
    }

    @Test("[N-07] saving under an existing name replaces, and a deleted subscription is silent")
    func replacing() async throws {
        let stage = try await makeStage()
        try await stage.database.save(CKDatabaseSubscription(subscriptionID: "x"))
        try await stage.database.save(CKRecordZoneSubscription(zoneID: zoneID, subscriptionID: "x"))
        #expect(try await stage.database.allSubscriptions().map(\.subscriptionType) == [.recordZone])
        try await stage.database.save(note("a", in: "Notes"))
        await stage.store.settle()
        #expect(stage.heard.all == ["x zone Notes"])
        try await stage.database.deleteSubscription(withID: "x")
        try await stage.database.save(note("b", in: "Notes"))
        await stage.store.settle()
        #expect(stage.heard.all.count == 1)
        #expect(await failure { try await stage.database.deleteSubscription(withID: "x") } == "unknownItem")
    }

    @Test("[N-08] subscriptions belong to one person in one database of one container")
    func belonging() async throws {
        let stage = try await makeStage()
        try await stage.database.save(CKDatabaseSubscription(subscriptionID: "x"))
        let other = try await stage.store.createAccount(.init(), externalID: "other")
        let elsewhere = try #require(try await stage.store.account(externalID: "test"))
        let databases = [
            stage.container.sharedCloudDatabase,
            stage.store.container(container, signedInAs: other).privateCloudDatabase,
            stage.store.container("iCloud.other", signedInAs: elsewhere).privateCloudDatabase,
        ]
        for database in databases {
            #expect(await failure { try await database.subscription(for: "x") } == "unknownItem")
            #expect(try await database.allSubscriptions().isEmpty)
        }
    }

    @Test(
        "[N-06] an oversized notification says that something was left out; over the limit the oldest are dropped")
    func bounds() async throws {
        let stage = try await makeStage { options in
            options.notificationByteCount = 150
            options.waitingNotificationCount = 2
        }
        let subscription = CKQuerySubscription(
            recordType: "Note", predicate: NSPredicate(value: true), subscriptionID: "long",
            options: .firesOnRecordCreation)
        subscription.zoneID = zoneID
        subscription.notificationInfo = CKSubscription.NotificationInfo(alertBody: "new", desiredKeys: ["text"])
        try await stage.database.save(subscription)
        stage.phone.onNotification = nil
        for name in ["a", "b", "c"] {
            try await stage.database.save(note(name, in: "Notes", text: String(repeating: "x", count: 90)))
        }
        await stage.store.settle()
        let told = Locked<[CKNotification]>([])
        stage.phone.onNotification = { received in told.withLock { $0.append(received.notification) } }
        await stage.store.settle()
        #expect(told.value.count == 2)
        #expect(told.value.allSatisfy { $0.isPruned && $0.containerIdentifier == nil })
        #expect(told.value.allSatisfy { ($0 as? CKQueryNotification)?.recordFields == nil })
    }

    @Test("planned faults affect subscriptions like any request")
    func faults() async throws {
        let stage = try await makeStage()
        stage.store.faults.fail(.operation(.modifySubscriptions), with: .serviceUnavailable)
        stage.store.faults.fail(.operation(.fetchSubscriptions), with: .zoneBusy)
        #expect(
            await failure { try await stage.database.save(CKDatabaseSubscription(subscriptionID: "x")) }
                == "serviceUnavailable")
        #expect(await failure { try await stage.database.allSubscriptions() } == "zoneBusy")
        #expect(try await stage.database.allSubscriptions().isEmpty)
    }
}
