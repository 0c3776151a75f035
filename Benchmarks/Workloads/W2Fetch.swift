// W2: fetch records by ID, at random, warm. All contestants fetch the same records whole, hundreds to one reading
// transaction; ours and GRDB's are decoded, raw LevelDB's are only read.

import Foundation
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

enum FetchWorkload: Workload {
    static let name = "W2"
    static let title = "fetch by ID"
    private static let fetchCount = 500

    static func run(_ run: BenchmarkRun) throws {
        try run.waitForRest()
        let names = sample(run)
        let keys = try run.stratus.engine.read { try $0.existingZone(StratusSide.mainZone).keys }
        let rawKeys = names.map { keys.record($0) }
        let medians = try Stopwatch.medians(
            rounds: 9,
            [
                { try Stopwatch.secondsEach(names.count) { try fetch(run.stratus.engine, names) } },
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
    }

    private static func sample(_ run: BenchmarkRun) -> [RecordName] {
        var numbers = SeededNumbers(seed: 2)
        let zone = run.main.zone
        return (0..<fetchCount).map { _ in zone.names[numbers.below(zone.count)] }
    }

    static func fetch(_ engine: RecordEngine, _ names: [RecordName]) throws {
        try engine.read { reader in
            let zone = try reader.existingZone(StratusSide.mainZone)
            for name in names {
                guard try zone.record(name) != nil else { throw PeerError("A record is missing in the store.") }
            }
        }
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
