// Sending: changes of zones until none are left, then batches of records until the delegate has none (E-01). At the end
// are the requests that a round makes.
//
// Invariants:
//   1. Answered changes leave the pending list before the delegate gets the event, so that it can add them again;
//      changes that the engine tries again stay (E-06).
//   2. The moment is noted before the delegate returns records: later changes were not in them, and stay.
//   3. Sending ends with the first batch in which something failed; the engine fetches before it sends again (E-14).

import StratusCloud

extension SyncRound {
    /// The maximum number of zone changes in one request, if the store allows as many.
    private static var zoneLimit: Int { 200 }

    /// Sends pending changes and reports the answers. Throws the error of the request, or `partialFailure` for items.
    func send(_ options: CKSyncEngine.SendChangesOptions) async throws {
        let context = CKSyncEngine.SendChangesContext(reason: reason, options: options)
        try await worker.report(.willSendChanges(.init(context: context)))
        let failure: (any Error)?
        do {
            try await sendAll(context)
            failure = nil
        } catch {
            worker.wantFetch(andRound: false)
            failure = error
        }
        try await worker.report(.didSendChanges(.init(context: context)))
        try await worker.reportState()
        if let failure { throw failure }
    }

    private func sendAll(_ context: CKSyncEngine.SendChangesContext) async throws {
        let limits = try await requests.limits()
        let zoneLimit = min(Self.zoneLimit, limits.itemCount)
        while true {
            var moment = state.moment
            while case let zones = state.nextZones(zoneLimit, in: context.options.scope), !zones.isEmpty {
                try Task.checkCancellation()
                try await send(zones, asOf: moment, context.options.operationGroup)
                moment = state.moment
            }
            try Task.checkCancellation()
            let batch = try await worker.ask { delegate, engine in
                await SyncCallback.$requestLimits.withValue(limits) {
                    await delegate.nextRecordZoneChangeBatch(context, syncEngine: engine)
                }
            }
            guard let batch, !batch.isEmpty else { return state.finishUntracked(asOf: moment) }
            try await send(batch, asOf: moment, context.options.operationGroup)
        }
    }

    // MARK: Zones

    private func send(
        _ changes: [CKSyncEngine.PendingDatabaseChange], asOf moment: UInt64, _ group: CKOperationGroup
    ) async throws {
        let answers = await requests.modify(changes, group)
        var outcome = SentItems<CKRecordZone.ID>(answers.failure)
        var (saved, deleted): ([CKRecordZone], [CKRecordZone.ID]) = ([], [])
        var notSaved: [CKSyncEngine.Event.SentDatabaseChanges.FailedZoneSave] = []
        var notDeleted: [CKRecordZone.ID: CKError] = [:]
        var finished: [CKSyncEngine.PendingDatabaseChange] = []
        for change in changes {
            let error: CKError?
            switch change {
            case .saveZone(let zone):
                error = outcome.note(answers.saves[zone.zoneID], of: zone.zoneID) { saved.append($0) }
                if let error { notSaved.append(.init(zone: zone, error: error)) }
            case .deleteZone(let zoneID):
                error = outcome.note(answers.deletions[zoneID], of: zoneID) { deleted.append(zoneID) }
                if let error { notDeleted[zoneID] = error }
            }
            if error.map(SyncRetry.keepsPending) != true { finished.append(change) }
        }
        state.finish([], finished, asOf: moment)
        try await worker.report(
            .sentDatabaseChanges(
                .init(
                    savedZones: saved, failedZoneSaves: notSaved, deletedZoneIDs: deleted,
                    failedZoneDeletes: notDeleted)))
        try await worker.reportState()
        try conclude(outcome, "Failed to modify some zones")
    }

    // MARK: Records

