// The cost of subscriptions for people without any, counted: nothing.

import Foundation
import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("subscriptions: counted costs")
struct SubscriptionCostTests {
    /// What `body` costs the store.
    private static func cost(_ bench: RecordBench, _ body: () throws -> Void) rethrows -> StoreCost {
        let before = bench.store.statistics.cost
        try body()
        return bench.store.statistics.cost - before
    }

    private static func saveCost(_ bench: RecordBench, _ name: String) throws -> StoreCost {
        try cost(bench) { try bench.save(.new(name)) }
    }

    @Test(
        "a commit in a container without subscriptions pays nothing for them, whatever other containers have",
        .enabled(if: TestStores.letCachesAnswer))
    func nobody() throws {
        let bench = try RecordBench.forSubscriptions(runsBodiesTwice: false)
        try bench.save(.new("warm"))
        let alone = try Self.saveCost(bench, "r1")
        // What the engine itself does for a save of this record.
        let other = Caller(container: "iCloud.other", account: bench.alice.id)
        for index in 0..<50 {
            let request = ModifySubscriptionsRequest(saves: [.database("d\(index)")])
            _ = try bench.service.modifySubscriptions(request, as: other, in: .private)
            _ = try bench.service.modifySubscriptions(request, as: other, in: .shared)
        }
        #expect(try Self.saveCost(bench, "r2") == alone)
        #expect(try bench.outboxCount() == 0)
        // Nor do listeners to other things of the same container: the lack of listeners here is looked up once.
        for index in 0..<50 { try bench.subscribe(.database("d\(index)"), by: bench.bob) }
        try bench.subscribe(.query("q"), by: bench.bob, in: .public)
        let looking = try Self.saveCost(bench, "r3")
        #expect(looking.seeks == alone.seeks + 3)
        #expect(looking.cursorSteps <= alone.cursorSteps + 1)
        #expect(looking.pointReads == alone.pointReads)
        #expect(looking.entriesWritten == alone.entriesWritten)
        #expect(try Self.saveCost(bench, "r4") == alone)
        #expect(try bench.outboxCount() == 0)
        // A checker that never finds anything proves nothing.
        try bench.subscribe(.database("own"))
        #expect(try Self.saveCost(bench, "r5") != alone)
        #expect(try bench.outboxCount() == 1)
    }

    /// The cost of the first commits of a new server: of Alice in a zone without shares, of Bob in a zone of his, of
    /// Alice in what she shares with Bob, and of Alice once more.
    private static func firstCosts(amongOthers count: Int) throws -> [StoreCost] {
        let bench = try RecordBench.forSubscriptions(runsBodiesTwice: false)
        let plain = ZoneAddress(zoneName: "Plain")
        try bench.makeZone(plain)
        try bench.makeZone(RecordBench.notes, by: bench.bob)
        try bench.share("in", as: "Share", with: bench.bob, "bob@example.com")
        try bench.subscribe(.database("d"), .query("q"), .zone("z"))
        try bench.subscribe(.database("s"), by: bench.bob, in: .shared)
        // As they are stored; whose they are does not matter to a commit.
        let bytes = try bench.service.engine.read { reader in
            var bytes: [[UInt8]] = []
            try reader.store.scan(GlobalKeys.keyspace(.subscriptions)) { _, value in
                bytes.append([UInt8](copying: value))
                return .next
            }
            return bytes
        }
        let databases: [DatabaseSelector] = [.private, .private, .private, .shared]
        for index in 0..<count {
            // Before those of Alice and Bob and after them.
            let user = UserName("\(index % 2 == 0 ? "!" : "~")\(index)")
            let place = index % bytes.count
            let parts = SubscriptionKeyParts(
                container: RecordBench.container, user: user, database: databases[place].rawValue, id: "theirs")
            try bench.service.adoptSubscription(parts, bytes[place])
        }
        let next = CloudService(engine: bench.service.engine, environment: bench.service.environment)
        for account in [bench.alice, bench.bob] {
            _ = try next.fetchRecords(
                FetchRecordsRequest(addresses: [.note("in")]), as: bench.caller(account), in: .private)
        }
        let saves: [(StoredAccount, RecordSave)] = [
            (bench.alice, .new("a", in: plain)), (bench.bob, .new("b")), (bench.alice, .new("c", parent: "in")),
            (bench.alice, .new("e", in: plain)),
        ]
        return try saves.map { account, save in
            try cost(bench) {
                let request = ModifyRecordsRequest(saves: [save])
                _ = try next.modifyRecords(request, as: bench.caller(account), in: .private).saves[0].get()
            }
        }
    }

    @Test(
        "the first commits after a start cost the same for 10, 1,000 and 20,000 subscriptions of others",
        .enabled(if: TestStores.letCachesAnswer))
    func first() async throws {
        let found = try await TestThreads.offPool {
            try [10, 1_000, 20_000].map { try Self.firstCosts(amongOthers: $0) }
        }
        #expect(found[0] == found[1])
        #expect(found[1] == found[2])
        // The owner, who subscribes, the container, and the zone: each is looked up once.
        #expect(found[0][0].seeks >= found[0][3].seeks + 3)
    }

