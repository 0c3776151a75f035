// W10: a hundred results of a query in the largest zone: those of a narrow range of an indexed field, and the first
// page of everything sorted by it. W10c builds the indexes, so that no workload before writes them; on SQLite's side
// too. W10a: a page at a position that is read for the first time. W10b: the same page again and again, beside SQLite
// without a library.

import Foundation
import GRDB
import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusWorkloads

enum QueryPageWorkload: QueryWorkload {
    static let name = "W10"
    static let title = "a page of a query"
    private static let resultCount = SizeQueries.resultCount
    private static let type = SizeQueries.type
    private static let sorted =
        "SELECT \(SQLiteRecord.columns) FROM records WHERE zone = ?1 AND type = ?2 ORDER BY size DESC LIMIT ?3"

    static func run(_ run: BenchmarkRun) throws {
        let server = try run.server()
        let requests = SizeQueries.requests(run.main.zone, in: StratusSide.mainZone)
        let range = SizeQueries.sizeRange(run.main.zone)
        try compare(
            run, server, requests[0], SQLitePeer.ofSizes,
            [SQLitePeer.mainZone, type, range.lowerBound, range.upperBound, resultCount])
        try compare(
            run, server, requests[1],
            sorted,
            [SQLitePeer.mainZone, type, resultCount])
        try addPlot(run, server, requests[1].1)
    }

    /// Time against the results of a page, sorted.
    private static func addPlot(_ run: BenchmarkRun, _ server: ServerSide, _ query: QueryRequest) throws {
        var points: [[(x: Double, y: Double)]] = [[], []]
        for count in [1, 10, 100] {
            var query = query
            query.limit = count
            let medians = try Stopwatch.medians([
                {
                    try Stopwatch.secondsEach(1) {
                        let page = try server.service.query(query, as: server.owner, in: .private).records
                        for match in page { try ServerSide.takeOut(match.get()) }
                    }
                },
                {
                    try Stopwatch.secondsEach(1) {
                        _ = try run.sqlite.read {
                            try $0.records(sorted, [SQLitePeer.mainZone, type, count])
                        }
                    }
                },
            ])
            for index in medians.indices { points[index].append((Double(count), medians[index] * 1e6)) }
        }
        run.add(
            Plot(
                workload: name, title: "a sorted page", xLabel: "results", yLabel: "µs",
                series: zip(["Stratus", "GRDB"], points).map { Series($0, $1) },
                note: """
                    A request has a constant: the caller is looked up, the query is checked against the schema, and an index \
                    is chosen. Then each result adds the same.
                    """))
    }

    private static func compare(
        _ run: BenchmarkRun, _ server: ServerSide, _ asked: (subject: String, query: QueryRequest), _ sql: String,
        _ arguments: StatementArguments
    ) throws {
        let (subject, query) = asked
        func ask() throws {
            let page = try server.service.query(query, as: server.owner, in: .private).records
            guard page.count == resultCount else { throw PeerError("A query has \(page.count) results.") }
            for match in page { try ServerSide.takeOut(match.get()) }
        }
        try ask()
        let cost = try run.stratus.cost { try ask() }.cost
        run.add(Figure(name, subject, count: Double(cost.reads), "reads", .atMost(Double(resultCount) + 16)))
        let medians = try Stopwatch.medians(
            rounds: 9,
            [
                { try Stopwatch.secondsEach(1) { try ask() } },
                {
                    try Stopwatch.secondsEach(1) {
                        let records = try run.sqlite.read { try $0.records(sql, arguments) }
                        guard records.count == resultCount else {
                            throw PeerError("SQLite has \(records.count) results.")
                        }
                    }
                },
            ])
        run.add(
            Figure(
                name, subject, medians[0] * 1e6, "µs", against: "GRDB", medians[1] * 1e6, ratio: .theirsOverOurs,
                .atLeast(1)))
    }
}

/// A workload that needs the indexes of W10c.
protocol QueryWorkload: Workload {}

extension QueryWorkload {
    /// Asks for a page of the main zone's files.
    static func ask(_ server: ServerSide, _ query: QueryRequest) throws {
        let page = try server.service.query(query, as: server.owner, in: .private).records
        guard page.count == SizeQueries.resultCount else { throw PeerError("A query has \(page.count) results.") }
        for match in page { try ServerSide.takeOut(match.get()) }
    }

    static func expect(_ count: Int) throws {
        guard count == SizeQueries.resultCount else { throw PeerError("A query of a peer has \(count) results.") }
    }
}

enum NewQueryPageWorkload: QueryWorkload {
    static let name = "W10a"
    static let title = "a page of a query at a new position"
    private static let roundCount = 9
    private static let pagesPerRound = 20

