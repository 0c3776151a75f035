// What an app does by CloudKit's awaited calls, in one zone, and how a thread that may block waits for them.

import Foundation
package import StratusKit
import Synchronization

/// What an app does by CloudKit's calls, in one zone. Every record that it gets is taken out of its object.
package struct FaceClient: Sendable {
    /// The largest page of a feed.
    package static let pageCount = 1_000

    private let database: CKDatabase
    package let zone: CKRecordZone.ID

    package init(database: CKDatabase, zone: CKRecordZone.ID) {
        self.database = database
        self.zone = zone
    }

    package func save(_ records: [CKRecord]) async throws {
        let results = try await database.modifyRecords(saving: records, deleting: []).saveResults
        for result in results.values { _ = try result.get() }
    }

    package func save(_ record: CKRecord) async throws { _ = try await database.save(record) }

    /// Fetches records by name. Returns how many there are.
    package func fetch(_ names: [String]) async throws -> Int {
        let results = try await database.records(for: names.map { CKRecord.ID(recordName: $0, zoneID: zone) })
        for result in results.values { try Self.takeOut(result.get()) }
        return results.count
    }

    /// Fetches a record, changes a field and saves it.
    package func edit(_ name: String) async throws -> Int {
        let record = try await database.record(for: CKRecord.ID(recordName: name, zoneID: zone))
        try Self.takeOut(record)
        let mode: Int64 = (record["mode"] as? Int64 ?? 0) + 1
        record["mode"] = mode
        try await save(record)
        return 1
    }

    /// A page of what changed after a token. Returns how many records.
    package func changes(after token: CKServerChangeToken?, limit: Int) async throws -> Int {
        let page = try await database.recordZoneChanges(inZoneWith: zone, since: token, resultsLimit: limit)
        for result in page.modificationResultsByID.values { try Self.takeOut(result.get().record) }
        return page.modificationResultsByID.count
    }

    /// Reads what changed after a token to its end, in the largest pages. Returns how many records, and the new token.
    /// With `isBlind` it gets no fields and takes nothing out.
    package func readFeed(
        after token: CKServerChangeToken? = nil, isBlind: Bool = false
    ) async throws -> (count: Int, token: CKServerChangeToken?) {
        var (count, token) = (0, token)
        while true {
            let page = try await database.recordZoneChanges(
                inZoneWith: zone, since: token, desiredKeys: isBlind ? [] : nil, resultsLimit: Self.pageCount)
            if !isBlind {
                for result in page.modificationResultsByID.values { try Self.takeOut(result.get().record) }
            }
            count += page.modificationResultsByID.count
            token = page.changeToken
            guard page.moreComing else { return (count, token) }
        }
    }

    /// A page of the files whose size is in a range. Returns how many.
    package func files(ofSizes range: ClosedRange<Int64>) async throws -> Int {
        let condition = NSPredicate(format: "size >= %ld AND size <= %ld", range.lowerBound, range.upperBound)
        let query = CKQuery(recordType: SizeQueries.type, predicate: condition)
        let page = try await database.records(
            matching: query, inZoneWith: zone, resultsLimit: SizeQueries.resultCount)
        for (_, result) in page.matchResults { try Self.takeOut(result.get()) }
        return page.matchResults.count
    }

    /// Reads every part and every value of a record, as GRDB has them all in a structure.
    private static func takeOut(_ record: CKRecord) throws {
        let parent = record.parent
        guard let tag = record.recordChangeTag, let created = record.creationDate,
            let modified = record.modificationDate, let user = record.lastModifiedUserRecordID, created <= modified,
            !tag.isEmpty, !user.recordName.isEmpty, !record.recordType.isEmpty, !record.recordID.recordName.isEmpty,
            parent.map({ !$0.recordID.recordName.isEmpty }) ?? true
        else { throw WorkloadError("A record is not whole.") }
        guard record.allKeys().count == 4, let title = record["title"] as? String,
            let size = record["size"] as? Int64, let mode = record["mode"] as? Int64,
            let digest = record["digest"] as? Data, !title.isEmpty, size >= 0, mode > 0, !digest.isEmpty
        else { throw WorkloadError("A record lacks values.") }
    }
}

/// Asynchronous work, for threads that may block.
package enum FaceWait {
    /// Runs `body` as a task and blocks the calling thread until it returns. Never call it on Swift's own threads.
    package static func run<Value: Sendable>(
        _ body: @escaping @Sendable () async throws -> Value
    ) throws -> Value {
        let result = Mutex<Result<Value, any Error>>(.failure(CancellationError()))
        let ended = DispatchSemaphore(value: 0)
        Task {
            let outcome: Result<Value, any Error>
            do { outcome = .success(try await body()) } catch { outcome = .failure(error) }
            result.withLock { $0 = outcome }
            ended.signal()
        }
        ended.wait()
        return try result.withLock { $0 }.get()
    }
}
