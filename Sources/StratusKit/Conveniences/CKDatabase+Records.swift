// Calls for records and queries, single and in batches, with a completion handler and awaited.
//
// Single calls throw the error of their item. Batch calls return an answer for every item, and fail only if the
// request as a whole failed.

// MARK: Single records

extension CKDatabase {
    /// Fetches a record.
    /// - Parameters:
    ///   - recordID: The record's identifier.
    ///   - completionHandler: Gets the record, or the error.
    @preconcurrency
    public func fetch(
        withRecordID recordID: CKRecord.ID, completionHandler: @escaping @Sendable (CKRecord?, (any Error)?) -> Void
    ) {
        scope.begin(fetching(recordID) { $0.call(completionHandler) })
    }

    /// Fetches a record.
    /// - Parameter recordID: The record's identifier.
    /// - Returns: The record.
    /// - Throws: `CKError`, `unknownItem` if there is none.
    public func record(for recordID: CKRecord.ID) async throws -> CKRecord {
        try await scope.await { fetching(recordID, $0) }
    }

    /// Saves a record unless another client has saved it meanwhile (S-01).
    /// - Parameters:
    ///   - record: The record. It gets the server's fields (C-04).
    ///   - completionHandler: Gets the same record, or the error.
    @preconcurrency
    public func save(
        _ record: CKRecord, completionHandler: @escaping @Sendable (CKRecord?, (any Error)?) -> Void
    ) {
        scope.begin(saving(record) { $0.call(completionHandler) })
    }

    /// Saves a record unless another client has saved it meanwhile (S-01).
    /// - Parameter record: The record. It gets the server's fields (C-04).
    /// - Returns: The same record.
    /// - Throws: `CKError`, `serverRecordChanged` if another client has saved the record first.
    @discardableResult
    public func save(_ record: CKRecord) async throws -> CKRecord {
        try await scope.await { saving(record, $0) }
    }

    /// Deletes a record.
    /// - Parameters:
    ///   - recordID: The record's identifier.
    ///   - completionHandler: Gets the same identifier, or the error.
    @preconcurrency
    public func delete(
        withRecordID recordID: CKRecord.ID,
        completionHandler: @escaping @Sendable (CKRecord.ID?, (any Error)?) -> Void
    ) {
        scope.begin(deleting(recordID) { $0.call(completionHandler) })
    }

    /// Deletes a record.
    /// - Parameter recordID: The record's identifier.
    /// - Returns: The same identifier.
    /// - Throws: `CKError`: `unknownItem` if there is none and the host has chosen this error,
    ///   `permissionFailure` (P-11), `referenceViolation` if records below it stay.
    @discardableResult
    public func deleteRecord(withID recordID: CKRecord.ID) async throws -> CKRecord.ID {
        try await scope.await { deleting(recordID, $0) }
    }

    // MARK: Batches

    /// Fetches records.
    /// - Parameters:
    ///   - recordIDs: The records' identifiers. A duplicate is answered once.
    ///   - desiredKeys: The fields to fetch; nil for all.
    ///   - completionHandler: Gets an answer for every record, or the error of the request.
    @preconcurrency
    public func fetch(
        withRecordIDs recordIDs: [CKRecord.ID], desiredKeys: [CKRecord.FieldKey]? = nil,
        completionHandler:
            @escaping @Sendable (Result<[CKRecord.ID: Result<CKRecord, any Error>], any Error>) -> Void
    ) {
        scope.begin(fetching(recordIDs, desiredKeys, completionHandler))
    }

    /// Fetches records.
    /// - Parameters:
    ///   - ids: The records' identifiers. A duplicate is answered once.
    ///   - desiredKeys: The fields to fetch; nil for all.
    /// - Returns: An answer for every record.
    /// - Throws: `CKError` when the request as a whole failed: `limitExceeded` (L-01), and `notAuthenticated` without
    ///   an account, except in the public database (S-17). An item fails with `unknownItem` if there is no such record
    ///   (S-19).
    public func records(
        for ids: [CKRecord.ID], desiredKeys: [CKRecord.FieldKey]? = nil
    ) async throws -> [CKRecord.ID: Result<CKRecord, any Error>] {
        try await scope.await { fetching(ids, desiredKeys, $0) }
    }

    /// Saves and deletes records in one request.
    /// - Parameters:
    ///   - recordsToSave: The records to save; they get the server's fields (C-04).
    ///   - recordIDsToDelete: The identifiers of the records to delete.
    ///   - savePolicy: Which values the saves write, and whether the server compares change tags first.
    ///   - atomically: Whether all or none of the items in a zone are applied, if the zone has the capability `atomic`
    ///
    ///   - completionHandler: Gets an answer for every record, or the error of the request.
    @preconcurrency
    public func modifyRecords(
        saving recordsToSave: [CKRecord], deleting recordIDsToDelete: [CKRecord.ID],
        savePolicy: CKModifyRecordsOperation.RecordSavePolicy = .ifServerRecordUnchanged, atomically: Bool = true,
        completionHandler:
            @escaping @Sendable (
                Result<
                    (
                        saveResults: [CKRecord.ID: Result<CKRecord, any Error>],
                        deleteResults: [CKRecord.ID: Result<Void, any Error>]
                    ), any Error
                >
            ) -> Void
    ) {
        scope.begin(modifying(recordsToSave, recordIDsToDelete, savePolicy, atomically, completionHandler))
    }

