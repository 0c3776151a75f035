// What subscriptions cost those who do not listen, counted: nothing.

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

    @Test("a commit in a container without subscriptions reads and writes nothing for them, whatever others have")
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
        // Nor do those who listen to something else of the same container.
        for index in 0..<50 { try bench.subscribe(.database("d\(index)"), by: bench.bob) }
        try bench.subscribe(.query("q"), by: bench.bob, in: .public)
        #expect(try Self.saveCost(bench, "r3") == alone)
        #expect(try bench.outboxCount() == 0)
        // A checker that finds nothing proves nothing.
        try bench.subscribe(.database("own"))
        #expect(try Self.saveCost(bench, "r4") != alone)
        #expect(try bench.outboxCount() == 1)
    }

    @Test("the subscriptions of a container are read once, and known from then on")
    func loading() throws {
        let bench = try RecordBench.forSubscriptions(runsBodiesTwice: false)
        for index in 0..<100 { try bench.subscribe(.database("d\(index)"), by: bench.bob) }
        let next = CloudService(engine: bench.service.engine, environment: bench.service.environment)
        func save(_ name: String) throws -> StoreCost {
            try Self.cost(bench) {
                let request = ModifyRecordsRequest(saves: [.new(name)])
                _ = try next.modifyRecords(request, as: bench.caller(bench.alice), in: .private).saves[0].get()
            }
        }
        _ = try next.account(bench.alice.id)
        let (first, second, third) = (try save("a"), try save("b"), try save("c"))
        #expect(first.cursorSteps >= second.cursorSteps + 100)
        #expect(second == third)
    }

    @Test("delivering costs the same however many others have subscribed to the same container")
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

    @Test("who saves a public record of a type that nobody has subscribed to pays nothing for other types")
    func otherTypes() throws {
        let bench = try RecordBench.forSubscriptions(runsBodiesTwice: false)
        for type in ["Note", "Open"] { _ = try Self.publicCosts(bench, "warm", type: type) }
        let alone = try Self.publicCosts(bench, "r1", type: "Note")
        for index in 0..<100 { try bench.subscribe(.query("q\(index)", type: "Open"), by: bench.bob, in: .public) }
        #expect(try Self.publicCosts(bench, "r2", type: "Note") == alone)
        #expect(try bench.outboxCount() == 0)
        #expect(try Self.publicCosts(bench, "r3", type: "Open") != alone)
    }

    @Test("a commit reads and writes the same for one subscription to its type and for a hundred, where none matches")
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
        #expect(found[0] == found[1] && found[1] == found[2])
    }
}
