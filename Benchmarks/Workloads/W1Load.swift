// W1: load records with parents, 400 to a durable commit. The load is cut into rounds in which the contestants take
// turns, each over the same records at the same fill. A contestant's clock stops when its level 0 has no more files
// than LevelDB leaves alone, so that no compaction it owes runs in another's time.

import Foundation
import GRDB
import StratusLevelDB
import StratusModel
import StratusRecords
import StratusWorkloads

enum LoadWorkload: Workload {
    static let name = "W1"
    static let title = "load with parents, 400 a durable commit"
    private static let leastRoundCount = 10
    /// The records of a round, and what the contestants make of them, are in memory at once.
    private static let mostRecordsPerRound = 200_000
    /// LevelDB begins to compact level 0 at four files.
    private static let idleFileCount = 3

    static func run(_ run: BenchmarkRun) throws {
        try run.stratus.createZone(StratusSide.mainZone)
        var rates: [[Double]] = [[], [], []]
        var processors: [[Double]] = [[], []]
        var points: [[(x: Double, y: Double)]] = [[], [], []]
        let roundCount = max(
            leastRoundCount, (run.main.zone.count + mostRecordsPerRound - 1) / mostRecordsPerRound)
        let perRound = (run.main.zone.count + roundCount - 1) / roundCount
        for round in 0..<roundCount {
            let range = round * perRound..<min((round + 1) * perRound, run.main.zone.count)
            let (seconds, processor) = try load(range, run, sqliteFirst: !round.isMultiple(of: 2))
            for contestant in processor.indices {
                processors[contestant].append(processor[contestant] / Double(range.count) * 1e6)
            }
            for contestant in seconds.indices {
                let rate = Double(range.count) / seconds[contestant]
                rates[contestant].append(rate)
                points[contestant].append((Double(range.upperBound), rate))
            }
            Progress.say("    \(range.upperBound) records: \(seconds.map { Figure.text(Double(range.count) / $0) })")
        }
        let medians = rates.map(Stopwatch.median)
        let subject = "load \(Figure.text(Double(run.main.zone.count)))"
        run.add(
            Figure(
                name, subject, medians[0], "records/s", against: "GRDB", medians[2], ratio: .ourShareOfTheirs,
                .atLeast(5)))
        run.add(
            Figure(
                name, subject, medians[0], "records/s", against: "raw LevelDB", medians[1], ratio: .ourShareOfTheirs,
                .atLeast(0.6)))
        run.add(
            Figure(
                name, "processor time of the thread that saves", Stopwatch.median(processors[0]), "µs/record",
                against: "raw LevelDB", Stopwatch.median(processors[1]), ratio: .theirsOverOurs, .none))
        run.add(
            Plot(
                workload: name, title: title, xLabel: "records in the zone", yLabel: "records/s",
                series: zip(["Stratus", "raw LevelDB", "GRDB"], points).map { Series($0, $1) }))
    }

    /// Loads the same records into all three. Returns the seconds of Stratus, raw LevelDB and GRDB, and how many of
    /// them their thread was at work.
    private static func load(
        _ range: Range<Int>, _ run: BenchmarkRun, sqliteFirst: Bool
    ) throws -> (seconds: [Double], processor: [Double]) {
        let data = run.main.zone
        let batches = RecordBatches.indices(range)
        let records = batches.map { $0.map { data.record($0) } }
        func sqliteSeconds() throws -> Double {
            let rows = zip(batches, records).map { indices, records in
                zip(indices, records).map { SQLitePeer.arguments($1, data.content(of: $0), change: $0) }
            }
            return try Stopwatch.seconds {
                for batch in rows { try run.sqlite.save(batch) }
            }
        }
        var sqlite = sqliteFirst ? try sqliteSeconds() : 0
        var plans: [KeyMutations] = []
        plans.reserveCapacity(batches.count)
        let stratusProcessor = ProcessorTime()
        var processor: [Double] = []
        let stratus = try Stopwatch.seconds {
            for batch in records { plans.append(try run.stratus.save(batch, in: StratusSide.mainZone).mutations) }
            processor.append(stratusProcessor.seconds)
            while try run.stratus.store.figures().filesByLevel[0] > idleFileCount { usleep(1_000) }
        }
        // As arrays beforehand, so that raw LevelDB's clock has only its own work.
        let writes = plans.map { plan in
            var writes: [(key: [UInt8], value: [UInt8]?)] = []
            plan.forEach { writes.append(($0, $1)) }
            return writes
        }
        let rawProcessor = ProcessorTime()
        let raw = try Stopwatch.seconds {
            for batch in writes { try run.raw.write(batch) }
            processor.append(rawProcessor.seconds)
            while run.raw.levelZeroFileCount > idleFileCount { usleep(1_000) }
        }
        if !sqliteFirst { sqlite = try sqliteSeconds() }
        return ([stratus, raw, sqlite], processor)
    }
}
