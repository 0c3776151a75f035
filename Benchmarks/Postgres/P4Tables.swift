// P4, P5, P6: saves, feeds and share questions beside the same job in tables of one's own (`TablesPeer`), one caller.
// Ours are the requests that a client sends; a share question is the record layer's, as in W3. Each is shown with its
// trips: flushes that wait for an answer.

import Foundation
import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import StratusWorkloads

/// A workload that stands beside the same job in tables.
private protocol TablesWorkload: PostgresWorkload {}

extension TablesWorkload {
    /// Measures both sides, the times of each in seconds, and adds their ratio and their trips.
    fileprivate static func compare(
        _ run: BenchmarkRun, _ bench: PostgresBench, _ session: SQLSession, _ subject: String, _ bar: Bar,
        unit: (name: String, perSecond: Double) = ("ms", 1e3), rounds: Int = 9, peer: String = "SQL tables",
        own: @escaping () throws -> Double, tables: @escaping () throws -> Double,
        trips: (own: () throws -> Void, tables: () throws -> Void)
    ) throws {
        let medians = try Stopwatch.medians(rounds: rounds, [own, tables])
        run.add(
            Figure(
                name, subject, medians[0] * unit.perSecond, unit.name, against: peer, medians[1] * unit.perSecond,
                ratio: .theirsOverOurs, bar))
        let ownTrips = try bench.postgres.trips(trips.own)
        let before = session.trips
        try trips.tables()
        run.add(
            Figure(
                name, subject, Double(ownTrips), "trips", against: peer, Double(session.trips - before),
                ratio: .ourShareOfTheirs, .none))
    }

    /// The records below the root of the share, by index.
    fileprivate static func recordsBelowRoot(_ bench: PostgresBench) -> [Int] {
        var below: Set<Int32> = [Int32(bench.root)]
        for (index, parent) in bench.data.forest.parents.enumerated() where below.contains(parent) {
            below.insert(Int32(index))
        }
        return below.map { Int($0) }.filter { $0 != bench.root }.sorted()
    }
}

enum TablesSaves: TablesWorkload {
    static let name = "P4"
    static let title = "saves beside SQL tables"

    static func run(_ run: BenchmarkRun, _ bench: PostgresBench) throws {
        try bench.settle()
        let session = try bench.tables.session()
        let parent = bench.data.names[bench.root]
        func saveOwn(_ count: Int) throws {
            try bench.postgres.server.save(
                (0..<count).map { _ in
                    let item = bench.numbers.next()
                    return ServerSide.save(item.record.name, item.content, below: parent, in: PostgresBench.zone)
                })
        }
        func saveInTables(_ count: Int, isPipelined: Bool = true) throws {
            let rows = (0..<count).map { _ in
                let item = bench.numbers.next()
                return TablesRow(name: item.record.name, content: item.content, parent: parent)
            }
            try TablesPeer.save(rows, isPipelined: isPipelined, session)
        }
        func mean(_ times: Int, _ body: () throws -> Void) rethrows -> Double {
            try Stopwatch.seconds { for _ in 0..<times { try body() } } / Double(times)
        }
        try compare(
            run, bench, session, "save one", .atLeast(0.3), own: { try mean(40) { try saveOwn(1) } },
            tables: { try mean(40) { try saveInTables(1) } }, trips: ({ try saveOwn(1) }, { try saveInTables(1) }))
        try compare(
            run, bench, session, "save one", .none, peer: "SQL tables, a statement at a time",
            own: { try mean(40) { try saveOwn(1) } },
            tables: { try mean(40) { try saveInTables(1, isPipelined: false) } },
            trips: ({ try saveOwn(1) }, { try saveInTables(1, isPipelined: false) }))
        try compare(
            run, bench, session, "save 400", .atLeast(0.3), own: { try mean(4) { try saveOwn(400) } },
            tables: { try mean(4) { try saveInTables(400) } },
            trips: ({ try saveOwn(400) }, { try saveInTables(400) }))
    }

}

enum TablesFeeds: TablesWorkload {
    static let name = "P5"
    static let title = "feeds beside SQL tables"
    private static let changeCount = 100

