// Sending: changes of zones until there are none, then a batch of records, and so on until the delegate has none (E-01).
//
// Invariants:
//   1. What was answered leaves the pending list before the delegate hears of it, so that it can add it again; what is
//      tried again by itself stays (E-06).
//   2. The moment is noted before the delegate is asked for records: what is added later was not in them, and stays.
//   3. It ends with the first batch of which something has failed, and is to fetch before it sends again (E-14).

import StratusCloud

extension SyncRound {
    /// The most changes of zones in one request, where the store allows as many.
    private static var zoneLimit: Int { 200 }

    /// Sends what is pending, and tells of it. Throws the error of the request, or `partialFailure` for items.
    func send(_ options: CKSyncEngine.SendChangesOptions) async throws {
        let context = CKSyncEngine.SendChangesContext(reason: reason, options: options)
        try await worker.tell(.willSendChanges(.init(context: context)))
        let failure: (any Error)?
        do {
            try await sendAll(context)
            failure = nil
        } catch {
            worker.wantFetch(andRound: false)
            failure = error
        }
        try await worker.tell(.didSendChanges(.init(context: context)))
        try await worker.tellState()
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
        try await worker.tell(
            .sentDatabaseChanges(
                .init(
                    savedZones: saved, failedZoneSaves: notSaved, deletedZoneIDs: deleted,
                    failedZoneDeletes: notDeleted)))
        try await worker.tellState()
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
        // A zone is followed from when something of this device is in it: else nothing would tell that it was made anew.
        let tokens = state.content.zoneTokens
        if saved.contains(where: { tokens[$0.recordID.zoneID] == nil }) { worker.wantFetch(andRound: true) }
        try await worker.tell(
            .sentRecordZoneChanges(
                .init(
                    savedRecords: saved, failedRecordSaves: notSaved, deletedRecordIDs: deleted,
                    failedRecordDeletes: notDeleted)))
        try await worker.tellState()
        try conclude(outcome, "Failed to modify some records")
    }

    /// Goes on where everything was answered well.
    private func conclude<Item>(_ outcome: SentItems<Item>, _ message: String) throws {
        if outcome.hasSuccess { worker.noteProgress() }
        guard !outcome.errors.isEmpty else { return }
        failures += outcome.errors.values.compactMap { $0 as? CKError }
        throw outcome.failure ?? CKError.partialFailure(outcome.errors, message)
    }
}

/// What has become of the items of a request.
private struct SentItems<Item: Hashable & Sendable> {
    /// Why the request failed as a whole: the error of every item.
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
