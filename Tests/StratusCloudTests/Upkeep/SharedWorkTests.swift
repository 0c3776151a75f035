// The background work of two hosts on one store.

import Foundation
import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("background work of two hosts")
struct SharedWorkTests {
    private let memory = MemoryStore()
    /// For everything but the work.
    private let bench: RecordBench
    private let one: CloudService
    private let other: CloudService

    init() throws {
        bench = try RecordBench(store: TripStore(memory))
        one = try Self.host(seed: 2, on: memory, bench.clock)
        other = try Self.host(seed: 3, on: memory, bench.clock)
        try bench.makeNotes()
        try bench.register(bench.alice, "phone", "pad")
        try bench.save(.new("start"))
        try bench.subscribe(.query("q", triggers: .creation))
    }

    private static func host(seed: UInt64, on memory: MemoryStore, _ clock: BenchClock) throws -> CloudService {
        let identifiers = BenchIdentifiers(seed: seed)
        return CloudService(
            engine: try RecordEngine(store: TripStore(memory), incarnation: identifiers.makeUUID()),
            environment: CloudEnvironment(clock: clock, identifiers: identifiers))
    }

    private func waitingCount(_ keyspaces: GlobalKeyspace...) throws -> Int {
        try memory.read { reader in
            try keyspaces.reduce(0) { try $0 + reader.keys(in: GlobalKeys.keyspace($1)).count }
        }
    }

    @Test("[N-05] two hosts that deliver at once deliver each notification once")
    func deliversOnce() async throws {
        for round in 0..<20 { try bench.save(.new("note\(round)"), on: "phone") }
        let (one, other) = (one, other)
        try await TestThreads.offPool {
            try TestThreads.run(2) { _ = try ($0 == 0 ? one : other).deliverNotifications() }
        }
        // The one that has the work may have looked before the other was refused.
        _ = try one.deliverNotifications()
        _ = try other.deliverNotifications()
        #expect(try bench.outboxCount() == 0)
        let lines = try bench.take(bench.alice, "pad").map(\.line)
        #expect(lines.count == 20)
        #expect(Set(lines).count == 20)
    }

    @Test("[N-05] a host leaves deliveries to the host that delivers")
    func leavesDeliveries() throws {
        try bench.save(.new("a"), on: "phone")
        #expect(try one.deliverNotifications() == [DeviceAddress(account: bench.alice.id, name: "pad")])
        try bench.save(.new("b"), on: "phone")
        #expect(try other.deliverNotifications().isEmpty)
        #expect(try bench.take(bench.alice, "pad").map(\.line) == ["q created a"])
        #expect(try one.deliverNotifications() == [DeviceAddress(account: bench.alice.id, name: "pad")])
        #expect(try bench.take(bench.alice, "pad").map(\.line) == ["q created b"])
    }

    @Test("[N-05] a request for notifications at another host than the one that delivers gets those of before")
    func deliversForRequests() throws {
        try bench.save(.new("a"), on: "phone")
        _ = try one.deliverNotifications()
        try bench.save(.new("b"), on: "phone")
        let page = try other.fetchNotificationChanges(
            FetchNotificationChangesRequest(), as: bench.caller(bench.alice, on: "pad"))
        #expect(page.notifications.map(\.line) == ["q created a", "q created b"])
    }

    @Test("[Z-04] upkeep leaves deleted zones to the host that removes them")
    func leavesPurges() throws {
        try bench.save(.new("a"), on: "phone")
        _ = try bench.service.modifyZones(
            ModifyZonesRequest(deletes: [RecordBench.notes]), as: bench.caller(bench.alice, on: nil), in: .private)
        let pace = UpkeepPace(pause: {})
        try one.engine.working(on: .purges) {
            try one.engine.transact { _ in }
            try other.performUpkeep(historySeconds: nil, pace)
            #expect(try waitingCount(.purges, .releases) == 1)
        }
        try one.engine.giveBack([.purges])
        try other.performUpkeep(historySeconds: nil, pace)
        #expect(try waitingCount(.purges, .releases) == 0)
    }

    @Test("[T-09] upkeep says whether it has looked at the history, or left it to another host")
    func leavesHistory() throws {
        try bench.save(.new("a"), on: "phone")
        bench.clock.advance(bySeconds: 1_000)
        try bench.save(.new("b"), on: "phone")
        let pace = UpkeepPace(pause: {})
        try one.engine.working(on: .history) {
            try one.engine.transact { _ in }
            #expect(try !other.performUpkeep(historySeconds: 10, pace))
        }
        try one.engine.giveBack([.history])
        #expect(try other.performUpkeep(historySeconds: 10, pace))
    }

