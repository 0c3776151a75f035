// A zone through CloudKit's API, as any CloudKit program uses it.

import Dispatch
import StratusKit
import StratusModel
import StratusRecords
import Synchronization

final class ZoneClient {
    /// Items of one request (L-01).
    static let requestItemCount = 400

    let database: CKDatabase
    let zoneID: CKRecordZone.ID
    /// The running request, while the next one is prepared.
    private var running: SentRequest?

    /// A zone as a person sees it: in the public, the private or the shared database.
    init(_ container: CKContainer, _ zone: ZoneID, as person: StoredAccount) {
        switch zone.database.owner {
        case nil:
            database = container.publicCloudDatabase
            zoneID = CKRecordZone.ID(zoneName: zone.name.text)
        case person.userName?:
            database = container.privateCloudDatabase
            zoneID = CKRecordZone.ID(zoneName: zone.name.text)
        case let owner?:
            database = container.sharedCloudDatabase
            zoneID = CKRecordZone.ID(zoneName: zone.name.text, ownerName: owner.text)
        }
    }

    func recordID(_ name: RecordName) -> CKRecord.ID { CKRecord.ID(recordName: name.text, zoneID: zoneID) }

    // MARK: Zones

    func makeZone() throws {
        let (database, zoneID) = (database, zoneID)
        try Blocking.wait {
            let results = try await database.modifyRecordZones(saving: [CKRecordZone(zoneID: zoneID)], deleting: [])
            for result in results.saveResults.values { _ = try result.get() }
        }
    }

    func deleteZone() throws {
        let (database, zoneID) = (database, zoneID)
        try Blocking.wait {
            let results = try await database.modifyRecordZones(saving: [], deleting: [zoneID])
            for result in results.deleteResults.values { try result.get() }
        }
    }

    // MARK: Queries

    /// Visits the names of the records that a query finds in the zone, in order: at most `limit`, or all for 0.
    ///
    /// After each page, which may be expensive and empty, `didFetch` gets the progress of the query and its upper
    /// bound: the records that are done, of the zone's `recordCount`; or the results, if every page examines all
    /// candidates.
    ///
    /// Returns the cursor for `hasResults`; nil at the end of the query.
    ///
    /// Throws `CKError` if the query is refused.
    @discardableResult
    func visitResults(
        of query: CKQuery, limit: Int, recordCount: Int = .max,
        didFetch: (_ done: Int, _ bound: Int) -> Void = { _, _ in }, _ visit: (RecordName) throws -> Void
    ) throws -> CKQueryOperation.Cursor? {
        let (database, zoneID) = (database, zoneID)
        let most = limit == 0 ? Int.max : limit
        var remaining = most
        var (done, bound) = (0, recordCount)
        var cursor: CKQueryOperation.Cursor?
        repeat {
            let (count, start) = (remaining == Int.max ? 0 : remaining, cursor)
            let page = try Blocking.wait {
                if let start {
                    return try await database.records(
                        continuingMatchFrom: start, desiredKeys: [], resultsLimit: count)
                }
                return try await database.records(
                    matching: query, inZoneWith: zoneID, desiredKeys: [], resultsLimit: count)
            }
            if let work = page.queryCursor?.work {
                done = work.doneCount
                bound = work.pickedFromCount.map { work.settledCount + min($0, most) } ?? recordCount
            } else {
                // The last page has no cursor with the number of examined entries.
                done += page.matchResults.count
            }
            didFetch(done, bound)
            for (id, result) in page.matchResults {
                _ = try result.get()
                try visit(RecordName(id.recordName))
            }
            remaining -= page.matchResults.count
            cursor = page.queryCursor
        } while cursor != nil && remaining > 0
        return cursor
    }

    /// Whether a query has results after the cursor. A cursor alone does not mean that there are any.
    ///
    /// Throws as `visitResults`.
    func hasResults(behind cursor: CKQueryOperation.Cursor?) throws -> Bool {
        var cursor = cursor
        while let start = cursor {
            let database = database
            let page = try Blocking.wait {
                try await database.records(continuingMatchFrom: start, desiredKeys: [], resultsLimit: 1)
            }
            if !page.matchResults.isEmpty { return true }
            cursor = page.queryCursor
        }
        return false
    }

    // MARK: Records

    /// Waits for the previous request, then starts to save records, all or none. Writes changed keys, no matter
    /// what the server has.
    ///
    /// Throws the error of the previous request.
    func save(_ records: [CKRecord], _ tally: SaveTally) throws {
        try finish()
        running = send(saving: records, policy: .changedKeys, tally)
    }

