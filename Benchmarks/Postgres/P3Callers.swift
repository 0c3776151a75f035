// P3: durable saves of one record each by many callers, by the request that a client sends: in one zone, in a zone
// each, and with an account each. Callers of one database commit together; where they do not, conflicts are counted.

import Foundation
import StratusCloud
import StratusModel
import StratusStore
import StratusWorkloads

enum CallersWorkload: PostgresWorkload {
    static let name = "P3"
    static let title = "saves by many callers"
    private static let callerCount = 64

    static func run(_ run: BenchmarkRun, _ bench: PostgresBench) throws {
        try bench.settle()
        let savesEach = run.scale.isQuick ? 10 : 25
        try addOneZone(run, bench, savesEach)
        try addZones(run, bench, savesEach)
        try addOwners(run, bench, savesEach)
    }

    /// How many saves a second `count` callers do, each into the zone that `place` has for it.
    private static func rate(
        _ side: ServedStore, _ bench: PostgresBench, _ count: Int, _ savesEach: Int,
        _ place: @escaping @Sendable (_ caller: Int) -> (zone: ZoneAddress, caller: Caller?)
    ) throws -> Double {
        try Callers.rate(count, timesEach: savesEach) { number in
            let item = bench.numbers.next()
            let (zone, caller) = place(number / savesEach)
            try side.server.save([ServerSide.save(item.record.name, item.content, in: zone)], as: caller)
        }
    }

    /// The same in tables. Each caller has a session of its own.
    private static func rate(
        _ sessions: [SQLSession], _ bench: PostgresBench, _ savesEach: Int,
        _ zone: @escaping @Sendable (_ caller: Int) -> Int64
    ) throws -> Double {
        try Callers.rate(sessions.count, timesEach: savesEach) { number in
            let item = bench.numbers.next()
            let caller = number / savesEach
            let row = TablesRow(name: item.record.name, content: item.content, parent: nil)
            try TablesPeer.save([row], zone: zone(caller), sessions[caller])
        }
    }

    private static func addOneZone(_ run: BenchmarkRun, _ bench: PostgresBench, _ savesEach: Int) throws {
        var points: [[(x: Double, y: Double)]] = [[], [], []]
        for count in [1, 8, callerCount] {
            let each = savesEach * (count == 1 ? 4 : 1)
            let sessions = try (0..<count).map { _ in try bench.tables.session() }
            let before = bench.postgres.store.statistics
            let medians = try Stopwatch.medians([
                { try rate(bench.postgres, bench, count, each) { _ in (PostgresBench.zone, nil) } },
                { try rate(bench.levelDB, bench, count, each) { _ in (PostgresBench.zone, nil) } },
                // One commit after the other, for any number of callers: fewer saves measure as well.
                { try rate(sessions, bench, max(4, each / 4)) { _ in TablesPeer.mainZone } },
            ])
            let after = bench.postgres.store.statistics
            for index in medians.indices { points[index].append((Double(count), medians[index])) }
            let subject = "\(count) callers in one zone"
            let isLast = count == callerCount
            run.add(
                Figure(
                    name, subject, medians[0], "saves/s", against: "LevelDB", medians[1], ratio: .ourShareOfTheirs,
                    isLast ? .atLeast(0.2) : .none))
            run.add(
                Figure(
                    name, subject, medians[0], "saves/s", against: "SQL tables", medians[2], ratio: .ourShareOfTheirs,
                    isLast ? .atLeast(0.3) : .none))
            let saves = Double(after.transactionsCommitted - before.transactionsCommitted)
            run.add(
                Figure(
                    name, subject, count: Double(after.conflicts - before.conflicts) / saves, "conflicts a save",
                    isLast ? .atMost(0.05) : .none))
            run.add(
                Figure(name, subject, count: Double(after.trips - before.trips) / saves, "trips a save", .none))
        }
        run.add(
            Plot(
                workload: name, title: title, xLabel: "callers in one zone", yLabel: "saves/s",
                series: zip(["Stratus on PostgreSQL", "Stratus on LevelDB", "SQL tables"], points).map {
                    Series($0, $1)
                },
                note:
                    "Callers of one zone commit together. In tables each commit waits for the zone's row, and its disk."
            ))
    }

