// One round of an engine: it identifies the user, then fetches, sends, or both; and the decision when to try again. A
// round acts for one account from beginning to end, even if another account signs in meanwhile: one person's changes
// never reach another's database.

import Foundation
import StratusCloud

/// One round, from its beginning to its end.
final class SyncRound {
    let worker: SyncWorker
    let reason: CKSyncEngine.SyncReason
    /// All errors, for the decision when to try again.
    var failures: [CKError] = []
    /// The database, as the account of the round.
    private(set) var database: CKDatabase

    var state: CKSyncEngine.State { worker.state }

    init(_ worker: SyncWorker, _ reason: CKSyncEngine.SyncReason) {
        self.worker = worker
        self.reason = reason
        database = worker.database
    }

    /// Does what the program requested.
    func run(_ errand: SyncWorker.Errand) async throws {
        do {
            guard try await beginAsUser() else { return }
            try await errand(self)
            worker.noteProgress()
        } catch {
            let failure = note(error)
            worker.noteFailures(failures)
            throw failure
        }
    }

    /// Fetches and sends as due. Fetches first, so that sending meets fewer conflicts (E-14).
    func runScheduled() async {
        do {
            try await worker.reportState()
            guard try await beginAsUser() else { return }
            if worker.hasOpenFetch {
                do { try await fetch(.init()) } catch {
                    note(error)
                    // A permanent failure of the fetch does not prevent sending.
                    if failures.contains(where: SyncRetry.keepsPending) { throw error }
                }
            }
            if state.content.hasPendingChanges { try await send(.init()) }
            if failures.isEmpty { worker.noteProgress() } else { worker.noteFailures(failures) }
        } catch {
            note(error)
            worker.noteFailures(failures)
        }
    }

    /// Notes an error for the decision, unless the errors it consists of were noted already.
    @discardableResult
    func note(_ error: any Error) -> CKError {
        let failure = error is CancellationError ? CKError.operationWasCancelled : CKError.of(error)
        if failure.code != .partialFailure || failures.isEmpty { failures.append(failure) }
        return failure
    }

    /// Does a part of the round between two events; the second one also comes after a failure.
    func reporting(
        _ beginning: CKSyncEngine.Event, _ end: CKSyncEngine.Event, _ body: () async throws -> Void
    ) async throws {
        try await worker.report(beginning)
        var failure: (any Error)?
        do { try await body() } catch { failure = error }
        try await worker.report(end)
        try await worker.reportState()
        if let failure { throw failure }
    }

    // MARK: The user

    /// Identifies the user, and reports a change (E-10). Returns false if there is no account (E-03).
    private func beginAsUser() async throws -> Bool {
        guard worker.database.databaseScope != .public else {
            throw CKError(
                CloudError(.badDatabase, "A sync engine works on a private or shared database: pass one of those.")
            )
        }
        if worker.isAutomatic { worker.lookOn() }
        let person = try await identify()
        guard let person else { return false }
        let (userName, previous) = (person.userName, state.content.userName)
        if userName != previous { try await change(from: previous, to: userName) }
        guard userName != nil else {
            worker.listen(as: nil)
            return false
        }
        if worker.isAutomatic { await listen(as: person.device) }
        return true
    }

    private func change(from previous: String?, to userName: String?) async throws {
        worker.isSubscribed = false
        worker.wantFetch(andRound: false)
        let change: CKSyncEngine.Event.AccountChange.ChangeType
        switch (previous, userName) {
        case (let previous?, let userName?):
            state.update { $0.reset(for: userName) }
            change = .switchAccounts(
                previousUser: CKRecord.ID(recordName: previous), currentUser: CKRecord.ID(recordName: userName))
        case (let previous?, nil):
            state.update { $0.reset(for: nil) }
            change = .signOut(previousUser: CKRecord.ID(recordName: previous))
        case (nil, let userName?):
            // Changes that a program added before an account was known stay: they belong to the account that signs in.
            state.update { $0.userName = userName }
            change = .signIn(currentUser: CKRecord.ID(recordName: userName))
        case (nil, nil): return
        }
        try await worker.report(.accountChange(.init(changeType: change)))
        try await worker.reportState()
    }