    /// Saves and deletes records in one request.
    /// - Parameters:
    ///   - recordsToSave: The records to save; they get the server's fields (C-04).
    ///   - recordIDsToDelete: The identifiers of the records to delete.
    ///   - savePolicy: Which values the saves write, and whether the server compares change tags first.
    ///   - atomically: Whether all or none of the items in a zone are applied, if the zone has the capability `atomic`
    ///
    /// - Returns: An answer for every record.
    /// - Throws: `CKError` when the request as a whole failed: `limitExceeded` (L-01), `invalidArguments` for a record
    ///   that is named twice (S-11), `notAuthenticated` (S-17), `serverResponseLost` if the changes may have been
    ///   applied (S-21). Items fail with `serverRecordChanged` (S-04), `batchRequestFailed` and others.
    @discardableResult
    public func modifyRecords(
        saving recordsToSave: [CKRecord], deleting recordIDsToDelete: [CKRecord.ID],
        savePolicy: CKModifyRecordsOperation.RecordSavePolicy = .ifServerRecordUnchanged, atomically: Bool = true
    ) async throws -> (
        saveResults: [CKRecord.ID: Result<CKRecord, any Error>], deleteResults: [CKRecord.ID: Result<Void, any Error>]
    ) {
        try await scope.await { modifying(recordsToSave, recordIDsToDelete, savePolicy, atomically, $0) }
    }

    // MARK: The operations behind them

    private func fetching(_ recordID: CKRecord.ID, _ completion: @escaping Completion<CKRecord>) -> CKOperation {
        fetching([recordID], nil) { completion($0.item(recordID)) }
    }

    private func fetching(
        _ recordIDs: [CKRecord.ID], _ desiredKeys: [CKRecord.FieldKey]?,
        _ completion: @escaping Completion<AnswersByID<CKRecord.ID, CKRecord>>
    ) -> CKOperation {
        let operation = CKFetchRecordsOperation(recordIDs: recordIDs)
        operation.database = self
        operation.desiredKeys = desiredKeys
        (operation.perRecordResultBlock, operation.fetchRecordsResultBlock) = gathering(completion)
        return operation
    }

    private func saving(_ record: CKRecord, _ completion: @escaping Completion<CKRecord>) -> CKOperation {
        let recordID = record.recordID
        return modifying([record], [], .ifServerRecordUnchanged, true) { completion($0.saved(recordID)) }
    }

    private func deleting(_ recordID: CKRecord.ID, _ completion: @escaping Completion<CKRecord.ID>) -> CKOperation {
        modifying([], [recordID], .ifServerRecordUnchanged, true) { completion($0.deleted(recordID)) }
    }

    private func modifying(
        _ records: [CKRecord], _ recordIDs: [CKRecord.ID], _ savePolicy: CKModifyRecordsOperation.RecordSavePolicy,
        _ atomically: Bool, _ completion: @escaping Completion<ModifiedItems<CKRecord.ID, CKRecord>>
    ) -> CKOperation {
        let operation = CKModifyRecordsOperation(recordsToSave: records, recordIDsToDelete: recordIDs)
        operation.database = self
        operation.savePolicy = savePolicy
        operation.isAtomic = atomically
        (operation.perRecordSaveBlock, operation.perRecordDeleteBlock, operation.modifyRecordsResultBlock) =
            gathering(completion)
        return operation
    }

    // Queries, a page at a time.

