// What the workloads on the face share: one data set behind CloudKit's calls and in GRDB, what an app does with it by
// those calls, and the requests below them.

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

/// What an app does by CloudKit's calls, in one zone. Every record that it gets is taken out of its object.
struct FaceClient: Sendable {
    let database: CKDatabase
    let zone: CKRecordZone.ID

    func save(_ records: [CKRecord]) async throws {
        let results = try await database.modifyRecords(saving: records, deleting: []).saveResults
        for result in results.values { _ = try result.get() }
    }

    func save(_ record: CKRecord) async throws { _ = try await database.save(record) }

    /// Fetches records by name. Returns how many there are.
    func fetch(_ names: [String]) async throws -> Int {
        let results = try await database.records(for: names.map { CKRecord.ID(recordName: $0, zoneID: zone) })
        for result in results.values { try Self.takeOut(result.get()) }
        return results.count
    }

    /// Fetches a record, changes a field and saves it.
    func edit(_ name: String) async throws -> Int {
        let record = try await database.record(for: CKRecord.ID(recordName: name, zoneID: zone))
        try Self.takeOut(record)
        let mode: Int64 = (record["mode"] as? Int64 ?? 0) + 1
        record["mode"] = mode
        try await save(record)
        return 1
    }

    /// A page of what changed after a token. Returns how many records.
    func changes(after token: CKServerChangeToken?, limit: Int) async throws -> Int {
        let page = try await database.recordZoneChanges(inZoneWith: zone, since: token, resultsLimit: limit)
        for result in page.modificationResultsByID.values { try Self.takeOut(result.get().record) }
        return page.modificationResultsByID.count
    }

    /// Reads what changed after a token to its end, in the largest pages. Returns how many records, and the new token.
    /// With `isBlind` it gets no fields and takes nothing out.
    func readFeed(
        after token: CKServerChangeToken? = nil, isBlind: Bool = false
    ) async throws -> (count: Int, token: CKServerChangeToken?) {
        var (count, token) = (0, token)
        while true {
            let page = try await database.recordZoneChanges(
                inZoneWith: zone, since: token, desiredKeys: isBlind ? [] : nil, resultsLimit: BelowFace.pageCount)
            if !isBlind {
                for result in page.modificationResultsByID.values { try Self.takeOut(result.get().record) }
            }
            count += page.modificationResultsByID.count
            token = page.changeToken
            guard page.moreComing else { return (count, token) }
        }
    }

    /// A page of the files whose size is in a range. Returns how many.
    func files(ofSizes range: ClosedRange<Int64>) async throws -> Int {
        let condition = NSPredicate(format: "size >= %ld AND size <= %ld", range.lowerBound, range.upperBound)
        let query = CKQuery(recordType: SizeQueries.type, predicate: condition)
        let page = try await database.records(
            matching: query, inZoneWith: zone, resultsLimit: SizeQueries.resultCount)
        for (_, result) in page.matchResults { try Self.takeOut(result.get()) }
        return page.matchResults.count
    }

    /// Reads every part and every value of a record, as GRDB has them all in a structure.
    static func takeOut(_ record: CKRecord) throws {
        let parent = record.parent
        guard let tag = record.recordChangeTag, let created = record.creationDate,
            let modified = record.modificationDate, let user = record.lastModifiedUserRecordID, created <= modified,
            !tag.isEmpty, !user.recordName.isEmpty, !record.recordType.isEmpty, !record.recordID.recordName.isEmpty,
            parent.map({ !$0.recordID.recordName.isEmpty }) ?? true
        else { throw PeerError("A record is not whole.") }
        guard record.allKeys().count == 4, let title = record["title"] as? String,
            let size = record["size"] as? Int64, let mode = record["mode"] as? Int64,
            let digest = record["digest"] as? Data, !title.isEmpty, size >= 0, mode > 0, !digest.isEmpty
        else { throw PeerError("A record lacks values.") }
    }
}

/// The requests that those calls send, with every part of the records taken out, too.
struct BelowFace: Sendable {
    /// The largest page of a feed.
    static let pageCount = 1_000

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
                zone: zone, token: token, limit: Self.pageCount, desiredKeys: isBlind ? [] : nil)
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
