// W7: what changed in a zone since a token, when that is 100 records, in zones of many sizes. What it costs is counted,
// and must not depend on the size; the time is held against SQLite's index on changes, in the largest zone.

import Foundation
import GRDB
import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import StratusWorkloads

enum ZoneFeedWorkload: Workload {
    static let name = "W7"
    static let title = "zone changes since a token"
    private static let changeCount = 100

    static func run(_ run: BenchmarkRun) throws {
        let server = try run.server()
        var subjects: [Subject] = []
        for count in run.scale.smallerCounts {
            let data = TreeZoneData(count: count).zone
            try run.zone(named: "tree-\(count)", data)
            subjects.append(Subject(server, data, "tree-\(count)"))
        }
        subjects.append(Subject(server, run.main.zone, StratusSide.mainZone.name.text))

        let change = try Self.changeMainZone(of: run)
        for index in subjects.indices { try subjects[index].change(run, count: changeCount) }
        try run.waitForRest()
        let costs = try subjects.map { subject in try run.stratus.cost { try subject.read() }.cost }
        for (subject, cost) in zip(subjects, costs) {
            let size = "100 changes in \(Figure.text(Double(subject.data.count)))"
            run.add(Figure(name, size, count: Double(cost.reads), "reads", .atMost(Double(changeCount) + 16)))
        }
        run.add(Figure(name, "reads, most minus least", count: Double.spread(costs.map(\.reads)), "reads", .atMost(0)))
        run.add(
            Figure(
                name, "cursor steps, most minus least", count: Double.spread(costs.map(\.cursorSteps)), "steps",
                .atMost(0)))
        try addPlot(run, subjects, costs)
        let largest = subjects[subjects.count - 1]
        let medians = try Stopwatch.medians(
            rounds: 9,
            [
                { try Stopwatch.secondsEach(1) { try largest.read() } },
                {
                    try Stopwatch.secondsEach(1) {
                        let records = try run.sqlite.read { try $0.changes(after: change) }
                        guard records.count == changeCount else {
                            throw PeerError("SQLite has \(records.count) changes.")
                        }
                    }
                },
            ])
        run.add(
            Figure(
                name, "100 changes, the largest zone", medians[0] * 1e6, "µs", against: "GRDB", medians[1] * 1e6,
                ratio: .theirsOverOurs, .atLeast(1)))
    }

    /// Time and counts against the records of the zone.
    private static func addPlot(_ run: BenchmarkRun, _ subjects: [Subject], _ costs: [StoreCost]) throws {
        let times = try Stopwatch.medians(
            subjects.map { subject in { try Stopwatch.secondsEach(1) { try subject.read() } } })
        let sizes = subjects.map { Double($0.data.count) }
        run.add(
            Plot(
                workload: name, title: "the feed of 100 changes", xLabel: "records in the zone", yLabel: "µs; number",
                series: [
                    Series("time, µs", zip(sizes, times).map { ($0, $1 * 1e6) }),
                    Series("reads", zip(sizes, costs).map { ($0, Double($1.reads)) }),
                    Series("cursor steps", zip(sizes, costs).map { ($0, Double($1.cursorSteps)) }),
                ]))
    }

    /// Gives some rows of SQLite's main zone changes that nothing had before; returns the last change before them.
    private static func changeMainZone(of run: BenchmarkRun) throws -> Int {
        let before = 1 << 40
        let data = run.main.zone
        let stride = data.count / changeCount
        try run.sqlite.save(
            (0..<changeCount).map { index in
                SQLitePeer.arguments(
                    data.record(index * stride), data.content(of: index * stride), change: before + 1 + index)
            })
        return before
    }

    /// A zone, and a token from before its changes.
    private struct Subject {
        let server: ServerSide
        let data: ZoneData
        let zone: ZoneAddress
        private let id: ZoneID
        private var token: [UInt8]?

        init(_ server: ServerSide, _ data: ZoneData, _ name: String) {
            self.server = server
            self.data = data
            zone = ZoneAddress(zoneName: name)
            id = StratusSide.zone(ZoneName(name))
        }

        mutating func change(_ run: BenchmarkRun, count: Int) throws {
            token = try server.readFeed(of: zone, keys: []).token
            let stride = data.count / count
            try run.stratus.save((0..<count).map { data.record($0 * stride) }, in: id)
        }

        func read() throws {
            let reading = try server.readFeed(of: zone, after: token)
            guard reading.toldCount == changeCount, reading.pageCount == 1 else {
                throw PeerError("A feed tells \(reading.toldCount) changes.")
            }
        }
    }
}

extension SQLitePeer.Snapshot {
    /// Every record that changed after `change`, in the order of changes.
    func changes(after change: Int, zone: Int = SQLitePeer.mainZone) throws -> [SQLiteRecord] {
        let statement = try database.cachedStatement(
            sql: "SELECT \(SQLiteRecord.columns) FROM records WHERE zone = ?1 AND change > ?2 ORDER BY change")
        statement.setUncheckedArguments([zone, change])
        return try Self.records(Row.fetchCursor(statement))
    }
}
