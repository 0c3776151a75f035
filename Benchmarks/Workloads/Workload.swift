// What every workload has: a name, and the stores of the run.

import Foundation
import StratusLevelDB
import StratusModel
import StratusRecords
import StratusWorkloads

/// How large a run is.
struct Scale: Sendable {
    /// Records of the main zone.
    var recordCount = 1_000_000
    var isQuick: Bool { recordCount < 1_000_000 }

    /// Sizes of the smaller zones, and of what the main zone is compared with.
    var smallerCounts: [Int] {
        [1_000, 10_000, 100_000, 1_000_000].filter { $0 < recordCount }
    }

    /// Sizes of the subtrees that are moved.
    var movedCounts: [Int] {
        isQuick ? [100, 1_000, 10_000] : [100, 1_000, 10_000, 100_000]
    }
}

/// The stores of one run, and what has been measured so far.
final class BenchmarkRun {
    let scale: Scale
    let folder: String
    let options: LevelDBOptions
    let pageByteCount: Int
    /// Made when it is first read: not all workloads need it.
    private(set) lazy var main = MainZoneData(count: scale.recordCount)
    var stratus: StratusSide
    var sqlite: SQLitePeer
    var sqliteInC: SQLiteInCPeer
    var raw: RawLevelDBPeer
    /// The same entries, but the log of a large batch is synced as Stratus syncs it.
    let rawBeside: RawLevelDBPeer
    /// References without bars. Their loads take long, so they take part on request only.
    private(set) var references: [(name: String, store: any ReferencePeer)] = []
    private let hasReferences: Bool
    private(set) var figures: [Figure] = []
    private(set) var plots: [Plot] = []
    /// The server over our own store, made when a workload first asks for it.
    private var madeServer: ServerSide?
    /// The stores on a server and their peers, made when a workload first asks for them.
    private var madePostgres: PostgresBench?
    /// The store behind the face and its peer, made when a workload first asks for them.
    private var madeFace: FaceBench?
    /// The smaller zones that have been loaded, by name.
    private var loadedZones: Set<String> = []

    init(
        scale: Scale, folder: String, options: LevelDBOptions = LevelDBOptions(), pageByteCount: Int = 4_096,
        hasReferences: Bool = false
    ) throws {
        self.scale = scale
        self.folder = folder
        self.options = options
        self.pageByteCount = pageByteCount
        stratus = try StratusSide(at: folder + "/stratus", options: options)
        raw = try RawLevelDBPeer(path: folder + "/leveldb", like: options)
        sqlite = try SQLitePeer(
            path: folder + "/sqlite.db",
            cacheByteCount: SQLitePeer.sharedCacheByteCount,
            pageByteCount: pageByteCount)
        sqliteInC = try SQLiteInCPeer(path: folder + "/sqlite-c.db", pageByteCount: pageByteCount)
        try sqliteInC.checkPlans(withSizes: false)
        rawBeside = try RawLevelDBPeer(path: folder + "/leveldb-beside", like: options, syncsBeside: true)
        self.hasReferences = hasReferences
        try openReferences()
    }

    func openReferences() throws {
        guard hasReferences else { return }
        references = [
            ("LMDB", try LMDBPeer(path: folder + "/lmdb")),
            ("RocksDB", try RocksDBPeer(path: folder + "/rocksdb", like: options)),
        ]
    }

    /// Writes to raw LevelDB and the references what Stratus has written.
    func writeRaw(_ mutations: [(key: [UInt8], value: [UInt8]?)]) throws {
        try raw.write(mutations)
        for reference in references { try reference.store.write(mutations) }
    }

    /// Contestants that get pages of entries, one for each reference. `pages` are those of a round.
    func referenceGets(_ keys: [[[UInt8]]], _ pages: @escaping (Int) -> Range<Int>) -> [(Int) throws -> Void] {
        references.map { reference in
            { round in for page in pages(round) { _ = try reference.store.byteCount(of: keys[page]) } }
        }
    }

    /// Waits until no log-structured store compacts what was written before, so that readers are compared and not
    /// compactions: until no compaction has ended for three seconds. SQLite's log is in its file then, from which it
    /// reads faster.
    func waitForRest() throws {
        try sqlite.settle()
        try sqliteInC.settle()
        var last: [String] = []
        var restCount = 0
        while restCount < 30 {
            let now =
                [try stratus.store.figures().statisticsText, raw.statisticsText, rawBeside.statisticsText]
                + references.map(\.store.statisticsText)
            restCount = now == last ? restCount + 1 : 0
            last = now
            usleep(100_000)
        }
    }

