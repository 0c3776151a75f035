// S4: four callers at once, eight of ten calls a fetch of a record at random and two the durable save of a new one. How
// long single calls take: the median, one in a hundred, one in a thousand.

import Foundation
import StratusLayout
import StratusModel
import StratusRecords
import StratusWorkloads
import Synchronization

enum MixedLoadWorkload: Workload {
    static let name = "S4"
    static let title = "latency under mixed load, 80 % reads"
    private static let callerCount = 4
    private static let roundCount = 3
    private static let zoneName: ZoneName = "mixed"

    static func run(_ run: BenchmarkRun) throws {
        let stratus = run.stratus
        let (raw, sqlite) = (run.raw, run.sqlite)
        let zone = StratusSide.zone(zoneName)
        try stratus.createZone(zone)
        try run.waitForRest()
        let keys = try stratus.engine.read { try $0.existingZone(StratusSide.mainZone).keys }
        let sqliteInC = try SQLiteInCConnections(path: run.folder + "/sqlite-c.db", count: callerCount)
        defer { sqliteInC.close() }
        let numbers = NumberSource()
        let plans = Mutex<[KeyMutations]>([])
        let contestants = [
            Contestant(
                "Stratus", read: { name, _ in try StratusSide.fetch(stratus.engine, [name]) },
                write: { _ in
                    let plan = try stratus.save([numbers.next().record], in: zone)
                    plans.withLock { $0.append(plan.mutations) }
                }),
            Contestant(
                "raw LevelDB", read: { name, _ in _ = try raw.byteCount(of: keys.record(name)) },
                write: { _ in
                    guard let plan = plans.withLock({ $0.popLast() }) else { return }
                    var writes: [(key: [UInt8], value: [UInt8]?)] = []
                    plan.forEach { writes.append(($0, $1)) }
                    try raw.writeBesideOthers(writes)
                }),
            Contestant(
                "GRDB", read: { name, _ in _ = try sqlite.read { try $0.fetch([name]) } },
                write: { _ in
                    let item = numbers.next()
                    try sqlite.save([SQLitePeer.arguments(item.record, item.content, change: item.number)])
                }),
            Contestant(
                "SQLite in C", read: { name, caller in try sqliteInC.fetch(name, by: caller) },
                write: { caller in try sqliteInC.save(numbers.next(), by: caller) }),
        ]
        // Ours always before raw LevelDB, which writes what ours has planned.
        let backwards = [3, 2, 0, 1].map { contestants[$0] }
        let callCount = run.scale.isQuick ? 1_000 : 5_000
        for round in 0..<roundCount {
            for contestant in round.isMultiple(of: 2) ? contestants : backwards {
                try contestant.work(run.main.zone, seed: UInt64(round), callCount)
            }
        }
        report(run, contestants)
    }

    private static func report(_ run: BenchmarkRun, _ contestants: [Contestant]) {
        let parts = [("p50", 0.5), ("p99", 0.99), ("p999", 0.999)]
        let kinds: [(String, KeyPath<Contestant, Latencies>)] = [("a read", \.reads), ("a save", \.writes)]
        let own = contestants[0]
        for peer in [contestants[2], contestants[3], contestants[1]] {
            for (kind, latencies) in kinds {
                for (what, part) in parts {
                    run.add(
                        Figure(
                            name, "\(kind), \(what)", own[keyPath: latencies].quantile(part) * 1e6, "µs",
                            against: peer.name, peer[keyPath: latencies].quantile(part) * 1e6,
                            ratio: .ourShareOfTheirs, .none))
                }
            }
        }
        run.add(
            Plot(
                workload: name, title: title, xLabel: "one call in", yLabel: "µs",
                series: contestants.flatMap { contestant in
                    [("reads", contestant.reads), ("saves", contestant.writes)].map { kind, latencies in
                        Series(
                            "\(contestant.name), \(kind)",
                            [0.5, 0.9, 0.99, 0.999].map { (1 / (1 - $0), latencies.quantile($0) * 1e6) })
                    }
                },
                note: """
                    A save waits for the disk, and for a group that is being written: two turns at most. A read waits for nobody, \
                    but has to get one of two cores from four callers and a compaction.
                    """))
    }

    /// Somebody who reads and writes, and knows which of the callers asks.
    private final class Contestant: Sendable {
        let name: String
        let reads = Latencies()
        let writes = Latencies()
        private let read: @Sendable (_ name: RecordName, _ caller: Int) throws -> Void
        private let write: @Sendable (_ caller: Int) throws -> Void

        init(
            _ name: String, read: @escaping @Sendable (_ name: RecordName, _ caller: Int) throws -> Void,
            write: @escaping @Sendable (_ caller: Int) throws -> Void
        ) {
            self.name = name
            self.read = read
            self.write = write
        }

        /// Every caller makes the same choices in each contestant.
        func work(_ zone: ZoneData, seed: UInt64, _ callCount: Int) throws {
            _ = try Callers.rate(callerCount, timesEach: 1) { [self] caller in
                var random = SeededNumbers(seed: seed &* 100 &+ UInt64(caller))
                var own: (reads: [Double], writes: [Double]) = ([], [])
                for _ in 0..<callCount {
                    if random.below(10) < 8 {
                        let name = zone.names[random.below(zone.count)]
                        own.reads.append(try Stopwatch.seconds { try read(name, caller) })
                    } else {
                        own.writes.append(try Stopwatch.seconds { try write(caller) })
                    }
                }
                reads.add(own.reads)
                writes.add(own.writes)
            }
        }
    }
}
