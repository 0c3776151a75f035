// The requests that an engine makes, each the operation that any client would add to the database. An operation has the
// group that the program has given, and tries nothing again by itself: the engine does, so that it can tell of failures.

import StratusCloud

/// The requests of one round.
struct SyncRequests: Sendable {
    /// A page of which zones have changed.
    struct DatabasePage: Sendable {
        var modifications: [CKDatabase.DatabaseChange.Modification]
        var deletions: [CKDatabase.DatabaseChange.Deletion]
        var token: CKServerChangeToken
        var isMoreComing: Bool
    }

    /// A page of what has changed in a zone, in the order of the feed.
    struct ZonePage: Sendable {
        var modifications: [CKDatabase.RecordZoneChange.Modification]
        var deletions: [CKDatabase.RecordZoneChange.Deletion]
        var token: CKServerChangeToken
        var isMoreComing: Bool
    }

    let database: CKDatabase

    private func database(in group: CKOperationGroup) -> CKDatabase {
        CKDatabase(database.scope.inheriting(nil, group), database.databaseScope)
    }

    /// What one request may have in the database's store (L-01).
    func limits() async throws -> RequestSize {
        try await database.scope.ask { server, caller in try server.answer(RequestLimitsRequest(), as: caller) }
    }

    func databaseChanges(since token: CKServerChangeToken?, _ group: CKOperationGroup) async throws -> DatabasePage {
        let page = try await database(in: group).databaseChanges(since: token)
        return DatabasePage(
            modifications: page.modifications, deletions: page.deletions, token: page.changeToken,
            isMoreComing: page.moreComing)
    }

    func zoneChanges(
        in zoneID: CKRecordZone.ID, since token: CKServerChangeToken?, _ group: CKOperationGroup
    ) async throws -> ZonePage {
        let database = database(in: group)
        return try await database.scope.await { completion in
            let operation = CKFetchRecordZoneChangesOperation(
                recordZoneIDs: [zoneID],
                configurationsByRecordZoneID: [zoneID: .init(previousServerChangeToken: token)])
            operation.database = database
            operation.fetchAllChanges = false
            let changed = Gathered<[CKDatabase.RecordZoneChange.Modification]>([])
            let deleted = Gathered<[CKDatabase.RecordZoneChange.Deletion]>([])
            let end = Gathered<Result<FetchedZoneChanges, any Error>?>(nil)
            // Events have no place for the error of a record: an asset that is damaged has a `fileURL` of nil.
            operation.tellAllRecords { changed.value.append(.init(record: $0)) }
            operation.recordWithIDWasDeletedBlock = { deleted.value.append(.init(recordID: $0, recordType: $1)) }
            operation.recordZoneFetchResultBlock = { end.value = $1 }
            operation.fetchRecordZoneChangesResultBlock = { result in
                let fetched = result.flatMap { _ in end.value ?? .failure(CKError.unanswered()) }
                completion(
                    fetched.map {
                        ZonePage(
                            modifications: changed.value, deletions: deleted.value, token: $0.serverChangeToken,
                            isMoreComing: $0.moreComing)
                    })
            }
            return operation
        }
    }

    /// Sends a batch. An answer for every item, also where the request failed as a whole: then it is everybody's error.
    func modify(_ batch: CKSyncEngine.RecordZoneChangeBatch, _ group: CKOperationGroup) async -> (
        saves: [CKRecord.ID: Result<CKRecord, any Error>], deletions: [CKRecord.ID: Result<Void, any Error>],
        failure: CKError?
    ) {
        do {
            let answers = try await database(in: group).modifyRecords(
                saving: batch.recordsToSave, deleting: batch.recordIDsToDelete, atomically: batch.atomicByZone)
            return (answers.saveResults, answers.deleteResults, nil)
        } catch {
            return ([:], [:], CKError.of(error))
        }
    }

    /// Sends changes of zones, as `modify` does.
    func modify(_ changes: [CKSyncEngine.PendingDatabaseChange], _ group: CKOperationGroup) async -> (
        saves: [CKRecordZone.ID: Result<CKRecordZone, any Error>],
        deletions: [CKRecordZone.ID: Result<Void, any Error>], failure: CKError?
    ) {
        var saves: [CKRecordZone] = []
        var deletions: [CKRecordZone.ID] = []
        for change in changes {
            switch change {
            case .saveZone(let zone): saves.append(zone)
            case .deleteZone(let zoneID): deletions.append(zoneID)
            }
        }
        do {
            let answers = try await database(in: group).modifyRecordZones(saving: saves, deleting: deletions)
            return (answers.saveResults, answers.deleteResults, nil)
        } catch {
            return ([:], [:], CKError.of(error))
        }
    }

    /// Sees to it that there is a database subscription (E-12): the wanted one, or else any, or else one of the engine's.
    func subscribe(_ wantedID: CKSubscription.ID?) async throws {
        if let wantedID {
            let found = try await database.subscriptions(for: [wantedID])
            if case .success = found[wantedID] { return }
        } else {
            let all = try await database.allSubscriptions()
            let isThere = all.contains { ($0 as? CKDatabaseSubscription).map { $0.recordType == nil } ?? false }
            if isThere { return }
        }
        let subscription = CKDatabaseSubscription(subscriptionID: wantedID ?? Self.subscriptionID(database))
        let info = CKSubscription.NotificationInfo()
        info.shouldSendContentAvailable = true
        subscription.notificationInfo = info
        try await database.save(subscription)
    }

    private static func subscriptionID(_ database: CKDatabase) -> CKSubscription.ID {
        "CKSyncEngine-\(database.databaseScope)-database"
    }
}
