// P2: a save of 400 records where each trip takes two milliseconds longer. Both times go through the same proxy
// (`DelayLine`), so that what the proxy itself costs is in both.

import Foundation
import StratusCloud
import StratusModel
import StratusPostgres
import StratusStore
import StratusWorkloads

enum SlowNetwork: PostgresWorkload {
    static let name = "P2"
    static let title = "a save of 400 over a slow network"
    private static let delaySeconds = 0.002
    private static let roundCount = 9

    static func run(_ run: BenchmarkRun, _ bench: PostgresBench) throws {
        let line = try DelayLine(bench.serverURL)
        defer { line.stop() }
        let url = PostgresBench.schemaURL(line.url)
        let side = try ServedStore(url: url)
        defer {
            side.store.close()
            try? PostgresTestHooks.removeSchema(of: url)
        }
        try side.server.createZone(PostgresBench.zone)
        for batch in RecordBatches.indices(0..<4_000) { try side.server.save(bench.saves(batch)) }
        var trips = 0
        let medians = try Stopwatch.medians(
            rounds: roundCount,
            [0, delaySeconds].map { delay in
                {
                    line.setDelay(seconds: delay)
                    var seconds: [Double] = []
                    for _ in 0..<5 {
                        let request = (0..<RecordBatches.recordCount).map { _ in
                            let item = bench.numbers.next()
                            return ServerSide.save(
                                item.record.name, item.content, below: bench.data.names[TreeZoneData.topDepth],
                                in: PostgresBench.zone)
                        }
                        trips = try side.trips {
                            seconds.append(try Stopwatch.seconds { try side.server.save(request) })
                        }
                    }
                    return Stopwatch.median(seconds)
                }
            })
        let bound = 1.3 * medians[0] + delaySeconds * Double(trips)
        run.add(
            Figure(
                name, "2 ms a trip", medians[1] * 1e3, "ms",
                against: "1.3 × its time at 0, and 2 ms for each of \(trips) trips", bound * 1e3,
                ratio: .ourShareOfTheirs, .atMost(1)))
        run.add(Figure(name, "no delay", count: medians[0] * 1e3, "ms", .none))
        run.add(Figure(name, "a save of 400", count: Double(trips), "trips", .atMost(3)))
    }
}
