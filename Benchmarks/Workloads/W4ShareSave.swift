// W4: save a share on a root with 10³ … 10⁶ descendants: root and share in one request of the server's, with the check
// that nothing above or below is shared. What it costs is counted, and must not depend on what lies below.

import Foundation
import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import StratusWorkloads

enum ShareSaveWorkload: Workload {
    static let name = "W4"
    static let title = "save a share on a root with descendants"
    /// Reads and entries that do not depend on the depth.
    private static let constantCount = 24.0

    static func run(_ run: BenchmarkRun) throws {
        let server = try run.server()
        var subjects: [Subject] = []
        for count in run.scale.smallerCounts {
            let data = TreeZoneData(count: count)
            let name = "tree-\(count)"
            try run.zone(named: name, data.zone)
            subjects.append(
                Subject(zone: ZoneAddress(zoneName: name), count: count, root: data.zone.record(data.top)))
        }
        subjects.append(
            Subject(
                zone: ZoneAddress(zoneName: StratusSide.mainZone.name.text), count: run.main.zone.count,
                root: run.main.zone.record(run.main.top)))

        for subject in subjects {
            _ = try server.share(subject.root, in: subject.zone, with: [])
            try server.stopSharing(subject.root, in: subject.zone)
        }
        let costs = try subjects.map { subject in
            let cost = try run.stratus.cost { _ = try server.share(subject.root, in: subject.zone, with: []) }.cost
            try server.stopSharing(subject.root, in: subject.zone)
            return cost
        }
        let medians = try Stopwatch.medians(
            subjects.map { subject in
                {
                    let seconds = try Stopwatch.seconds {
                        _ = try server.share(subject.root, in: subject.zone, with: [])
                    }
                    try server.stopSharing(subject.root, in: subject.zone)
                    return seconds
                }
            })
        let bound = Double(TreeZoneData.topDepth) + constantCount
        for (subject, cost) in zip(subjects, costs) {
            let size = "root of \(Figure.text(Double(subject.count)))"
            run.add(Figure(name, size, count: Double(cost.reads), "reads", .atMost(bound)))
            run.add(Figure(name, size, count: Double(cost.entriesWritten), "entries", .atMost(bound)))
        }
        let reads = costs.map(\.reads)
        let entries = costs.map(\.entriesWritten)
        run.add(Figure(name, "reads, most minus least", count: Double.spread(reads), "reads", .atMost(0)))
        run.add(Figure(name, "entries, most minus least", count: Double.spread(entries), "entries", .atMost(0)))
        run.add(
            Figure(
                name, "time, largest against smallest", medians[medians.count - 1] * 1e6, "µs", against: "smallest",
                medians[0] * 1e6, ratio: .ourShareOfTheirs, .none))
        let sizes = subjects.map { Double($0.count) }
        run.add(
            Plot(
                workload: name, title: title, xLabel: "records below", yLabel: "µs; number",
                series: [
                    Series("time, µs", zip(sizes, medians.map { $0 * 1e6 }).map { ($0, $1) }),
                    Series("reads", zip(sizes, reads.map(Double.init)).map { ($0, $1) }),
                    Series("entries", zip(sizes, entries.map(Double.init)).map { ($0, $1) }),
                ]))
    }

    /// A tree whose top is shared and unshared.
    private struct Subject {
        let zone: ZoneAddress
        let count: Int
        let root: Record
    }
}

extension Double {
    /// The largest of some counts minus the smallest.
    static func spread(_ counts: [Int]) -> Double { Double((counts.max() ?? 0) - (counts.min() ?? 0)) }
}
