// What a process had committed but not delivered when it ended.

import Foundation
import MetricsTestKit
import StratusCloud
import StratusLayout
import StratusLevelDB
import StratusModel
import StratusRecords
import StratusTestSupport
import Testing

@testable import StratusKit

@Suite("Deliveries that a crash interrupted")
struct LeftoverDeliveryTests {
    /// Saves a record like a process that ends right after its commit.
    private static func saveAndDie(_ url: URL, _ account: AccountID, _ record: RecordAddress) throws {
        let store = try LevelDBStore.open(
            at: url.path, options: LevelDBOptions(formatVersion: StoreFormat.number))
        defer { store.close() }
        let identifiers = SeededIdentifiers(seed: 9)
        let engine = try RecordEngine(store: store, incarnation: identifiers.makeUUID())
        let service = CloudService(
            engine: engine, environment: CloudEnvironment(clock: HandClock(), identifiers: identifiers))
        let response = try service.modifyRecords(
            ModifyRecordsRequest(saves: [RecordSave(address: record, type: "Note")]),
            as: Caller(container: "iCloud.test", account: account), in: .private)
        for save in response.saves { _ = try save.get() }
    }

    @Test("[N-05] a commit that was not delivered is delivered when the store is reopened")
    func reopening() async throws {
        let directory = try HostDirectory()
        var store = try await Stratus.open(at: directory.store, options: .tested())
        let account = try await store.account(externalID: "a", createIfMissing: .init())
        _ = try await store.device("phone", signedInAs: account)
        let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
        let zone = try await database.save(CKRecordZone(zoneName: "Notes"))
        try await database.save(CKRecordZoneSubscription(zoneID: zone.zoneID, subscriptionID: "notes"))
        try await TestThreads.offPool { [store] in
            store.close()
            try Self.saveAndDie(
                directory.store, account.accountID, RecordAddress(recordName: "a", zone: zone.zoneID.address))
        }
        store = try await Stratus.open(at: directory.store, options: .tested())
        await store.settle()
        let heard = await Heard.of(try store.device("phone", signedInAs: account))
        await store.settle()
        #expect(heard.all == ["notes zone Notes"])
        try await TestThreads.offPool { [store] in store.close() }
    }

    @Test("a failed delivery emits an event and a metric, and everything else is delivered")
    func damage() async throws {
        let events = Collected<Stratus.Event>()
        let metrics = TestMetrics()
        let (store, account) = try Stratus.tested {
            $0.onEvent = { events.append($0) }
            $0.metricsFactory = metrics
        }
        let heard = await Heard.of(try store.device("phone", signedInAs: account))
        let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
        let zone = try await database.save(CKRecordZone(zoneName: "Notes"))
        try await database.save(CKRecordZoneSubscription(zoneID: zone.zoneID, subscriptionID: "notes"))
        try await TestThreads.offPool {
            try store.server.withService { service in
                try service.engine.transact { transaction in
                    let key = GlobalKeys.outbox(DatabaseNumber(1), counter: 1, index: 0)
                    try transaction.set(key, to: [9])
                }
            }
        }
        try await database.save(note("a", in: "Notes"))
        await store.settle()
        #expect(heard.all == ["notes zone Notes"])
        let failures = events.values.filter { $0.operation == .deliverNotifications }
        #expect(!failures.isEmpty)
        #expect(failures.allSatisfy { $0.errorCode == .internalError && $0.errorDescription?.isEmpty == false })
        #expect(failures.allSatisfy { $0.accountID == nil && $0.containerIdentifier.isEmpty })
        let dimensions = [("operation", "deliverNotifications"), ("outcome", "failed")]
        #expect(try metrics.expectCounter("stratus.requests", dimensions).totalValue == Int64(failures.count))
    }

    @Test("an unreferenced store in memory is deallocated, with its devices")
    func released() throws {
        weak var hub: NotificationHub?
        weak var server: HostedServer?
        do {
            let (store, account) = try Stratus.tested()
            let phone = try store.device("phone", signedInAs: account)
            hub = store.session.hub
            server = store.server
            #expect(try store.devices(of: account) == [phone])
            #expect(hub != nil)
            #expect(server != nil)
        }
        #expect(hub == nil)
        #expect(server == nil)
    }
}
