// W2: fetch records by ID, at random, warm. All contestants fetch the same records whole, hundreds to one reading
// transaction; Stratus's and GRDB's are decoded, raw LevelDB's are only read. W2a: the same where each record is
// fetched for the first time, so that nothing of it is kept.

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
        var contestants: [() throws -> Double] = [
            { try Stopwatch.secondsEach(names.count) { try StratusSide.fetch(run.stratus.engine, names) } },
            {
                try Stopwatch.secondsEach(names.count) {
                    for key in rawKeys { _ = try run.raw.byteCount(of: key) }
                }
            },
            { try Stopwatch.secondsEach(names.count) { _ = try run.sqlite.read { try $0.fetch(names) } } },
        ]
        for reference in run.references {
            contestants.append {
                try Stopwatch.secondsEach(names.count) { _ = try reference.store.byteCount(of: rawKeys) }
            }
        }
        let times = try Stopwatch.medians(rounds: 9, contestants).map { $0 * 1e6 }
        run.add(
            Figure(
                name, "warm, at random", times[0], "µs", against: "GRDB", times[2], ratio: .theirsOverOurs, .atLeast(1))
        )
        run.add(
            Figure(
                name, "warm, at random", times[0], "µs", against: "raw LevelDB", times[1], ratio: .ourShareOfTheirs,
                .atMost(1.3)))
        for (reference, time) in zip(run.references, times.dropFirst(3)) {
            run.add(
                Figure(
                    name, "warm, at random", times[0], "µs", against: reference.name, time, ratio: .theirsOverOurs,
                    .none))
        }
        try addCounts(run, names)
    }

    private static func sample(_ run: BenchmarkRun, _ count: Int) -> [RecordName] {
        var numbers = SeededNumbers(seed: 2)
        let zone = run.main.zone
        return (0..<count).map { _ in zone.names[numbers.below(zone.count)] }
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

enum FirstFetchWorkload: Workload {
    static let name = "W2a"
    static let title = "fetch by ID, for the first time"
    private static let fetchCount = 500
    private static let roundCount = 19

    static func run(_ run: BenchmarkRun) throws {
        try run.waitForRest()
        let keys = try run.stratus.engine.read { try $0.existingZone(StratusSide.mainZone).keys }
        let batches = NewNames(run.main.zone, seed: 1_000).batches(roundCount + 1, of: fetchCount)
        let rawBatches = batches.map { $0.map { keys.record($0) } }
        let rowBatches = try batches.map { try SQLiteInCPeer.Rows(names: $0) }
        var contestants: [(name: String, fetch: (Int) throws -> Void)] = [
            ("Stratus", { try StratusSide.fetch(run.stratus.engine, batches[$0]) }),
            ("raw LevelDB", { for key in rawBatches[$0] { _ = try run.raw.byteCount(of: key) } }),
            (
                "SQLite in C",
                { batch in
                    let count = try run.sqliteInC.read { try run.sqliteInC.fetch(rowBatches[batch]) }
                    guard count == fetchCount else { throw PeerError("SQLite in C has \(count) records.") }
                }
            ),
            (
                "GRDB",
                { batch in
                    let count = try run.sqlite.read { try $0.fetch(batches[batch]) }
                    guard count == fetchCount else { throw PeerError("SQLite has \(count) records.") }
                }
            ),
        ]
        for reference in run.references {
            contestants.append((reference.name, { _ = try reference.store.byteCount(of: rawBatches[$0]) }))
        }
        let bars: [String: (Figure.Ratio, Bar)] = [
            "raw LevelDB": (.ourShareOfTheirs, .atMost(1.3)), "SQLite in C": (.theirsOverOurs, .atLeast(0.9)),
        ]
        let times = try Stopwatch.firstTimes(rounds: roundCount, each: fetchCount, contestants.map(\.fetch))
        for (peer, time) in zip(contestants, times).dropFirst() {
            let (ratio, bar) = bars[peer.name] ?? (.theirsOverOurs, .none)
            run.add(
                Figure(
                    name, "each for the first time", times[0] * 1e6, "µs", against: peer.name, time * 1e6,
                    ratio: ratio, bar))
        }
    }
}

/// Names of a zone in a random order, each of them once. They are texts of their own: those of the zone lie all over
/// the memory, and reading them would take a part of the time.
struct NewNames {
    private let zone: ZoneData
    private let order: [Int]

    init(_ zone: ZoneData, seed: UInt64) {
        self.zone = zone
        var numbers = SeededNumbers(seed: seed)
        order = Array(0..<zone.count).shuffled(using: &numbers)
    }

    func batches(_ count: Int, of size: Int) -> [[RecordName]] {
        indices(count, of: size).map {
            $0.map { RecordName(String(decoding: Array(zone.names[$0].text.utf8), as: UTF8.self)) }
        }
    }

    func indices(_ count: Int, of size: Int) -> [ArraySlice<Int>] {
        (0..<count).map { order[$0 * size..<($0 + 1) * size] }
    }
}

extension Stopwatch {
    /// The medians of what each of `count` answers takes, of contestants that are given the number of the round: what
    /// they ask for is new in each. Round 0 comes before the others and does not count.
    static func firstTimes(rounds: Int, each count: Int, _ contestants: [(Int) throws -> Void]) throws -> [Double] {
        var next = contestants.map { _ in 0 }
        return try medians(
            rounds: rounds,
            contestants.indices.map { index in
                {
                    defer { next[index] += 1 }
                    return try seconds { try contestants[index](next[index]) } / Double(count)
                }
            })
    }
}

extension BenchmarkRun {
    /// Adds what Stratus, raw gets of the same records, SQLite in C, GRDB and gets in the references took for a page
    /// that was read for the first time, in seconds and in this order.
    func addNewPages(_ workload: String, _ subject: String, _ seconds: [Double], rawBar: Bar, sqliteBar: Bar) {
        let times = seconds.map { $0 * 1e6 }
        let peers: [(String, Double, Figure.Ratio, Bar)] = [
            ("raw gets", times[1], .ourShareOfTheirs, rawBar), ("SQLite in C", times[2], .theirsOverOurs, sqliteBar),
            ("GRDB", times[3], .theirsOverOurs, .none),
        ]
        let gets = zip(references, times.dropFirst(4)).map { reference, time in
            ("gets in \(reference.name)", time, Figure.Ratio.ourShareOfTheirs, Bar.none)
        }
        for (peer, time, ratio, bar) in peers + gets {
            add(Figure(workload, subject, times[0], "µs", against: peer, time, ratio: ratio, bar))
        }
    }
}