    /// Waits until no request is running.
    ///
    /// Throws `CKError` if a request failed as a whole, and `ItemsRefused` if some of its records did. Then the request
    /// has saved nothing.
    func finish() throws {
        guard let request = running else { return }
        running = nil
        try finish(request)
    }

    /// Deletes records, all or none.
    ///
    /// Throws as `finish`.
    func delete(_ names: [RecordName]) throws {
        try finish()
        try finish(send(deleting: names.map(recordID)))
    }

    /// Moves a record under another or under none, unless it changes meanwhile. Returns the old parent.
    ///
    /// Throws as `finish`.
    @discardableResult
    func move(_ name: RecordName, under parent: RecordName?) throws -> RecordName? {
        try finish()
        let record = try fetch(name)
        let old = record.parent.map { RecordName($0.recordID.recordName) }
        if let parent { record.setParent(recordID(parent)) } else { record.parent = nil }
        try finish(send(saving: [record], policy: .ifServerRecordUnchanged))
        return old
    }

    /// Saves one record, unless it has changed since it was fetched.
    ///
    /// Throws as `finish`.
    func put(_ record: CKRecord) throws {
        try finish()
        try finish(send(saving: [record]))
    }

    /// A record as the person sees it.
    ///
    /// Throws `ItemsRefused` with `unknownItem` if there is none, or none that the person sees.
    func fetch(_ name: RecordName) throws -> CKRecord {
        let (database, id) = (database, recordID(name))
        return try Blocking.wait {
            switch try await database.records(for: [id]).values.first {
            case .success(let record)?: return record
            case .failure(let error as CKError)?: throw ItemsRefused(errors: [name: error])
            case .failure(let error)?: throw error
            case nil: throw ToolError(.notFound, "The host has answered without the record.", ["record": name.text])
            }
        }
    }

    // MARK: Requests

    private func send(
        saving records: [CKRecord] = [], deleting ids: [CKRecord.ID] = [],
        policy: CKModifyRecordsOperation.RecordSavePolicy = .ifServerRecordUnchanged, _ tally: SaveTally? = nil
    ) -> SentRequest {
        let request = SentRequest(records: records, ids: ids, policy: policy, tally: tally)
        let operation = CKModifyRecordsOperation(recordsToSave: records, recordIDsToDelete: ids)
        operation.savePolicy = policy
        operation.isAtomic = true
        let failures = request.failures
        operation.perRecordProgressBlock = { _, share in
            if share == 1 { tally?.noteSent() }
        }
        operation.perRecordSaveBlock = { id, result in
            failures.note(result, id)
            if case .success = result { tally?.noteSaved(id.recordName) }
        }
        operation.perRecordDeleteBlock = { id, result in failures.note(result, id) }
        operation.modifyRecordsResultBlock = { failures.end($0) }
        database.add(operation)
        return request
    }

    /// Waits for a request. If it is too large, sends it again as two halves, the first half first.
    private func finish(_ request: SentRequest) throws {
        do {
            try request.failures.wait()
        } catch CKError.limitExceeded where request.records.count > 1 {
            let middle = request.records.count / 2
            for half in [request.records[..<middle], request.records[middle...]] {
                try finish(send(saving: Array(half), policy: request.policy, request.tally))
            }
        }
    }
}

/// A request that was sent, with everything needed to send it in parts.
private struct SentRequest {
    let records: [CKRecord]
    let ids: [CKRecord.ID]
    let policy: CKModifyRecordsOperation.RecordSavePolicy
    let tally: SaveTally?
    let failures = RequestFailures()
}

/// Collects the failures that the blocks of one operation get, for the thread that waits for it.
private final class RequestFailures: Sendable {
    private struct State {
        var failure: (any Error)?
        var refused: [RecordName: CKError] = [:]
    }

    private let state = Mutex(State())
    private let ended = DispatchSemaphore(value: 0)

    /// Ignores an item that failed only because others did.
    func note<Success>(_ result: Result<Success, any Error>, _ id: CKRecord.ID) {
        guard case .failure(let error) = result else { return }
        state.withLock { state in
            if let error = error as? CKError {
                if error.code != .batchRequestFailed { state.refused[RecordName(id.recordName)] = error }
            } else {
                state.failure = state.failure ?? error
            }
        }
    }

    func end(_ result: Result<Void, any Error>) {
        if case .failure(let error) = result { state.withLock { $0.failure = $0.failure ?? error } }
        ended.signal()
    }

    /// Waits for the last block. Throws the failure of the request, or those of its items.
    func wait() throws {
        ended.wait()
        let state = state.withLock { $0 }
        if let failure = state.failure { throw failure }
        if !state.refused.isEmpty { throw ItemsRefused(errors: state.refused) }
    }
}