    static func run(_ run: BenchmarkRun, _ bench: PostgresBench) throws {
        let session = try bench.tables.session()
        let server = bench.postgres.server
        let shared = ServerSide.shared(PostgresBench.zoneID)
        let user = bench.guest.account.userName.text
        let tokens = (
            owner: try server.readFeed(of: PostgresBench.zone, keys: []).token,
            guest: try server.readFeed(of: shared, as: bench.guest.caller, keys: []).token
        )
        let below = recordsBelowRoot(bench)
        let step = max(1, below.count / changeCount)
        let changed = (0..<changeCount).map { below[$0 * step % below.count] }
        try server.save(bench.saves(changed))
        let last = try TablesPeer.save(bench.rows(changed), session)
        let change = last - Int64(changeCount)
        try bench.settle()

        func page(_ token: [UInt8]?, by guest: Guest?, _ count: Int) throws {
            let request = FetchZoneChangesRequest(
                zone: guest == nil ? PostgresBench.zone : shared, token: token, limit: TablesPeer.pageCount)
            let page = try server.service.fetchZoneChanges(
                request, as: guest?.caller ?? server.owner, in: guest == nil ? .private : .shared)
            for record in page.changed { try ServerSide.takeOut(record) }
            try check(page.changed.count, count)
        }
        let feeds: [(subject: String, count: Int, own: () throws -> Void, tables: () throws -> Int)] = [
            (
                "owner's feed, 100 changes", changeCount, { try page(tokens.owner, by: nil, changeCount) },
                { try TablesPeer.changes(after: change, session) }
            ),
            (
                "owner's feed, first 200", TablesPeer.pageCount, { try page(nil, by: nil, TablesPeer.pageCount) },
                { try TablesPeer.changes(after: 0, session) }
            ),
            (
                "guest's feed, 100 changes", changeCount, { try page(tokens.guest, by: bench.guest, changeCount) },
                { try TablesPeer.changes(after: change, by: user, session) }
            ),
            (
                "guest's feed, first 200", TablesPeer.pageCount,
                { try page(nil, by: bench.guest, TablesPeer.pageCount) }, { try TablesPeer.start(of: user, session) }
            ),
        ]
        for (subject, count, own, tables) in feeds {
            let read = { try check(tables(), count) }
            try compare(
                run, bench, session, subject, .atLeast(0.4), own: { try Stopwatch.secondsEach(1, own) },
                tables: { try Stopwatch.secondsEach(1, read) }, trips: (own, read))
        }
    }

    private static func check(_ found: Int, _ count: Int) throws {
        guard found == count else { throw PeerError("A feed tells \(found) records instead of \(count).") }
    }
}

enum TablesShares: TablesWorkload {
    static let name = "P6"
    static let title = "share questions beside SQL tables"

    static func run(_ run: BenchmarkRun, _ bench: PostgresBench) throws {
        try bench.settle()
        let session = try bench.tables.session()
        var random = SeededNumbers(seed: 34)
        // Half of them are in the share.
        let below = recordsBelowRoot(bench)
        let targets = (0..<100).map { number in
            bench.data.names[
                number.isMultiple(of: 2) ? below[random.below(below.count)] : random.below(bench.data.count)]
        }
        let count = try shareCount(of: targets, bench)
        guard try TablesPeer.shareCount(of: targets, session) == count else {
            throw PeerError("The tables know other shares.")
        }
        try compare(
            run, bench, session, "the share of one record", .atLeast(0.5), unit: ("µs", 1e6),
            own: { try Stopwatch.secondsEach(100) { for name in targets { _ = try shareCount(of: [name], bench) } } },
            tables: {
                try Stopwatch.secondsEach(100) {
                    for name in targets { _ = try TablesPeer.shareCount(of: [name], session) }
                }
            },
            trips: (
                { _ = try shareCount(of: [targets[0]], bench) },
                { _ = try TablesPeer.shareCount(of: [targets[0]], session) }
            ))
        try compare(
            run, bench, session, "the shares of 100 records", .atLeast(0.5), unit: ("µs", 1e6),
            own: { try Stopwatch.secondsEach(1) { _ = try shareCount(of: targets, bench) } },
            tables: { try Stopwatch.secondsEach(1) { _ = try TablesPeer.shareCount(of: targets, session) } },
            trips: (
                { _ = try shareCount(of: targets, bench) }, { _ = try TablesPeer.shareCount(of: targets, session) }
            ))
    }

    /// How many of the records are in a share. The reads are announced, as requests do it.
    private static func shareCount(of names: [RecordName], _ bench: PostgresBench) throws -> Int {
        try bench.postgres.engine.read { reader in
            reader.willRead(zone: PostgresBench.zoneID)?.reads.places(of: names)
            let zone = try reader.existingZone(PostgresBench.zoneID)
            return try names.count { try zone.shareMembership(of: $0) != nil }
        }
    }
}
