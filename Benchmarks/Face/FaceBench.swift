// What the workloads on the face share: one data set behind CloudKit's calls and in GRDB, and the requests below those
// calls. `FaceClient` makes the calls.

import Foundation
import StratusCloud
import StratusKit
import StratusLevelDB
import StratusModel
import StratusWorkloads

/// The stores of the workloads on the face.
final class FaceBench {
    static let zoneName = "main"
    static let zone = CKRecordZone.ID(zoneName: zoneName)
    static let address = ZoneAddress(zoneName: zoneName)

    let data: ZoneData
    /// Records that are not in the data set.
    let numbers = NumberSource()
    let folder: String
    private(set) var face: FaceSide
    private(set) var notes: NotesPeer
    private var isLoaded = false

    init(_ run: BenchmarkRun) throws {
        folder = run.folder + "/face-bench"
        data = TreeZoneData(count: run.scale.faceCount).zone
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        (face, notes) = try Self.open(folder)
        try face.createZone(Self.zoneName)
    }

    private static func open(_ folder: String) throws -> (FaceSide, NotesPeer) {
        (try FaceSide(at: folder + "/store"), try NotesPeer(path: folder + "/notes.db", hasFieldIndexes: true))
    }

    func close() throws {
        face.close()
        try notes.close()
    }

    var client: FaceClient { FaceClient(database: face.database, zone: Self.zone) }

    var below: BelowFace {
        BelowFace(
            service: face.service, caller: face.caller, zone: Self.address, zoneID: face.zoneID(Self.zoneName))
    }

    /// Opens the stores again, so that they have cached nothing, and waits until they rest.
    func reopen() throws {
        try notes.settle()
        try close()
        (face, notes) = try Self.open(folder)
        ProcessRest.wait()
    }

    // MARK: Loading

    /// Loads the data set, unless a workload has.
    func load() throws {
        guard !isLoaded else { return }
        Progress.say("    loading \(data.count) records twice")
        let (below, notes) = (below, notes)
        for batch in RecordBatches.indices(of: data) {
            try below.modify(saves(batch))
            let rows = rows(batch)
            try FaceWait.run { try await notes.insert(rows) }
        }
        didLoad()
    }

    /// Notes that a workload has loaded the data set.
    func didLoad() { isLoaded = true }

    /// Waits until LevelDB owes no compaction of level 0.
    func waitForLevelZero() throws {
        guard let store = face.store as? LevelDBStore else { throw PeerError("The face has another store.") }
        try store.waitForLevelZero()
    }

    /// Records as an app makes them.
    func clientRecords(_ indices: some Sequence<Int>) -> [CKRecord] {
        indices.map { FaceSide.clientRecord(data.record($0), Self.zone) }
    }

    /// The same for the requests below the face.
    func saves(_ indices: some Sequence<Int>, in zone: ZoneAddress = address) -> [RecordSave] {
        indices.map {
            ServerSide.save(data.names[$0], data.content(of: $0), below: data.parent(of: $0), in: zone)
        }
    }

    /// The same for GRDB, as new changes.
    func rows(_ indices: some Sequence<Int>) -> [NoteRow] {
        indices.map { index in
            NoteRow(
                data.names[index], data.content(of: index), parent: data.parent(of: index), change: notes.nextChange())
        }
    }

    /// Names in random order, each once, as texts of their own.
    func names(_ count: Int, of size: Int, seed: UInt64) -> [[String]] {
        NewNames(data, seed: seed).batches(count, of: size).map { $0.map(\.text) }
    }
}

extension Scale {
    /// Records of the workloads on the face.
    var faceCount: Int { isQuick ? 20_000 : 100_000 }
}

/// A workload on the face. It needs nothing of the main zone.
protocol FaceWorkload: Workload {
    static func run(_ run: BenchmarkRun, _ bench: FaceBench) throws
}

extension FaceWorkload {
    static var needsMainZone: Bool { false }
    static func run(_ run: BenchmarkRun) throws { try self.run(run, run.face()) }
}

/// The requests that those calls send, with every part of the records taken out, too.
struct BelowFace: Sendable {
    let service: CloudService
    let caller: Caller
    let zone: ZoneAddress
    let zoneID: ZoneID

    /// Saves records by one request.
    func modify(_ saves: [RecordSave], policy: SavePolicy = .ifServerRecordUnchanged) throws {
        let request = ModifyRecordsRequest(saves: saves, policy: policy)
        for save in try service.modifyRecords(request, as: caller, in: .private).saves { _ = try save.get() }
    }

    func fetch(_ names: [String]) throws -> Int {
        let request = FetchRecordsRequest(addresses: names.map { RecordAddress(recordName: $0, zone: zone) })
        let records = try service.fetchRecords(request, as: caller, in: .private).records
        for record in records { try ServerSide.takeOut(record.get()) }
        return records.count
    }

    func edit(_ name: String) throws -> Int {
        let address = RecordAddress(recordName: name, zone: zone)
        let request = FetchRecordsRequest(addresses: [address])
        let found = try service.fetchRecords(request, as: caller, in: .private).records
        guard let record = try found.first?.get(), case .int64(let mode)? = record.fields["mode"]?.value else {
            throw PeerError("A record is missing.")
        }
        try ServerSide.takeOut(record)
        var fields = record.fields.dictionary
        fields["mode"] = ClientField(.int64(mode + 1))
        try modify([
            RecordSave(
                address: address, type: record.type, baseTag: record.changeTag, parent: record.parent, fields: fields,
                changedKeys: ["mode"])
        ])
        return 1
    }

    func changes(after token: [UInt8]?, limit: Int) throws -> Int {
        let request = FetchZoneChangesRequest(zone: zone, token: token, limit: limit)
        let page = try service.fetchZoneChanges(request, as: caller, in: .private)
        for record in page.changed { try ServerSide.takeOut(record) }
        return page.changed.count
    }

    func readFeed(after token: [UInt8]? = nil, isBlind: Bool = false) throws -> (count: Int, token: [UInt8]?) {
        var (count, token) = (0, token)
        while true {
            let request = FetchZoneChangesRequest(
                zone: zone, token: token, limit: FaceClient.pageCount, desiredKeys: isBlind ? [] : nil)
            let page = try service.fetchZoneChanges(request, as: caller, in: .private)
            if !isBlind { for record in page.changed { try ServerSide.takeOut(record) } }
            count += page.changed.count
            token = page.token
            guard page.isMoreComing else { return (count, token) }
        }
    }

    func files(ofSizes range: ClosedRange<Int64>) throws -> Int {
        let request = SizeQueries.request(range, in: zoneID)
        let matches = try service.query(request, as: caller, in: .private).records
        for match in matches { try ServerSide.takeOut(match.get()) }
        return matches.count
    }
}
