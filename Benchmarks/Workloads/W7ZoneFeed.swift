// W7: what changed in a zone since a token, when that is 100 records, in zones of many sizes. What it costs is counted,
// and must not depend on the size; the time is held against SQLite's index on changes, in the largest zone. W7a: a
// first sync of that zone, page by page. W7b: a hundred changes at a position that is read for the first time, after
// many records have changed, at random and in the order of the load.

import Foundation
import GRDB
import StratusCloud
import StratusLayout
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

enum FirstSyncWorkload: Workload {
    static let name = "W7a"
    static let title = "first sync of the largest zone"
    private static let pageCount = 1_000

    static func run(_ run: BenchmarkRun) throws {
        try run.waitForRest()
        let server = try run.server()
        let zone = ZoneAddress(zoneName: StratusSide.mainZone.name.text)
        let count = run.main.zone.count
        func expect(_ total: Int) throws {
            guard total >= count else { throw PeerError("A first sync lacks records: it has \(total).") }
        }
        let times = try Stopwatch.medians(
            warmsUp: false,
            [
                { try Stopwatch.seconds { try expect(server.readFeed(of: zone).toldCount) } / Double(count) },
                {
                    try Stopwatch.seconds {
                        var (last, total) = (Int64(-1), 0)
                        while true {
                            let page = try run.sqliteInC.read {
                                try run.sqliteInC.changes(after: last, limit: pageCount)
                            }
                            if page.count == 0 { break }
                            (last, total) = (page.last, total + page.count)
                        }
                        try expect(total)
                    } / Double(count)
                },
                {
                    try Stopwatch.seconds {
                        var (last, total) = ("", 0)
                        while true {
                            let page = try run.sqlite.read { try $0.records(after: last, limit: pageCount) }
                            total += page.count
                            guard let next = page.last?.name else { break }
                            last = next
                        }
                        try expect(total)
                    } / Double(count)
                },
            ]
        ).map { $0 * 1e6 }
        for (peer, time, bar) in [("SQLite in C", times[1], Bar.atLeast(0.5)), ("GRDB", times[2], .none)] {
            run.add(Figure(name, "a record", times[0], "µs", against: peer, time, ratio: .theirsOverOurs, bar))
        }
    }
}

enum NewChangesWorkload: Workload {
    static let name = "W7b"
    static let title = "100 changes at a new position, among changes of many records"
    private static let changeCount = 100
    private static let roundCount = 9
    private static let positionsPerRound = 12

    /// Records that change, in this order.
    private struct Order {
        let subject: String
        let indices: [Int]
        /// Above every change that SQLite's rows have.
        let firstChange: Int
        var rawBar = Bar.none
        var sqliteBar = Bar.none
    }

    /// A tenth of the zone changes in random order. In the order of the load no more records than are read.
    static func run(_ run: BenchmarkRun) throws {
        let records = 0..<run.main.zone.count
        let readBatchCount = (roundCount + 1) * positionsPerRound
        let batchCount = max(readBatchCount, records.count / 10 / RecordBatches.recordCount)
        var numbers = SeededNumbers(seed: 70)
        let shuffled = records.shuffled(using: &numbers)
        let orders = [
            Order(
                subject: "in random order", indices: Array(shuffled.prefix(batchCount * RecordBatches.recordCount)),
                firstChange: 1 << 41, rawBar: .atMost(1.4), sqliteBar: .atLeast(0.5)),
            Order(
                subject: "in the order of the load",
                indices: Array(records.prefix(readBatchCount * RecordBatches.recordCount)), firstChange: 1 << 42),
        ]
        let server = try run.server()
        var token: [UInt8]?
        for order in orders { try measure(run, server, order, after: &token) }
    }

