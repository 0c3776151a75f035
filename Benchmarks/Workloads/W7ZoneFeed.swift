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
        let prefix = try OpenTask(run).recordPrefix
        let references = [("raw LevelDB", run.raw as any ReferencePeer)] + run.references
        let scans = references.map { reference in
            { try Stopwatch.seconds { try expect(reference.1.entryCount(below: prefix)) } / Double(count) }
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
            ] + scans
        ).map { $0 * 1e6 }
        for (reference, time) in zip(references, times.dropFirst(3)) {
            run.add(
                Figure(
                    name, "a record", times[0], "µs", against: "a scan of \(reference.0)", time,
                    ratio: .ourShareOfTheirs, .none))
        }
        for (peer, time, bar) in [("SQLite in C", times[1], Bar.atLeast(0.5)), ("GRDB", times[2], .none)] {
            run.add(Figure(name, "a record", times[0], "µs", against: peer, time, ratio: .theirsOverOurs, bar))
        }
    }
}

enum NewChangesWorkload: Workload {
    static let name = "W7b"
    static let title = "100 changes at a new position, among changes of many records"
    private static let roundCount = 9
    private static let positionsPerRound = 12

    /// A tenth of the zone changes in random order. In the order of the load no more records than are read.
    static func run(_ run: BenchmarkRun) throws {
        let readBatchCount = (roundCount + 1) * positionsPerRound
        let random = RecordChanges(
            indices: RecordChanges.tenth(of: run.main.zone, seed: 70, batchCount: readBatchCount), firstChange: 1 << 41)
        let last = try measure(
            run, random, after: nil, "in random order", rawBar: .atMost(1.4), sqliteBar: .atLeast(0.5))
        let loaded = RecordChanges(
            indices: Array((0..<run.main.zone.count).prefix(readBatchCount * RecordBatches.recordCount)),
            firstChange: 1 << 42)
        _ = try measure(run, loaded, after: last, "in the order of the load", rawBar: .none, sqliteBar: .none)
    }

    /// Changes records and reads at positions among the changes. `token` is one from before the changes; returns a
    /// later one.
    private static func measure(
        _ run: BenchmarkRun, _ changes: RecordChanges, after token: [UInt8]?, _ subject: String, rawBar: Bar,
        sqliteBar: Bar
    ) throws -> [UInt8]? {
        let server = try run.server()
        var positions = try changes.save(run, after: token)
        let last = positions.last?.token
        try run.waitForRest()
        let keys = try run.stratus.engine.read { try $0.existingZone(StratusSide.mainZone).keys }
        var numbers = SeededNumbers(seed: 7)
        positions.shuffle(using: &numbers)
        let rawKeys = positions.map { $0.indices.map { keys.record(run.main.zone.names[$0]) } }
        func places(_ round: Int) -> Range<Int> { round * positionsPerRound..<(round + 1) * positionsPerRound }
        let times = try Stopwatch.firstTimes(
            rounds: roundCount, each: positionsPerRound,
            [
                { for place in places($0) { try server.readPage(positions[place]) } },
                {
                    for place in places($0) {
                        for key in rawKeys[place] { _ = try run.raw.byteCount(of: key) }
                    }
                },
                { for place in places($0) { try run.sqliteInC.readPage(positions[place]) } },
                { for place in places($0) { try run.sqlite.readPage(positions[place]) } },
            ] + run.referenceGets(rawKeys, places))
        run.addNewPages(name, subject, times, rawBar: rawBar, sqliteBar: sqliteBar)
        return last
    }
}

/// A place in the history of the main zone, before a commit.
struct ChangePosition: Codable {
    static let pageCount = 100

    /// A token of our feed.
    var token: [UInt8]
    /// The last change before, of the peers' rows.
    var change: Int
    /// The first records of the commit: as many as a page has.
    var indices: [Int]

    static func expect(_ count: Int) throws {
        guard count == pageCount else { throw PeerError("A page has \(count) changes.") }
    }
}

/// Records of the main zone that are saved again, in this order.
struct RecordChanges {
    let indices: [Int]
    /// Above every change that the peers' rows have.
    let firstChange: Int

    /// A tenth of a zone in random order, or `batchCount` commits if these are more.
    static func tenth(of zone: ZoneData, seed: UInt64, batchCount: Int) -> [Int] {
        var numbers = SeededNumbers(seed: seed)
        let count = max(batchCount, zone.count / 10 / RecordBatches.recordCount) * RecordBatches.recordCount
        return Array((0..<zone.count).shuffled(using: &numbers).prefix(count))
    }

    /// Saves the records again, in every contestant. Returns the place before each commit. `token` is one from before,
    /// if there is one.
    func save(_ run: BenchmarkRun, after token: [UInt8]? = nil) throws -> [ChangePosition] {
        let server = try run.server()
        let zone = ZoneAddress(zoneName: StratusSide.mainZone.name.text)
        let data = run.main.zone
        var token = try server.readFeed(of: zone, after: token, keys: []).token
        var positions: [ChangePosition] = []
        for range in RecordBatches.indices(0..<indices.count) {
            if let token {
                positions.append(
                    ChangePosition(
                        token: token, change: firstChange + range.lowerBound - 1,
                        indices: Array(indices[range].prefix(ChangePosition.pageCount))))
            }
            let records = indices[range].map { data.record($0) }
            let plan = try run.stratus.save(records, in: StratusSide.mainZone)
            try run.writeRaw(plan.mutations.pairs)
            let rows = zip(range, zip(indices[range], records)).map { position, row in
                (record: row.1, content: data.content(of: row.0), change: firstChange + position)
            }
            try run.sqlite.save(rows.map { SQLitePeer.arguments($0.record, $0.content, change: $0.change) })
            try run.sqliteInC.save(SQLiteInCPeer.Rows(rows))
            token = try server.readFeed(of: zone, after: token, keys: []).token
        }
        return positions
    }
}

// A page of changes at a position, with everything in it.

extension ServerSide {
    func readPage(_ position: ChangePosition) throws {
        let request = FetchZoneChangesRequest(
            zone: ZoneAddress(zoneName: StratusSide.mainZone.name.text), token: position.token,
            limit: ChangePosition.pageCount)
        let page = try service.fetchZoneChanges(request, as: owner, in: .private)
        try ChangePosition.expect(page.changed.count)
        for record in page.changed { try Self.takeOut(record) }
    }
}

extension SQLiteInCPeer {
    func readPage(_ position: ChangePosition) throws {
        try ChangePosition.expect(
            read { try changes(after: Int64(position.change), limit: ChangePosition.pageCount).count })
    }
}

extension SQLitePeer {
    func readPage(_ position: ChangePosition) throws {
        try ChangePosition.expect(
            read { try $0.changes(after: position.change, limit: ChangePosition.pageCount).count })
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
