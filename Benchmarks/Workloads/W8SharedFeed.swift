// W8: a participant's feed. A tenth of a large zone is shared and accepted; then many records beside it change, which
// the participant does not see. Accepting writes the same whatever is shared; a page costs what it returns, and at most
// one look at each change since the token.

import Foundation
import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import StratusWorkloads

enum SharedFeedWorkload: Workload {
    static let name = "W8"
    static let title = "a participant's feed"
    /// Reads of a page beside what it tells and looks at.
    private static let pageConstant = 64.0

    static func run(_ run: BenchmarkRun) throws {
        let server = try run.server()
        let small = TreeZoneData(count: 1_000)
        try run.zone(named: "tree-1000", small.zone)
        let accepted = [
            try accept(run, server, small.zone.record(small.top), in: StratusSide.zone("tree-1000"), "small"),
            try accept(run, server, run.main.zone.record(run.main.subtreeTop), in: StratusSide.mainZone, "large"),
        ]
        let entries = accepted.map(\.cost.entriesWritten)
        run.add(Figure(name, "accepting", count: Double(entries[1]), "entries", .atMost(32)))
        run.add(
            Figure(name, "accepting, most minus least", count: Double.spread(entries), "entries", .atMost(0)))

        let guest = accepted[1].guest
        try addPlot(run, server, guest)
        let zone = ServerSide.shared(StratusSide.mainZone)
        try run.waitForRest()
        let first = try read(run, server, zone, after: nil, guest, changeCount: 0, "after accepting")
        let count = try changeOthers(run)
        try run.waitForRest()
        let second = try read(
            run, server, zone, after: first.token, guest, changeCount: count,
            "\(Figure.text(Double(count))) unseen changes")
        guard second.toldCount == 0 else { throw PeerError("A participant gets what they do not see.") }
    }

    /// Time and counts against what a page tells.
    private static func addPlot(_ run: BenchmarkRun, _ server: ServerSide, _ guest: Guest) throws {
        let zone = ServerSide.shared(StratusSide.mainZone)
        var points: [[(x: Double, y: Double)]] = [[], []]
        for limit in [10, 100, 1_000] {
            let request = FetchZoneChangesRequest(zone: zone, limit: limit)
            func page() throws {
                let page = try server.service.fetchZoneChanges(request, as: guest.caller, in: .shared)
                for record in page.changed { try ServerSide.takeOut(record) }
            }
            try page()
            let cost = try run.stratus.cost(page).cost
            points[0].append((Double(limit), try Stopwatch.secondsEach(1, page) * 1e6))
            points[1].append((Double(limit), Double(cost.reads)))
        }
        run.add(
            Plot(
                workload: name, title: "a page of a participant's first feed", xLabel: "records told",
                yLabel: "µs; number", series: zip(["time, µs", "reads"], points).map { Series($0, $1) },
                note: "A read and some microseconds for each returned record, and a constant for the page."))
    }

    /// Shares a root with somebody new; returns them and what accepting cost.
    private static func accept(
        _ run: BenchmarkRun, _ server: ServerSide, _ root: Record, in zone: ZoneID, _ name: String
    ) throws -> (guest: Guest, cost: StoreCost) {
        let guest = try server.guest("reader-\(name)")
        let url = try server.share(root, in: ZoneAddress(zoneName: zone.name.text), with: [guest])
        return (guest, try run.stratus.cost { try server.accept(url, by: guest) }.cost)
    }

    private static func read(
        _ run: BenchmarkRun, _ server: ServerSide, _ zone: ZoneAddress, after token: [UInt8]?, _ guest: Guest,
        changeCount: Int, _ subject: String
    ) throws -> FeedReading {
        var reading = FeedReading(token: token)
        var seconds = 0.0
        let cost = try run.stratus.cost {
            seconds = try Stopwatch.seconds {
                reading = try server.readFeed(of: zone, after: token, as: guest.caller)
            }
        }.cost
        let told = "\(subject), \(Figure.text(Double(reading.toldCount))) told"
        let bound = Double(changeCount + reading.toldCount) + pageConstant * Double(reading.pageCount)
        run.add(Figure(name, told, count: Double(cost.reads) / bound, "of the reads it may cost", .atMost(1)))
        run.add(Figure(name, told, count: Double(cost.reads), "reads", .none))
        run.add(Figure(name, told, count: seconds * 1e3, "ms", .none))
        return reading
    }

    /// Saves everything outside the shared subtree again; returns how many records that are.
    private static func changeOthers(_ run: BenchmarkRun) throws -> Int {
        let data = run.main.zone
        let shared = run.main.subtreeTop..<run.main.subtreeTop + data.count / 10
        let others = (0..<data.count).filter { !shared.contains($0) && data.share(of: $0) == nil }
        for range in RecordBatches.indices(0..<others.count) {
            try run.stratus.save(others[range].map { data.record($0) }, in: StratusSide.mainZone)
        }
        return others.count
    }
}