    /// The user's name and the device that is notified of others; without a name if there is no account; nil if the
    /// account cannot be used now. From now on the round acts for this account.
    private func identify() async throws -> (userName: String?, device: DeviceAddress?)? {
        let scope = worker.database.scope.pinned()
        database = CKDatabase(scope, worker.database.databaseScope)
        let container = CKContainer(scope)
        switch try await container.accountStatus() {
        case .available: return (try await container.userRecordID().recordName, scope.ear)
        case .noAccount: return (nil, nil)
        case .couldNotDetermine, .restricted, .temporarilyUnavailable: return nil
        }
    }

    /// Starts to listen for changes by other devices. If that fails, the engine fetches on request only.
    private func listen(as device: DeviceAddress?) async {
        guard let device, !worker.hears(as: device) else { return }
        do {
            try await worker.session.pool.run { [hub = worker.session.hub] in try hub.register(device) }
            worker.listen(as: device)
            // Fetches what was written before it listened.
            worker.wantFetch(andRound: false)
        } catch {
            note(error)
        }
    }

    // Fetching: which zones have changed, then what has changed in them (E-02).
    //
    // Invariant: fetched changes are reported before the token after them is stored, so that a program that stores both
    // in the order of the events never misses a change (E-09).

    /// Fetches and reports changes. Throws the error of the request, or `partialFailure` for zones.
    func fetch(_ options: CKSyncEngine.FetchChangesOptions) async throws {
        let context = CKSyncEngine.FetchChangesContext(reason: reason, options: options)
        let wanted = worker.wantedFetch
        try await reporting(
            .willFetchChanges(.init(context: context)), .didFetchChanges(.init(context: context))
        ) {
            try await subscribe()
            try await fetchZoneList(context)
            try await fetchZones(context)
            worker.noteFetch(wanted)
        }
    }

