// W8: a participant's feed. A tenth of a large zone is shared and accepted; then many records beside it change, which
// the participant does not see. Accepting writes the same whatever is shared; a page costs what it returns, and at most
// one look at each change since the token.
//
// W8a: what the unseen changes cost with a small ancestor cache, after changes in the order of the load and in random
// order. W8b: what a record of the first feed costs. Both beside raw gets of the same records.

import Foundation
import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusWorkloads

enum SharedFeedWorkload: Workload {
    static let name = "W8"
    static let title = "a participant's feed"
    static let partNames = ["W8a", "W8b"]
    /// Reads of a page beside what it tells and looks at.
    private static let pageConstant = 64.0
    private static let roundCount = 9
    private static let toldPerPage = 1_000

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
        let told = try compare(run, server, zone, after: nil, guest, Array(run.main.subtree), perPage: toldPerPage)
        run.add(
            Figure(
                partNames[1], "a record of the first feed", told.ours, "µs", against: "raw gets", told.raw,
                ratio: .ourShareOfTheirs, .atMost(1.4)))
        for (reference, time) in zip(run.references, told.references) {
            run.add(
                Figure(
                    partNames[1], "a record of the first feed", told.ours, "µs", against: "gets in \(reference.name)",
                    time, ratio: .ourShareOfTheirs, .none))
        }
        let first = try read(run, server, zone, after: nil, guest, changeCount: 0, "after accepting")
        let others = run.main.outsideSubtree
        try change(others, run)
        try run.waitForRest()
        try compareUnseen(run, zone, after: first.token, guest, others, "in the order of the load", .atMost(0.3))
        let second = try read(
            run, server, zone, after: first.token, guest, changeCount: others.count,
            "\(Figure.text(Double(others.count))) unseen changes")
        guard second.toldCount == 0 else { throw PeerError("A participant gets what they do not see.") }
        var numbers = SeededNumbers(seed: 8)
        let shuffled = others.shuffled(using: &numbers)
        try change(shuffled, run)
        try run.waitForRest()
        try compareUnseen(run, zone, after: second.token, guest, shuffled, "in random order", .none)
    }

    /// Median microseconds: of a record that pages of a feed tell of or pass, and of gets of these records.
    private struct RecordTimes {
        var ours: Double
        var raw: Double
        var references: [Double]
    }

    /// Compares pages of a feed with gets of the records that they tell of or pass. Each round reads other ones.
    private static func compare(
        _ run: BenchmarkRun, _ server: ServerSide, _ zone: ZoneAddress, after token: [UInt8]?, _ guest: Guest,
        _ records: [Int], perPage: Int
    ) throws -> RecordTimes {
        // Rounds of whole pages, with the round that does not count.
        let pageCount = records.count / perPage
        let rounds = max(1, min(roundCount, pageCount - 1))
        let pagesPerRound = max(1, pageCount / (rounds + 1))
        let perRound = min(pagesPerRound * perPage, records.count / (rounds + 1))
        let zoneKeys = try run.stratus.engine.read { try $0.existingZone(StratusSide.mainZone).keys }
        let keys = records.map { zoneKeys.record(run.main.zone.names[$0]) }
        var token = token
        func readPages() throws -> Double {
            var count = 0
            let seconds = try Stopwatch.seconds {
                for _ in 0..<pagesPerRound {
                    let request = FetchZoneChangesRequest(zone: zone, token: token, limit: toldPerPage)
                    let page = try server.service.fetchZoneChanges(request, as: guest.caller, in: .shared)
                    for record in page.changed { try ServerSide.takeOut(record) }
                    token = page.token
                    count += page.lookCount
                }
            }
            guard count > 0 else { throw PeerError("A round has read nothing.") }
            return seconds / Double(count)
        }
        let stores = [run.raw] + run.references.map(\.store)
        var positions = stores.map { _ in 0 }
        let gets = stores.enumerated().map { index, store in
            {
                let page = Array(keys[positions[index]..<positions[index] + perRound])
                positions[index] += perRound
                return try Stopwatch.seconds { _ = try store.byteCount(of: page) } / Double(perRound)
            }
        }
        let medians = try Stopwatch.medians(rounds: rounds, [readPages] + gets).map { $0 * 1e6 }
        return RecordTimes(ours: medians[0], raw: medians[1], references: Array(medians.dropFirst(2)))
    }

    /// W8a: the time of a change that the guest does not see, beside a raw get of the record; and what the engine looks
    /// up, beside the different parents of a page.
    private static func compareUnseen(
        _ run: BenchmarkRun, _ zone: ZoneAddress, after token: [UInt8]?, _ guest: Guest, _ changed: [Int],
        _ order: String, _ bar: Bar
    ) throws {
        let server = try ServerSide(engine: run.stratus.reader(ancestorCacheByteCount: 1 << 20))
        var times = RecordTimes(ours: 0, raw: 0, references: [])
        let engineLookups = try run.stratus.cost {
            times = try compare(run, server, zone, after: token, guest, changed, perPage: CloudOptions().feedLookCount)
        }.engineLookups
        run.add(
            Figure(
                partNames[0], "an unseen change \(order), ancestor cache of 1 MiB", times.ours, "µs",
                against: "raw gets", times.raw, ratio: .ourShareOfTheirs, bar))
        let perPage = CloudOptions().feedLookCount
        let bound = stride(from: 0, to: changed.count, by: perPage).reduce(0) { sum, start in
            let page = changed[start..<min(start + perPage, changed.count)]
            return sum + Set(page.map { run.main.zone.forest.parents[$0] }).count + Int(pageConstant)
        }
        run.add(
            Figure(
                partNames[0], "look-ups \(order), of one for each parent of a page",
                count: Double(engineLookups) / Double(bound), "of the bound", .atMost(1)))
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

    /// Saves records again, in this order, in our store and in the ones with the same entries.
    private static func change(_ records: [Int], _ run: BenchmarkRun) throws {
        for range in RecordBatches.indices(0..<records.count) {
            let batch = records[range].map { run.main.zone.record($0) }
            try run.writeRaw(try run.stratus.save(batch, in: StratusSide.mainZone).mutations.pairs)
        }
    }
}
