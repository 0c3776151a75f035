// What the workloads on PostgreSQL share: one data set in a store on a server, in a store of files, and in tables of
// one's own on the same server. `scripts/postgres run` starts the server; its commits are durable, as the files' are.

import Foundation
import StratusCloud
import StratusLevelDB
import StratusModel
import StratusPostgres
import StratusRecords
import StratusStore
import StratusWorkloads

/// A server over a store of either engine.
final class ServedStore: Sendable {
    let store: any OrderedStore
    let engine: RecordEngine
    let server: ServerSide

    init(_ store: any OrderedStore) throws {
        self.store = store
        engine = try RecordEngine(store: store, incarnation: UUID())
        server = try ServerSide(engine: engine)
    }

    /// A store on a server as a host opens it.
    convenience init(url: String) throws {
        var options = PostgresOptions { .random(in: 0 ... .max) }
        options.announcedRanges = [PostgresBench.announced]
        let check = FormatCheck(key: StoreFormat.key, verify: StoreFormat.verify)
        try self.init(PostgresStore.open(url: url, options: options, check: check).store)
    }

    /// What one request took.
    func trips(_ request: () throws -> Void) rethrows -> Int {
        let before = store.statistics.trips
        try request()
        return store.statistics.trips - before
    }
}

/// The stores and tables of one run.
final class PostgresBench: Sendable {
    /// The address that `scripts/postgres run` sets.
    static let variable = "STRATUS_POSTGRES_URL"
    static var isServerThere: Bool { serverAddress != nil }
    private static var serverAddress: String? { ProcessInfo.processInfo.environment[variable] }
    static let zone = ZoneAddress(zoneName: "main")
    static let zoneID = StratusSide.zone("main")

    let data: ZoneData
    /// The root of what is shared with the guest: a tenth of the records.
    let root: Int
    let serverURL: String
    private let storeURL: String
    let postgres: ServedStore
    let levelDB: ServedStore
    let tables: TablesPeer
    let guest: Guest
    let numbers = NumberSource()

    init(_ run: BenchmarkRun) throws {
        guard let url = Self.serverAddress else {
            throw PeerError("There is no server: run this by scripts/bench, or set \(Self.variable).")
        }
        serverURL = url
        storeURL = Self.schemaURL(url)
        let tree = TreeZoneData(count: run.scale.postgresCount)
        data = tree.zone
        let counts = data.forest.descendantCounts()
        let wanted = data.count / 10
        root = counts.indices.min { abs(counts[$0] - wanted) < abs(counts[$1] - wanted) } ?? tree.top
        postgres = try ServedStore(url: storeURL)
        levelDB = try ServedStore(
            LevelDBStore.open(
                at: run.folder + "/beside-postgres", options: LevelDBOptions(formatVersion: StoreFormat.number)))
        tables = try TablesPeer(url: url)
        guest = try postgres.server.guest("reader")
        try load()
        try share()
    }

    /// The address of a store of its own on the server.
    static func schemaURL(_ url: String) -> String { "\(url)?stratus_schema=s_\(UInt64.random(in: 0 ... .max))" }

    func remove() throws {
        postgres.store.close()
        levelDB.store.close()
        try PostgresTestHooks.removeSchema(of: storeURL)
        try tables.remove()
    }

    /// The request that saves some records of the data set.
    func saves(_ indices: some Sequence<Int>) -> [RecordSave] {
        indices.map { index in
            ServerSide.save(data.names[index], data.content(of: index), below: data.parent(of: index), in: Self.zone)
        }
    }

    /// The same for the tables.
    func rows(_ indices: some Sequence<Int>) -> [TablesRow] {
        indices.map { TablesRow(name: data.names[$0], content: data.content(of: $0), parent: data.parent(of: $0)) }
    }

    private func load() throws {
        Progress.say("    loading \(data.count) records three times")
        for side in [postgres, levelDB] {
            try side.server.createZone(Self.zone)
            for batch in RecordBatches.indices(of: data) { try side.server.save(saves(batch)) }
        }
        let session = try tables.session()
        try tables.createZone(TablesPeer.mainZone, session)
        for batch in RecordBatches.indices(of: data) { try TablesPeer.save(rows(batch), session) }
    }

    private func share() throws {
        let url = try postgres.server.share(data.record(root), in: Self.zone, with: [guest])
        try postgres.server.accept(url, by: guest)
        try TablesPeer.share(data.names[root], with: guest.account.userName.text, tables.session())
    }

    /// Lets the planner know all tables, and leaves no work of the load to later measurements.
    func settle() throws {
        let session = try SQLSession(url: serverURL, schema: storeSchema)
        try session.run("VACUUM (ANALYZE) stratus_entries")
        try session.run("CHECKPOINT")
        try tables.settle()
        try TablesPeer.checkPlans(tables.session())
    }

    /// Another host of the store.
    func host() throws -> ServedStore { try ServedStore(url: storeURL) }

    /// The same in a process of its own.
    func hostProcess(first: Int) throws -> HostProcess { try HostProcess(url: storeURL, first: first) }

    /// A range that holds nothing of a store.
    static let announced = KeyRange(from: [0xFE], upTo: [0xFF])

    /// The schema of the store.
    var storeSchema: String { String(storeURL.split(separator: "=").last ?? "") }
}

extension Scale {
    /// Records of the workloads on PostgreSQL.
    var postgresCount: Int { isQuick ? 10_000 : 50_000 }
}

/// A workload that needs a server, and nothing of the main zone.
protocol PostgresWorkload: Workload {
    static func run(_ run: BenchmarkRun, _ bench: PostgresBench) throws
}

extension PostgresWorkload {
    static var needsMainZone: Bool { false }
    static func run(_ run: BenchmarkRun) throws { try self.run(run, run.postgres()) }
}
