// G5: shares in a zone, 1 to 100,000, each on a root of its own.

import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import StratusWorkloads

enum ShareGrowth: Workload {
    static let name = "G5"
    static let title = "growth: shares in a zone"
    /// Roots and their shares in one request: 400 items.
    private static let batchCount = 200
    private static let note = """
        A share is found by its secret, by its root and by its own name, never among the others; who takes part in one of them \
        looks at nothing of the rest.
        """

    static func run(_ run: BenchmarkRun) throws {
        let stores = try GrowthStores(run, "shares")
        let server = try stores.server()
        let guest = try server.guest("visitor")
        let data = RootsZoneData(count: (run.scale.isQuick ? 1_000 : 100_000) + 100)
        var share = GrowthCurve("share one more", .flat())
        var look = GrowthCurve("look at a share by its URL", .flat())
        var accept = GrowthCurve("accept one", .flat(slack: 1))
        var member = GrowthCurve("the share of a record, again", .flat())
        var feed = GrowthCurve("the feed of who sees one share", .flat(slack: 2))
        var shared = 0
        var next = data.zone.count - 100
        for count in PowersOfTen.from(1, upTo: data.zone.count - 100) {
            try shareRoots(shared..<count, data, stores, server)
            shared = count
            try DepthGrowth.measureShare(&share, count, stores, server, data.zone.record(next))
            let root = data.zone.record(next)
            next += 1
            let url = try server.share(root, in: stores.address, with: [guest])
            try look.measure(count, on: stores.stratus) {
                _ = try server.service.shareMetadata(ShareMetadataRequest(urls: [url]), as: guest.caller)[0].get()
            }
            var seconds = 0.0
            let cost = try stores.stratus.cost {
                seconds = try Stopwatch.seconds { try server.accept(url, by: guest) }
            }.cost
            accept.add(count, seconds, cost)
            let name = [root.name]
            try member.measure(count, on: stores.stratus) {
                try StratusSide.askShares(stores.stratus.engine, name, in: stores.zone)
            }
            let zone = ServerSide.shared(stores.zone)
            let token = try server.readFeed(of: zone, as: guest.caller).token
            try feed.measure(count, on: stores.stratus) {
                _ = try server.readFeed(of: zone, after: token, as: guest.caller)
            }
            try server.stopSharing(root, in: stores.address)
        }
        run.add([share, look, accept, member, feed], name, title, per: "shares", note: note)
        try stores.remove()
    }

    /// Saves new roots with their shares.
    private static func shareRoots(
        _ range: Range<Int>, _ data: RootsZoneData, _ stores: GrowthStores, _ server: ServerSide
    ) throws {
        for start in stride(from: range.lowerBound, to: range.upperBound, by: batchCount) {
            var saves: [RecordSave] = []
            for index in start..<min(start + batchCount, range.upperBound) {
                saves += ServerSide.sharing(data.zone.record(index), in: stores.address).saves
            }
            let request = ModifyRecordsRequest(saves: saves, policy: .changedKeys)
            for save in try server.service.modifyRecords(request, as: server.owner, in: .private).saves {
                _ = try save.get()
            }
        }
    }
}

/// Records without parents.
struct RootsZoneData {
    let zone: ZoneData

    init(count: Int) {
        var forest = Forest()
        for _ in 0..<count { forest.append() }
        zone = ZoneData(seed: 33, forest)
    }
}
