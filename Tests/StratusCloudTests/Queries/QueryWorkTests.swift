// How much one page of a query may read if no index has its order.

import StratusCloud
import StratusModel
import Testing

@Suite struct QueryWorkTests {
    /// Notes with places along the equator, the last ones nearest to its origin, and how many of them a page may be
    /// picked out of.
    private func bench(notes count: Int, pickedFrom limit: Int) throws -> RecordBench {
        let bench = try RecordBench(inMemory: true) { $0.querySortCount = limit }
        try bench.makeNotes()
        for index in 0..<count {
            let degrees = Double(count - index) / 1_000
            try bench.save(.new("n\(index)", ["at": .place(0, degrees), "age": .int64(Int64(index % 4))]))
        }
        return bench
    }

    private func error(_ body: () throws -> Void) -> CloudError? {
        do { try body() } catch { return error as? CloudError }
        return nil
    }

    @Test("[Q-13] a page that no index sorts is sorted in memory up to a limit; beyond it the query is refused")
    func sortedByDistance() throws {
        let nearest = QuerySort(key: "at", origin: .at(0, 0))
        let enough = try bench(notes: 6, pickedFrom: 6)
        try enough.buildIndexes()
        #expect(try enough.names(.all("Note", sorted: [nearest]), limit: 2) == ["n5", "n4", "n3", "n2", "n1", "n0"])

        let bench = try bench(notes: 7, pickedFrom: 6)
        try bench.buildIndexes()
        for zone in [RecordBench.notes, nil] {
            let refusal = error { _ = try bench.names(.all("Note", sorted: [nearest]), zone: zone) }
            #expect(refusal?.code == .limitExceeded, "\(String(describing: refusal))")
            #expect(refusal?.fields == ["recordType": "Note", "sortKey": "at", "limit": "6"])
        }
        #expect(error { _ = try bench.explain(.all("Note", sorted: [nearest])) }?.code == .limitExceeded)
        // What an index leaves is what counts, and an order of an index is not sorted.
        let few = ClientQuery.all("Note", .where("age", .equals, .int64(1)), sorted: [nearest])
        #expect(try bench.names(few) == ["n5", "n1"])
        #expect(try bench.names(.all("Note", sorted: [QuerySort(key: "age")]), limit: 3).count == 7)
    }

    @Test("[Q-07][Q-14] places beyond the limit for sorting are found in the order of names, page by page")
    func manyPlaces() throws {
        let near = ClientQuery.all("Note", .near("at", 0, 0, 1_000))
        let all = try bench(notes: 9, pickedFrom: .max)
        let bench = try bench(notes: 9, pickedFrom: 4)
        try all.buildIndexes()
        try bench.buildIndexes()
        let expected = try all.names(near)
        #expect(expected.count == 8)
        for limit in 1...9 { #expect(try bench.names(near, limit: limit) == expected) }
        let plan = try #require(try bench.explain(near).zones.first?.planText)
        #expect(plan.contains("reads all records of type Note"), "\(plan)")
        #expect(plan.contains("has too many"), "\(plan)")
        #expect(try all.explain(near).zones.first?.planText.contains("ranges of cells") == true)
    }

    @Test("[Q-13] while the index for the sort is being filled, too many results fail with zoneBusy")
    func sortedByWhatIsBeingFilled() throws {
        let bench = try RecordBench(inMemory: true, runsBodiesTwice: false) { $0.querySortCount = 100 }
        try bench.makeNotes()
        func importSchema(_ marks: String) throws {
            try bench.service.importSchema(
                """
                DEFINE SCHEMA RECORD TYPE Note ( age INT64 \(marks),
                    GRANT WRITE TO "_creator", GRANT CREATE TO "_icloud", GRANT READ TO "_world" );
                """, into: RecordBench.container)
        }
        try importSchema("")
        let saves = (0..<300).map { RecordSave.new("n\($0)", ["age": .int64(Int64(-$0))]) }
        for result in try bench.modify(saves).saves { _ = try result.get() }
        let sorted = ClientQuery.all("Note", sorted: [QuerySort(key: "age")])
        #expect(error { _ = try bench.names(sorted) }?.code == .limitExceeded)

        try importSchema("SORTABLE")
        var steps = 0
        try bench.service.buildIndexes(
            UpkeepPace(
                pause: {},
                shouldContinue: {
                    steps += 1
                    return steps < 4
                }))
        let refusal = error { _ = try bench.names(sorted) }
        #expect(refusal?.code == .zoneBusy, "\(String(describing: refusal))")
        #expect(refusal?.retryAfterSeconds ?? 0 > 0)
        #expect(refusal?.fields["sortKey"] == "age")

        try bench.buildIndexes()
        #expect(try bench.names(sorted) == (0..<300).reversed().map { "n\($0)" })
    }
}
