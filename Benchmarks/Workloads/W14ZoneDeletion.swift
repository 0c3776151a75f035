// W14: delete zones of 10³ … 10⁶ records. The deletion itself is counted; while the largest zone's keys are purged in
// the background, another zone's saves go on and keep at least half of their throughput.

import Foundation
import StratusModel
import StratusRecords
import StratusStore
import StratusWorkloads

enum ZoneDeletionWorkload: Workload {
    static let name = "W14"
    static let title = "delete a zone"
    private static let zoneName = "neighbour"
    private static let windowSeconds = 0.25
    /// A zone of ten million records takes hours to purge, and shows within this time what others feel of it.
    private static let purgeLimitSeconds = 600.0

    static func run(_ run: BenchmarkRun) throws {
        var zones: [(count: Int, zone: ZoneID)] = []
        for count in run.scale.smallerCounts {
            try run.zone(named: "tree-\(count)", TreeZoneData(count: count).zone)
            zones.append((count, StratusSide.zone(ZoneName("tree-\(count)"))))
        }
        zones.append((run.main.zone.count, StratusSide.mainZone))
        var costs: [(entries: Int, seconds: Double)] = []
        for (_, zone) in zones {
            var seconds = 0.0
            let cost = try run.stratus.cost {
                seconds = try Stopwatch.seconds { try run.stratus.engine.transact { _ = try $0.deleteZone(zone) } }
            }
            costs.append((cost.cost.entriesWritten, seconds))
        }
        let entries = costs.map(\.entries)
        run.add(Figure(name, "entries written", count: Double(entries.max() ?? 0), "entries", .atMost(16)))
        run.add(Figure(name, "entries, most minus least", count: Double.spread(entries), "entries", .atMost(0)))
        let series = try measurePurge(run)
        run.add(
            Plot(
                workload: name, title: "another zone's saves while a zone is purged", xLabel: "window of 0.25 s",
                yLabel: "saves/s", series: series))
    }

    /// Purges what was deleted while another zone is saved to; the throughput of windows before and during it.
    private static func measurePurge(_ run: BenchmarkRun) throws -> [Series] {
        let zone = StratusSide.zone(ZoneName(zoneName))
        try run.stratus.createZone(zone)
        let saver = Saver(run.stratus, zone)
        saver.start()
        defer { saver.stop() }
        _ = try saver.rate(windowSeconds)
        let before = try (0..<12).map { _ in try saver.rate(windowSeconds) }

        let (engine, start) = (run.stratus.engine, ContinuousClock.now)
        let purge = ThreadedWork {
            try engine.purgeDeletedZones(
                pause: { usleep(5_000) }, rest: { usleep(UInt32($0 * 1e6)) },
                shouldContinue: { _ in start.duration(to: .now).inSeconds < purgeLimitSeconds })
        }
        var during: [Double] = []
        let purgeSeconds = try Stopwatch.seconds {
            while !purge.isOver { during.append(try saver.rate(windowSeconds)) }
        }
        let result = try purge.result()
        Progress.say(
            "    purged \(result.entriesDeleted) entries in \(result.commits) commits and "
                + "\(Figure.text(purgeSeconds)) s, \(result.pauses) pauses")
        // The last window ends after the purge.
        if during.count > 5 { during.removeLast() }
        run.add(
            Figure(
                name, "another zone's saves during the purge", Stopwatch.median(during), "saves/s",
                against: "before it",
                Stopwatch.median(before), ratio: .ourShareOfTheirs, .atLeast(0.5)))
        run.add(Figure(name, "pauses of the purge", count: Double(result.pauses), "pauses", .none))
        run.add(
            Figure(
                name, "purge", count: Double(result.entriesDeleted) / purgeSeconds, "entries/s", .none))
        return [
            Series("before", before.enumerated().map { (Double($0 + 1), $1) }),
            Series("during", during.enumerated().map { (Double($0 + 1 + before.count), $1) }),
        ]
    }
}
