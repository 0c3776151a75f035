// A zone through CloudKit's face: saved to and deleted from as any program does that knows CloudKit alone.

import Dispatch
import StratusKit
import StratusModel
import Synchronization

final class ZoneClient {
    /// Items of one request (L-01).
    static let requestItemCount = 400

    private let database: CKDatabase
    private let zoneID: CKRecordZone.ID
    /// The request that is under way while the next one is prepared.
    private var underWay: SentRequest?

    init(_ database: CKDatabase, zone: ZoneName) {
        self.database = database
        zoneID = CKRecordZone.ID(zoneName: zone.text)
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
    /// Throws `CKError` where the query is refused.
    func visitResults(of query: CKQuery, limit: Int, _ visit: (RecordName) throws -> Void) throws {
        let (database, zoneID) = (database, zoneID)
        var remaining = limit == 0 ? Int.max : limit
        var cursor: CKQueryOperation.Cursor?
        repeat {
            let (count, start) = (remaining == Int.max ? 0 : remaining, cursor)
            let page = try Answer.wait {
                if let start {
                    return try await database.records(
                        continuingMatchFrom: start, desiredKeys: [], resultsLimit: count)
                }
                return try await database.records(
                    matching: query, inZoneWith: zoneID, desiredKeys: [], resultsLimit: count)
            }
            for (id, result) in page.matchResults {
                _ = try result.get()
                try visit(RecordName(id.recordName))
            }
            remaining -= page.matchResults.count
            cursor = page.queryCursor
        } while cursor != nil && remaining > 0
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

    /// Puts a record under another, if nobody changes it meanwhile.
    ///
    /// Throws as `finish`.
    func move(_ name: RecordName, under parent: RecordName) throws {
        try finish()
        let record = try fetch(name)
        record.setParent(recordID(parent))
        try finish(send(saving: [record], policy: .ifServerRecordUnchanged))
    }

    private func fetch(_ name: RecordName) throws -> CKRecord {
        let operation = CKFetchRecordsOperation(recordIDs: [recordID(name)])
        let outcome = Outcome()
        let fetched = Mutex<CKRecord?>(nil)
        operation.perRecordResultBlock = { _, result in
            outcome.note(result)
            fetched.withLock { $0 = try? result.get() }
        }
        operation.fetchRecordsResultBlock = { result in
            outcome.note(result)
            outcome.end()
        }
        database.add(operation)
        try outcome.wait()
        guard let record = fetched.withLock({ $0 }) else { throw CKError(.unknownItem) }
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