    /// Without a subscription the engine still fetches on request; only a temporary error is worth a retry.
    private func subscribe() async throws {
        guard !worker.isSubscribed else { return }
        do {
            try await ensureSubscription()
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
        var hasRestarted = false
        /// All existing zones, if the engine had followed some and starts from the beginning: the missing ones are
        /// gone. Only the whole list shows that, so an interrupted one starts again.
        var listed: Set<CKRecordZone.ID>?
        var position = state.content.databaseToken
        while true {
            let group = try await nextOptions(context).operationGroup
            let token = position
            if token == nil, listed == nil, !state.content.zoneTokens.isEmpty { listed = [] }
            do {
                let page = try await database(in: group).databaseChanges(since: token)
                listed?.formUnion(page.modifications.map(\.zoneID))
                state.update { content in
                    content.noteDeleted(page.deletions.map(\.zoneID))
                    content.noteChanged(page.modifications.map(\.zoneID))
                }
                if !page.modifications.isEmpty || !page.deletions.isEmpty {
                    try await worker.report(
                        .fetchedDatabaseChanges(.init(modifications: page.modifications, deletions: page.deletions)))
                }
                position = page.changeToken
                if listed == nil { state.update { $0.databaseToken = page.changeToken } }
                try await worker.reportState()
                guard page.moreComing else { break }
            } catch let error as CKError where error.code == .changeTokenExpired && token != nil && !hasRestarted {
                hasRestarted = true
                position = nil
                // A list from the beginning names all existing zones.
                state.update { ($0.databaseToken, $0.unfetchedZoneIDs) = (nil, []) }
            }
        }
        guard let listed else { return }
        let gone = state.content.zoneTokens.keys.filter { !listed.contains($0) }
        if !gone.isEmpty {
            try await worker.report(
                .fetchedDatabaseChanges(
                    .init(modifications: [], deletions: gone.map { .init(zoneID: $0, reason: .deleted) })))
        }
        state.update { [position] content in
            content.noteDeleted(gone)
            content.databaseToken = position
        }
        try await worker.reportState()
    }

    // MARK: Zone contents

    private func fetchZones(_ context: CKSyncEngine.FetchChangesContext) async throws {
        var done: Set<CKRecordZone.ID> = []
        var failed: [AnyHashable: any Error] = [:]
        while let zoneID = state.content.nextZone(try await nextOptions(context), except: done) {
            done.insert(zoneID)
            try await worker.report(.willFetchRecordZoneChanges(.init(zoneID: zoneID)))
            var failure: CKError?
            do {
                try await fetch(zoneID, context)
            } catch {
                failure = CKError.of(error)
            }
            try await worker.report(.didFetchRecordZoneChanges(.init(zoneID: zoneID, error: failure)))
            guard let failure else { continue }
            // Other zones would fail as well, except if only this zone is busy.
            if SyncRetry.keepsPending(failure), failure.code != .zoneBusy { throw failure }
            if failure.code == .zoneNotFound || failure.code == .userDeletedZone {
                // The database's feed reports it now or later. Its token stays until then: a list from the beginning
                // names no zones that are gone.
                state.update { $0.unfetchedZoneIDs.removeAll { $0 == zoneID } }
            }
            failures.append(failure)
            failed[zoneID] = failure
        }
        guard failed.isEmpty else {
            throw CKError.partialFailure(failed, "Failed to fetch the changes of some zones")
        }
    }

    private func fetch(_ zoneID: CKRecordZone.ID, _ context: CKSyncEngine.FetchChangesContext) async throws {
        var hasRestarted = false
        while true {
            let options = try await nextOptions(context)
            // The delegate may have excluded the zone; the rest is fetched when it is included again.
            guard options.scope.contains(zoneID) else { return }
            let token = state.content.zoneTokens[zoneID]
            do {
                let page = try await zoneChanges(in: zoneID, since: token, options.operationGroup)
                if !page.modifications.isEmpty || !page.deletions.isEmpty {
                    try await worker.report(
                        .fetchedRecordZoneChanges(
                            .init(modifications: page.modifications, deletions: page.deletions)))
                }
                state.update { $0.noteFetched(zoneID, upTo: page.changeToken, isMoreComing: page.moreComing) }
                try await worker.reportState()
                guard page.moreComing else { return }
            } catch let error as CKError where error.code == .changeTokenExpired && token != nil && !hasRestarted {
                hasRestarted = true
                // The token may belong to a deleted zone, and another zone has its name.
                if error.userInfo["reason"] as? String == CloudError.reasonZoneRecreated {
                    // Everything that was fetched of it is gone; the database's feed reports only the latest state of a
                    // name.
                    try await worker.report(
                        .fetchedDatabaseChanges(
                            .init(modifications: [], deletions: [.init(zoneID: zoneID, reason: .deleted)])))
                }
                state.update { $0.zoneTokens[zoneID] = nil }
            }
        }
    }

    // The requests of a round, each an operation that any client could add to the database. An operation has the group
    // of the program, and does not retry: the engine does, so that it can report failures.

    /// A page of changes in the order of the feed.
    private typealias ZonePage = (
        modifications: [CKDatabase.RecordZoneChange.Modification], deletions: [CKDatabase.RecordZoneChange.Deletion],
        changeToken: CKServerChangeToken, moreComing: Bool
    )

    func database(in group: CKOperationGroup) -> CKDatabase {
        CKDatabase(database.scope.inheriting(nil, group), database.databaseScope)
    }

    private func zoneChanges(
        in zoneID: CKRecordZone.ID, since token: CKServerChangeToken?, _ group: CKOperationGroup
    ) async throws -> ZonePage {
        let database = database(in: group)
        return try await database.scope.await { completion in
            let changed = Gathered<[CKDatabase.RecordZoneChange.Modification]>([])
            let operation = database.fetchingPage(of: zoneID, .init(previousServerChangeToken: token)) { page in
                completion(page.map { (changed.value, $0, $1.serverChangeToken, $1.moreComing) })
            }
            // Events cannot report a record's error: a damaged asset has a `fileURL` of nil.
            operation.reportAllRecords { changed.value.append(.init(record: $0)) }
            return operation
        }
    }

    /// Ensures that there is a database subscription (E-12): the configured one, or any, or a new one.
    private func ensureSubscription() async throws {
        let wantedID = worker.wantedSubscriptionID
        if let wantedID {
            let found = try await database.subscriptions(for: [wantedID])
            if case .success = found[wantedID] { return }
        } else {
            let all = try await database.allSubscriptions()
            let isThere = all.contains { ($0 as? CKDatabaseSubscription).map { $0.recordType == nil } ?? false }
            if isThere { return }
        }
        let subscription = CKDatabaseSubscription(
            subscriptionID: wantedID ?? "CKSyncEngine-\(database.databaseScope)-database")
        let info = CKSubscription.NotificationInfo()
        info.shouldSendContentAvailable = true
        subscription.notificationInfo = info
        try await database.save(subscription)
    }
}

extension ContainerScope {
    /// The device of an engine whose container has none.
    static let syncDeviceName = "sync engine"

