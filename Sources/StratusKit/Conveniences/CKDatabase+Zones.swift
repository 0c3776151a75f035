// Calls for zones, single and in batches, with a completion handler and awaited.
//
// Single calls throw the error of their item. Batch calls return an answer for every item, and fail only if the
// request as a whole failed.

// MARK: Single zones

extension CKDatabase {
    /// Fetches all zones of the database (Z-05).
    /// - Parameter completionHandler: Gets the zones, or the error.
    @preconcurrency
    public func fetchAllRecordZones(
        completionHandler: @escaping @Sendable ([CKRecordZone]?, (any Error)?) -> Void
    ) {
        scope.begin(fetchingAll { $0.call(completionHandler) })
    }

    /// Fetches all zones of the database (Z-05).
    /// - Throws: `CKError`, `notAuthenticated` without an account, except in the public database (S-17).
    public func allRecordZones() async throws -> [CKRecordZone] {
        try await scope.await { fetchingAll($0) }
    }

    /// Fetches a zone.
    /// - Parameters:
    ///   - zoneID: The zone's identifier.
    ///   - completionHandler: Gets the zone, or the error.
    @preconcurrency
    public func fetch(
        withRecordZoneID zoneID: CKRecordZone.ID,
        completionHandler: @escaping @Sendable (CKRecordZone?, (any Error)?) -> Void
    ) {
        scope.begin(fetching([zoneID]) { $0.item(zoneID).call(completionHandler) })
    }

    /// Fetches a zone.
    /// - Parameter zoneID: The zone's identifier.
    /// - Returns: The zone.
    /// - Throws: `CKError`, `zoneNotFound` if there is none.
    public func recordZone(for zoneID: CKRecordZone.ID) async throws -> CKRecordZone {
        try await scope.await { completion in fetching([zoneID]) { completion($0.item(zoneID)) } }
    }

    /// Saves a zone. An existing zone stays as it is (Z-03).
    /// - Parameters:
    ///   - zone: The zone.
    ///   - completionHandler: Gets the zone as the server stores it, or the error.
    @preconcurrency
    public func save(
        _ zone: CKRecordZone, completionHandler: @escaping @Sendable (CKRecordZone?, (any Error)?) -> Void
    ) {
        let zoneID = zone.zoneID
        scope.begin(modifying([zone], []) { $0.saved(zoneID).call(completionHandler) })
    }

    /// Saves a zone. An existing zone stays as it is (Z-03).
    /// - Parameter zone: The zone.
    /// - Returns: The zone as the server stores it.
    /// - Throws: `CKError`: `badDatabase` in the public and in the shared database (Z-01), `serverRejectedRequest` if
    ///   the zone exists with another encryption scope (Z-06), `limitExceeded` for too many zones (L-06).
    @discardableResult
    public func save(_ zone: CKRecordZone) async throws -> CKRecordZone {
        let zoneID = zone.zoneID
        return try await scope.await { completion in modifying([zone], []) { completion($0.saved(zoneID)) } }
    }

    /// Deletes a zone and everything in it.
    /// - Parameters:
    ///   - zoneID: The zone's identifier.
    ///   - completionHandler: Gets the same identifier, or the error.
    @preconcurrency
    public func delete(
        withRecordZoneID zoneID: CKRecordZone.ID,
        completionHandler: @escaping @Sendable (CKRecordZone.ID?, (any Error)?) -> Void
    ) {
        scope.begin(deleting(zoneID) { $0.call(completionHandler) })
    }

    /// Deletes a zone and everything in it.
    /// - Parameter zoneID: The zone's identifier.
    /// - Returns: The same identifier.
    /// - Throws: `CKError`, `zoneNotFound` if there is none, unless the host has chosen success.
    @discardableResult
    public func deleteRecordZone(withID zoneID: CKRecordZone.ID) async throws -> CKRecordZone.ID {
        try await scope.await { deleting(zoneID, $0) }
    }

    // MARK: Batches

    /// Fetches zones.
    /// - Parameters:
    ///   - zoneIDs: The zones' identifiers. A duplicate is answered once.
    ///   - completionHandler: Gets an answer for every zone, or the error of the request.
    @preconcurrency
    public func fetch(
        withRecordZoneIDs zoneIDs: [CKRecordZone.ID],
        completionHandler:
            @escaping @Sendable (Result<[CKRecordZone.ID: Result<CKRecordZone, any Error>], any Error>) -> Void
    ) {
        scope.begin(fetching(zoneIDs, completionHandler))
    }

