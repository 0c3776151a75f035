// W10c: the indexes for queries of the main zone, built in the background as a host does it, beside raw LevelDB with
// CLogSync writing the same entries in the order of their keys. Nothing else is written meanwhile; how much of their
// speed saves keep while indexes are built is measured in a store of its own.

import Foundation
import StratusCloud
import StratusLayout
import StratusLevelDB
import StratusModel
import StratusRecords
import StratusStore
import StratusWorkloads

enum IndexBuildingWorkload: Workload {
    static let name = "W10c"
    static let title = "building the indexes of a zone"
    /// What the raw store writes at once: about as much as a batch of ours.
    private static let entriesPerCommit = 1_800
    /// Commits that are in memory before any of them is timed.
    private static let commitsAtOnce = 100
    private static let windowSeconds = 0.25
    private static let windowCount = 12

    static func run(_ run: BenchmarkRun) throws {
        let server = try run.server()
        try run.waitForRest()
        let seconds = try Stopwatch.seconds {
            try SizeQueries.buildIndexes(of: run.main.zone, in: StratusSide.mainZone, server, pace)
            try run.stratus.waitForLevelZero()
        }
        try run.sqlite.makeSizeIndex()
        try run.sqliteInC.makeSizeIndex()
        try run.waitForRest()
        let raw = try writeRaw(run)
        let counts = [raw.entryCount, run.main.zone.count].map { Figure.text(Double($0)) }
        run.add(
            Figure(
                name, "\(counts[0]) entries of \(counts[1]) records", seconds, "s",
                against: "raw LevelDB with CLogSync, in key order", raw.seconds, ratio: .ourShareOfTheirs, .atMost(1.5))
        )
        try measureSaves(run)
    }

    /// The pace of a host's upkeep.
    private static var pace: UpkeepPace {
        UpkeepPace(pause: { usleep(50_000) }, rest: { usleep(UInt32($0 * 1e6)) })
    }

    /// Writes the entries of the indexes into a bare LevelDB, in the order of their keys.
    private static func writeRaw(_ run: BenchmarkRun) throws -> (entryCount: Int, seconds: Double) {
        let path = run.folder + "/leveldb-indexes"
        let raw = try RawLevelDBPeer(path: path, like: run.options, syncsBeside: true)
        defer {
            raw.close()
            try? FileManager.default.removeItem(atPath: path)
        }
        var (entryCount, seconds) = (0, 0.0)
        var batches: [[(key: [UInt8], value: [UInt8]?)]] = [[]]
        func write() throws {
            seconds += try Stopwatch.seconds { for batch in batches { try raw.write(batch) } }
            entryCount += batches.reduce(0) { $0 + $1.count }
            batches = [[]]
        }
        try run.stratus.engine.read { reader in
            let keys = try reader.existingZone(StratusSide.mainZone).keys
            for keyspace in [ZoneKeyspace.fields, .tokens] {
                try reader.store.scan(keys.keyspace(keyspace)) { key, value in
                    batches[batches.count - 1].append(([UInt8](copying: key), [UInt8](copying: value)))
                    guard batches[batches.count - 1].count == entriesPerCommit else { return .next }
                    if batches.count == commitsAtOnce { try write() } else { batches.append([]) }
                    return .next
                }
            }
        }
        try write()
        seconds += Stopwatch.seconds { raw.waitForLevelZero() }
        return (entryCount, seconds)
    }

    /// Saves single records into one zone while the indexes of another are built, in a store of its own.
    private static func measureSaves(_ run: BenchmarkRun) throws {
        let path = run.folder + "/building"
        let stratus = try StratusSide(at: path, options: run.options)
        defer {
            stratus.close()
            try? FileManager.default.removeItem(atPath: path)
        }
        let data = MainZoneData(count: min(run.scale.recordCount, 100_000)).zone
        try stratus.load(data, into: StratusSide.mainZone)
        let server = try ServerSide(stratus)
        let zone = StratusSide.zone("beside")
        try stratus.createZone(zone)
        try stratus.waitForLevelZero()
        let saver = Saver(stratus, zone)
        saver.start()
        defer { saver.stop() }
        _ = try saver.rate(windowSeconds)
        let before = try (0..<windowCount).map { _ in try saver.rate(windowSeconds) }
        let building = ThreadedWork { try SizeQueries.buildIndexes(of: data, in: StratusSide.mainZone, server, pace) }
        defer { building.wait() }
        var during: [Double] = []
        while !building.isOver { during.append(try saver.rate(windowSeconds)) }
        try building.result()
        // The last window ends after the work.
        if during.count > 1 { during.removeLast() }
        run.add(
            Figure(
                name, "another zone's saves meanwhile", Stopwatch.median(during), "saves/s", against: "before it",
                Stopwatch.median(before), ratio: .ourShareOfTheirs, .atLeast(0.5)))
    }
}