    /// The same container for the account that is signed in now, even if another signs in later.
    func pinned() -> ContainerScope {
        let session = session
        guard case .signedIn = account, let account = session.account else { return self }
        var pinned = ContainerScope(
            captured: session, identifier: identifier,
            account: .account(account, device: CloudSession.localDeviceName))
        pinned.defaults = defaults
        return pinned
    }

    /// The device that is notified of others; nil without a user.
    var ear: DeviceAddress? {
        guard case .account(let account, let device) = account else { return nil }
        return DeviceAddress(account: account, name: device ?? Self.syncDeviceName)
    }
}

// The decision what to do after failures, as pure functions.

enum SyncRetry {
    /// How often in a row an engine at once sends again what a delegate has repaired, such as a conflict. After that it
    /// pauses, so that a delegate that never repairs it does not keep a host busy.
    static let hastyCount = 8

    /// What to do next.
    enum Plan: Equatable, Sendable {
        /// Wait for the next occasion.
        case wait
        /// Continue at once.
        case goOn
        case pause(seconds: Double)
    }

    /// Whether an engine itself tries again, and keeps the change pending (E-06, E-07). A cancelled request was not
    /// refused.
    static func keepsPending(_ error: CKError) -> Bool { isTransient(error) || error.code == .operationCancelled }

    /// Whether the error goes away with time (E-07).
    static func isTransient(_ error: CKError) -> Bool {
        switch error.code {
        case .notAuthenticated, .accountTemporarilyUnavailable, .networkFailure, .networkUnavailable,
            .requestRateLimited, .serviceUnavailable, .zoneBusy:
            true
        default: false
        }
    }

    /// What to do after a round that has failed.
    /// - Parameters:
    ///   - errors: All errors of the round.
    ///   - failureCount: How many rounds in a row, including this one, have failed without sending anything.
    ///   - hasMore: Whether changes are pending.
    /// - Returns: What to do.
    static func plan(after errors: [CKError], failureCount: Int, hasMore: Bool) -> Plan {
        if errors.contains(where: { $0.code == .operationCancelled }) { return .wait }
        let transient = errors.filter(isTransient)
        guard transient.isEmpty else {
            let requested = transient.compactMap(\.retryAfterSeconds).max()
            return .pause(seconds: requested ?? backOffSeconds(failureCount))
        }
        guard hasMore else { return .wait }
        return failureCount <= hastyCount ? .goOn : .pause(seconds: backOffSeconds(failureCount - hastyCount))
    }

    /// One second, then twice as long each time, at most a minute, as in operations.
    private static func backOffSeconds(_ count: Int) -> Double { min(pow(2, Double(max(count, 1) - 1)), 60) }
}
