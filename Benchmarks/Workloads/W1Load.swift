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

    static func run(_ run: BenchmarkRun) throws {
        try run.stratus.createZone(StratusSide.mainZone)
        let names = Contestant.allCases.map(\.rawValue) + run.references.map(\.name)
        var rates: [[Double]] = names.map { _ in [] }
        var processors = rates
        var points: [[(x: Double, y: Double)]] = names.map { _ in [] }
        let roundCount = max(
            leastRoundCount, (run.main.zone.count + mostRecordsPerRound - 1) / mostRecordsPerRound)
        let perRound = (run.main.zone.count + roundCount - 1) / roundCount
        for round in 0..<roundCount {
            let range = round * perRound..<min((round + 1) * perRound, run.main.zone.count)
            let times = try load(range, run, sqliteFirst: !round.isMultiple(of: 2))
            for (contestant, time) in times.enumerated() {
                let rate = Double(range.count) / time.seconds
                rates[contestant].append(rate)
                processors[contestant].append(time.processor / Double(range.count) * 1e6)
                points[contestant].append((Double(range.upperBound), rate))
            }
            Progress.say(
                "    \(range.upperBound) records: \(times.map { Figure.text(Double(range.count) / $0.seconds) })")
        }
        report(run, names, rates.map(Stopwatch.median), processors.map(Stopwatch.median))
        run.add(
            Plot(
                workload: name, title: title, xLabel: "records in the zone", yLabel: "records/s",
                series: zip(names, points).map { Series($0, $1) }))
    }

    private enum Contestant: String, CaseIterable {
        case stratus = "Stratus"
        case raw = "raw LevelDB"
        case rawBeside = "raw LevelDB with CLogSync"
        case sqlite = "GRDB"
        case sqliteInC = "SQLite in C"

        /// Bars of the speed and of the processor time of the thread that saves.
        var bars: (speed: Bar, processor: Bar) {
            switch self {
            case .stratus: (.none, .none)
            case .raw: (.atLeast(0.6), .none)
            case .rawBeside: (.atLeast(0.7), .atMost(1.5))
            case .sqlite: (.atLeast(5), .none)
            case .sqliteInC: (.atLeast(1.8), .none)
            }
        }
    }

    private static func report(
        _ run: BenchmarkRun, _ names: [String], _ rates: [Double], _ processors: [Double]
    ) {
        let subject = "load \(Figure.text(Double(run.main.zone.count)))"
        let bars = Contestant.allCases.map(\.bars) + run.references.map { _ in (.none, .none) }
        for peer in names.indices.dropFirst() {
            run.add(
                Figure(
                    name, subject, rates[0], "records/s", against: names[peer], rates[peer], ratio: .ourShareOfTheirs,
                    bars[peer].speed))
            run.add(
                Figure(
                    name, "processor time of the thread that saves", processors[0], "µs/record", against: names[peer],
                    processors[peer], ratio: .ourShareOfTheirs, bars[peer].processor))
        }
    }

    /// Seconds, and how many of them the thread was at work.
    private struct LoadTime {
        var seconds: Double
        var processor: Double

        /// `rest` waits for what the work leaves to others.
        init(_ work: () throws -> Void, rest: () throws -> Void = {}) rethrows {
            let time = ProcessorTime()
            var atWork = 0.0
            seconds = try Stopwatch.seconds {
                try work()
                atWork = time.seconds
                try rest()
            }
            processor = atWork
        }
    }

    /// Loads the same records into all contestants, in the order of `Contestant`.
    private static func load(_ range: Range<Int>, _ run: BenchmarkRun, sqliteFirst: Bool) throws -> [LoadTime] {
        let data = run.main.zone
        let batches = RecordBatches.indices(range)
        let records = batches.map { $0.map { data.record($0) } }
        func sqliteTimes() throws -> [LoadTime] {
            let rows = zip(batches, records).map { indices, records in
                zip(indices, records).map { SQLitePeer.arguments($1, data.content(of: $0), change: $0) }
            }
            let rowsInC = try zip(batches, records).map { indices, records in
                try SQLiteInCPeer.Rows(zip(indices, records).map { ($1, data.content(of: $0), $0) })
            }
            return [
                try LoadTime { for batch in rows { try run.sqlite.save(batch) } },
                try LoadTime { for batch in rowsInC { try run.sqliteInC.save(batch) } },
            ]
        }
        var sqlite = sqliteFirst ? try sqliteTimes() : []
        var plans: [KeyMutations] = []
        plans.reserveCapacity(batches.count)
        var times = [
            try LoadTime {
                for batch in records { plans.append(try run.stratus.save(batch, in: StratusSide.mainZone).mutations) }
            } rest: {
                try run.stratus.waitForLevelZero()
            }
        ]
        // As arrays beforehand, so that the clocks of the peers have only their own work.
        let writes = plans.map(\.pairs)
        for raw in [run.raw, run.rawBeside] {
            times.append(
                try LoadTime {
                    for batch in writes { try raw.write(batch) }
                } rest: {
                    raw.waitForLevelZero()
                })
        }
        if !sqliteFirst { sqlite = try sqliteTimes() }
        let references = try run.references.map { reference in
            try LoadTime { for batch in writes { try reference.store.write(batch) } }
        }
        return times + sqlite + references
    }
}

extension KeyMutations {
    /// What a plan writes, as raw stores take it.
    var pairs: [(key: [UInt8], value: [UInt8]?)] {
        var pairs: [(key: [UInt8], value: [UInt8]?)] = []
        forEach { pairs.append(($0, $1)) }
        return pairs
    }
}
