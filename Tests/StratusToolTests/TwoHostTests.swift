// Two hosts and one database, by the public API: they share it, or one has it for itself.

import Foundation
import StratusKit
import StratusTestSupport
import Testing

@Suite("Two hosts of one database", .enabled(if: PostgresTestStore.isServerThere), .timeLimit(.minutes(2)))
struct TwoHostTests {
    private static func open(_ url: String, waiting seconds: Double, alone: Bool = false) async throws -> Stratus {
        var options = Stratus.Options()
        options.logger = nil
        options.upkeepIntervalSeconds = nil
        options.postgresConnectionCount = 4
        options.leaseWaitSeconds = seconds
        options.excludesHosts = alone
        return try await Stratus.open(at: url, options: options)
    }

    /// The numbers that the first host has saved.
    private static func numbers(in store: Stratus) async throws -> [Int] {
        let account = try #require(try await store.account(externalID: "counter"))
        let database = store.container("iCloud.com.example.counter", signedInAs: account).privateCloudDatabase
        let zone = CKRecordZone.ID(zoneName: "Numbers")
        var numbers: [Int] = []
        var token: CKServerChangeToken?
        while true {
            let page = try await database.recordZoneChanges(inZoneWith: zone, since: token)
            numbers += page.modificationResultsByID.keys.compactMap { Int($0.recordName) }
            guard page.moreComing else { return numbers.sorted() }
            token = page.changeToken
        }
    }

    @Test("the second sees what the first one saves, and all that was acknowledged when that was killed")
    func killedBeside() async throws {
        let place = try PostgresTestStore()
        let first = try CountingHost("cloud", place.url)
        let reached = try await TestThreads.offPool { first.waitForNumber(5) }
        let second = try await Self.open(place.url, waiting: 0)
        #expect(try await Self.numbers(in: second).count >= reached)
        first.send(SIGKILL)
        let last = try await TestThreads.offPool { first.finish().compactMap { Int($0) }.last ?? reached }
        let numbers = try await Self.numbers(in: second)
        #expect(numbers == Array(1...last) || numbers == Array(1...(last + 1)))
        await second.close()
    }

    @Test("one that needs the store for itself is refused while the first is alive, and gets all when that was killed")
    func killed() async throws {
        let place = try PostgresTestStore()
        let first = try CountingHost("cloud", place.url)
        let reached = try await TestThreads.offPool { first.waitForNumber(5) }
        let error = await #expect(throws: StratusError.self) { try await Self.open(place.url, waiting: 1, alone: true) }
        #expect(error?.code == .held)
        #expect("\(String(describing: error))".contains("\(first.processID)"))
        first.send(SIGKILL)
        let second = try await Self.open(place.url, waiting: 30, alone: true)
        let last = try await TestThreads.offPool { first.finish().compactMap { Int($0) }.last ?? reached }
        let numbers = try await Self.numbers(in: second)
        // One save may have been done and not acknowledged.
        #expect(numbers == Array(1...last) || numbers == Array(1...(last + 1)))
        await second.close()
        let third = try await Self.open(place.url, waiting: 0)
        #expect(try await Self.numbers(in: third) == numbers)
        await third.close()
    }

    @Test("the first, paused and overtaken, saves nothing when it goes on, and its client gets an error")
    func overtaken() async throws {
        let place = try PostgresTestStore()
        let first = try CountingHost("cloud", place.url)
        _ = try await TestThreads.offPool { first.waitForNumber(5) }
        first.send(SIGSTOP)
        let second = try await Self.open(place.url, waiting: 30, alone: true)
        let numbers = try await Self.numbers(in: second)
        first.send(SIGCONT)
        let rest = try await TestThreads.offPool { first.finish() }
        #expect(rest.last?.hasPrefix("CKError") == true, "\(rest)")
        #expect((rest.compactMap { Int($0) }.max() ?? 0) <= numbers.count)
        #expect(try await Self.numbers(in: second) == numbers)
        await second.close()
    }

    @Test("[N-05] deliveries of a host that is paused or killed are made by another one, and the first can go on")
    func deliveries() async throws {
        let place = try PostgresTestStore()
        let container = "iCloud.com.example.counter"
        let before = try await Self.open(place.url, waiting: 0)
        let account = try await before.createAccount(.init(), externalID: "counter")
        let mine = CKRecordZone.ID(zoneName: "Mine")
        for zone in [mine, CKRecordZone.ID(zoneName: "Numbers")] {
            let database = before.container(container, signedInAs: account).privateCloudDatabase
            try await database.save(CKRecordZone(zoneID: zone))
            try await database.save(CKRecordZoneSubscription(zoneID: zone, subscriptionID: zone.zoneName))
        }
        await before.close()

        // As the only host it has the work.
        let first = try CountingHost("cloud", place.url)
        let seen = try await TestThreads.offPool { first.waitForNumber(10) }
        let second = try await Self.open(place.url, waiting: 0)
        let desk = try await second.device("desk", signedInAs: account)
        var notifications = try await second.device("pad", signedInAs: account).notifications.makeAsyncIterator()
        func hearOfMine(_ name: String) async throws {
            let id = CKRecord.ID(recordName: name, zoneID: mine)
            try await desk.container(container).privateCloudDatabase.save(
                CKRecord(recordType: "Note", recordID: id))
            while let next = await notifications.next(), next.notification.subscriptionID != "Mine" {}
        }
        try await hearOfMine("beside")
        first.send(SIGSTOP)
        try await hearOfMine("paused")
        first.send(SIGCONT)
        _ = try await TestThreads.offPool { first.waitForNumber(seen + 20) }
        try await hearOfMine("going on")
        first.send(SIGKILL)
        _ = try await TestThreads.offPool { first.finish() }
        try await hearOfMine("killed")
        await second.close()
    }
}