    func add(_ figure: Figure) {
        figures.append(figure)
        Progress.say("    \(figure.line)")
    }

    func add(_ plot: Plot) { plots.append(plot) }

    /// The server: one for all workloads, because its identifiers must never repeat.
    func server() throws -> ServerSide {
        if let madeServer { return madeServer }
        let server = try ServerSide(stratus)
        madeServer = server
        return server
    }

    /// What the workloads on PostgreSQL share.
    func postgres() throws -> PostgresBench {
        if let madePostgres { return madePostgres }
        let bench = try PostgresBench(self)
        madePostgres = bench
        return bench
    }

    /// Removes what the run has left on the server.
    func removePostgres() throws {
        try madePostgres?.remove()
        madePostgres = nil
    }

    /// What the workloads on the face share.
    func face() throws -> FaceBench {
        if let madeFace { return madeFace }
        let bench = try FaceBench(self)
        madeFace = bench
        return bench
    }

    func closeFace() throws {
        try madeFace?.close()
        madeFace = nil
    }

    /// Loads a smaller zone once.
    func zone(named name: String, _ data: @autoclosure () -> ZoneData) throws {
        guard loadedZones.insert(name).inserted else { return }
        let zone = data()
        Progress.say("    loading \(zone.count) records into \(name)")
        try stratus.load(zone, into: StratusSide.zone(.init(name)))
    }
}

/// A row of the table of workloads.
protocol Workload: Sendable {
    static var name: String { get }
    static var title: String { get }
    /// Names of figures that it also measures, because they need what it has done.
    static var partNames: [String] { get }
    /// Whether it reads what W1 loads.
    static var needsMainZone: Bool { get }
    static func run(_ run: BenchmarkRun) throws
}

extension Workload {
    static var partNames: [String] { [] }
    static var needsMainZone: Bool { true }
}

/// All workloads, in the order in which they run. The growth of records asks stores of all sizes alike, so it stands
/// before servers have made indexes for queries in one of them. The last ones of the main zone close the stores and
/// delete the data; those on the face and on PostgreSQL have their own.
enum Workloads {
    static let all: [any Workload.Type] = [
        LoadWorkload.self, SpaceWorkload.self, RecordGrowth.self, FirstFetchWorkload.self, FetchWorkload.self,
        ShareLookupWorkload.self, SubtreeWorkload.self, FirstSyncWorkload.self, ShareSaveWorkload.self,
        MoveWorkload.self, ZoneFeedWorkload.self, NewChangesWorkload.self,
        SharedFeedWorkload.self, PermissionWorkload.self, ConcurrentSaveWorkload.self, OperationWorkload.self,
        IndexBuildingWorkload.self, QueryPageWorkload.self, NewQueryPageWorkload.self, RepeatedQueryPageWorkload.self,
        WritingWorkload.self,
        MixedLoadWorkload.self, TwoCoresWorkload.self,
        DepthGrowth.self, FanOutGrowth.self, ParticipantGrowth.self, ShareGrowth.self, AccountGrowth.self,
        ZoneGrowth.self, OpenWorkload.self, ColdWorkload.self, ZoneDeletionWorkload.self,
        FaceLoadWorkload.self, FaceFetchWorkload.self, FaceSaveWorkload.self, FaceEditWorkload.self,
        FaceFeedWorkload.self, FaceQueryWorkload.self,
        PostgresSpace.self, SlowNetwork.self, CallersWorkload.self, TablesSaves.self,
        TablesFeeds.self, TablesShares.self, HostsWorkload.self,
    ]
}

/// What a run says while it runs.
enum Progress {
    static func say(_ text: String) {
        FileHandle.standardError.write(Data((text + "\n").utf8))
    }
}

extension Figure {
    /// The row in one line.
    var line: String {
        var parts = ["\(workload) \(subject): \(Figure.text(stratus)) \(unit)"]
        if let peer, let peerValue { parts.append("\(peer) \(Figure.text(peerValue))") }
        parts.append("ratio \(Figure.text(ratio)) (\(bar))")
        if let isMet { parts.append(isMet ? "met" : "MISSED") }
        return parts.joined(separator: " · ")
    }
}
