// Sending: changes of zones until none are left, then batches of records until the delegate has none (E-01).
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
        try await reporting(
            .willSendChanges(.init(context: context)), .didSendChanges(.init(context: context))
        ) {
            do { try await sendAll(context) } catch {
                worker.wantFetch(andRound: false)
                throw error
            }
        }
    }

    private func sendAll(_ context: CKSyncEngine.SendChangesContext) async throws {
        let limits = try await database.scope.ask { server, caller in
            try server.answer(RequestLimitsRequest(), as: caller)
        }
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
            guard let batch, !batch.isEmpty else {
                // An answer about some of the zones or records says nothing about the others.
                if context.options.scope == .all { state.finishUntracked(asOf: moment) }
                return
            }
            try await send(batch, asOf: moment, context.options.operationGroup)
        }
    }

    // MARK: Zones

    private func send(
        _ changes: [CKSyncEngine.PendingDatabaseChange], asOf moment: UInt64, _ group: CKOperationGroup
    ) async throws {
        let saves = changes.compactMap { if case .saveZone(let zone) = $0 { zone } else { nil } }
        let deletions = changes.compactMap { if case .deleteZone(let zoneID) = $0 { zoneID } else { nil } }
        let sent = await SentItems(saves: saves, \.zoneID, deletions: deletions) {
            try await database(in: group).modifyRecordZones(saving: saves, deleting: deletions)
        }
        let finished = sent.finishedSaves.map(CKSyncEngine.PendingDatabaseChange.saveZone)
        state.finish([], finished + sent.finishedDeletions.map { .deleteZone($0) }, asOf: moment)
        try await worker.report(
            .sentDatabaseChanges(
                .init(
                    savedZones: sent.saved, failedZoneSaves: sent.notSaved.map { .init(zone: $0, error: $1) },
                    deletedZoneIDs: sent.deleted, failedZoneDeletes: sent.notDeleted)))
        try await worker.reportState()
        try conclude(sent, "Failed to modify some zones")
    }

    // MARK: Records

    private func send(
        _ batch: CKSyncEngine.RecordZoneChangeBatch, asOf moment: UInt64, _ group: CKOperationGroup
    ) async throws {
        let sent = await SentItems(saves: batch.recordsToSave, \.recordID, deletions: batch.recordIDsToDelete) {
            try await database(in: group).modifyRecords(
                saving: batch.recordsToSave, deleting: batch.recordIDsToDelete, atomically: batch.atomicByZone)
        }
        let finished = sent.finishedSaves.map { CKSyncEngine.PendingRecordZoneChange.saveRecord($0.recordID) }
        state.finish(finished + sent.finishedDeletions.map { .deleteRecord($0) }, [], asOf: moment)
        // A zone is followed from the first save on this device: otherwise nothing would show that it was deleted and
        // created again.
        let tokens = state.content.zoneTokens
        if sent.saved.contains(where: { tokens[$0.recordID.zoneID] == nil }) { worker.wantFetch(andRound: true) }
        try await worker.report(
            .sentRecordZoneChanges(
                .init(
                    savedRecords: sent.saved, failedRecordSaves: sent.notSaved.map { .init(record: $0, error: $1) },
                    deletedRecordIDs: sent.deleted, failedRecordDeletes: sent.notDeleted)))
        try await worker.reportState()
        try conclude(sent, "Failed to modify some records")
    }

    /// Continues if everything succeeded.
    private func conclude<Item, ID>(_ sent: SentItems<Item, ID>, _ message: String) throws {
        if !sent.saved.isEmpty || !sent.deleted.isEmpty { worker.noteProgress() }
        guard !sent.errors.isEmpty else { return }
        failures += sent.errors.values.compactMap { $0 as? CKError }
        throw sent.failure ?? CKError.partialFailure(sent.errors, message)
    }
}

/// The items of a request with their answers.
struct SentItems<Item, ID: Hashable & Sendable> {
    /// The error if the request failed as a whole: it applies to every item.
    private(set) var failure: CKError?
    private(set) var saved: [Item] = []
    private(set) var notSaved: [(item: Item, error: CKError)] = []
    private(set) var deleted: [ID] = []
    private(set) var notDeleted: [ID: CKError] = [:]
    private(set) var errors: [AnyHashable: any Error] = [:]
    /// The items that the engine does not send again.
    private(set) var finishedSaves: [Item] = []
    private(set) var finishedDeletions: [ID] = []

    /// Sends the request and sorts its answers.
    init(
        saves: [Item], _ id: (Item) -> ID, deletions: [ID],
        _ request: () async throws -> (
            saveResults: [ID: Result<Item, any Error>], deleteResults: [ID: Result<Void, any Error>]
        )
    ) async {
        var saveResults: [ID: Result<Item, any Error>] = [:]
        var deleteResults: [ID: Result<Void, any Error>] = [:]
        do { (saveResults, deleteResults) = try await request() } catch { failure = CKError.of(error) }
        for item in saves {
            switch answer(saveResults[id(item)]) {
            case .success(let saved):
                self.saved.append(saved)
                finishedSaves.append(item)
            case .failure(let error):
                notSaved.append((item, error))
                errors[id(item)] = error
                if !SyncRetry.keepsPending(error) { finishedSaves.append(item) }
            }
        }
        for id in deletions {
            switch answer(deleteResults[id]) {
            case .success:
                deleted.append(id)
                finishedDeletions.append(id)
            case .failure(let error):
                notDeleted[id] = error
                errors[id] = error
                if !SyncRetry.keepsPending(error) { finishedDeletions.append(id) }
            }
        }
    }

    private func answer<Value>(_ result: Result<Value, any Error>?) -> Result<Value, CKError> {
        result?.mapError { CKError.of($0) } ?? .failure(failure ?? CKError.unanswered())
    }
}
