// W5: hang the top of a subtree that holds a share below another folder, as a client does. What it costs is counted,
// and must not depend on the size of the subtree.

import Foundation
import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import StratusWorkloads

enum MoveWorkload: Workload {
    static let name = "W5"
    static let title = "re-parent the top of a subtree that holds a share"
    /// Entries that do not depend on the depth.
    private static let constantCount = 24.0
    private static let zoneName = "moves"

    static func run(_ run: BenchmarkRun) throws {
        let data = MovesZoneData(sizes: run.scale.movedCounts)
        try run.zone(named: zoneName, data.zone)
        let server = try run.server()
        let zone = ZoneAddress(zoneName: zoneName)
        for top in data.tops { _ = try server.share(data.zone.record(top.root), in: zone, with: []) }

        func move(_ index: Int, toFolder folder: Int) throws {
            let parent = data.zone.names[data.folders[folder]]
            try server.move(data.zone.names[index], data.zone.content(of: index).type, below: parent, in: zone)
        }
        for top in data.tops {
            try move(top.index, toFolder: 1)
            try move(top.index, toFolder: 0)
        }
        let costs = try data.tops.map { top in
            let cost = try run.stratus.cost { try move(top.index, toFolder: 1) }.cost
            try move(top.index, toFolder: 0)
            return cost
        }
        let medians = try Stopwatch.medians(
            data.tops.map { top in
                {
                    let seconds = try Stopwatch.seconds { try move(top.index, toFolder: 1) }
                    try move(top.index, toFolder: 0)
                    return seconds
                }
            })
        let depth = Double(data.zone.forest.depths[data.tops[0].index])
        for (top, cost) in zip(data.tops, costs) {
            let bound = 2 * depth + constantCount
            run.add(
                Figure(
                    name, "subtree of \(Figure.text(Double(top.size)))", count: Double(cost.entriesWritten), "entries",
                    .atMost(bound)))
        }
        let reads = costs.map(\.reads)
        let entries = costs.map(\.entriesWritten)
        run.add(Figure(name, "entries, most minus least", count: Double.spread(entries), "entries", .atMost(0)))
        run.add(Figure(name, "reads, most minus least", count: Double.spread(reads), "reads", .atMost(0)))
        run.add(
            Figure(
                name, "time, largest against smallest", medians[medians.count - 1] * 1e6, "µs", against: "smallest",
                medians[0] * 1e6, ratio: .ourShareOfTheirs, .none))
        let sizes = data.tops.map { Double($0.size) }
        run.add(
            Plot(
                workload: name, title: title, xLabel: "records in the subtree", yLabel: "µs; number",
                series: [
                    Series("time, µs", zip(sizes, medians.map { $0 * 1e6 }).map { ($0, $1) }),
                    Series("reads", zip(sizes, reads.map(Double.init)).map { ($0, $1) }),
                    Series("entries", zip(sizes, entries.map(Double.init)).map { ($0, $1) }),
                ]))
    }
}