    private static func addZones(_ run: BenchmarkRun, _ bench: PostgresBench, _ savesEach: Int) throws {
        let zones = (0..<callerCount).map { ZoneAddress(zoneName: "zone \($0)") }
        for zone in zones { try bench.postgres.server.createZone(zone) }
        let before = bench.postgres.store.statistics.conflicts
        let medians = try Stopwatch.medians(
            rounds: 7,
            [
                { try rate(bench.postgres, bench, callerCount, savesEach) { (zones[$0], nil) } },
                { try rate(bench.postgres, bench, callerCount, savesEach) { _ in (PostgresBench.zone, nil) } },
            ])
        run.add(
            Figure(
                name, "64 zones of one owner", medians[0], "saves/s", against: "one zone", medians[1],
                ratio: .ourShareOfTheirs, .atLeast(1)))
        let conflicts = bench.postgres.store.statistics.conflicts - before
        run.add(Figure(name, "64 zones of one owner and one zone", count: Double(conflicts), "conflicts", .none))
    }

    /// Owners who have nothing in common. PostgreSQL finds conflicts by pages of an index, so the neighbours of an
    /// owner count: first all owners of the store save at once, then a few of many.
    private static func addOwners(_ run: BenchmarkRun, _ bench: PostgresBench, _ savesEach: Int) throws {
        let first = try makeOwners(bench, 0..<callerCount)
        try measure(run, bench, first, savesEach, "64 unrelated owners, no others in the store")
        let all = try first + makeOwners(bench, callerCount..<(run.scale.isQuick ? 512 : 2_048))
        let chosen = stride(from: 0, to: all.count, by: all.count / callerCount).map { all[$0] }
        try measure(run, bench, chosen, savesEach, "64 unrelated owners of \(Figure.text(Double(all.count)))")
    }

    private static let ownZone = ZoneAddress(zoneName: "own")

    /// Accounts with a zone and some records each.
    private static func makeOwners(_ bench: PostgresBench, _ range: Range<Int>) throws -> [Caller] {
        let server = bench.postgres.server
        let owners = try range.map { try server.guest("owner-\($0)").caller }
        _ = try Callers.rate(owners.count / 32, timesEach: 32) { number in
            try server.createZone(ownZone, of: owners[number])
            let saves = (0..<40).map { _ in
                let item = bench.numbers.next()
                return ServerSide.save(item.record.name, item.content, in: ownZone)
            }
            try server.save(saves, as: owners[number])
        }
        return owners
    }

    private static func measure(
        _ run: BenchmarkRun, _ bench: PostgresBench, _ owners: [Caller], _ savesEach: Int, _ subject: String
    ) throws {
        let sessions = try owners.map { _ in try bench.tables.session() }
        let zones = owners.map { _ in Int64.random(in: 1_000...Int64.max) }
        for (zone, session) in zip(zones, sessions) { try bench.tables.createZone(zone, session) }
        let before = bench.postgres.store.statistics
        let medians = try Stopwatch.medians([
            { try rate(bench.postgres, bench, owners.count, savesEach) { (ownZone, owners[$0]) } },
            { try rate(sessions, bench, savesEach) { zones[$0] } },
        ])
        let after = bench.postgres.store.statistics
        run.add(
            Figure(
                name, subject, medians[0], "saves/s", against: "SQL tables", medians[1], ratio: .ourShareOfTheirs,
                .none))
        let saves = after.transactionsCommitted - before.transactionsCommitted
        run.add(
            Figure(
                name, "\(subject), \(Figure.text(Double(saves))) saves",
                count: Double(after.conflicts - before.conflicts), "conflicts", .atMost(0)))
    }
}