    /// Fetches zones.
    /// - Parameter ids: The zones' identifiers. A duplicate is answered once.
    /// - Returns: An answer for every zone.
    /// - Throws: `CKError` when the request as a whole failed: `limitExceeded` (L-01), and `notAuthenticated` without
    ///   an account, except in the public database (S-17). An item fails with `zoneNotFound` if there is no such zone.
    public func recordZones(
        for ids: [CKRecordZone.ID]
    ) async throws -> [CKRecordZone.ID: Result<CKRecordZone, any Error>] {
        try await scope.await { fetching(ids, $0) }
    }

    /// Saves and deletes zones in one request.
    /// - Parameters:
    ///   - recordZonesToSave: The zones to save.
    ///   - recordZoneIDsToDelete: The identifiers of the zones to delete.
    ///   - completionHandler: Gets an answer for every zone, or the error of the request.
    @preconcurrency
    public func modifyRecordZones(
        saving recordZonesToSave: [CKRecordZone], deleting recordZoneIDsToDelete: [CKRecordZone.ID],
        completionHandler:
            @escaping @Sendable (
                Result<
                    (
                        saveResults: [CKRecordZone.ID: Result<CKRecordZone, any Error>],
                        deleteResults: [CKRecordZone.ID: Result<Void, any Error>]
                    ), any Error
                >
            ) -> Void
    ) {
        scope.begin(modifying(recordZonesToSave, recordZoneIDsToDelete, completionHandler))
    }

    /// Saves and deletes zones in one request.
    /// - Parameters:
    ///   - recordZonesToSave: The zones to save.
    ///   - recordZoneIDsToDelete: The identifiers of the zones to delete.
    /// - Returns: An answer for every zone.
    /// - Throws: `CKError` when the request as a whole failed: `badDatabase` in the public database, and for saves in
    ///   the shared one (Z-01), `invalidArguments` for a zone that is named twice, `limitExceeded` (L-01).
    @discardableResult
    public func modifyRecordZones(
        saving recordZonesToSave: [CKRecordZone], deleting recordZoneIDsToDelete: [CKRecordZone.ID]
    ) async throws -> (
        saveResults: [CKRecordZone.ID: Result<CKRecordZone, any Error>],
        deleteResults: [CKRecordZone.ID: Result<Void, any Error>]
    ) {
        try await scope.await { modifying(recordZonesToSave, recordZoneIDsToDelete, $0) }
    }

    // MARK: The operations behind them

    private func fetchingAll(_ completion: @escaping Completion<[CKRecordZone]>) -> CKOperation {
        let operation = CKFetchRecordZonesOperation.fetchAllRecordZonesOperation()
        operation.database = self
        let zones = Gathered<[CKRecordZone]>([])
        operation.perRecordZoneResultBlock = { _, result in
            if let zone = try? result.get() { zones.value.append(zone) }
        }
        operation.fetchRecordZonesResultBlock = { completion($0.map { zones.value }) }
        return operation
    }

    private func fetching(
        _ zoneIDs: [CKRecordZone.ID], _ completion: @escaping Completion<AnswersByID<CKRecordZone.ID, CKRecordZone>>
    ) -> CKOperation {
        let operation = CKFetchRecordZonesOperation(recordZoneIDs: zoneIDs)
        operation.database = self
        (operation.perRecordZoneResultBlock, operation.fetchRecordZonesResultBlock) = gathering(completion)
        return operation
    }

    private func deleting(_ zoneID: CKRecordZone.ID, _ completion: @escaping Completion<CKRecordZone.ID>) -> CKOperation
    {
        let session = scope.session
        return modifying([], [zoneID]) { result in
            let item = result.deleted(zoneID)
            guard session.unknownZoneDeletionSucceeds, case .failure(let error as CKError) = item,
                error.code == .zoneNotFound
            else { return completion(item) }
            completion(.success(zoneID))
        }
    }

    private func modifying(
        _ zones: [CKRecordZone], _ zoneIDs: [CKRecordZone.ID],
        _ completion: @escaping Completion<ModifiedItems<CKRecordZone.ID, CKRecordZone>>
    ) -> CKOperation {
        let operation = CKModifyRecordZonesOperation(recordZonesToSave: zones, recordZoneIDsToDelete: zoneIDs)
        operation.database = self
        (operation.perRecordZoneSaveBlock, operation.perRecordZoneDeleteBlock, operation.modifyRecordZonesResultBlock) =
            gathering(completion)
        return operation
    }
}