    /// Fetches the first page of the records that a query matches.
    /// - Parameters:
    ///   - query: The query.
    ///   - zoneID: The zone to search; nil for all zones of the database.
    ///   - desiredKeys: The fields to fetch; nil for all.
    ///   - resultsLimit: Records in the page; `CKQueryOperation.maximumResults` lets the server decide.
    ///   - completionHandler: Gets the records in order and the cursor of the next page, or the error.
    @preconcurrency
    public func fetch(
        withQuery query: CKQuery, inZoneWith zoneID: CKRecordZone.ID? = nil, desiredKeys: [CKRecord.FieldKey]? = nil,
        resultsLimit: Int = CKQueryOperation.maximumResults,
        completionHandler:
            @escaping @Sendable (
                Result<
                    (
                        matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)],
                        queryCursor: CKQueryOperation.Cursor?
                    ), any Error
                >
            ) -> Void
    ) {
        scope.begin(asking(CKQueryOperation(query: query), zoneID, desiredKeys, resultsLimit, completionHandler))
    }

    /// Fetches the page after a cursor.
    /// - Parameters:
    ///   - queryCursor: The cursor.
    ///   - desiredKeys: The fields to fetch; nil for all.
    ///   - resultsLimit: Records in the page; `CKQueryOperation.maximumResults` lets the server decide.
    ///   - completionHandler: Gets the records in order and the cursor of the next page, or the error.
    @preconcurrency
    public func fetch(
        withCursor queryCursor: CKQueryOperation.Cursor, desiredKeys: [CKRecord.FieldKey]? = nil,
        resultsLimit: Int = CKQueryOperation.maximumResults,
        completionHandler:
            @escaping @Sendable (
                Result<
                    (
                        matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)],
                        queryCursor: CKQueryOperation.Cursor?
                    ), any Error
                >
            ) -> Void
    ) {
        scope.begin(asking(CKQueryOperation(cursor: queryCursor), nil, desiredKeys, resultsLimit, completionHandler))
    }

    /// Fetches the first page of the records that a query matches.
    /// - Parameters:
    ///   - query: The query.
    ///   - zoneID: The zone to search; nil for all zones of the database.
    ///   - desiredKeys: The fields to fetch; nil for all.
    ///   - resultsLimit: Records in the page; `CKQueryOperation.maximumResults` lets the server decide.
    /// - Returns: The records in order, and the cursor of the next page; nil at the end.
    /// - Throws: `CKError`, `invalidArguments` for a predicate that CloudKit does not accept.
    public func records(
        matching query: CKQuery, inZoneWith zoneID: CKRecordZone.ID? = nil, desiredKeys: [CKRecord.FieldKey]? = nil,
        resultsLimit: Int = CKQueryOperation.maximumResults
    ) async throws -> (
        matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?
    ) {
        try await scope.await { asking(CKQueryOperation(query: query), zoneID, desiredKeys, resultsLimit, $0) }
    }

    /// Fetches the page after a cursor.
    /// - Parameters:
    ///   - queryCursor: The cursor.
    ///   - desiredKeys: The fields to fetch; nil for all.
    ///   - resultsLimit: Records in the page; `CKQueryOperation.maximumResults` lets the server decide.
    /// - Returns: The records in order, and the cursor of the next page; nil at the end.
    /// - Throws: `CKError`: `invalidArguments` for a cursor of another caller or database, otherwise as the
    ///   first page.
    public func records(
        continuingMatchFrom queryCursor: CKQueryOperation.Cursor, desiredKeys: [CKRecord.FieldKey]? = nil,
        resultsLimit: Int = CKQueryOperation.maximumResults
    ) async throws -> (
        matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?
    ) {
        try await scope.await { asking(CKQueryOperation(cursor: queryCursor), nil, desiredKeys, resultsLimit, $0) }
    }

    // MARK: Deprecated

    /// Fetches the first page of the records that a query matches.
    /// - Parameters:
    ///   - query: The query.
    ///   - zoneID: The zone to search; nil for all zones of the database.
    ///   - completionHandler: Gets the records that could be fetched, in order, or the error.
    @available(*, deprecated, message: "Use fetch(withQuery:inZoneWith:desiredKeys:resultsLimit:completionHandler:).")
    @preconcurrency
    public func perform(
        _ query: CKQuery, inZoneWith zoneID: CKRecordZone.ID?,
        completionHandler: @escaping @Sendable ([CKRecord]?, (any Error)?) -> Void
    ) {
        scope.begin(
            asking(CKQueryOperation(query: query), zoneID, nil, CKQueryOperation.maximumResults) { result in
                result.map { page in page.matchResults.compactMap { try? $0.1.get() } }.call(completionHandler)
            })
    }

    /// Fetches the first page of the records that a query matches.
    /// - Parameters:
    ///   - query: The query.
    ///   - zoneID: The zone to search; nil for all zones of the database.
    /// - Returns: The records that could be fetched, in order.
    /// - Throws: `CKError`: `invalidArguments` for an unsupported query and without a zone in the shared
    ///   database (D-09), `unknownItem` for a record type that was never saved, `limitExceeded` (L-11).
    @available(*, deprecated, message: "Use records(matching:inZoneWith:desiredKeys:resultsLimit:).")
    @_disfavoredOverload
    public func records(matching query: CKQuery, inZoneWith zoneID: CKRecordZone.ID?) async throws -> [CKRecord] {
        let page: MatchedRecords = try await scope.await {
            asking(CKQueryOperation(query: query), zoneID, nil, CKQueryOperation.maximumResults, $0)
        }
        return page.matchResults.compactMap { try? $0.1.get() }
    }

    // MARK: Helpers

    private typealias MatchedRecords = (
        matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?
    )

    private func asking(
        _ operation: CKQueryOperation, _ zoneID: CKRecordZone.ID?, _ desiredKeys: [CKRecord.FieldKey]?, _ limit: Int,
        _ completion: @escaping Completion<MatchedRecords>
    ) -> CKOperation {
        operation.database = self
        operation.zoneID = zoneID
        operation.desiredKeys = desiredKeys
        operation.resultsLimit = limit
        let matched = Gathered<[(CKRecord.ID, Result<CKRecord, any Error>)]>([])
        operation.recordMatchedBlock = { matched.value.append(($0, $1)) }
        operation.queryResultBlock = { result in completion(result.map { (matched.value, $0) }) }
        return operation
    }
}
