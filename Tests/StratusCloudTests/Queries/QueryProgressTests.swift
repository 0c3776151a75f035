// The progress that pages report for a query: each record counts once, however many pages read it.

import StratusCloud
import StratusModel
import StratusRecords
import Testing

@Suite struct QueryProgressTests {
    private static let noteCount = 10
    private static let byAge = [QuerySort(key: "age")]

    /// Notes n0 to n9, aged 0 to 9, even and odd, the last nearest to the origin; the title of n3 to n5 is "x".
    private func bench(pickedFrom limit: Int = .max, lookedAt lookCount: Int = 50_000) throws -> RecordBench {
        let bench = try RecordBench(inMemory: true) {
            $0.querySortCount = limit
            $0.queryLookCount = lookCount
        }
        try bench.makeNotes()
        for index in 0..<Self.noteCount {
            let title = (3...5).contains(index) ? "x" : "y"
            try bench.save(
                .new(
                    "n\(index)",
                    [
                        "age": .int64(Int64(index)), "odd": .int64(Int64(index % 2)), "title": .string(title),
                        "at": .place(0, Double(Self.noteCount - index) / 1_000),
                    ]))
        }
        try bench.buildIndexes()
        return bench
    }

    /// The progress that each page of a query reports, and the total after it.
    private func pages(
        _ query: ClientQuery, zone: ZoneAddress? = RecordBench.notes, limit: Int, of bench: RecordBench
    ) throws -> (works: [QueryWork], doneCounts: [Int], foundCount: Int) {
        var start = QueryRequest.Start.query(query, zone: zone)
        var (works, doneCounts, foundCount) = ([QueryWork](), [Int](), 0)
        var whole = QueryWork()
        while true {
            let page = try bench.page(start, limit: limit)
            whole = whole.adding(page.work)
            works.append(page.work)
            doneCounts.append(whole.doneCount)
            foundCount += page.records.count
            guard let cursor = page.cursor, works.count < 100 else { return (works, doneCounts, foundCount) }
            start = .cursor(cursor)
        }
    }

    private func isInOrder(_ query: ClientQuery, _ bench: RecordBench) throws -> Bool? {
        try bench.explain(query).zones.first?.plan.isInOrder
    }

    /// A title that is not "x", for which no index is read.
    private func titled(sorted sorts: [QuerySort] = []) -> ClientQuery {
        .all("Note", .where("title", .notEquals, .string("x")), sorted: sorts)
    }

    @Test("[Q-14] pages in index order return each record once, also records that two pages examine")
    func inOrder() throws {
        let bench = try bench()
        for query in [titled(sorted: Self.byAge), titled()] {
            #expect(try isInOrder(query, bench) == true)
            let told = try pages(query, limit: 3, of: bench)
            // The first page has seen that n6 comes after n2, and the second reads all between them again.
            #expect(told.works == [3, 6, 1].map { QueryWork(settledCount: $0) })
            #expect(told.doneCounts == [3, 9, 10])
            #expect(told.foundCount == 7)
        }
    }

    @Test("[Q-14] a page that ends before it is full reports everything that it examined")
    func stopped() throws {
        let bench = try bench(lookedAt: 4)
        for query in [titled(sorted: Self.byAge), titled()] {
            let told = try pages(query, limit: 400, of: bench)
            // A page ends with non-results: n3, and none of n6 to n9.
            #expect(told.works == [4, 6].map { QueryWork(settledCount: $0) })
            #expect(told.doneCounts == [4, 10])
            #expect(told.foundCount == 7)
        }
    }

    @Test("[Q-13][Q-14] equal values, sorted by further keys for each page, count as results until all are returned")
    func groups() throws {
        let bench = try bench()
        let query = ClientQuery.all("Note", sorted: [QuerySort(key: "odd")] + Self.byAge)
        #expect(try isInOrder(query, bench) == true)
        let told = try pages(query, limit: 3, of: bench)
        #expect(
            told.works == [
                QueryWork(openCount: 3), QueryWork(settledCount: 5, openCount: 1), QueryWork(openCount: 3),
                QueryWork(settledCount: 5),
            ])
        #expect(told.doneCounts == [3, 6, 9, 10])
        #expect(told.foundCount == 10)
    }

    @Test(
        "[Q-13] pages that are sorted in memory report the number of candidates, and count results until the last page")
    func picked() throws {
        let bench = try bench()
        let query = ClientQuery.all("Note", sorted: [QuerySort(key: "at", origin: .at(0, 0))])
        #expect(try isInOrder(query, bench) == false)
        let told = try pages(query, limit: 4, of: bench)
        let count = Self.noteCount
        #expect(
            told.works == [
                QueryWork(openCount: 4, pickedFromCount: count), QueryWork(openCount: 4, pickedFromCount: count),
                QueryWork(settledCount: count, pickedFromCount: count),
            ])
        #expect(told.doneCounts == [4, 8, 10])
        #expect(told.foundCount == 10)
    }

    @Test("[Q-07][Q-14] a result set too large to sort is scanned instead, and counts once")
    func lookedThrough() throws {
        let bench = try bench(pickedFrom: 4)
        let query = ClientQuery.all("Note", .near("at", 0, 0, 2_000))
        #expect(try bench.explain(query).zones.first?.planText.contains("has too many") == true)
        for limit in [1, 3, 400] {
            let told = try pages(query, limit: limit, of: bench)
            #expect(told.works.allSatisfy { $0.pickedFromCount == nil && $0.openCount == 0 })
            #expect(told.doneCounts.last == Self.noteCount, "\(told)")
            #expect(told.foundCount == Self.noteCount, "\(told)")
        }
    }

    @Test("[Q-12] over all zones, a page counts what is before its position, in one order of its results alone")
    func allZones() throws {
        let bench = try RecordBench(inMemory: true)
        for zone in ["A", "B", "C"] {
            let address = ZoneAddress(zoneName: zone)
            try bench.makeZone(address)
            for number in 0..<5 {
                try bench.save(
                    .new("\(zone)\(number)", in: address, ["age": .int64(Int64(number)), "title": .string("y")]))
            }
            try bench.save(.new("z", in: address, ["age": .int64(9), "title": .string("x")]))
        }
        try bench.buildIndexes()
        // Each page reads to the end of a zone and continues after its last result.
        let told = try pages(titled(), zone: nil, limit: 5, of: bench)
        #expect(told.doneCounts == [5, 11, 18])
        #expect(told.foundCount == 15)
        let merged = try pages(titled(sorted: Self.byAge), zone: nil, limit: 4, of: bench)
        #expect(merged.works == [4, 4, 4, 3].map { QueryWork(openCount: $0) })
        #expect(merged.doneCounts == [4, 8, 12, 15])
    }
}
