// G7: zones of a database, 1 to 10,000.

import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import StratusWorkloads

enum ZoneGrowth: Workload {
    static let name = "G7"
    static let title = "growth: zones of a database"
    private static let batchCount = 400
    private static let note = """
        Naming all zones gives each of them, and takes as long as there are zones. Making one counts those there are, in one scan, \
        because a database may have a thousand, as in CloudKit; here it may have more. Everything else asks for one zone, or for \
        what changed since a token.
        """

    static func run(_ run: BenchmarkRun) throws {
        let stores = try GrowthStores(run, "zones")
        var options = CloudOptions()
        options.zoneCount = 20_000
        let server = try stores.server(options: options)
        let service = server.service
        var create = GrowthCurve("make one more, durable", .flat(slack: 1))
        var save = GrowthCurve("save into one, durable", .flat(slack: 2))
        // The measuring makes some zones of its own.
        var list = GrowthCurve("list all", .linear(each: 3, constant: 64))
        var changes = GrowthCurve("changes since a token", .flat(slack: 2))
        var made = 0
        var extra = 0
        var number = 0
        for count in PowersOfTen.from(1, upTo: run.scale.isQuick ? 1_000 : 10_000) {
            for start in stride(from: made, to: count, by: batchCount) {
                try makeZones((start..<min(start + batchCount, count)).map { "zone \($0)" }, server)
            }
            made = count
            try create.measure(count, on: stores.stratus) {
                extra += 1
                try makeZones(["extra \(extra)"], server)
            }
            let zone = ZoneAddress(zoneName: "zone \(count / 2)")
            try save.measure(count, on: stores.stratus) {
                number += 1
                let record = RecordAddress(recordName: "note \(number)", zone: zone)
                let request = ModifyRecordsRequest(saves: [RecordSave(address: record, type: "Note")])
                _ = try service.modifyRecords(request, as: server.owner, in: .private).saves[0].get()
            }
            try list.measure(count, on: stores.stratus) {
                guard try service.fetchZones(.all, as: server.owner, in: .private).count > count else {
                    throw PeerError("Zones are missing.")
                }
            }
            let token = try databaseToken(server)
            try changes.measure(count, on: stores.stratus) {
                _ = try service.fetchDatabaseChanges(
                    FetchDatabaseChangesRequest(token: token), as: server.owner, in: .private)
            }
        }
        run.add([create, save, list, changes], name, title, per: "zones", note: note)
        try stores.remove()
    }

    private static func makeZones(_ names: [String], _ server: ServerSide) throws {
        let request = ModifyZonesRequest(saves: names.map { ClientZone(address: ZoneAddress(zoneName: $0)) })
        for save in try server.service.modifyZones(request, as: server.owner, in: .private).saves { _ = try save.get() }
    }

    /// The token behind everything that has happened.
    private static func databaseToken(_ server: ServerSide) throws -> [UInt8]? {
        var token: [UInt8]?
        while true {
            let page = try server.service.fetchDatabaseChanges(
                FetchDatabaseChangesRequest(token: token), as: server.owner, in: .private)
            token = page.token
            if !page.isMoreComing { return token }
        }
    }
}