    /// `token` is one from before the changes, and becomes one from after them.
    private static func measure(
        _ run: BenchmarkRun, _ server: ServerSide, _ order: Order, after token: inout [UInt8]?
    ) throws {
        let zone = ZoneAddress(zoneName: StratusSide.mainZone.name.text)
        let tokens = try change(run, server, zone, order, after: &token)
        try run.waitForRest()
        let keys = try run.stratus.engine.read { try $0.existingZone(StratusSide.mainZone).keys }
        var positions = Array(tokens.indices)
        var numbers = SeededNumbers(seed: 7)
        positions.shuffle(using: &numbers)
        func positionsOf(_ round: Int) -> ArraySlice<Int> {
            positions[(round * positionsPerRound)..<((round + 1) * positionsPerRound)]
        }
        let rawKeys = order.indices.map { keys.record(run.main.zone.names[$0]) }
        let times = try Stopwatch.firstTimes(
            rounds: roundCount, each: positionsPerRound,
            [
                { round in
                    for position in positionsOf(round) {
                        let request = FetchZoneChangesRequest(
                            zone: zone, token: tokens[position], limit: changeCount)
                        let page = try server.service.fetchZoneChanges(request, as: server.owner, in: .private)
                        try expect(page.changed.count)
                        for record in page.changed { try ServerSide.takeOut(record) }
                    }
                },
                { round in
                    for position in positionsOf(round) {
                        let start = position * RecordBatches.recordCount
                        for key in rawKeys[start..<start + changeCount] { _ = try run.raw.byteCount(of: key) }
                    }
                },
                { round in
                    for position in positionsOf(round) {
                        let change = order.firstChange + position * RecordBatches.recordCount - 1
                        try expect(
                            run.sqliteInC.read {
                                try run.sqliteInC.changes(after: Int64(change), limit: changeCount).count
                            })
                    }
                },
                { round in
                    for position in positionsOf(round) {
                        let change = order.firstChange + position * RecordBatches.recordCount - 1
                        try expect(run.sqlite.read { try $0.changes(after: change, limit: changeCount).count })
                    }
                },
            ]
        )
        run.addNewPages(name, order.subject, times, rawBar: order.rawBar, sqliteBar: order.sqliteBar)
    }

    private static func expect(_ count: Int) throws {
        guard count == changeCount else { throw PeerError("A page has \(count) changes.") }
    }

    /// Saves the records again, in every contestant. Returns a token from before each commit.
    private static func change(
        _ run: BenchmarkRun, _ server: ServerSide, _ zone: ZoneAddress, _ order: Order, after token: inout [UInt8]?
    ) throws -> [[UInt8]] {
        let data = run.main.zone
        token = try server.readFeed(of: zone, after: token, keys: []).token
        var tokens: [[UInt8]] = []
        for range in RecordBatches.indices(0..<order.indices.count) {
            if let token { tokens.append(token) }
            let records = order.indices[range].map { data.record($0) }
            let plan = try run.stratus.save(records, in: StratusSide.mainZone)
            try run.raw.write(plan.mutations.pairs)
            let rows = zip(range, zip(order.indices[range], records)).map { position, row in
                (record: row.1, content: data.content(of: row.0), change: order.firstChange + position)
            }
            try run.sqlite.save(rows.map { SQLitePeer.arguments($0.record, $0.content, change: $0.change) })
            try run.sqliteInC.save(SQLiteInCPeer.Rows(rows))
            token = try server.readFeed(of: zone, after: token, keys: []).token
        }
        return tokens
    }
}

extension SQLitePeer.Snapshot {
    /// The records after a name, in the order of names.
    func records(after name: String, limit: Int, zone: Int = SQLitePeer.mainZone) throws -> [SQLiteRecord] {
        let statement = try database.cachedStatement(
            sql: "SELECT \(SQLiteRecord.columns) FROM records WHERE zone = ?1 AND name > ?2 ORDER BY name LIMIT ?3")
        statement.setUncheckedArguments([zone, name, limit])
        return try Self.records(Row.fetchCursor(statement))
    }

    /// The records that changed after `change`, in the order of changes.
    func changes(after change: Int, limit: Int = -1, zone: Int = SQLitePeer.mainZone) throws -> [SQLiteRecord] {
        let statement = try database.cachedStatement(
            sql: """
                SELECT \(SQLiteRecord.columns) FROM records WHERE zone = ?1 AND change > ?2 ORDER BY change LIMIT ?3
                """)
        statement.setUncheckedArguments([zone, change, limit])
        return try Self.records(Row.fetchCursor(statement))
    }
}