    @Test("[T-09] history of hosts whose clocks are an hour apart expires at most an hour early, and skips no change")
    func clocksApart() throws {
        let fast = BenchClock()
        fast.advance(bySeconds: 3_600)
        let ahead = try Self.host(seed: 4, on: memory, fast)
        var tokens: [[UInt8]?] = []
        let (count, perHour) = (48, 6)
        for number in 0..<count {
            for clock in [bench.clock, fast] { clock.advance(bySeconds: 3_600 / Double(perHour)) }
            let request = ModifyRecordsRequest(saves: [.new("n\(number)")])
            let response = try (number % 2 == 0 ? one : ahead).modifyRecords(
                request, as: bench.caller(bench.alice), in: .private)
            for result in response.saves { _ = try result.get() }
            tokens.append(try bench.page().token)
        }
        let hours = 4
        for host in [one, ahead] {
            #expect(try host.performUpkeep(historySeconds: Double(hours) * 3_600, UpkeepPace(pause: {})))
            var expired = 0
            for (number, token) in tokens.enumerated() {
                do {
                    let names = try bench.page(token).changed.map(\.address.recordName)
                    #expect(Set(names) == Set((number + 1..<count).map { "n\($0)" }))
                } catch let error as CloudError {
                    #expect(error.code == .changeTokenExpired)
                    expired = number + 1
                }
            }
            #expect(expired <= count - (hours - 1) * perHour)
            #expect(expired >= count - (hours + 2) * perHour)
        }
    }

    @Test("[S-09][X-05] at hosts whose clocks are an hour apart a record's dates never go back")
    func datesOfClocksApart() throws {
        let fast = BenchClock()
        fast.advance(bySeconds: 3_600)
        let ahead = try Self.host(seed: 4, on: memory, fast)
        let before = try bench.page().token
        func save(_ save: RecordSave, at host: CloudService) throws -> ClientRecord {
            let request = ModifyRecordsRequest(saves: [save])
            return try host.modifyRecords(request, as: bench.caller(bench.alice), in: .private).saves[0].get()
        }
        let first = try save(.new("a"), at: ahead)
        #expect(first.creationDate == fast.now)
        var record = first
        for round in 0..<6 {
            for clock in [bench.clock, fast] { clock.advance(bySeconds: 60) }
            let next = try save(.change(record), at: round % 2 == 0 ? one : ahead)
            #expect(next.modificationDate > record.modificationDate)
            #expect(next.modificationDate <= fast.now)
            #expect(next.creationDate == first.creationDate)
            record = next
        }
        #expect(record.modificationDate == fast.now)
        // Dates of different records have the order of their hosts' clocks. The feed has that of the commits.
        let second = try save(.new("b"), at: one)
        #expect(second.creationDate == bench.clock.now)
        #expect(second.modificationDate < record.modificationDate)
        #expect(try bench.page(before).changed.map(\.address.recordName) == ["a", "b"])
        // So have those of a record that is created again, which is another one.
        let deletion = ModifyRecordsRequest(deletes: [.note("a")])
        _ = try ahead.modifyRecords(deletion, as: bench.caller(bench.alice), in: .private).deletes[0].get()
        let again = try save(.new("a"), at: one)
        #expect(again.creationDate == bench.clock.now)
        #expect(again.modificationDate == again.creationDate)
    }

    @Test("[N-05] a device that a host with a faster clock had registered misses nothing after it is registered again")
    func registeredAgain() throws {
        let fast = BenchClock()
        fast.advance(bySeconds: 3_600)
        let ahead = try Self.host(seed: 4, on: memory, fast)
        let watch = bench.caller(bench.alice, on: "watch")
        let old = try ahead.fetchNotificationChanges(FetchNotificationChangesRequest(), as: watch).token
        try one.removeDevice(DeviceAddress(account: bench.alice.id, name: "watch"))
        _ = try one.fetchNotificationChanges(FetchNotificationChangesRequest(), as: watch)
        try bench.save(.new("a"), on: "phone")
        let page = try one.fetchNotificationChanges(FetchNotificationChangesRequest(token: old), as: watch)
        #expect(page.notifications.map(\.line) == ["q created a"])
        #expect(
            try one.fetchNotificationChanges(FetchNotificationChangesRequest(token: page.token), as: watch)
                .notifications.isEmpty)
    }

    @Test("upkeep gives its work back, but not the deliveries")
    func givesBack() throws {
        try bench.save(.new("a"), on: "phone")
        _ = try one.deliverNotifications()
        _ = try bench.service.modifyZones(
            ModifyZonesRequest(deletes: [RecordBench.notes]), as: bench.caller(bench.alice, on: nil), in: .private)
        try one.performUpkeep(historySeconds: nil, UpkeepPace(pause: {}))
        let holders = try memory.read { reader in
            try BackgroundWork.allCases.filter { work in
                try reader.withValue(forKey: GlobalKeys.work(work)) { try WorkEntry(decoding: $0).holder } != .some(nil)
            }
        }
        #expect(!holders.contains(.purges))
        #expect(holders.contains(.deliveries))
    }
}
