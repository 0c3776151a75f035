// What feeds cost, counted: the same for any number of unreported records in the zone (W7, W8).

import Foundation
import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("feeds: counted costs")
struct FeedCostTests {
    private static func bench() throws -> RecordBench {
        try RecordBench.forSharing(inMemory: true, runsBodiesTwice: false) { $0.feedPageLimit = 10_000 }
    }

    private static func fill(_ bench: RecordBench, _ prefix: String, count: Int, below parent: String? = nil) throws {
        for start in stride(from: 0, to: count, by: 400) {
            let saves = (start..<min(start + 400, count)).map { RecordSave.new("\(prefix)\($0)", parent: parent) }
            for result in try bench.modify(saves).saves { _ = try result.get() }
        }
    }

    /// The cost of one page, and the names in it.
    private static func cost(
        _ bench: RecordBench, _ token: [UInt8]?, by account: StoredAccount? = nil
    ) throws -> (cost: StoreCost, told: [String]) {
        let before = bench.store.statistics.cost
        let page = try bench.page(token, limit: 10_000, by: account)
        guard !page.isMoreComing else { throw ConformanceFailure("The page is not the last.") }
        let names = page.changed.map(\.address.recordName) + page.deleted.map(\.address.recordName)
        return (bench.store.statistics.cost - before, names)
    }

    @Test("[T-06] W7: an owner's changes since a token cost the same for any number of records in the zone")
    func owner() async throws {
        let found = try await TestThreads.offPool {
            try [400, 4_000].map { count in
                let bench = try Self.bench()
                try Self.fill(bench, "r", count: count)
                let token = try bench.page(limit: 10_000).token
                for index in 0..<100 { try bench.touch("r\(index)") }
                return try Self.cost(bench, token)
            }
        }
        #expect(found.allSatisfy { $0.told.count == 100 })
        #expect(found[0].cost == found[1].cost)
        #expect(found[0].cost.reads <= 100 + 12)
    }

    @Test("[D-06] W8: the first pages after accepting cost only what they deliver, whatever else the zone has")
    func accepting() async throws {
        let found = try await TestThreads.offPool {
            try [400, 4_000].map { count in
                let bench = try Self.bench()
                try bench.save(.new("root"))
                try Self.fill(bench, "in", count: 1_000, below: "root")
                try Self.fill(bench, "out", count: count)
                try bench.share("root", as: "Share", with: bench.bob, "bob@example.com")
                return try Self.cost(bench, nil, by: bench.bob)
            }
        }
        #expect(found.allSatisfy { $0.told.count == 1_002 })
        #expect(found[0].cost == found[1].cost)
        #expect(found[0].cost.reads <= 1_002 + 40)
    }

    @Test("[T-06] W8: changes that a participant does not see cost one read for each parent, and no read of their own")
    func invisible() async throws {
        let found = try await TestThreads.offPool {
            let bench = try Self.bench()
            try bench.share("root", as: "Share", with: bench.bob, "bob@example.com")
            try bench.save(.new("top"), .new("deep", parent: "top"))
            let token = try bench.page(by: bench.bob).token
            try Self.fill(bench, "out", count: 2_000, below: "deep")
            return try Self.cost(bench, token, by: bench.bob)
        }
        #expect(found.told.isEmpty)
        #expect(found.cost.reads <= 60)
        #expect(found.cost.cursorSteps <= 2_000 + 60)
    }

    @Test("[T-06] W8: changes below many parents cost one read for each parent, and the depth once")
    func invisibleParents() async throws {
        let found = try await TestThreads.offPool {
            let bench = try Self.bench()
            try bench.share("root", as: "Share", with: bench.bob, "bob@example.com")
            try bench.save(.new("top"), .new("deep", parent: "top"))
            try Self.fill(bench, "parent", count: 200, below: "deep")
            for index in 0..<200 { try Self.fill(bench, "\(index)-", count: 4, below: "parent\(index)") }
            let token = try bench.page(by: bench.bob).token
            for child in 0..<4 { for index in 0..<200 { try bench.touch("\(index)-\(child)") } }
            return try Self.cost(bench, token, by: bench.bob)
        }
        #expect(found.told.isEmpty)
        #expect(found.cost.reads <= 200 + 40)
        #expect(found.cost.cursorSteps <= 800 + 40)
    }

    @Test(
        "[T-06] W8: what has ended in a zone is read once for a page of unseen changes, and not at all if it is much",
        arguments: [(moveCount: 1_100, lookUpCount: 256), (moveCount: 2_400, lookUpCount: 2_800)])
    func invisibleAfterMoves(moveCount: Int, lookUpCount: Int) async throws {
        let changeCount = 2_800
        let found = try await TestThreads.offPool {
            let bench = try Self.bench()
            try bench.share("root", as: "Share", with: bench.bob, "bob@example.com")
            try bench.save(.new("top"), .new("first", parent: "top"), .new("second", parent: "top"))
            try Self.fill(bench, "moved", count: moveCount, below: "first")
            for index in 0..<moveCount { try bench.move("moved\(index)", below: "second") }
            let token = try bench.page(by: bench.bob).token
            try Self.fill(bench, "out", count: changeCount, below: "second")
            return try Self.cost(bench, token, by: bench.bob)
        }
        #expect(found.told.isEmpty)
        #expect(found.cost.reads <= lookUpCount + 100)
        // A refused reading of 1,025 links, and one of at most 2,001.
        #expect(found.cost.cursorSteps <= changeCount + 1_025 + 2_001 + 100)
    }

    @Test(
        "[T-06] W8: where more has ended than a page has changes, unseen changes of known records need no look-ups",
        .enabled(if: TestStores.chosen?.isOnServer != true))
    func invisibleWhereManyMoved() async throws {
        let found = try await TestThreads.offPool {
            let bench = try Self.bench()
            try bench.share("root", as: "Share", with: bench.bob, "bob@example.com")
            try bench.save(.new("top"), .new("first", parent: "top"), .new("second", parent: "top"))
            try Self.fill(bench, "out", count: 100, below: "second")
            try Self.fill(bench, "moved", count: 450, below: "first")
            for index in 0..<450 { try bench.move("moved\(index)", below: "second") }
            let token = try bench.page(by: bench.bob).token
            for index in 0..<100 { try bench.touch("out\(index)") }
            return try Self.cost(bench, token, by: bench.bob)
        }
        #expect(found.told.isEmpty)
        #expect(found.cost.reads <= 40)
        // The changes, and a refused reading of 401 links.
        #expect(found.cost.cursorSteps <= 100 + 401 + 40)
    }

    @Test("[D-12] moving a folder within a shared tree does not cost its contents")
    func moving() async throws {
        let found = try await TestThreads.offPool {
            try [100, 1_000].map { count in
                let bench = try Self.bench()
                try bench.save(.new("root"), .new("shelf", parent: "root"), .new("folder", parent: "root"))
                try Self.fill(bench, "in", count: count, below: "folder")
                try bench.share("root", as: "Share", with: bench.bob, "bob@example.com")
                let token = try bench.page(limit: 10_000, by: bench.bob).token
                try bench.move("folder", below: "shelf")
                return try Self.cost(bench, token, by: bench.bob)
            }
        }
        #expect(found.map(\.told) == [["folder"], ["folder"]])
        #expect(found[0].cost == found[1].cost)
        #expect(found[0].cost.reads <= 30)
    }
}
