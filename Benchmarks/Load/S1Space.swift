// S1: what a million records take on the disk, beside SQLite's file and beside the records as JSON. S1a: the same with
// four indexes for queries, under names that are UUIDs and under short ones.

import Foundation
import StratusLevelDB
import StratusModel
import StratusWorkloads

enum SpaceWorkload: Workload {
    static let name = "S1"
    static let title = "space a record"
    static let partNames = ["S1a"]
    /// Records of the stores with indexes: enough for tables on three levels.
    private static let indexedCount = 300_000

    static func run(_ run: BenchmarkRun) throws {
        try run.waitForRest()
        try run.sqlite.settle()
        let count = Double(run.main.zone.count)
        let own = Double(ProcessFiles.byteCount(at: run.folder + "/stratus")) / count
        let raw = Double(ProcessFiles.byteCount(at: run.folder + "/leveldb")) / count
        let sqlite =
            ["", "-wal", "-shm"].map { Double(ProcessFiles.byteCount(at: run.folder + "/sqlite.db" + $0)) }
            .reduce(0, +) / count
        let json = try jsonByteCount(run.main.zone)
        for (peer, size) in [("GRDB", sqlite), ("raw LevelDB", raw), ("its JSON", json)] {
            run.add(
                Figure(
                    name, "on disk, nothing compacted by hand", own, "bytes/record", against: peer, size,
                    ratio: .ourShareOfTheirs, .none))
        }
        let zone = MainZoneData(count: min(run.scale.recordCount, indexedCount)).zone
        try measureIndexed(run, zone, "names that are UUIDs", .atMost(0.8))
        let short = ZoneData(
            seed: zone.seed, roots: zone.roots, zone.forest, names: zone.names.indices.map { RecordName("file-\($0)") })
        try measureIndexed(run, short, "names such as file-1234", .none)
    }

    /// A store with indexes on four fields beside GRDB's file with the same, in folders of their own, both closed.
    private static func measureIndexed(_ run: BenchmarkRun, _ data: ZoneData, _ names: String, _ bar: Bar) throws {
        let folder = run.folder + "/indexed"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let stratus = try StratusSide(at: folder + "/stratus", options: run.options)
        defer { stratus.close() }
        try stratus.load(data, into: StratusSide.mainZone)
        try SizeQueries.buildIndexes(of: data, in: StratusSide.mainZone, try ServerSide(stratus))
        try WritingWorkload.rest { try stratus.store.figures().statisticsText }
        stratus.close()
        let sqlite = try SQLitePeer(
            path: folder + "/sqlite.db", cacheByteCount: SQLitePeer.sharedCacheByteCount,
            pageByteCount: run.pageByteCount)
        for range in RecordBatches.indices(of: data) {
            try sqlite.save(
                range.map { SQLitePeer.arguments(data.record($0), data.content(of: $0), change: $0) })
        }
        try sqlite.makeFieldIndexes()
        try sqlite.close()
        let sizes = ["/stratus", "/sqlite.db"].map {
            Double(ProcessFiles.byteCount(at: folder + $0)) / Double(data.count)
        }
        run.add(
            Figure(
                partNames[0], "on disk with four indexes, \(names)", sizes[0], "bytes/record", against: "GRDB",
                sizes[1], ratio: .ourShareOfTheirs, bar))
    }

    /// The mean of a thousand records, written as an export would write them.
    static func jsonByteCount(_ data: ZoneData) throws -> Double {
        let sample = stride(from: 0, to: data.count, by: max(1, data.count / 1_000))
        var byteCount = 0
        var count = 0
        for index in sample {
            let content = data.content(of: index)
            var object: [String: Any] = [
                "recordName": data.names[index].text, "recordType": content.type.text,
                "created": DataClock.stamp.date.timeIntervalSinceReferenceDate,
                "modified": DataClock.stamp.date.timeIntervalSinceReferenceDate, "user": DataClock.stamp.user.text,
                "changeTag": "\(index)",
                "fields": [
                    "title": content.title, "size": content.size, "mode": content.mode,
                    "digest": Data(content.digest).base64EncodedString(),
                ] as [String: Any],
            ]
            object["parent"] = data.parent(of: index)?.text
            object["share"] = data.share(of: index)?.text
            byteCount += try JSONSerialization.data(withJSONObject: object).count
            count += 1
        }
        return Double(byteCount) / Double(count)
    }
}
