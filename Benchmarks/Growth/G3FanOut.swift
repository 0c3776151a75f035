// G3: children of one record, 1 to a million, in a folder that grows.

import GRDB
import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import StratusWorkloads

enum FanOutGrowth: Workload {
    static let name = "G3"
    static let title = "growth: children of one record"
    /// SQLite's side ends here: loading it takes most of the time.
    private static let peerCount = 100_000
    private static let note = """
        No pass looks at the other children: a child is an entry under its parent, and a record knows of children only whether \
        there are any. All of it is flat; the first hundred children are fewer where there are not a hundred.
        """

    static func run(_ run: BenchmarkRun) throws {
        let stores = try GrowthStores(run, "fan-out")
        let largest = run.scale.isQuick ? 10_000 : 1_000_000
        let data = FanOutZoneData(childCount: largest)
        let server = try stores.server()
        let numbers = NumberSource()
        var save = GrowthCurve("save one more, durable", .flat(slack: 1))
        var share = GrowthCurve("the share of a child, again", .flat())
        var list = GrowthCurve("list the first hundred", .linear(each: 0, constant: 4))
        var shareFolder = GrowthCurve("share the folder", .flat())
        try stores.stratus.save([data.folder], in: stores.zone)
        try stores.sqlite.save([SQLitePeer.arguments(data.folder, data.zone.content(of: 0), change: 0)])
        var loaded = 0
        for count in PowersOfTen.from(1, upTo: largest) {
            let hasPeer = count <= peerCount
            try stores.load(data.zone, loaded + 1..<count + 1, withPeer: hasPeer)
            loaded = count
            let folder = data.folder.name
            try save.measure(
                count, on: stores.stratus,
                peer: hasPeer ? { try stores.saveInPeer(numbers.next(), below: folder) } : nil,
                { try stores.save(numbers.next(), below: folder) })
            try stores.takeAway()
            let child = [data.zone.names[count]]
            try share.measure(count, on: stores.stratus) {
                try StratusSide.askShares(stores.stratus.engine, child, in: stores.zone)
            }
            try list.measure(
                count, on: stores.stratus,
                peer: hasPeer ? { _ = try stores.sqlite.read { try $0.children(of: folder, limit: 100) } } : nil,
                {
                    _ = try stores.stratus.engine.read {
                        try $0.existingZone(stores.zone).children(of: folder, limit: 100)
                    }
                })
            try DepthGrowth.measureShare(&shareFolder, count, stores, server, data.folder)
        }
        run.add([save, share, list, shareFolder], name, title, per: "children", note: note)
        try stores.remove()
    }
}

/// A folder and its children.
struct FanOutZoneData {
    /// The first of its records is the folder.
    let zone: ZoneData
    /// Of a type that no other has: a server in development indexes the fields of types that it sees, and sees it
    /// shared.
    let folder: StratusModel.Record

    init(childCount: Int) {
        var forest = Forest()
        let folder = forest.append()
        for _ in 0..<childCount { forest.append(below: folder) }
        zone = ZoneData(seed: 32, forest)
        let first = zone.record(0)
        self.folder = StratusModel.Record(name: first.name, type: "Cabinet", fields: first.fields)
    }
}

extension SQLitePeer.Snapshot {
    /// The first children of a record, by name.
    func children(of parent: RecordName, limit: Int, zone: Int = SQLitePeer.mainZone) throws -> [String] {
        let statement = try database.cachedStatement(
            sql: "SELECT name FROM records WHERE zone = ?1 AND parent = ?2 ORDER BY name LIMIT ?3")
        statement.setUncheckedArguments([zone, parent.text, limit])
        return try String.fetchAll(statement)
    }
}
