// The server's cache of subscriptions: a part, and never anything stale.

import Foundation
import StratusCloud
import StratusLevelDB
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

/// A store that can refuse commits after their bodies have run.
private final class RefusingStore: StoreWrapper {
    struct Refusal: Error {}

    let wrapped: any OrderedStore
    let isRefusing = Locked(false)

    init(_ wrapped: any OrderedStore) { self.wrapped = wrapped }

    func transact<Result>(lane: StoreLane?, _ body: (any StoreTransaction) throws -> Result) throws -> Result {
        try wrapped.transact(lane: lane) { transaction in
            let result = try body(transaction)
            if isRefusing.value { throw Refusal() }
            return result
        }
    }
}

/// A store that can delay a group of commits that is about to be written until the body of a later commit has run.
private final class HoldingStore: StoreWrapper {
    let wrapped: any OrderedStore
    private let flight: Flight
    private let directory: URL

    /// How far the first of two commits is.
    private final class Flight: Sendable {
        enum Step { case notAwaited, awaited, held }

        let step = Locked(Step.notAwaited)
        let isHeld = Latch("the first commit to be in flight")
        let hasRun = Latch("the body of the second commit to run")
    }

    init() throws {
        let flight = Flight()
        var options = LevelDBOptions()
        options.testHooks.willWriteGroup = { _ in
            let isAwaited = flight.step.withLock { step in
                defer { if step == .awaited { step = .held } }
                return step == .awaited
            }
            guard isAwaited else { return }
            flight.isHeld.open()
            try flight.hasRun.wait()
        }
        self.flight = flight
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("stratus-\(UUID().uuidString)")
        wrapped = try LevelDBStore.open(at: directory.path, options: options)
    }

    deinit {
        wrapped.close()
        try? FileManager.default.removeItem(at: directory)
    }

    func transact<Result>(lane: StoreLane?, _ body: (any StoreTransaction) throws -> Result) throws -> Result {
        try wrapped.transact(lane: lane) { transaction in
            let result = try body(transaction)
            if flight.step.value == .held { flight.hasRun.open() }
            return result
        }
    }

    /// Runs both, so that the second begins and its body ends while the commit of the first is in flight.
    func overlap(_ first: @escaping @Sendable () throws -> Void, _ second: @escaping @Sendable () throws -> Void) throws
    {
        flight.step.withLock { $0 = .awaited }
        let flight = flight
        try TestThreads.run(2) { thread in
            if thread == 0 {
                try first()
            } else {
                try flight.isHeld.wait()
                try second()
            }
        }
    }
}

@Suite("subscriptions: what is kept in memory")
struct SubscriptionDirectoryTests {
    private static func cost(_ bench: RecordBench, _ body: () throws -> Void) rethrows -> StoreCost {
        let before = bench.store.statistics.cost
        try body()
        return bench.store.statistics.cost - before
    }

    /// Point reads, seeks and steps.
    private static func asked(_ bench: RecordBench, _ body: () throws -> Void) rethrows -> [Int] {
        let cost = try cost(bench, body)
        return [cost.pointReads, cost.seeks, cost.cursorSteps]
    }

    /// People with a zone and subscriptions each.
    private static func crowd(_ bench: RecordBench, _ count: Int) throws -> [StoredAccount] {
        try bench.save(.new("start", ["size": .int64(0)]))
        return try (0..<count).map { index in
            let person = try bench.person("p\(index)")
            try bench.makeZone(RecordBench.notes, by: person)
            try bench.subscribe(.database("d"), .query("q", .isSize(1)), by: person)
            return person
        }
    }

    @Test(
        "the cache stays within its limit for many writers, and a writer outside it costs a seek per answer",
        .enabled(if: TestStores.letCachesAnswer))
    func bounded() throws {
        let bench = try RecordBench.forSubscriptions(runsBodiesTwice: false) { $0.keptSubscriptionByteCount = 16 << 10 }
        let people = try Self.crowd(bench, 60)
        func save(_ name: String, by person: StoredAccount) throws -> StoreCost {
            try Self.cost(bench) { try bench.save(.new(name), by: person) }
        }
        for person in people { _ = try save("first", by: person) }
        #expect(bench.service.subscriptionDirectory.keptCount <= (16 << 10) / 320)
        let last = try #require(people.last)
        let (kept, again) = (try save("a", by: last), try save("b", by: last))
        #expect(kept.seeks == again.seeks)
        #expect(kept.pointReads == again.pointReads)
        let forgotten = try save("a", by: people[0])
        #expect((1...3).contains(forgotten.seeks - kept.seeks))
        #expect(forgotten.pointReads == kept.pointReads)
        #expect(forgotten.entriesWritten == kept.entriesWritten)
        #expect(try save("b", by: people[0]).seeks == kept.seeks)
        // Without a cache everything is looked up every time, and everyone is notified.
        let without = try RecordBench.forSubscriptions(runsBodiesTwice: false) { $0.keptSubscriptionByteCount = 0 }
        try without.subscribe(.database("d"))
        try without.save(.new("first"))
        let one = try Self.asked(without) { try without.save(.new("a")) }
        let other = try Self.asked(without) { try without.save(.new("b")) }
        #expect(one == other)
        #expect(one[1] >= 3)
        #expect(without.service.subscriptionDirectory.keptCount == 0)
        #expect(try without.told(without.alice) == ["d private"])
    }