    private func send(
        _ batch: CKSyncEngine.RecordZoneChangeBatch, asOf moment: UInt64, _ group: CKOperationGroup
    ) async throws {
        let answers = await requests.modify(batch, group)
        var outcome = SentItems<CKRecord.ID>(answers.failure)
        var (saved, deleted): ([CKRecord], [CKRecord.ID]) = ([], [])
        var notSaved: [CKSyncEngine.Event.SentRecordZoneChanges.FailedRecordSave] = []
        var notDeleted: [CKRecord.ID: CKError] = [:]
        var finished: [CKSyncEngine.PendingRecordZoneChange] = []
        for record in batch.recordsToSave {
            let error = outcome.note(answers.saves[record.recordID], of: record.recordID) { saved.append($0) }
            if let error { notSaved.append(.init(record: record, error: error)) }
            if error.map(SyncRetry.keepsPending) != true { finished.append(.saveRecord(record.recordID)) }
        }
        for id in batch.recordIDsToDelete {
            let error = outcome.note(answers.deletions[id], of: id) { deleted.append(id) }
            if let error { notDeleted[id] = error }
            if error.map(SyncRetry.keepsPending) != true { finished.append(.deleteRecord(id)) }
        }
        state.finish(finished, [], asOf: moment)
        // A zone is followed from the first save on this device: otherwise nothing would show that it was deleted and
        // created again.
        let tokens = state.content.zoneTokens
        if saved.contains(where: { tokens[$0.recordID.zoneID] == nil }) { worker.wantFetch(andRound: true) }
        try await worker.report(
            .sentRecordZoneChanges(
                .init(
                    savedRecords: saved, failedRecordSaves: notSaved, deletedRecordIDs: deleted,
                    failedRecordDeletes: notDeleted)))
        try await worker.reportState()
        try conclude(outcome, "Failed to modify some records")
    }

    /// Continues if everything succeeded.
    private func conclude<Item>(_ outcome: SentItems<Item>, _ message: String) throws {
        if outcome.hasSuccess { worker.noteProgress() }
        guard !outcome.errors.isEmpty else { return }
        failures += outcome.errors.values.compactMap { $0 as? CKError }
        throw outcome.failure ?? CKError.partialFailure(outcome.errors, message)
    }
}

/// The results of the items of a request.
private struct SentItems<Item: Hashable & Sendable> {
    /// The error if the request failed as a whole: it applies to every item.
    let failure: CKError?
    var errors: [AnyHashable: any Error] = [:]
    var hasSuccess = false

    init(_ failure: CKError?) { self.failure = failure }

    /// Notes the answer for an item. Returns its error.
    mutating func note<Value>(
        _ answer: Result<Value, any Error>?, of item: Item, onSuccess: (Value) -> Void
    ) -> CKError? {
        switch answer {
        case .success(let value)?:
            hasSuccess = true
            onSuccess(value)
            return nil
        case .failure(let error)?:
            let error = CKError.of(error)
            errors[item] = error
            return error
        case nil:
            let error = failure ?? CKError.unanswered()
            errors[item] = error
            return error
        }
    }
}

// The requests of an engine, each an operation that any client could add to the database. An operation has the group of
// the program, and does not retry: the engine does, so that it can report failures.

/// The requests of one round.
struct SyncRequests: Sendable {
    /// A page of changed zones.
    struct DatabasePage: Sendable {
        var modifications: [CKDatabase.DatabaseChange.Modification]
        var deletions: [CKDatabase.DatabaseChange.Deletion]
        var token: CKServerChangeToken
        var isMoreComing: Bool
    }

    /// A page of changes in a zone, in the order of the feed.
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

    /// The limits of one request in the database's store (L-01).
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
            // Events cannot report a record's error: a damaged asset has a `fileURL` of nil.
            operation.reportAllRecords { changed.value.append(.init(record: $0)) }
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

    /// Sends a batch. Returns an answer for every item; if the request failed as a whole, its error.
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

    /// Ensures that there is a database subscription (E-12): the configured one, or any, or a new one.
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
