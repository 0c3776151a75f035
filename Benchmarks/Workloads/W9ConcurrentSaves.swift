// W9: durable saves of one record each, by 1, 8 and 64 callers at once. How many share one fsync is counted. In a store
// of its own every sync takes at least a millisecond longer, as on a disk that is slower than this machine's: there a
// group of callers must gain what it shares.

import Foundation
import StratusLevelDB
import StratusModel
import StratusRecords
import StratusStore
import StratusWorkloads

enum ConcurrentSaveWorkload: Workload {
    static let name = "W9"
    static let title = "one-record durable saves by callers at once"
    private static let zoneName = "saves"
    private static let callerCounts = [1, 8, 64]

    static func run(_ run: BenchmarkRun) throws {
        let zone = StratusSide.zone(ZoneName(zoneName))
        try run.stratus.createZone(zone)
        try run.waitForRest()
        let numbers = NumberSource()
        let savesEach = run.scale.isQuick ? 25 : 50
        let stratus = run.stratus
        let sqlite = run.sqlite
        let sqliteInC = try SQLiteInCConnections(path: run.folder + "/sqlite-c.db", count: callerCounts.max() ?? 1)
        defer { sqliteInC.close() }
        let names = ["Stratus", "GRDB", "SQLite in C"]
        var points: [[(x: Double, y: Double)]] = names.map { _ in [] }
        var syncsASave = Double.nan
        for count in callerCounts {
            let timesEach = savesEach * (count == 1 ? 8 : count == 8 ? 4 : 1)
            // SQLite syncs once a save, for any number of waiting callers: fewer saves measure as well.
            let sqliteTimesEach = max(4, timesEach / 8)
            let medians = try Stopwatch.medians([
                {
                    var rate = 0.0
                    let cost = try stratus.cost {
                        rate = try Callers.rate(count, timesEach: timesEach) { _ in
                            try stratus.save([numbers.next().record], in: zone)
                        }
                    }
                    syncsASave = Double(cost.syncs) / Double(cost.transactionsCommitted)
                    return rate
                },
                {
                    try Callers.rate(count, timesEach: sqliteTimesEach) { _ in
                        let item = numbers.next()
                        try sqlite.save([SQLitePeer.arguments(item.record, item.content, change: item.number)])
                    }
                },
                {
                    try Callers.rate(count, timesEach: sqliteTimesEach) { number in
                        try sqliteInC.save(numbers.next(), by: number / sqliteTimesEach)
                    }
                },
            ])
            for index in medians.indices { points[index].append((Double(count), medians[index])) }
            let bars: [Bar] = [count == 64 ? .atLeast(4) : .none, .none]
            for (peer, bar) in zip(1..., bars) {
                run.add(
                    Figure(
                        name, "\(count) callers", medians[0], "saves/s", against: names[peer], medians[peer],
                        ratio: .ourShareOfTheirs, bar))
            }
            run.add(
                Figure(
                    name, "\(count) callers", count: syncsASave, "fsyncs a save",
                    count == 64 ? .atMost(1.0 / 16) : .none))
        }
        let slowPoints = try measureSlowSyncs(run, numbers, savesEach)
        run.add(
            Plot(
                workload: name, title: title, xLabel: "callers", yLabel: "saves/s",
                series: zip(names, points).map { Series($0, $1) }
                    + [Series("Stratus, syncs slowed by 1 ms", slowPoints)]))
    }

    /// The throughput of 1 and of 64 callers where a sync takes a millisecond longer.
    private static func measureSlowSyncs(
        _ run: BenchmarkRun, _ numbers: NumberSource, _ savesEach: Int
    ) throws -> [(x: Double, y: Double)] {
        var options = LevelDBOptions(formatVersion: StoreFormat.number)
        options.testHooks.willWriteGroup = { _ in usleep(1_000) }
        let slow = try StratusSide(at: run.folder + "/slow", options: options)
        defer { slow.close() }
        let zone = StratusSide.zone(ZoneName(zoneName))
        try slow.createZone(zone)
        let medians = try Stopwatch.medians(
            [1, 64].map { count in
                {
                    try Callers.rate(count, timesEach: count == 1 ? savesEach * 4 : savesEach) { _ in
                        try slow.save([numbers.next().record], in: zone)
                    }
                }
            })
        run.add(
            Figure(
                name, "64 callers, syncs slowed by 1 ms", medians[1], "saves/s", against: "one caller", medians[0],
                ratio: .ourShareOfTheirs, .atLeast(16)))
        return [(1, medians[0]), (64, medians[1])]
    }
}
