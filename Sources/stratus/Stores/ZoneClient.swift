// A zone through CloudKit's face: saved to and deleted from as any program does that knows CloudKit alone.

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
    /// The request that is under way while the next one is prepared.
    private var underWay: SentRequest?

    /// A zone as a person has it: in the public database, in their own, or in what others share with them.
    init(_ container: CKContainer, _ zone: ZoneID, as person: StratusModel.Account) {
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
        let operation = CKModifyRecordZonesOperation(recordZonesToSave: [CKRecordZone(zoneID: zoneID)])
        try perform(operation)
    }

    func deleteZone() throws {
        let operation = CKModifyRecordZonesOperation(recordZoneIDsToDelete: [zoneID])
        try perform(operation)
    }

    private func perform(_ operation: CKModifyRecordZonesOperation) throws {
        let outcome = Outcome()
        operation.perRecordZoneSaveBlock = { _, result in outcome.note(result) }
        operation.perRecordZoneDeleteBlock = { _, result in outcome.note(result) }
        operation.modifyRecordZonesResultBlock = { result in
            outcome.note(result)
            outcome.end()
        }
        database.add(operation)
        try outcome.wait()
    }

    // MARK: Queries

    /// Visits the names of the records that a query finds in the zone, in order, `limit` of them at most; 0 is all.
    ///
    /// Of each page that has come, which may have cost much and hold nothing, `didFetch` is told how far the query has come
    /// and how far it can come at most. That is counted in records: those that no page looks at any more, of the
    /// `recordCount` that the zone has; results, where every page looks at all records that could be some.
    ///
    /// Returns where the query goes on, for `hasResults`; nil at its end.
    ///
    /// Throws `CKError` where the query is refused.
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
                // Behind the last page no cursor tells what was looked at for it.
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

    /// Whether a query has results behind the cursor. A cursor alone does not promise any.
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

    /// Begins to save records, all or none, once the request before has ended. Changed keys are written, whatever the
    /// server has.
    ///
    /// Throws what the request before has failed with.
    func save(_ records: [CKRecord], _ tally: SaveTally) throws {
        try finish()
        underWay = send(saving: records, policy: .changedKeys, tally)
    }

    /// Waits until nothing is under way any more.
    ///
    /// Throws `CKError` when a request failed as a whole, and `ItemsRefused` when records of it did; then nothing of that
    /// request was saved.
    func finish() throws {
        guard let request = underWay else { return }
        underWay = nil
        try finish(request)
    }

    /// Deletes records, all or none.
    ///
    /// Throws as `finish`.
    func delete(_ names: [RecordName]) throws {
        try finish()
        try finish(send(deleting: names.map(recordID)))
    }

    /// Puts a record under another or under none, if nobody changes it meanwhile. Returns the parent it had.
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

    /// Saves one record, if nobody has changed it since it was fetched.
    ///
    /// Throws as `finish`.
    func put(_ record: CKRecord) throws {
        try finish()
        try finish(send(saving: [record]))
    }

    /// A record as the person sees it.
    ///
    /// Throws `ItemsRefused` with `unknownItem` where there is none, or none that they see.
    func fetch(_ name: RecordName) throws -> CKRecord {
        let operation = CKFetchRecordsOperation(recordIDs: [recordID(name)])
        let outcome = Outcome()
        let fetched = Mutex<CKRecord?>(nil)
        operation.perRecordResultBlock = { id, result in
            outcome.note(result, id)
            fetched.withLock { $0 = try? result.get() }
        }
        operation.fetchRecordsResultBlock = { result in
            outcome.note(unlessPartial: result)
            outcome.end()
        }
        database.add(operation)
        try outcome.wait()
        guard let record = fetched.withLock({ $0 }) else {
            throw ToolError(.notFound, "The host has answered without the record.", ["record": name.text])
        }
        return record
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
        let outcome = request.outcome
        operation.perRecordProgressBlock = { _, share in
            if share == 1 { tally?.noteSent() }
        }
        operation.perRecordSaveBlock = { id, result in
            outcome.note(result, id)
            if case .success = result { tally?.noteSaved(id.recordName) }
        }
        operation.perRecordDeleteBlock = { id, result in outcome.note(result, id) }
        operation.modifyRecordsResultBlock = { result in
            outcome.note(result)
            outcome.end()
        }
        database.add(operation)
        return request
    }

    /// Waits for a request. One that is too large is sent as two halves, the first half first.
    private func finish(_ request: SentRequest) throws {
        do {
            try request.outcome.wait()
        } catch CKError.limitExceeded where request.records.count > 1 {
            let middle = request.records.count / 2
            for half in [request.records[..<middle], request.records[middle...]] {
                try finish(send(saving: Array(half), policy: request.policy, request.tally))
            }
        }
    }
}

/// A request that was sent, and what is needed to send it in parts.
private struct SentRequest {
    let records: [CKRecord]
    let ids: [CKRecord.ID]
    let policy: CKModifyRecordsOperation.RecordSavePolicy
    let tally: SaveTally?
    let outcome = Outcome()
}

/// What the blocks of one operation were told, for the thread that waits for it.
private final class Outcome: Sendable {
    private struct State {
        var failure: (any Error)?
        var refused: [RecordName: CKError] = [:]
    }

    private let state = Mutex(State())
    private let ended = DispatchSemaphore(value: 0)

    func note<Success>(_ result: Result<Success, any Error>) {
        guard case .failure(let error) = result else { return }
        state.withLock { $0.failure = $0.failure ?? error }
    }

    /// That some items failed is told by them.
    func note<Success>(unlessPartial result: Result<Success, any Error>) {
        if case .failure(let error as CKError) = result, error.code == .partialFailure { return }
        note(result)
    }

    /// An item that failed only because others did tells nothing.
    func note<Success>(_ result: Result<Success, any Error>, _ id: CKRecord.ID) {
        guard case .failure(let error) = result else { return }
        guard let error = error as? CKError else { return note(result) }
        guard error.code != .batchRequestFailed else { return }
        state.withLock { $0.refused[RecordName(id.recordName)] = error }
    }

    func end() { ended.signal() }

    /// Waits for the last block. Throws the failure of the request, or those of its items.
    func wait() throws {
        ended.wait()
        let state = state.withLock { $0 }
        if let failure = state.failure { throw failure }
        if !state.refused.isEmpty { throw ItemsRefused(errors: state.refused) }
    }
}