    static func run(_ run: BenchmarkRun) throws {
        try run.waitForRest()
        let server = try run.server()
        let data = run.main.zone
        let keys = try run.stratus.engine.read { try $0.existingZone(StratusSide.mainZone).keys }
        let files = SizeQueries.filesBySize(data)
        let pageCount = files.count / SizeQueries.resultCount
        var numbers = SeededNumbers(seed: 10)
        let starts = (0..<pageCount).map { $0 * SizeQueries.resultCount }.shuffled(using: &numbers)
        let pages = starts.prefix((roundCount + 1) * pagesPerRound).map { files[$0..<$0 + SizeQueries.resultCount] }
        let ranges = pages.map { $0[$0.startIndex].size...$0[$0.endIndex - 1].size }
        let requests = ranges.map { SizeQueries.request($0, in: StratusSide.mainZone) }
        let rawKeys = pages.map { $0.map { keys.record(data.names[$0.index]) } }
        func pagesOf(_ round: Int) -> Range<Int> { round * pagesPerRound..<(round + 1) * pagesPerRound }
        let times = try Stopwatch.firstTimes(
            rounds: roundCount, each: pagesPerRound,
            [
                { for page in pagesOf($0) { try ask(server, requests[page]) } },
                {
                    for page in pagesOf($0) {
                        for key in rawKeys[page] { _ = try run.raw.byteCount(of: key) }
                    }
                },
                {
                    for page in pagesOf($0) {
                        try expect(
                            run.sqliteInC.read {
                                try run.sqliteInC.sizes(
                                    SizeQueries.type, ranges[page], limit: SizeQueries.resultCount)
                            })
                    }
                },
                {
                    for page in pagesOf($0) {
                        try expect(run.sqlite.read { try $0.records(ofSizes: ranges[page]).count })
                    }
                },
            ] + run.referenceGets(rawKeys, pagesOf))
        run.addNewPages(name, "100 of a range", times, rawBar: .atMost(1.4), sqliteBar: .atLeast(0.6))
    }
}

enum RepeatedQueryPageWorkload: QueryWorkload {
    static let name = "W10b"
    static let title = "the same page of a query again"

    static func run(_ run: BenchmarkRun) throws {
        let server = try run.server()
        let range = SizeQueries.sizeRange(run.main.zone)
        let peers: [() throws -> Int] = [
            { try run.sqliteInC.sizes(SizeQueries.type, range, limit: SizeQueries.resultCount) },
            { try run.sqliteInC.largest(SizeQueries.type, limit: SizeQueries.resultCount) },
        ]
        for ((subject, query), peer) in zip(SizeQueries.requests(run.main.zone, in: StratusSide.mainZone), peers) {
            let times = try Stopwatch.medians(
                rounds: 9,
                [
                    { try Stopwatch.secondsEach(1) { try ask(server, query) } },
                    { try Stopwatch.secondsEach(1) { try expect(run.sqliteInC.read(peer)) } },
                ]
            ).map { $0 * 1e6 }
            run.add(
                Figure(
                    name, subject, times[0], "µs", against: "SQLite in C", times[1], ratio: .theirsOverOurs,
                    .atLeast(1.15)))
        }
    }
}

extension SQLitePeer {
    /// Records of a type whose size is in a range.
    fileprivate static let ofSizes =
        "SELECT \(SQLiteRecord.columns) FROM records WHERE zone = ?1 AND type = ?2 AND size BETWEEN ?3 AND ?4 LIMIT ?5"

    /// The index that a careful user makes for these queries, and the statistics that the planner goes by.
    func makeSizeIndex() throws {
        try pool.write { database in
            try database.execute(
                sql: "CREATE INDEX IF NOT EXISTS recordsBySize ON records (zone, type, size); ANALYZE")
        }
        try settle()
    }

    /// An index for each field that queries of Stratus find by an index.
    func makeFieldIndexes() throws {
        try pool.write { database in
            for field in ["title", "size", "mode", "digest"] {
                try database.execute(sql: "CREATE INDEX records_\(field) ON records (zone, type, \(field))")
            }
        }
        try settle()
    }
}

extension SQLitePeer.Snapshot {
    func records(ofSizes range: ClosedRange<Int64>) throws -> [SQLiteRecord] {
        try records(
            SQLitePeer.ofSizes,
            [SQLitePeer.mainZone, SizeQueries.type, range.lowerBound, range.upperBound, SizeQueries.resultCount])
    }

    /// The records that a statement selects.
    func records(_ sql: String, _ arguments: StatementArguments) throws -> [SQLiteRecord] {
        let statement = try database.cachedStatement(sql: sql)
        statement.setUncheckedArguments(arguments)
        return try Self.records(Row.fetchCursor(statement))
    }
}
