// W11: what the face costs. The same 400 new records, durable, in one request: by a `CKModifyRecordsOperation` that is
// added to a database and calls its blocks for every record, by the server's call below the face with what the
// operation would send, and by the record layer alone. Each contestant saves into a zone of its own of the same fill.
// Making the records is in nobody's time.

import Foundation
import StratusCloud
import StratusModel
import StratusRecords
import StratusWorkloads
import Synchronization

enum OperationWorkload: Workload {
    static let name = "W11"
    static let title = "the operation queue: 400 records"
    private static let recordCount = 400
    private static let rounds = 41

    /// Time against the records of a request.
    private static func addPlot(
        _ run: BenchmarkRun, _ numbers: NumberSource, _ contestants: [([Record]) throws -> Double]
    ) throws {
        var points: [[(x: Double, y: Double)]] = contestants.map { _ in [] }
        for count in [1, 10, 100, 400] {
            let medians = try Stopwatch.medians(
                rounds: 11,
                contestants.map { save in { try save((0..<count).map { _ in numbers.next().record }) } })
            for index in medians.indices { points[index].append((Double(count), medians[index] * 1e3)) }
        }
        run.add(
            Plot(
                workload: name, title: "one durable request", xLabel: "records in it", yLabel: "ms",
                series: zip(["operation", "below the face", "the engine's apply"], points).map { Series($0, $1) },
                note: "Few records cost a sync and a request; many cost what each of them costs."))
    }

    static func run(_ run: BenchmarkRun) throws {
        let side = try FaceSide(at: run.folder + "/face")
        defer { side.close() }
        let numbers = NumberSource()
        let contestants = [side.saveByOperation, side.saveByService, side.saveByEngine]
        var processors = contestants.map { _ in [Double]() }
        let medians = try Stopwatch.medians(
            rounds: rounds,
            contestants.indices.map { index in
                {
                    let records = (0..<recordCount).map { _ in numbers.next().record }
                    let before = ProcessorTime.ofProcess
                    let seconds = try contestants[index](records)
                    processors[index].append(ProcessorTime.ofProcess - before)
                    return seconds
                }
            })
        let times = medians.map { $0 * 1e3 }
        let subject = "400 records, one commit"
        run.add(
            Figure(
                name, subject, times[0], "ms", against: "below the face", times[1], ratio: .ourShareOfTheirs,
                .atMost(1.5)))
        run.add(
            Figure(
                name, subject, times[0], "ms", against: "the engine's apply", times[2], ratio: .ourShareOfTheirs, .none)
        )
        try addPlot(run, numbers, contestants)
        let processor = processors.map { Stopwatch.median($0) * 1e3 }
        run.add(
            Figure(
                name, "processor time of the process", processor[0], "ms", against: "below the face", processor[1],
                ratio: .ourShareOfTheirs, .none))
        run.add(
            Figure(
                name, "processor time of the process", processor[0], "ms", against: "the engine's apply", processor[2],
                ratio: .ourShareOfTheirs, .none))
    }
}
