// Fetching: which zones have changed, then what has changed in them (E-02).
//
// Invariant: what was fetched is told before the token up to it is kept, so that a program which stores the two in the
// order in which they come never misses anything (E-09).

import StratusCloud

extension SyncRound {
    /// Fetches what has changed, and tells of it. Throws the error of the request, or `partialFailure` for zones.
    func fetch(_ options: CKSyncEngine.FetchChangesOptions) async throws {
        let context = CKSyncEngine.FetchChangesContext(reason: reason, options: options)
        let wanted = worker.wantedFetch
        try await worker.tell(.willFetchChanges(.init(context: context)))
        let failure: (any Error)?
        do {
            try await subscribe()
            try await fetchZoneList(context)
            try await fetchZones(context)
            worker.noteFetch(wanted)
            failure = nil
        } catch {
            failure = error
        }
        try await worker.tell(.didFetchChanges(.init(context: context)))
        try await worker.tellState()
        if let failure { throw failure }
    }

    /// Without a subscription the engine still fetches when it is asked to; only what will pass is worth a new attempt.
    private func subscribe() async throws {
        guard !worker.isSubscribed else { return }
        do {
            try await requests.subscribe(worker.wantedSubscriptionID)
            worker.isSubscribed = true
        } catch {
            let failure = CKError.of(error)
            if SyncRetry.keepsPending(failure) { throw failure }
        }
    }

    private func nextOptions(
        _ context: CKSyncEngine.FetchChangesContext
    ) async throws -> CKSyncEngine.FetchChangesOptions {
        try await worker.ask { delegate, engine in
            await delegate.nextFetchChangesOptions(context, syncEngine: engine)
        }
    }

    // MARK: Which zones

    private func fetchZoneList(_ context: CKSyncEngine.FetchChangesContext) async throws {
        var hasBegunAnew = false
        /// All zones there are, where the engine had followed some and begins anew: those it misses are gone.
        var listed: Set<CKRecordZone.ID>?
        while true {
            let group = try await nextOptions(context).operationGroup
            let token = state.content.databaseToken
            if token == nil, listed == nil, !state.content.zoneTokens.isEmpty { listed = [] }
            do {
                let page = try await requests.databaseChanges(since: token, group)
                listed?.formUnion(page.modifications.map(\.zoneID))
                try await tell(page)
                guard page.isMoreComing else { break }
            } catch let error as CKError where error.isOfToken && token != nil && !hasBegunAnew {
                hasBegunAnew = true
                // The list from the beginning names all zones that are there.
                state.update { ($0.databaseToken, $0.unfetchedZoneIDs) = (nil, []) }
            }
        }
        guard let listed else { return }
        let gone = state.content.zoneTokens.keys.filter { !listed.contains($0) }
        guard !gone.isEmpty else { return }
        try await worker.tell(
            .fetchedDatabaseChanges(
                .init(modifications: [], deletions: gone.map { .init(zoneID: $0, reason: .deleted) })))
        state.update { $0.noteDeleted(gone) }
        try await worker.tellState()
    }

    private func tell(_ page: SyncRequests.DatabasePage) async throws {
        state.update { content in
            content.noteDeleted(page.deletions.map(\.zoneID))
            content.noteChanged(page.modifications.map(\.zoneID))
        }
        if !page.modifications.isEmpty || !page.deletions.isEmpty {
            try await worker.tell(
                .fetchedDatabaseChanges(.init(modifications: page.modifications, deletions: page.deletions)))
        }
        state.update { $0.databaseToken = page.token }
        try await worker.tellState()
    }

    // MARK: What is in them

    private func fetchZones(_ context: CKSyncEngine.FetchChangesContext) async throws {
        var done: Set<CKRecordZone.ID> = []
        var failed: [AnyHashable: any Error] = [:]
        while let zoneID = state.content.nextZone(try await nextOptions(context), except: done) {
            done.insert(zoneID)
            try await worker.tell(.willFetchRecordZoneChanges(.init(zoneID: zoneID)))
            var failure: CKError?
            do {
                try await fetch(zoneID, context)
            } catch {
                failure = CKError.of(error)
            }
            try await worker.tell(.didFetchRecordZoneChanges(.init(zoneID: zoneID, error: failure)))
            guard let failure else { continue }
            // Others would fare no better; a busy zone is busy alone.
            if SyncRetry.keepsPending(failure), failure.code != .zoneBusy { throw failure }
            if failure.code == .zoneNotFound || failure.code == .userDeletedZone {
                // The feed of the database tells of it, or will.
                state.update { $0.noteDeleted([zoneID]) }
            }
            failures.append(failure)
            failed[zoneID] = failure
        }
        guard failed.isEmpty else {
            throw CKError.partialFailure(failed, "Failed to fetch the changes of some zones")
        }
    }

    private func fetch(_ zoneID: CKRecordZone.ID, _ context: CKSyncEngine.FetchChangesContext) async throws {
        var hasBegunAnew = false
        while true {
            let options = try await nextOptions(context)
            // The delegate may have lost interest; the rest is fetched when it has it again.
            guard options.scope.contains(zoneID) else { return }
            let token = state.content.zoneTokens[zoneID]
            do {
                let page = try await requests.zoneChanges(in: zoneID, since: token, options.operationGroup)
                if !page.modifications.isEmpty || !page.deletions.isEmpty {
                    try await worker.tell(
                        .fetchedRecordZoneChanges(
                            .init(modifications: page.modifications, deletions: page.deletions)))
                }
                state.update { $0.noteFetched(zoneID, upTo: page.token, isMoreComing: page.isMoreComing) }
                try await worker.tellState()
                guard page.isMoreComing else { return }
            } catch let error as CKError where error.isOfToken && token != nil && !hasBegunAnew {
                hasBegunAnew = true
                if error.isOfZoneMadeAnew {
                    // All that was fetched of it is gone, and the feed of the database tells of a name only the latest.
                    try await worker.tell(
                        .fetchedDatabaseChanges(
                            .init(modifications: [], deletions: [.init(zoneID: zoneID, reason: .deleted)])))
                }
                state.update { $0.zoneTokens[zoneID] = nil }
            }
        }
    }
}

extension CKError {
    /// Whether a token is of no use any more, or was never given for this (T-09, X-30).
    fileprivate var isOfToken: Bool { code == .changeTokenExpired }

    /// Whether the token is of a zone that was deleted, and another one has its name.
    fileprivate var isOfZoneMadeAnew: Bool { userInfo["reason"] as? String == CloudError.reasonZoneMadeAnew }
}
