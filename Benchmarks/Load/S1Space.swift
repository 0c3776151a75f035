// S1: what a million records take on the disk, beside SQLite's file and beside the records as JSON.

import Foundation
import StratusModel
import StratusWorkloads

enum SpaceWorkload: Workload {
    static let name = "S1"
    static let title = "space a record"

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
