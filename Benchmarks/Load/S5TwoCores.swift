// S5: what a second core gives. Two readers beside one, and a writer beside a reader that uses half a core.

import Foundation
import StratusLayout
import StratusModel
import StratusRecords
import StratusWorkloads
import Synchronization

enum TwoCoresWorkload: Workload {
    static let name = "S5"
    static let title = "two cores"
    private static let fetchCount = 200
    private static let sliceSeconds = 0.005

    static func run(_ run: BenchmarkRun) throws {
        try run.waitForRest()
        try measureReaders(run)
        try measureWriter(run)
    }

    /// New names for each batch, so that few have been read before.
    private static func batch(_ zone: ZoneData, _ number: Int) -> [RecordName] {
        var random = SeededNumbers(seed: 7_000 &+ UInt64(number))
        return (0..<fetchCount).map { _ in zone.names[random.below(zone.count)] }
    }

    private static func measureReaders(_ run: BenchmarkRun) throws {
        let (stratus, raw, sqlite, zone) = (run.stratus, run.raw, run.sqlite, run.main.zone)
        let keys = try stratus.engine.read { try $0.existingZone(StratusSide.mainZone).keys }
        let number = Atomic(0)
        let batchCount = run.scale.isQuick ? 50 : 200
        let contestants: [(name: String, fetch: @Sendable ([RecordName]) throws -> Void)] = [
            ("Stratus", { try StratusSide.fetch(stratus.engine, $0) }),
            ("raw LevelDB", { for name in $0 { _ = try raw.byteCount(of: keys.record(name)) } }),
            ("GRDB", { names in _ = try sqlite.read { try $0.fetch(names) } }),
        ]
        func rate(_ count: Int, _ fetch: @escaping @Sendable ([RecordName]) throws -> Void) throws -> Double {
            try Callers.rate(count, timesEach: batchCount) { _ in
                try fetch(batch(zone, number.add(1, ordering: .relaxed).newValue))
            } * Double(fetchCount)
        }
        var rounds: [() throws -> Double] = []
        for contestant in contestants {
            for count in [1, 2] { rounds.append { try rate(count, contestant.fetch) } }
        }
        let medians = try Stopwatch.medians(rounds)
        let gains = stride(from: 0, to: medians.count, by: 2).map { medians[$0 + 1] / medians[$0] }
        run.add(
            Figure(
                name, "two readers", medians[1], "records/s", against: "one reader", medians[0],
                ratio: .ourShareOfTheirs, .atLeast(1.6)))
        for (index, contestant) in contestants.enumerated().dropFirst() {
            run.add(
                Figure(
                    name, "two readers, as many times as fast as one", gains[0], "times", against: contestant.name,
                    gains[index], ratio: .ourShareOfTheirs, .none))
        }
        run.add(
            Plot(
                workload: name, title: "fetches at random, by readers at once", xLabel: "readers", yLabel: "records/s",
                series: contestants.indices.map {
                    Series(contestants[$0].name, [(1, medians[$0 * 2]), (2, medians[$0 * 2 + 1])])
                }))
    }

    private static func measureWriter(_ run: BenchmarkRun) throws {
        let (stratus, sqlite, zone) = (run.stratus, run.sqlite, run.main.zone)
        let target = StratusSide.zone("beside readers")
        try stratus.createZone(target)
        let numbers = NumberSource()
        let seconds = run.scale.isQuick ? 0.3 : 1
        let saveOurs: () throws -> Void = { try stratus.save([numbers.next().record], in: target) }
        let sides: [Side] = [
            Side("Stratus: saves beside a reader", .atLeast(0.9), saveOurs) {
                try StratusSide.fetch(stratus.engine, $0)
            },
            // What is lost here is lost to the machine: this one reads from nothing.
            Side("Stratus: saves beside a thread that reads nothing", .none, saveOurs) { names in
                var hasher = Hasher()
                for _ in 0..<8 { for name in names { hasher.combine(name) } }
                guard hasher.finalize() != 0 else { throw PeerError("A hash that nobody expects.") }
            },
            Side(
                "GRDB: saves beside a reader", .none,
                {
                    let item = numbers.next()
                    try sqlite.save([SQLitePeer.arguments(item.record, item.content, change: item.number)])
                }, { names in _ = try sqlite.read { try $0.fetch(names) } }),
        ]
        func rate(_ save: () throws -> Void) throws -> Double {
            var count = 0
            let start = ContinuousClock.now
            while start.duration(to: .now).inSeconds < seconds {
                try save()
                count += 1
            }
            return Double(count) / start.duration(to: .now).inSeconds
        }
        for side in sides {
            var shares: [Double] = []
            let medians = try Stopwatch.medians(
                rounds: 7,
                [
                    { try rate(side.save) },
                    {
                        let reader = HalfReader(zone, side.fetch)
                        reader.start()
                        let saved = try rate(side.save)
                        shares.append(try reader.stop())
                        return saved
                    },
                ])
            run.add(
                Figure(
                    name, "\(side.subject) of half a core", medians[1], "saves/s", against: "alone", medians[0],
                    ratio: .ourShareOfTheirs, side.bar))
            run.add(
                Figure(
                    name, "\(side.subject): the core that it used", count: Stopwatch.median(shares), "cores", .none))
        }
    }

    /// Who saves, and who reads beside it.
    private struct Side {
        let subject: String
        let bar: Bar
        let save: () throws -> Void
        let fetch: @Sendable ([RecordName]) throws -> Void

        init(
            _ subject: String, _ bar: Bar, _ save: @escaping () throws -> Void,
            _ fetch: @escaping @Sendable ([RecordName]) throws -> Void
        ) {
            (self.subject, self.bar, self.save, self.fetch) = (subject, bar, save, fetch)
        }
    }

    /// Reads until it is stopped, half of the time.
    private final class HalfReader: Sendable {
        private let zone: ZoneData
        private let fetch: @Sendable ([RecordName]) throws -> Void
        private let mustStop = Atomic(false)
        private let failure = SharedFailure()
        private let share = Mutex(Double.nan)
        private let done = DispatchSemaphore(value: 0)

        init(_ zone: ZoneData, _ fetch: @escaping @Sendable ([RecordName]) throws -> Void) {
            self.zone = zone
            self.fetch = fetch
        }

        func start() {
            Thread.detachNewThread { [self] in
                let (start, whole) = (ContinuousClock.now, ProcessorTime())
                var number = 0
                while !mustStop.load(ordering: .relaxed) {
                    let slice = ProcessorTime()
                    do {
                        while slice.seconds < TwoCoresWorkload.sliceSeconds {
                            number += 1
                            try fetch(TwoCoresWorkload.batch(zone, number))
                        }
                    } catch {
                        failure.note(error)
                        break
                    }
                    usleep(UInt32(slice.seconds * 1e6))
                }
                share.withLock { $0 = whole.seconds / start.duration(to: .now).inSeconds }
                done.signal()
            }
        }

        /// Returns how much of a core it has used.
        func stop() throws -> Double {
            mustStop.store(true, ordering: .relaxed)
            done.wait()
            try failure.check()
            return share.withLock { $0 }
        }
    }
}
