// W6: enumerate everything below a record, parents before children. The peers use a recursive common table expression;
// all of them read every name.

import Foundation
import StratusModel
import StratusRecords
import StratusStore
import StratusWorkloads

enum SubtreeWorkload: Workload {
    static let name = "W6"
    static let title = "enumerate a subtree in parent order"

    static func run(_ run: BenchmarkRun) throws {
        let forest = run.main.zone.forest
        let counts = forest.descendantCounts()
        let names = ["Stratus", "GRDB", "SQLite in C"]
        var points: [[(x: Double, y: Double)]] = names.map { _ in [] }
        for goal in [run.scale.recordCount / 1_000, run.scale.recordCount / 100, run.scale.recordCount / 10] {
            let isMain = goal == run.scale.recordCount / 10
            let top =
                isMain
                ? run.main.subtreeTop
                : counts.indices.min { abs(counts[$0] - goal) < abs(counts[$1] - goal) } ?? run.main.subtreeTop
            let root = run.main.zone.names[top]
            let rows = try SQLiteInCPeer.Rows(names: [root])
            let size = counts[top]
            let medians = try Stopwatch.medians([
                { try Stopwatch.seconds { try check(try run.stratus.subtreeCount(below: root), size) } },
                {
                    try Stopwatch.seconds {
                        try check(try run.sqlite.read { try $0.subtreeCount(below: root) }, size)
                    }
                },
                {
                    try Stopwatch.seconds {
                        try check(try run.sqliteInC.read { try run.sqliteInC.countBelow(rows) }, size)
                    }
                },
            ])
            let times = medians.map { $0 / Double(size) * 1e6 }
            for index in times.indices { points[index].append((Double(size), times[index])) }
            let bars: [Bar] = [isMain ? .atLeast(2) : .none, .none]
            for (peer, bar) in zip(1..., bars) {
                run.add(
                    Figure(
                        name, "subtree of \(Figure.text(Double(size)))", times[0], "µs/record", against: names[peer],
                        times[peer], ratio: .theirsOverOurs, bar))
            }
            if isMain { try addCounts(run, top: top, size: size) }
        }
        run.add(
            Plot(
                workload: name, title: title, xLabel: "records below", yLabel: "µs a record",
                series: zip(names, points).map { Series($0, $1) }))
    }

    private static func check(_ count: Int, _ size: Int) throws {
        guard count == size else { throw PeerError("An enumeration gave \(count) records instead of \(size).") }
    }

    /// A record without children costs no seek.
    private static func addCounts(_ run: BenchmarkRun, top: Int, size: Int) throws {
        let forest = run.main.zone.forest
        // The subtree's records follow its top without a gap.
        let folderCount = Set(forest.parents[(top + 1)...(top + size)]).count
        let seeks = try run.stratus.engine.read { reader in
            let before = reader.store.cost.reads
            try reader.existingZone(StratusSide.mainZone).visitSubtree(below: run.main.zone.names[top]) { _, _ in .next
            }
            return reader.store.cost.reads - before
        }
        run.add(Figure(name, "reads for leaves", count: Double(max(0, seeks - folderCount)), "reads", .atMost(0)))
    }
}
