// The cost of reading a feed depends on the changes and the entries, not on the number of records (W7, W8).

import Foundation
import StratusKit
import StratusSharingSupport
import StratusStore
import StratusTestSupport
import Testing

enum FeedCostBench {
    /// A zone with a number of records: half of them in chains of ten under `top`, the others the same under `other`.
    static func town(recordCount: Int) async throws -> (town: Town, place: Place) {
        // On a store of one host: elsewhere the host's looks for what others do are counted, too.
        let town = try TestStores.$chosen.withValue(nil) { try Town(["owner", "reader"]) }
        let owner = town.people[0]
        let place = Place("Docs", of: owner)
        #expect(await owner.make(place) == .done)
        for top in ["top", "other"] { #expect(await owner.create(top, in: place) == .done) }
        let items = (0..<recordCount).map { number in
            let isTop = number % 20 < 2
            let parent = isTop ? (number.isMultiple(of: 2) ? "top" : "other") : "r\(number - 2)"
            return ("r\(number)", parent as String?, 0)
        }
        try await save(items, by: owner, place)
        return (town, place)
    }

    static func save(
        _ items: [(name: String, parent: String?, value: Int)], by person: Person, _ place: Place
    ) async throws {
        for start in stride(from: 0, to: items.count, by: 400) {
            let records = items[start..<min(start + 400, items.count)].map { item in
                let record = person.fresh(item.name, in: place)
                record[Person.valueKey] = item.value
                if let parent = item.parent { record.setParent(person.recordID(parent, in: place)) }
                return record
            }
            let answers = try await person.database(place).modifyRecords(
                saving: records, deleting: [], savePolicy: .changedKeys)
            #expect(answers.saveResults.values.allSatisfy { Outcome($0).isDone })
        }
    }

    /// Pages until no more are coming: their contents, number and cost.
    static func drain(
        _ person: Person, _ place: Place, since token: CKServerChangeToken?, _ town: Town
    ) async throws -> (told: Int, pages: Int, cost: StoreCost, token: CKServerChangeToken) {
        var (told, pages, last, isMoreComing) = (0, 0, token, true)
        let cost = try await town.cost {
            while isMoreComing {
                let page = try await person.pull(place, since: last)
                told += page.records.count + page.deleted.count
                pages += 1
                (last, isMoreComing) = (page.token, page.isMoreComing)
            }
        }
        guard let last else { throw TownError(description: "a feed without a token") }
        return (told, pages, cost, last)
    }

    /// What was counted in a zone of some size.
    struct Counts: Equatable {
        /// W7: the reads of 100 changes, for the owner.
        var changeReads = 0
        /// W8: the store operations of acceptance.
        var acceptanceReads = 0
        var acceptanceEntries = 0
        /// The reads of a participant's feed without changes.
        var silenceReads = 0
    }

    /// A constant for each page.
    private static let readsOfPage = 30

    static func counts(recordCount: Int) async throws -> Counts {
        let (town, place) = try await town(recordCount: recordCount)
        let (owner, reader) = (town.people[0], town.people[1])
        var counts = Counts()
        let start = try await drain(owner, place, since: nil, town)
        #expect(start.told == recordCount + 2)
        // A first sync reads neighbours, and no record by itself.
        #expect(start.cost.reads <= readsOfPage * start.pages, "\(start)")
        let names = (0..<100).map { "r\($0 * (recordCount / 100))" }
        try await save(names.map { ($0, nil, 1) }, by: owner, place)
        let changes = try await drain(owner, place, since: start.token, town)
        #expect(changes.told == 100)
        counts.changeReads = changes.cost.reads

        #expect(await owner.share("top", as: "Share", in: place) == .done)
        #expect(await owner.invite(reader, to: "Share", in: place) == .done)
        let url = try #require(try await owner.shareRecord("Share", in: place).url)
        var outcome = Outcome.done
        let acceptance = try await town.cost { outcome = await reader.accept(url) }
        #expect(outcome == .done)
        counts.acceptanceReads = acceptance.reads
        counts.acceptanceEntries = acceptance.entriesWritten
        let first = try await drain(reader, place, since: nil, town)
        #expect(first.told == recordCount / 2 + 2)
        // Since the beginning everything has changed. In chains every record costs a look for what is below it.
        #expect(first.cost.reads <= recordCount + first.told + readsOfPage * first.pages, "\(first)")
        // Changes that the reader does not get.
        let hidden = (0..<recordCount / 4).map { ("r\($0 * 4 + 1)", nil as String?, 2) }
        try await save(hidden, by: owner, place)
        let silence = try await drain(reader, place, since: first.token, town)
        #expect(silence.told == 0)
        #expect(silence.cost.reads <= hidden.count + readsOfPage * silence.pages, "\(silence)")
        let nothing = try await drain(reader, place, since: silence.token, town)
        #expect(nothing.told == 0)
        #expect(nothing.pages == 1)
        counts.silenceReads = nothing.cost.reads
        print(
            "feeds in \(recordCount) records: \(counts), first \(first.cost.reads) of \(first.told), "
                + "hidden \(silence.cost.reads) of \(hidden.count)")
        return counts
    }

    static func compare(_ few: Int, _ many: Int) async throws {
        let (small, large) = (try await counts(recordCount: few), try await counts(recordCount: many))
        #expect(small == large)
    }
}

@Suite("The cost of feeds")
struct FeedCostTests {
    @Test(
        "changes and acceptance cost the same with 200 records and with 2,000, and feeds cost what they deliver",
        .enabled(if: TestStores.letCachesAnswer))
    func thousands() async throws { try await FeedCostBench.compare(200, 2_000) }
}

@Suite("The cost of feeds, in a long run")
struct FeedCostSoakTests {
    @Test(
        "changes and acceptance cost the same in a zone of 1,000 records and of 100,000",
        .enabled(if: ProcessInfo.processInfo.environment["STRATUS_SOAK"] == "1"))
    func hundredThousands() async throws { try await FeedCostBench.compare(1_000, 100_000) }
}
