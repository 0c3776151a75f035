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
        let numbers = NumberSource()
        let plans = Mutex<[KeyMutations]>([])
        let contestants = [
            Contestant(
                "Stratus", read: { try StratusSide.fetch(stratus.engine, [$0]) },
                write: {
                    let plan = try stratus.save([numbers.next().record], in: zone)
                    plans.withLock { $0.append(plan.mutations) }
                }),
            Contestant(
                "raw LevelDB", read: { _ = try raw.byteCount(of: keys.record($0)) },
                write: {
                    guard let plan = plans.withLock({ $0.popLast() }) else { return }
                    var writes: [(key: [UInt8], value: [UInt8]?)] = []
                    plan.forEach { writes.append(($0, $1)) }
                    try raw.writeBesideOthers(writes)
                }),
            Contestant(
                "GRDB", read: { name in _ = try sqlite.read { try $0.fetch([name]) } },
                write: {
                    let item = numbers.next()
                    try sqlite.save([SQLitePeer.arguments(item.record, item.content, change: item.number)])
                }),
        ]
        let callCount = run.scale.isQuick ? 1_000 : 5_000
        for round in 0..<roundCount {
            // Ours always before raw LevelDB, which writes what ours has planned.
            for contestant in round.isMultiple(of: 2) ? contestants : [contestants[2], contestants[0], contestants[1]] {
                try contestant.work(run.main.zone, seed: UInt64(round), callCount)
            }
        }
        report(run, contestants)
    }

    private static func report(_ run: BenchmarkRun, _ contestants: [Contestant]) {
        let parts = [("p50", 0.5), ("p99", 0.99), ("p999", 0.999)]
        let kinds: [(String, KeyPath<Contestant, Latencies>)] = [("a read", \.reads), ("a save", \.writes)]
        let own = contestants[0]
        for peer in [contestants[2], contestants[1]] {
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

    /// Somebody who reads and writes.
    private final class Contestant: Sendable {
        let name: String
        let reads = Latencies()
        let writes = Latencies()
        private let read: @Sendable (RecordName) throws -> Void
        private let write: @Sendable () throws -> Void

        init(
            _ name: String, read: @escaping @Sendable (RecordName) throws -> Void,
            write: @escaping @Sendable () throws -> Void
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
                        own.reads.append(try Stopwatch.seconds { try read(name) })
                    } else {
                        own.writes.append(try Stopwatch.seconds { try write() })
                    }
                }
                reads.add(own.reads)
                writes.add(own.writes)
            }
        }
    }
}
