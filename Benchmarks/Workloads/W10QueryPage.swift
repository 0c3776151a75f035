// W10: a hundred results of a query in the largest zone: those of a narrow range of an indexed field, and the first page of
// everything sorted by it. The indexes are built here, in the background's way, so that no workload before writes them; on
// SQLite's side too.

import Foundation
import GRDB
import StratusCloud
import StratusModel
import StratusRecords
import StratusStore

enum QueryPageWorkload: Workload {
    static let name = "W10"
    static let title = "a page of a query"
    private static let resultCount = 100
    private static let field = "size"
    private static let type = "File"

    static func run(_ run: BenchmarkRun) throws {
        let server = try run.server()
        let seconds = try Stopwatch.seconds { try buildIndexes(run.main.zone, server) }
        run.add(Figure(name, "building the indexes", count: seconds, "s", .none))
        try run.sqlite.makeSizeIndex()
        try run.waitForRest()
        let requests = requests(run.main.zone)
        let range = sizeRange(run.main.zone)
        try compare(
            run, server, requests[0],
            "SELECT \(SQLiteRecord.columns) FROM records WHERE zone = ?1 AND type = ?2 AND size BETWEEN ?3 AND ?4 LIMIT ?5",
            [SQLitePeer.mainZone, type, range.lowerBound, range.upperBound, resultCount])
        try compare(
            run, server, requests[1],
            "SELECT \(SQLiteRecord.columns) FROM records WHERE zone = ?1 AND type = ?2 ORDER BY size DESC LIMIT ?3",
            [SQLitePeer.mainZone, type, resultCount])
    }

    /// The sizes of as many files as a page has.
    private static func sizeRange(_ zone: ZoneData) -> ClosedRange<Int64> {
        let sizes = (0..<zone.count).map { zone.content(of: $0) }.filter { $0.type.text == type }.map(\.size).sorted()
        let middle = sizes.count / 2
        return sizes[middle]...sizes[middle + resultCount - 1]
    }

    /// What is asked, and what it is called.
    static func requests(_ zone: ZoneData) -> [(String, QueryRequest)] {
        let range = sizeRange(zone)
        return [
            (
                "\(resultCount) of a range",
                query([
                    QueryFilter(key: field, comparator: .greaterThanOrEquals, operand: .int64(range.lowerBound)),
                    QueryFilter(key: field, comparator: .lessThanOrEquals, operand: .int64(range.upperBound)),
                ])
            ),
            ("the first \(resultCount), sorted", query([], [QuerySort(key: field, isAscending: false)])),
        ]
    }

    private static func query(_ filters: [QueryFilter], _ sorts: [QuerySort] = []) -> QueryRequest {
        let query = ClientQuery(recordType: type, filters: filters, sorts: sorts)
        return QueryRequest(
            .query(query, zone: ZoneAddress(zoneName: StratusSide.mainZone.name.text)), limit: resultCount)
    }

    private static func compare(
        _ run: BenchmarkRun, _ server: ServerSide, _ asked: (subject: String, query: QueryRequest), _ sql: String,
        _ arguments: StatementArguments
    ) throws {
        let (subject, query) = asked
        func ask() throws {
            let page = try server.service.query(query, as: server.owner, in: .private).records
            guard page.count == resultCount else { throw PeerError("A query has \(page.count) results.") }
            for result in page { try ServerSide.takeOut(result.1.get()) }
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

    /// Lets the server see a record of each type, from which it learns what to index, and does the upkeep that follows.
    static func buildIndexes(_ data: ZoneData, _ server: ServerSide) throws {
        let zone = ZoneAddress(zoneName: StratusSide.mainZone.name.text)
        let saves = (0..<2).map { index in
            let content = data.content(of: index)
            return RecordSave(
                address: RecordAddress(recordName: "learnt \(content.type.text)", zone: zone), type: content.type.text,
                fields: [
                    "title": ClientField(.string(content.title)), "size": ClientField(.int64(content.size)),
                    "mode": ClientField(.int64(content.mode)), "digest": ClientField(.bytes(Data(content.digest))),
                ])
        }
        let learnt = try server.service.modifyRecords(
            ModifyRecordsRequest(saves: saves), as: server.owner, in: .private)
        for save in learnt.saves { _ = try save.get() }
        _ = try server.service.modifyRecords(
            ModifyRecordsRequest(deletes: saves.map(\.address)), as: server.owner, in: .private)
        try server.service.buildIndexes(UpkeepPace(pause: { usleep(10_000) }))
    }
}

extension SQLitePeer {
    /// The index that a careful user makes for these queries, and the statistics that the planner goes by.
    func makeSizeIndex() throws {
        try pool.write { database in
            try database.execute(
                sql: "CREATE INDEX IF NOT EXISTS recordsBySize ON records (zone, type, size); ANALYZE")
        }
        try checkpoint()
    }
}

extension SQLitePeer.Snapshot {
    /// The records that a statement selects.
    func records(_ sql: String, _ arguments: StatementArguments) throws -> [SQLiteRecord] {
        let statement = try database.cachedStatement(sql: sql)
        statement.setUncheckedArguments(arguments)
        return try Self.records(Row.fetchCursor(statement))
    }
}
