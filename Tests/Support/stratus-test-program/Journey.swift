// The journeys that `make house` counts: how many functions, in how many files, one request runs through.
//
// Each journey does everything once before, so that opening, first uses and caches are not counted: the counters are
// set to zero, the request runs once more, and what ran is written to a file.

import CCounters
import Foundation
import StratusKit

/// A request that is counted by itself.
enum Journey: String, CaseIterable {
    /// The second save of one record in a private zone, without share or asset: from `add` to `settle()`.
    case save
    /// The feed of a participant who sees one shared record that has changed.
    case feed
    /// One page of a query by an indexed field.
    case query

    /// Runs the journey that the argument names, and writes its counters to the file of LLVM_PROFILE_FILE.
    static func run(_ arguments: [String]) async -> Never {
        guard arguments.count == 1, let journey = Journey(rawValue: arguments[0]) else {
            FileHandle.standardError.write(Data("usage: LLVM_PROFILE_FILE=… journey save|feed|query\n".utf8))
            exit(64)
        }
        do {
            let isCounted = try await journey.count()
            guard isCounted else { throw CocoaError(.fileWriteUnknown) }
            exit(0)
        } catch {
            FileHandle.standardError.write(Data("\(error)\n".utf8))
            exit(1)
        }
    }

    private func count() async throws -> Bool {
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "stratus-journey-\(UUID.drawn().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        var options = Stratus.Options()
        options.logger = nil
        options.upkeepIntervalSeconds = nil
        let store = try await Stratus.open(at: folder, options: options)
        let stage = try await JourneyStage(store)
        let step = try await stage.prepare(self)
        guard ccounters_reset() == 1 else { return false }
        try await step()
        let isWritten = ccounters_write() == 1
        await store.close()
        return isWritten
    }
}

/// Two people, a zone, and a share between them.
private struct JourneyStage {
    let store: Stratus
    let owner: CKDatabase
    let guest: CKContainer
    let zoneID = CKRecordZone.ID(zoneName: "notes")

    init(_ store: Stratus) async throws {
        self.store = store
        let one = try await store.account(externalID: "owner", createIfMissing: .init())
        let other = try await store.account(externalID: "guest", createIfMissing: .init())
        owner = store.container("iCloud.example", signedInAs: one).privateCloudDatabase
        guest = store.container("iCloud.example", signedInAs: other)
        _ = try await owner.save(CKRecordZone(zoneID: zoneID))
    }

    /// Does everything once, and returns what is counted.
    func prepare(_ journey: Journey) async throws -> () async throws -> Void {
        switch journey {
        case .save: try await prepareSave()
        case .feed: try await prepareFeed()
        case .query: try await prepareQuery()
        }
    }

    private func prepareSave() async throws -> () async throws -> Void {
        let record = note("one")
        func save() async throws {
            record["title"] = "Title \(record.recordChangeTag ?? "")"
            owner.add(CKModifyRecordsOperation(recordsToSave: [record]))
            await store.settle()
            guard record.recordChangeTag != nil else { throw CKError(.unknownItem) }
        }
        try await save()
        return save
    }

    private func prepareFeed() async throws -> () async throws -> Void {
        let root = note("root")
        let share = CKShare(rootRecord: root)
        share.publicPermission = .readWrite
        _ = try await owner.modifyRecords(saving: [root, share], deleting: [])
        guard let url = share.url else { throw CKError(.unknownItem) }
        let metadata = try await guest.shareMetadata(for: url)
        _ = try await guest.accept(metadata)
        let shared = guest.sharedCloudDatabase
        let sharedID = metadata.share.recordID.zoneID
        let first = try await shared.recordZoneChanges(inZoneWith: sharedID, since: nil)
        let token = first.changeToken
        root["title"] = "Changed"
        _ = try await owner.save(root)
        func fetch() async throws {
            let page = try await shared.recordZoneChanges(inZoneWith: sharedID, since: token)
            guard page.modificationResultsByID.count == 1 else { throw CKError(.unknownItem) }
        }
        try await fetch()
        return fetch
    }

    private func prepareQuery() async throws -> () async throws -> Void {
        let records = (0..<20).map { note("note-\($0)") }
        _ = try await owner.modifyRecords(saving: records, deleting: [])
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "title = %@", "Title"))
        func fetch() async throws {
            let (results, _) = try await owner.records(matching: query, inZoneWith: zoneID, resultsLimit: 10)
            guard results.count == 10 else { throw CKError(.unknownItem) }
        }
        try await fetch()
        return fetch
    }

    private func note(_ name: String) -> CKRecord {
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
        record["title"] = "Title"
        return record
    }
}
