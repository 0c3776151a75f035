// The cost of saving a share does not depend on the records below its root.

import Foundation
import StratusCloud
import StratusKit
import StratusSharingSupport
import StratusStore
import StratusTestSupport
import Testing

enum ShareCostBench {
    /// A root in its own town with a number of records below it: half of them under the root, the others in chains of
    /// ten.
    private static func town(descendantCount: Int) async throws -> (town: Town, place: Place) {
        // On a store of one host: elsewhere the host's looks for what others do are counted, too.
        let town = try TestStores.$chosen.withValue(nil) { try Town(["owner", "reader"]) }
        let owner = town.people[0]
        let place = Place("Docs", of: owner)
        #expect(await owner.make(place) == .done)
        #expect(await owner.create("folder", in: place) == .done)
        let database = owner.database(place)
        for start in stride(from: 0, to: descendantCount, by: 400) {
            let records = (start..<min(start + 400, descendantCount)).map { number in
                let record = owner.fresh("r\(number)", in: place)
                let isTop = number.isMultiple(of: 2) || number % 20 == 1
                record.setParent(owner.recordID(isTop ? "folder" : "r\(number - 2)", in: place))
                return record
            }
            let answers = try await database.modifyRecords(saving: records, deleting: [], savePolicy: .changedKeys)
            #expect(answers.saveResults.values.allSatisfy { Outcome($0).isDone })
        }
        return (town, place)
    }

    /// The reads of sharing, inviting, accepting, moving subtrees, publishing, stopping and sharing again, and of a
    /// participant's acts ten levels below, each by itself.
    private static func reads(_ town: Town, _ place: Place) async throws -> [String: Int] {
        let (owner, reader) = (town.people[0], town.people[1])
        var reads: [String: Int] = [:]
        func count(_ what: String, _ body: () async throws -> Outcome) async throws {
            var outcome = Outcome.done
            reads[what] = try await town.cost { outcome = try await body() }.reads
            #expect(outcome == .done, "\(what)")
        }
        try await count("share") { await owner.share("folder", as: "Share", in: place) }
        let saved = try await owner.shareRecord("Share", in: place)
        let url = try #require(saved.url)
        try await count("invite") { await owner.invite(reader, to: "Share", permission: .readWrite, in: place) }
        try await count("accept") { await reader.accept(url) }
        try await count("change below") { await reader.change("r19", to: 1, in: place) }
        try await count("move out") { await owner.move("r1", under: nil, in: place) }
        try await count("move in") { await owner.move("r1", under: "folder", in: place) }
        try await count("move as participant") { await reader.move("r3", under: "folder", in: place) }
        try await count("see below") { await reader.read("r19", in: place) }
        try await count("rename") { await owner.rename("Share", "title", in: place) }
        try await count("publish") { await owner.publish("Share", .readOnly, in: place) }
        try await count("read") { await reader.read("folder", in: place) }
        try await count("see") { await reader.see(place) }
        try await count("leave") { await reader.delete("Share", in: place) }
        try await count("stop") { await owner.delete("Share", in: place) }
        try await count("share again") { await owner.share("folder", as: "Again", in: place) }
        return reads
    }

    static func compare(_ few: Int, _ many: Int) async throws {
        let (small, large) = (try await town(descendantCount: few), try await town(descendantCount: many))
        let smallReads = try await reads(small.town, small.place)
        #expect(smallReads["share", default: 0] > 0)
        #expect(try await reads(large.town, large.place) == smallReads)
        print("reads of sharing: \(smallReads.sorted { $0.key < $1.key })")
    }

}

@Suite("The cost of sharing")
struct ShareCostTests {
    @Test("a share on a root of 2,000 records is saved with the same reads as one on 20")
    func thousands() async throws { try await ShareCostBench.compare(20, 2_000) }
}

@Suite("The cost of sharing, in a long run")
struct ShareCostSoakTests {
    @Test(
        "a share on a root of 100,000 records is saved with the same reads as one on 1,000",
        .enabled(if: ProcessInfo.processInfo.environment["STRATUS_SOAK"] == "1"))
    func hundredThousands() async throws { try await ShareCostBench.compare(1_000, 100_000) }
}
