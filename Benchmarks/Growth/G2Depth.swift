// G2: depth 1 to 10,000, in one chain. Its top is shared; beside it stands a chain that is not.

import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import StratusWorkloads

enum DepthGrowth: Workload {
    static let name = "G2"
    static let title = "growth: depth"
    private static let depths = [1, 10, 100, 1_000, 9_999]
    private static let note = """
        The walk up to the root is what these questions are: one read a level where nothing is kept, and as much for the check \
        that nothing above a new share is shared, which also counts the share for each record above it. With the ancestor cache \
        neither reads anything; the walk goes on in memory.
        """

    static func run(_ run: BenchmarkRun) throws {
        let stores = try GrowthStores(run, "depth")
        var forest = Forest()
        // The deepest record that may be saved lies 10,000 levels below its top.
        let shared = Int(forest.appendChain(10_000))
        let free = Int(forest.appendChain(10_000))
        let data = ZoneData(seed: 31, roots: [shared], forest)
        try stores.load(data, 0..<data.count)
        let numbers = NumberSource()
        var uncached = GrowthCurve("the share of one, no cache", .linear(each: 1, constant: 2))
        var cached = GrowthCurve("the share of one, again", .flat())
        var save = GrowthCurve("save one, durable", .flat(slack: 2))
        var share = GrowthCurve("share one", .linear(each: 2, constant: 40))
        for depth in depths {
            let name = [data.names[shared + depth]]
            try uncached.measure(
                depth, on: stores.stratus,
                peer: { _ = try stores.sqlite.read { try $0.share(of: name) } },
                { try StratusSide.askShares(stores.stratus.uncached, name, in: stores.zone) })
            try cached.measure(depth, on: stores.stratus) {
                try StratusSide.askShares(stores.stratus.engine, name, in: stores.zone)
            }
            let parent = data.names[shared + depth - 1]
            try save.measure(
                depth, on: stores.stratus,
                peer: { try stores.saveInPeer(numbers.next(), below: parent) },
                { try stores.save(numbers.next(), below: parent) })
        }
        // Afterwards, because a server in development indexes every field of the types that it has seen.
        let server = try stores.server()
        for depth in depths { try measureShare(&share, depth, stores, server, data.record(free + depth)) }
        run.add([uncached, cached, save, share], name, title, per: "depth", note: note)
        try stores.remove()
    }

    /// The share is stopped after each pass, outside of its time.
    static func measureShare(
        _ curve: inout GrowthCurve, _ depth: Int, _ stores: GrowthStores, _ server: ServerSide, _ root: Record
    ) throws {
        var seconds: [Double] = []
        var cost = StoreCost()
        for _ in 0...Stopwatch.roundCount {
            cost = try stores.stratus.cost {
                seconds.append(
                    try Stopwatch.seconds { _ = try server.share(root, in: stores.address, with: []) })
            }.cost
            try server.stopSharing(root, in: stores.address)
        }
        curve.add(depth, Stopwatch.median(Array(seconds.dropFirst())), cost)
    }
}
