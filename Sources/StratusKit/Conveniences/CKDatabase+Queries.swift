// Queries without making an operation: a page at a time, with a completion handler and awaited.

import Foundation

extension CKDatabase {
    /// Fetches the first page of the records that a query matches.
    /// - Parameters:
    ///   - query: The query.
    ///   - zoneID: The zone to look in; nil for all of the database's.
    ///   - desiredKeys: The fields to fetch; nil for all.
    ///   - resultsLimit: Records in the page; `CKQueryOperation.maximumResults` lets the server decide.
    ///   - completionHandler: Given the records in order and where to go on, or the error.
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
    ///   - queryCursor: Where to go on.
    ///   - desiredKeys: The fields to fetch; nil for all.
    ///   - resultsLimit: Records in the page; `CKQueryOperation.maximumResults` lets the server decide.
    ///   - completionHandler: Given the records in order and where to go on, or the error.
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
    ///   - zoneID: The zone to look in; nil for all of the database's.
    ///   - desiredKeys: The fields to fetch; nil for all.
    ///   - resultsLimit: Records in the page; `CKQueryOperation.maximumResults` lets the server decide.
    /// - Returns: The records in order, and where to go on; nil at the end.
    /// - Throws: `CKError`, `invalidArguments` for what CloudKit does not take of a predicate.
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
    ///   - queryCursor: Where to go on.
    ///   - desiredKeys: The fields to fetch; nil for all.
    ///   - resultsLimit: Records in the page; `CKQueryOperation.maximumResults` lets the server decide.
    /// - Returns: The records in order, and where to go on; nil at the end.
    /// - Throws: `CKError`: `invalidArguments` for a cursor that was not given for just this, otherwise as the
    ///   first page.
    public func records(
        continuingMatchFrom queryCursor: CKQueryOperation.Cursor, desiredKeys: [CKRecord.FieldKey]? = nil,
        resultsLimit: Int = CKQueryOperation.maximumResults
    ) async throws -> (
        matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?
    ) {
        try await scope.await { asking(CKQueryOperation(cursor: queryCursor), nil, desiredKeys, resultsLimit, $0) }
    }
}

// MARK: As it was before

extension CKDatabase {
    /// Fetches the first page of the records that a query matches.
    /// - Parameters:
    ///   - query: The query.
    ///   - zoneID: The zone to look in; nil for all of the database's.
    ///   - completionHandler: Given those that could be fetched, in order, or the error.
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
    ///   - zoneID: The zone to look in; nil for all of the database's.
    /// - Returns: Those that could be fetched, in order.
    /// - Throws: `CKError`: `invalidArguments` for what cannot be asked and without a zone in the shared
    ///   database (D-09), `unknownItem` for a record type that nobody has saved, `limitExceeded` (L-11).
    @available(*, deprecated, message: "Use records(matching:inZoneWith:desiredKeys:resultsLimit:).")
    @_disfavoredOverload
    public func records(matching query: CKQuery, inZoneWith zoneID: CKRecordZone.ID?) async throws -> [CKRecord] {
        let page: MatchedRecords = try await scope.await {
            asking(CKQueryOperation(query: query), zoneID, nil, CKQueryOperation.maximumResults, $0)
        }
        return page.matchResults.compactMap { try? $0.1.get() }
    }
}

// MARK: Helpers

extension CKDatabase {
    private typealias MatchedRecords = (
        matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?
    )

    private func asking(
        _ operation: CKQueryOperation, _ zoneID: CKRecordZone.ID?, _ desiredKeys: [CKRecord.FieldKey]?, _ limit: Int,
        _ completion: @escaping @Sendable (Result<MatchedRecords, any Error>) -> Void
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