    @Test("[N-05] the cache is LRU: a frequent writer costs nothing, however many others write meanwhile")
    func recent() throws {
        let bench = try RecordBench.forSubscriptions(runsBodiesTwice: false) { $0.keptSubscriptionByteCount = 16 << 10 }
        let people = try Self.crowd(bench, 40)
        try bench.subscribe(.database("d"))
        for name in ["first", "second"] { try bench.save(.new(name)) }
        let alone = try Self.asked(bench) { try bench.save(.new("alone")) }
        for person in people {
            try bench.save(.new("a"), by: person)
            #expect(try Self.asked(bench) { try bench.save(.new("for \(person.userName.text)")) } == alone)
        }
    }

    @Test("a subscription whose commit fails does not fire, and one whose deletion fails still does")
    func refused() throws {
        let store = RefusingStore(MemoryStore())
        let bench = try RecordBench(inMemory: true, runsBodiesTwice: false, store: store)
        try bench.makeNotes()
        try bench.register(bench.alice, "phone")
        try bench.save(.new("first"))
        func refusing(_ body: () throws -> Void) {
            store.isRefusing.withLock { $0 = true }
            #expect(throws: (any Error).self) { try body() }
            store.isRefusing.withLock { $0 = false }
        }
        refusing { try bench.subscribe(.database("d")) }
        try bench.save(.new("a"))
        #expect(try bench.outboxCount() == 0)
        // The zones and their subscriptions, read and changed by one commit that fails.
        let zones = ["One", "Two"].map { ZoneAddress(zoneName: $0) }
        for zone in zones {
            try bench.makeZone(zone)
            try bench.subscribe(.zone("of \(zone.zoneName)", zone))
        }
        let next = CloudService(engine: bench.service.engine, environment: bench.service.environment)
        let alice = bench.caller(bench.alice)
        refusing { _ = try next.modifyZones(ModifyZonesRequest(deletes: zones), as: alice, in: .private) }
        for zone in zones {
            let request = ModifyRecordsRequest(saves: [.new("record", in: zone)])
            _ = try next.modifyRecords(request, as: alice, in: .private).saves[0].get()
        }
        #expect(try bench.told(bench.alice).sorted() == ["of One One", "of Two Two"])
        _ = try next.modifyZones(ModifyZonesRequest(deletes: zones), as: alice, in: .private)
        #expect(try bench.told(bench.alice).sorted() == ["of One One", "of Two Two"])
        #expect(try bench.subscriptions() == [])
        #expect(try bench.subscriptionFindings() == [])
    }

    @Test(
        "[N-07] a read during a change of the cache is answered with the change",
        arguments: [true, false])
    func inFlight(isSubscribing: Bool) async throws {
        try await TestThreads.offPool {
            let store = try HoldingStore()
            let bench = try RecordBench(runsBodiesTwice: false, store: store)
            try bench.makeNotes()
            try bench.register(bench.alice, "phone")
            try bench.subscribe(.database("d"), by: bench.bob)
            if !isSubscribing { try bench.subscribe(.database("d")) }
            try bench.save(.new("first"))
            _ = try bench.told(bench.alice)
            try bench.save(.new("kept"))
            #expect(try bench.told(bench.alice) == (isSubscribing ? [] : ["d private"]))
            try store.overlap(
                {
                    let request = ModifySubscriptionsRequest(
                        saves: isSubscribing ? [.database("d")] : [], deletes: isSubscribing ? [] : ["d"])
                    let answers = try bench.service.modifySubscriptions(
                        request, as: bench.caller(bench.alice), in: .private)
                    for result in answers.saves { _ = try result.get() }
                    for result in answers.deletes { _ = try result.get() }
                }, { try bench.save(.new("beside")) })
            #expect(try bench.told(bench.alice) == (isSubscribing ? ["d private"] : []))
            #expect(try bench.subscriptionFindings() == [])
        }
    }

    @Test("[N-07] the commit after saving a subscription fires it, every time, under concurrent writes and saves")
    func beside() async throws {
        try await TestThreads.offPool {
            let bench = try RecordBench.forSubscriptions(inMemory: false, runsBodiesTwice: false)
            try bench.save(.new("in", ["size": .int64(0)]))
            try bench.share("in", as: "Share", with: bench.bob, "bob@example.com")
            let others = try (0..<2).map { try bench.person("p\($0)") }
            let isOver = Locked(false)
            try TestThreads.run(3) { thread in
                guard thread == 0 else {
                    let other = others[thread - 1]
                    var round = 0
                    while !isOver.value {
                        round += 1
                        try bench.subscribe(.database("d"), by: other)
                        try bench.save(.new("\(thread)-\(round)"))
                        try bench.subscribe(.database("s\(round % 5)"), by: other, in: .shared)
                    }
                    return
                }
                defer { isOver.withLock { $0 = true } }
                for round in Int64(1)...12 {
                    try bench.subscribe(.query("q", .isSize(round)))
                    try bench.subscribe(.database("s"), by: bench.bob, in: .shared)
                    try bench.save(.new("r\(round)", parent: "in", ["size": .int64(round)]))
                    #expect(try bench.told(bench.alice) == ["q created r\(round)"])
                    #expect(try bench.told(bench.bob) == ["s shared"])
                    for (account, id, database) in [
                        (bench.alice, "q", DatabaseSelector.private), (bench.bob, "s", .shared),
                    ] {
                        let request = ModifySubscriptionsRequest(saves: [], deletes: [id])
                        for result in try bench.service.modifySubscriptions(
                            request, as: bench.caller(account), in: database
                        ).deletes { _ = try result.get() }
                    }
                    try bench.save(.new("s\(round)", parent: "in", ["size": .int64(round)]))
                    #expect(try bench.told(bench.alice) == [])
                    #expect(try bench.told(bench.bob) == [])
                }
            }
            #expect(try bench.subscriptionFindings() == [])
        }
    }
}
