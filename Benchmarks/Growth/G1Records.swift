// G1: records of a store, 10³ to as many as the run has. What a small question costs must not depend on how many there
// are.

import Foundation
import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import StratusWorkloads

enum RecordGrowth: Workload {
    static let name = "G1"
    static let title = "growth: records of a store"
    private static let note = """
        A store of more records has more levels, and no longer fits into the block cache from 10⁵ on: what is asked at random for \
        the first time costs more block reads then, in LevelDB as in SQLite. What is kept (*again*) and the counts are flat. \
        Opening reads the manifest and replays the log, of two write buffers at most.
        """

    static func run(_ run: BenchmarkRun) throws {
        var curves = Curves()
        for count in run.scale.smallerCounts {
            let stores = try GrowthStores(run, "records-\(count)")
            let data = TreeZoneData(count: count)
            try stores.load(data.zone, 0..<count)
            try curves.measure(count, stores, data.zone)
            try stores.remove()
        }
        let main = try GrowthStores(copying: run, "records-\(run.main.zone.count)")
        try curves.measure(run.main.zone.count, main, run.main.zone)
        try main.remove()
        run.add(curves.all, name, title, per: "records", note: note)
    }

    /// What is asked of every store.
    private struct Curves {
        var open = GrowthCurve("open", .free)
        var first = GrowthCurve("fetch one for the first time", .flat())
        var again = GrowthCurve("fetch one again", .flat())
        var share = GrowthCurve("the share of one, again", .flat())
        var save = GrowthCurve("save one, durable", .flat(slack: 2))
        var feed = GrowthCurve("a page of 200 of the feed", .flat(slack: 4))
        private let numbers = NumberSource()

        var all: [GrowthCurve] { [open, first, again, share, save, feed] }

        mutating func measure(_ count: Int, _ stores: GrowthStores, _ data: ZoneData) throws {
            var random = SeededNumbers(seed: 21)
            let names = (0..<200).map { _ in data.names[random.below(count)] }
            let distinct = Array(Set(names))
            var openings: [Double] = []
            var firsts: [Double] = []
            var peerFirsts: [Double] = []
            try stores.reopen()
            for _ in 0..<Stopwatch.roundCount {
                openings.append(try Stopwatch.seconds { try stores.reopen() })
                firsts.append(
                    try Stopwatch.seconds { try StratusSide.fetch(stores.stratus.engine, distinct, in: stores.zone) })
                let peer = try SQLitePeer(
                    path: stores.folder + "/sqlite.db", cacheByteCount: SQLitePeer.sharedCacheByteCount)
                peerFirsts.append(try Stopwatch.seconds { _ = try peer.read { try $0.fetch(distinct) } })
                try peer.close()
            }
            open.add(count, Stopwatch.median(openings), .init())
            try stores.reopen()
            let one = [distinct[0]]
            let cost = try stores.stratus.cost {
                try StratusSide.fetch(stores.stratus.engine, one, in: stores.zone)
            }.cost
            first.add(count, Stopwatch.median(firsts) / Double(distinct.count), cost)
            first.addPeer(count, Stopwatch.median(peerFirsts) / Double(distinct.count))
            try again.measure(
                count, on: stores.stratus, items: names.count,
                peer: { _ = try stores.sqlite.read { try $0.fetch(names) } },
                { try StratusSide.fetch(stores.stratus.engine, names, in: stores.zone) })
            try share.measure(
                count, on: stores.stratus, items: names.count,
                peer: { _ = try stores.sqlite.read { try $0.share(of: names) } },
                { try StratusSide.askShares(stores.stratus.engine, names, in: stores.zone) })
            let parent = data.names[0]
            let numbers = numbers
            try save.measure(
                count, on: stores.stratus,
                peer: { try stores.saveInPeer(numbers.next(), below: parent) },
                { try stores.save(numbers.next(), below: parent) })
            let server = try stores.server()
            try feed.measure(count, on: stores.stratus) {
                let request = FetchZoneChangesRequest(zone: stores.address, limit: 200)
                let page = try server.service.fetchZoneChanges(request, as: server.owner, in: .private)
                guard page.changed.count == 200 else { throw PeerError("A page has \(page.changed.count) records.") }
            }
        }
    }
}
