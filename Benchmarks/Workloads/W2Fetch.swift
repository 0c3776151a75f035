// W2: fetch records by ID, at random, warm. All contestants fetch the same records whole, hundreds to one reading
// transaction; ours and GRDB's are decoded, raw LevelDB's are only read. Beside it what fetching takes where nobody has
// asked for the record before, so that it is not kept: the same for all, each record once.

import Foundation
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusWorkloads

enum FetchWorkload: Workload {
    static let name = "W2"
    static let title = "fetch by ID"
    private static let fetchCount = 500

    static func run(_ run: BenchmarkRun) throws {
        try run.waitForRest()
        let names = sample(run, fetchCount)
        let keys = try run.stratus.engine.read { try $0.existingZone(StratusSide.mainZone).keys }
        let rawKeys = names.map { keys.record($0) }
        let medians = try Stopwatch.medians(
            rounds: 9,
            [
                { try Stopwatch.secondsEach(names.count) { try StratusSide.fetch(run.stratus.engine, names) } },
                {
                    try Stopwatch.secondsEach(names.count) {
                        for key in rawKeys { _ = try run.raw.byteCount(of: key) }
                    }
                },
                { try Stopwatch.secondsEach(names.count) { _ = try run.sqlite.read { try $0.fetch(names) } } },
            ])
        let times = medians.map { $0 * 1e6 }
        run.add(
            Figure(
                name, "warm, at random", times[0], "µs", against: "GRDB", times[2], ratio: .theirsOverOurs, .atLeast(1))
        )
        run.add(
            Figure(
                name, "warm, at random", times[0], "µs", against: "raw LevelDB", times[1], ratio: .ourShareOfTheirs,
                .atMost(1.3)))
        try addCounts(run, names)
        try addFirstTimes(run, keys)
    }

    private static func sample(_ run: BenchmarkRun, _ count: Int, seed: UInt64 = 2) -> [RecordName] {
        var numbers = SeededNumbers(seed: seed)
        let zone = run.main.zone
        return (0..<count).map { _ in zone.names[numbers.below(zone.count)] }
    }

    /// Records that were not asked for before. Every contestant goes through the same ones.
    private static func addFirstTimes(_ run: BenchmarkRun, _ keys: ZoneKeys) throws {
        let batches = (0..<200).map { sample(run, fetchCount, seed: 1_000 + $0) }
        let rawBatches = batches.map { $0.map { keys.record($0) } }
        var positions = [0, 0, 0]
        func next<Batch>(_ contestant: Int, _ batches: [Batch]) -> Batch {
            positions[contestant] += 1
            return batches[positions[contestant] % batches.count]
        }
        let medians = try Stopwatch.medians(
            rounds: 9,
            [
                {
                    try Stopwatch.secondsEach(fetchCount) {
                        try StratusSide.fetch(run.stratus.engine, next(0, batches))
                    }
                },
                {
                    try Stopwatch.secondsEach(fetchCount) {
                        for key in next(1, rawBatches) { _ = try run.raw.byteCount(of: key) }
                    }
                },
                {
                    try Stopwatch.secondsEach(fetchCount) {
                        let names = next(2, batches)
                        _ = try run.sqlite.read { try $0.fetch(names) }
                    }
                },
            ]
        ).map { $0 * 1e6 }
        run.add(
            Figure(
                name, "for the first time", medians[0], "µs", against: "GRDB", medians[2], ratio: .theirsOverOurs,
                .none))
        run.add(
            Figure(
                name, "for the first time", medians[0], "µs", against: "raw LevelDB", medians[1],
                ratio: .ourShareOfTheirs, .none))
    }

    /// A record of one chunk costs one read.
    private static func addCounts(_ run: BenchmarkRun, _ names: [RecordName]) throws {
        let reads = try run.stratus.engine.read { reader in
            let zone = try reader.existingZone(StratusSide.mainZone)
            let before = reader.store.cost.reads
            for name in names { _ = try zone.record(name) }
            return Double(reader.store.cost.reads - before) / Double(names.count)
        }
        run.add(Figure(name, "warm, at random", count: reads, "reads", .atMost(1)))
    }
}