    @Test("a write in a share pays for its viewers who subscribe, not for subscribers to other shares")
    func otherShares() throws {
        let bench = try RecordBench.forSubscriptions(runsBodiesTwice: false)
        try bench.share("in", as: "Share", with: bench.bob, "bob@example.com")
        let stranger = try bench.person("stranger")
        for name in ["a", "b"] { try bench.save(.new(name, parent: "in")) }
        try bench.subscribe(.database("s"), by: stranger, in: .shared)
        for name in ["c", "d"] { try bench.save(.new(name, parent: "in")) }
        #expect(try bench.outboxCount() == 0)
        let alone = try Self.saveCost(bench, "out")
        let inside = try Self.cost(bench) { try bench.save(.new("e", parent: "in")) }
        #expect(inside.entriesWritten <= alone.entriesWritten + 3)
        try bench.subscribe(.database("s"), by: bench.bob, in: .shared)
        try bench.save(.new("f", parent: "in"))
        #expect(try bench.outboxCount() == 1)
        #expect(try bench.told(bench.bob) == ["s shared"])
    }

    @Test(
        "the first commit in a public database reads all subscriptions of the container, later ones none",
        .enabled(if: TestStores.letCachesAnswer))
    func firstInPublic() throws {
        let bench = try RecordBench.forSubscriptions(runsBodiesTwice: false)
        for index in 0..<100 { try bench.subscribe(.database("d\(index)"), by: bench.bob) }
        try bench.save(.new("warm", in: .defaultZone), in: .public)
        try bench.subscribe(.query("q"), by: bench.bob, in: .public)
        let next = CloudService(engine: bench.service.engine, environment: bench.service.environment)
        _ = try next.account(bench.alice.id)
        func save(_ name: String) throws -> StoreCost {
            try Self.cost(bench) {
                let request = ModifyRecordsRequest(saves: [.new(name, in: .defaultZone)])
                _ = try next.modifyRecords(request, as: bench.caller(bench.alice), in: .public).saves[0].get()
            }
        }
        let (first, second, third) = (try save("a"), try save("b"), try save("c"))
        #expect(first.cursorSteps == second.cursorSteps + 101)
        #expect(second == third)
        #expect(try bench.told(bench.bob).sorted() == ["q created a", "q created b", "q created c"])
    }

    @Test("delivery costs the same for any number of other subscribers to the same container")
    func delivering() throws {
        let found = try [2, 200].map { count in
            let bench = try RecordBench.forSubscriptions(runsBodiesTwice: false)
            for index in 0..<count {
                let person = try bench.person("p\(index)")
                try bench.register(person, "phone")
                try bench.subscribe(.database("s"), by: person, in: .shared)
            }
            try bench.subscribe(.database("s"), by: bench.bob, in: .shared)
            try bench.share("in", as: "Share", with: bench.bob, "bob@example.com")
            try bench.deliver()
            try bench.touch("in")
            return try Self.cost(bench) { try bench.deliver() }
        }
        #expect(found[0] == found[1])
    }

    /// What it costs to save a record in the public database, and to delete it.
    private static func publicCosts(_ bench: RecordBench, _ name: String, type: String) throws -> [StoreCost] {
        [
            try cost(bench) { try bench.save(.new(name, in: .defaultZone, type: type), in: .public) },
            try cost(bench) {
                let address = RecordAddress(recordName: name, zone: .defaultZone)
                _ = try bench.modify(deleting: [address], in: .public).deletes[0].get()
            },
        ]
    }

    @Test(
        "saving a public record costs nothing for subscriptions to other types",
        .enabled(if: TestStores.letCachesAnswer))
    func otherTypes() throws {
        let bench = try RecordBench.forSubscriptions(runsBodiesTwice: false)
        for type in ["Note", "Open"] { _ = try Self.publicCosts(bench, "warm", type: type) }
        let alone = try Self.publicCosts(bench, "r1", type: "Note")
        for index in 0..<100 { try bench.subscribe(.query("q\(index)", type: "Open"), by: bench.bob, in: .public) }
        #expect(try Self.publicCosts(bench, "r2", type: "Note") == alone)
        #expect(try bench.outboxCount() == 0)
        #expect(try Self.publicCosts(bench, "r3", type: "Open") != alone)
    }

    @Test(
        "a commit costs the same for one and for a hundred subscriptions to its type if none matches",
        .enabled(if: TestStores.letCachesAnswer))
    func sameType() throws {
        let found = try [1, 10, 100].map { count in
            let bench = try RecordBench.forSubscriptions(runsBodiesTwice: false)
            try bench.save(.new("warm", in: .defaultZone, ["size": .int64(0)]), in: .public)
            for index in 1...count {
                try bench.subscribe(.query("q\(index)", .isSize(Int64(index))), by: bench.bob, in: .public)
            }
            _ = try Self.publicCosts(bench, "warmer", type: "Note")
            let costs = try Self.publicCosts(bench, "r", type: "Note")
            #expect(try bench.outboxCount() == 0)
            return costs
        }
        #expect(found[0] == found[1])
        #expect(found[1] == found[2])
    }
}
