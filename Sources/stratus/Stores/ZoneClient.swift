// A zone through CloudKit's API, as any CloudKit program uses it.

import StratusCloud
import StratusKit
import StratusModel
import StratusRecords

extension ZoneID {
    /// The database in which a person finds the zone, and its address there.
    func place(for user: UserName) -> (database: DatabaseSelector, zone: ZoneAddress) {
        switch database.owner {
        case nil: (.public, ZoneAddress(zoneName: name.text))
        case user?: (.private, ZoneAddress(zoneName: name.text))
        case let owner?: (.shared, ZoneAddress(zoneName: name.text, ownerName: owner.text))
        }
    }
}

final class ZoneClient {
    /// Items of one request (L-01).
    static let requestItemCount = 400

    let database: CKDatabase
    let zoneID: CKRecordZone.ID
    /// The running request, while the next one is prepared.
    private var running: Task<Void, any Error>?

    /// A zone as a person sees it: in the public, the private or the shared database.
    init(_ container: CKContainer, _ zone: ZoneID, as person: StoredAccount) {
        let (selector, address) = zone.place(for: person.userName)
        database =
            switch selector {
            case .public: container.publicCloudDatabase
            case .private: container.privateCloudDatabase
            case .shared: container.sharedCloudDatabase
            }
        zoneID = CKRecordZone.ID(zoneName: address.zoneName, ownerName: address.ownerName)
    }

    func recordID(_ name: RecordName) -> CKRecord.ID { CKRecord.ID(recordName: name.text, zoneID: zoneID) }

    // MARK: Zones

    func makeZone() throws {
        try Blocking.wait { [database, zoneID] in _ = try await database.save(CKRecordZone(zoneID: zoneID)) }
    }

    func deleteZone() throws {
        try Blocking.wait { [database, zoneID] in
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
        let most = limit == 0 ? Int.max : limit
        var remaining = most
        var (done, bound) = (0, recordCount)
        var cursor: CKQueryOperation.Cursor?
        repeat {
            let (count, start) = (remaining == Int.max ? 0 : remaining, cursor)
            let page = try Blocking.wait { [database, zoneID] in
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
            let page = try Blocking.wait { [database] in
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
        let database = database
        running = Task { @Sendable in
            try await Self.send(saving: records, to: database, policy: .changedKeys, tally)
        }
    }

    /// Waits until no request is running.
    ///
    /// Throws `CKError` if a request failed as a whole, and `ItemsRefused` if some of its records did. Then the request
    /// has saved nothing.
    func finish() throws {
        guard let request = running else { return }
        running = nil
        try Blocking.wait { try await request.value }
    }

    /// Deletes records, all or none.
    ///
    /// Throws as `finish`.
    func delete(_ names: [RecordName]) throws {
        try send(deleting: names.map(recordID))
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
        try send(saving: [record])
        return old
    }

    /// Saves one record, unless it has changed since it was fetched.
    ///
    /// Throws as `finish`.
    func put(_ record: CKRecord) throws {
        try send(saving: [record])
    }

    /// A record as the person sees it.
    ///
    /// Throws `ItemsRefused` with `unknownItem` if there is none, or none that the person sees.
    func fetch(_ name: RecordName) throws -> CKRecord {
        let id = recordID(name)
        return try Blocking.wait { [database] in
            switch try await database.records(for: [id]).values.first {
            case .success(let record)?: return record
            case .failure(let error as CKError)?: throw ItemsRefused(errors: [name: error])
            case .failure(let error)?: throw error
            case nil: throw ToolError(.notFound, "The host has answered without the record.", ["record": name.text])
            }
        }
    }

    // MARK: Requests

    /// Waits for the previous request, then saves or deletes records.
    private func send(saving records: [CKRecord] = [], deleting ids: [CKRecord.ID] = []) throws {
        try finish()
        try Blocking.wait { [database] in try await Self.send(saving: records, deleting: ids, to: database) }
    }

    /// Saves or deletes records. Sends a request that is too large again as two halves, the first half first.
    private static func send(
        saving records: [CKRecord], deleting ids: [CKRecord.ID] = [], to database: CKDatabase,
        policy: CKModifyRecordsOperation.RecordSavePolicy = .ifServerRecordUnchanged, _ tally: SaveTally? = nil
    ) async throws {
        do {
            let (saved, deleted) = try await database.modifyRecords(saving: records, deleting: ids, savePolicy: policy)
            tally?.note(saved)
            try ItemsRefused.check(saved, deleted)
        } catch CKError.limitExceeded where records.count > 1 {
            let middle = records.count / 2
            for half in [records[..<middle], records[middle...]] {
                try await send(saving: Array(half), to: database, policy: policy, tally)
            }
        }
    }
}

extension ItemsRefused {
    /// Throws for the items that failed, except those that failed only because others did.
    static func check(
        _ saved: [CKRecord.ID: Result<CKRecord, any Error>], _ deleted: [CKRecord.ID: Result<Void, any Error>] = [:]
    ) throws {
        var errors: [RecordName: CKError] = [:]
        func note<Success>(_ id: CKRecord.ID, _ result: Result<Success, any Error>) throws {
            guard case .failure(let error) = result else { return }
            guard let error = error as? CKError else { throw error }
            if error.code != .batchRequestFailed { errors[RecordName(id.recordName)] = error }
        }
        for (id, result) in saved { try note(id, result) }
        for (id, result) in deleted { try note(id, result) }
        if !errors.isEmpty { throw ItemsRefused(errors: errors) }
    }
}

extension CKContainer {
    /// Shares a record of the person's own zones, and everything below it. Invites no one.
    ///
    /// Throws `ItemsRefused` if a rule forbids it.
    func makeShare(of root: CKRecord.ID, named name: String?) throws -> CKShare {
        let database = privateCloudDatabase
        return try Blocking.wait {
            let record = try await database.record(for: root)
            let share =
                name.map { CKShare(rootRecord: record, shareID: CKRecord.ID(recordName: $0, zoneID: root.zoneID)) }
                ?? CKShare(rootRecord: record)
            try await ItemsRefused.check(database.modifyRecords(saving: [record, share], deleting: []).saveResults)
            return share
        }
    }
}
