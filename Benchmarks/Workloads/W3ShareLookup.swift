// W3: which share is this record in? At several depths, at random, warm, with the ancestor cache and without it. All
// contestants answer the same questions, hundreds to one reading transaction.

import Foundation
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusWorkloads

enum ShareLookupWorkload: Workload {
    static let name = "W3"
    static let title = "which share is this record in"
    private static let depths = [0, 1, 4, 10, 20, 50, 1_000]

    static func run(_ run: BenchmarkRun) throws {
        let names = ["Stratus", "Stratus without cache", "raw LevelDB", "GRDB", "SQLite in C"]
        var points: [[(x: Double, y: Double)]] = names.map { _ in [] }
        try run.waitForRest()
        for depth in depths {
            let limit = depth >= 50 ? 64 : 500
            let targets = run.main.zone.forest.sample(atDepth: depth, limit: limit, seed: UInt64(depth) + 1)
            guard !targets.isEmpty else { throw PeerError("The data set has no record at depth \(depth).") }
            let medians = try medians(run, targets)
            for index in medians.indices { points[index].append((Double(depth + 1), medians[index] * 1e6)) }
            addFigures(run, depth, medians.map { $0 * 1e6 })
            try addCounts(run, depth, targets.map { run.main.zone.names[$0] })
        }
        try addFullCache(run)
        run.add(
            Plot(
                workload: name, title: title, xLabel: "depth of the record, plus one", yLabel: "µs a question",
                series: zip(names, points).map { Series($0, $1) }))
    }

    /// Seconds a question about these records: Stratus, without its cache, raw LevelDB, GRDB, SQLite in C.
    private static func medians(_ run: BenchmarkRun, _ indices: [Int]) throws -> [Double] {
        let targets = indices.map { run.main.zone.names[$0] }
        let rows = try SQLiteInCPeer.Rows(names: targets)
        let sharedCount = indices.count { isShared($0, run.main.zone) }
        let keys = try run.stratus.engine.read { try $0.existingZone(StratusSide.mainZone).keys }
        let rawKeys = targets.map { keys.parent(of: $0) }
        let prefix = Array(keys.parent(of: RecordName("")).dropLast())
        return try Stopwatch.medians(
            rounds: 7,
            [
                { try Stopwatch.secondsEach(targets.count) { try StratusSide.askShares(run.stratus.engine, targets) } },
                {
                    try Stopwatch.secondsEach(targets.count) {
                        try StratusSide.askShares(run.stratus.uncached, targets)
                    }
                },
                {
                    try Stopwatch.secondsEach(targets.count) {
                        for key in rawKeys { _ = try run.raw.walk(from: key, prefix: prefix) }
                    }
                },
                { try Stopwatch.secondsEach(targets.count) { _ = try run.sqlite.read { try $0.share(of: targets) } } },
                {
                    try Stopwatch.secondsEach(targets.count) {
                        let count = try run.sqliteInC.read { try run.sqliteInC.sharedCount(rows) }
                        guard count == sharedCount else { throw PeerError("SQLite in C has \(count) shared records.") }
                    }
                },
            ])
    }

    /// Whether a share root is at or above the record.
    private static func isShared(_ index: Int, _ zone: ZoneData) -> Bool {
        var next = Int32(index)
        while next != Forest.none {
            if zone.roots.contains(Int(next)) { return true }
            next = zone.forest.parents[Int(next)]
        }
        return false
    }

    private static func addFigures(_ run: BenchmarkRun, _ depth: Int, _ times: [Double]) {
        let isDeep = depth >= 4
        let subject = "depth \(depth)"
        run.add(
            Figure(
                name, subject, times[0], "µs", against: "raw LevelDB", times[2], ratio: .ourShareOfTheirs,
                .atMost(isDeep ? 0.2 : 1)))
        run.add(
            Figure(
                name, subject, times[0], "µs", against: "GRDB", times[3], ratio: .theirsOverOurs,
                .atLeast(isDeep ? 5 : 1)))
        run.add(
            Figure(
                name, subject + ", no cache", times[1], "µs", against: "GRDB", times[3], ratio: .theirsOverOurs,
                .atLeast(0.6)))
        for (subject, time) in [(subject, times[0]), (subject + ", no cache", times[1])] {
            run.add(
                Figure(
                    name, subject, time, "µs", against: "SQLite in C", times[4], ratio: .theirsOverOurs, .none))
        }
    }

    /// A cache that is full of other records, share roots among them, while others are asked for that it must take in:
    /// keeping it up must not cost as much as the walks themselves.
    private static func addFullCache(_ run: BenchmarkRun) throws {
        let full = try run.stratus.reader(ancestorCacheByteCount: 1 << 20)
        let names = run.main.zone.names
        var random = SeededNumbers(seed: 5)
        func someTargets() -> [RecordName] { (0..<500).map { _ in names[random.below(names.count)] } }
        for _ in 0..<40 { try StratusSide.askShares(full, someTargets()) }
        var rounds: [[Double]] = [[], []]
        for _ in 0..<7 {
            let targets = someTargets()
            // Warm for both: what the store keeps of an entry it keeps from the second time on.
            for _ in 0..<2 { try StratusSide.askShares(run.stratus.uncached, targets) }
            for (index, engine) in [full, run.stratus.uncached].enumerated() {
                let seconds = try Stopwatch.seconds { try StratusSide.askShares(engine, targets) }
                rounds[index].append(seconds / Double(targets.count))
            }
        }
        let medians = rounds.map { Stopwatch.median($0) * 1e6 }
        run.add(
            Figure(
                name, "any record, a full cache of 1 MiB", medians[0], "µs", against: "no cache", medians[1],
                ratio: .theirsOverOurs, .atLeast(0.5)))
    }

    /// Without the cache a question costs one read a level, and no more.
    private static func addCounts(_ run: BenchmarkRun, _ depth: Int, _ targets: [RecordName]) throws {
        let reads = try run.stratus.uncached.read { reader in
            let zone = try reader.existingZone(StratusSide.mainZone)
            let before = reader.store.cost.reads
            for target in targets { _ = try zone.shareMembership(of: target) }
            return Double(reader.store.cost.reads - before) / Double(targets.count)
        }
        run.add(Figure(name, "depth \(depth), no cache", count: reads, "reads", .atMost(Double(depth + 1))))
    }
}
