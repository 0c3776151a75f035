// S2: what loading writes to the disk in the end, and how long a single commit may have to wait for a compaction, or in
// SQLite for a checkpoint. Every contestant loads the same records into a store of its own, alone, 400 to a durable
// commit.

import Foundation
import StratusLevelDB
import StratusModel
import StratusRecords
import StratusWorkloads

enum WritingWorkload: Workload {
    static let name = "S2"
    static let title = "write amplification, and stalls while loading"
    private static let stallSeconds = 0.1

    static func run(_ run: BenchmarkRun) throws {
        let data = TreeZoneData(count: min(run.scale.recordCount / 5, 200_000)).zone
        let content = try SpaceWorkload.jsonByteCount(data) * Double(data.count)
        let stores = try GrowthStores(run, "writing")
        let raw = try RawLevelDBPeer(path: stores.folder + "/leveldb")
        defer { raw.close() }
        var plans: [KeyMutations] = []
        let batches = RecordBatches.indices(of: data)
        let own = try measure(batches.count) { index in
            let records = batches[index].map { data.record($0) }
            return try Stopwatch.seconds {
                plans.append(try stores.stratus.save(records, in: stores.zone).mutations)
            }
        } rest: {
            try rest { try stores.stratus.store.figures().statisticsText }
        }
        let floor = try measure(batches.count) { index in
            var writes: [(key: [UInt8], value: [UInt8]?)] = []
            plans[index].forEach { writes.append(($0, $1)) }
            return try Stopwatch.seconds { try raw.write(writes) }
        } rest: {
            try rest { raw.statisticsText }
        }
        let sqlite = try measure(batches.count) { index in
            let rows = batches[index].map { SQLitePeer.arguments(data.record($0), data.content(of: $0), change: $0) }
            return try Stopwatch.seconds { try stores.sqlite.save(rows) }
        } rest: {
            try stores.sqlite.settle()
        }
        report(run, [("Stratus", own), ("raw LevelDB", floor), ("GRDB", sqlite)], content, batches.count)
        try stores.remove()
    }

    private static func report(
        _ run: BenchmarkRun, _ found: [(name: String, writing: Writing)], _ content: Double, _ count: Int
    ) {
        let own = found[0].writing
        for (peer, found) in [found[2], found[1]] {
            run.add(
                Figure(
                    name, "written for each byte of JSON", own.byteCount / content, "bytes", against: peer,
                    found.byteCount / content, ratio: .ourShareOfTheirs, .none))
            for (what, part) in [("p50", 0.5), ("p99", 0.99), ("longest", 1)] {
                run.add(
                    Figure(
                        name, "a commit of 400: \(what)", own.latencies.quantile(part) * 1e3, "ms", against: peer,
                        found.latencies.quantile(part) * 1e3, ratio: .ourShareOfTheirs, .none))
            }
            run.add(
                Figure(
                    name, "commits of more than \(Figure.text(stallSeconds)) s, of \(count)",
                    Double(own.latencies.count(above: stallSeconds)), "commits", against: peer,
                    Double(found.latencies.count(above: stallSeconds)), ratio: .ourShareOfTheirs, .none))
        }
        let parts = [0.5, 0.9, 0.99, 0.999, 1]
        run.add(
            Plot(
                workload: name, title: "how long commits of 400 take while loading", xLabel: "one commit in",
                yLabel: "ms",
                series: found.map { contestant, writing in
                    Series(
                        contestant,
                        parts.map { (1 / max(1 - $0, 1 / Double(count)), writing.latencies.quantile($0) * 1e3) })
                },
                note: """
                    LevelDB makes a writer wait where tables pile up in level 0: a millisecond a write from eight files on, and \
                    until a compaction ends at twelve. Both LevelDBs share one thread for it.
                    """))
    }

    /// What a contestant has written, and how long its commits took.
    private struct Writing {
        let byteCount: Double
        let latencies: Latencies
    }

    /// Commits one after the other; then waits until all background work is done.
    private static func measure(
        _ count: Int, _ commit: (Int) throws -> Double, rest: () throws -> Void
    ) throws -> Writing {
        let before = ProcessFiles.writtenByteCount()
        let latencies = Latencies()
        for index in 0..<count { latencies.add([try commit(index)]) }
        try rest()
        guard let before, let after = ProcessFiles.writtenByteCount() else {
            return Writing(byteCount: .nan, latencies: latencies)
        }
        return Writing(byteCount: Double(after - before), latencies: latencies)
    }

    /// Waits until a text has not changed for two seconds.
    static func rest(_ text: () throws -> String) throws {
        var last = ""
        var count = 0
        while count < 20 {
            let now = try text()
            count = now == last ? count + 1 : 0
            last = now
            usleep(100_000)
        }
    }
}
