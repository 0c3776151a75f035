// One round of an engine's: who the user is, then fetching or sending, or both. A round is for one account from its
// beginning to its end, also where somebody else signs in meanwhile: what one person has written never goes to another.

import Foundation
import StratusCloud
import StratusModel
import StratusStore

/// One thing that an engine does, from its beginning to its end.
final class SyncRound {
    let worker: SyncWorker
    let reason: CKSyncEngine.SyncReason
    /// All that went wrong, for the decision when to try again.
    var failures: [CKError] = []
    /// The requests, made as the account of the round.
    private(set) var requests: SyncRequests

    var state: CKSyncEngine.State { worker.state }

    init(_ worker: SyncWorker, _ reason: CKSyncEngine.SyncReason) {
        self.worker = worker
        self.reason = reason
        requests = SyncRequests(database: worker.database)
    }

    /// Does what the program has asked for.
    func perform(_ errand: SyncWorker.Errand) async throws {
        do {
            guard try await beginAsUser() else { return }
            switch errand {
            case .fetch(let options): try await fetch(options)
            case .send(let options): try await send(options)
            }
            worker.noteProgress()
        } catch {
            let failure = note(error)
            worker.noteFailures(failures)
            throw failure
        }
    }

    /// Does what there is to do: fetches first, so that what is sent meets fewer conflicts (E-14).
    func performScheduled() async {
        do {
            try await worker.tellState()
            guard try await beginAsUser() else { return }
            if worker.openFetch != nil { try await fetchPatiently() }
            if state.content.hasPendingChanges { try await send(.init()) }
            if failures.isEmpty { worker.noteProgress() } else { worker.noteFailures(failures) }
        } catch {
            note(error)
            worker.noteFailures(failures)
        }
    }

    /// A fetch that has failed for good is no reason not to send.
    private func fetchPatiently() async throws {
        do {
            try await fetch(.init())
        } catch {
            note(error)
            guard failures.contains(where: SyncRetry.keepsPending) else { return }
            throw error
        }
    }

    /// Keeps an error for the decision, unless the errors that it is made of are kept already.
    @discardableResult
    func note(_ error: any Error) -> CKError {
        let failure = error is CancellationError ? CKError.operationWasCancelled : CKError.of(error)
        if failure.code != .partialFailure || failures.isEmpty { failures.append(failure) }
        return failure
    }

    // MARK: The user

    /// Finds out who the user is, and tells of a change (E-10). False where there is nobody to work for (E-03).
    private func beginAsUser() async throws -> Bool {
        guard worker.database.databaseScope != .public else {
            throw CKError(
                CloudError(.badDatabase, "A sync engine works on a private or a shared database: give it one of those.")
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
            // What a program has added before anybody was known stays: it belongs to whoever signs in.
            state.update { $0.userName = userName }
            change = .signIn(currentUser: CKRecord.ID(recordName: userName))
        case (nil, nil): return
        }
        try await worker.tell(.accountChange(.init(changeType: change)))
        try await worker.tellState()
    }

    /// Who the user is, and by which device they hear of others; a user without a name where there is no account; nil
    /// where the account cannot be used now. From now on the round is this person's.
    private func identify() async throws -> (userName: String?, device: DeviceAddress?)? {
        let scope = worker.database.scope.pinned()
        requests = SyncRequests(database: CKDatabase(scope, worker.database.databaseScope))
        let container = CKContainer(scope)
        switch try await container.accountStatus() {
        case .available: return (try await container.userRecordID().recordName, scope.ear)
        case .noAccount: return (nil, nil)
        case .couldNotDetermine, .restricted, .temporarilyUnavailable: return nil
        }
    }

    /// Hears of what other devices do. Where that cannot be had, the engine fetches when it is asked to.
    private func listen(as device: DeviceAddress?) async {
        guard let device, !worker.hears(as: device) else { return }
        do {
            try await worker.session.register(device)
            worker.listen(as: device)
            // What was written before it listened.
            worker.wantFetch(andRound: false)
        } catch {
            note(error)
        }
    }
}

extension ContainerScope {
    /// The device of an engine whose container acts on none.
    static let syncDeviceName = "sync engine"

    /// The same container for the account that is signed in now, whoever is later.
    func pinned() -> ContainerScope {
        let session = session
        guard case .signedIn = account, let account = session.account else { return self }
        var pinned = ContainerScope(
            captured: session, identifier: identifier,
            account: .account(account, device: CloudSession.localDeviceName))
        pinned.defaults = defaults
        return pinned
    }

    /// The device by which its user hears of others; nil without a user.
    var ear: DeviceAddress? {
        guard case .account(let account, let device) = account else { return nil }
        return DeviceAddress(account: account, name: device ?? Self.syncDeviceName)
    }
}

extension CloudSession {
    /// Makes a device known, on a thread that may block. Throws what the store throws.
    func register(_ device: DeviceAddress) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            do {
                try pool.submit { [hub] in
                    continuation.resume(with: Result { try hub.register(device) })
                }
            } catch {
                continuation.resume(throwing: CKError.of(error))
            }
        }
    }
}

// Fetching: which zones have changed, then what has changed in them (E-02).
//
// Invariant: what was fetched is told before the token up to it is kept, so that a program which stores the two in the
// order in which they come never misses anything (E-09).

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

// What becomes of what has failed: the decision alone.

enum SyncRetry {
    /// How often in a row an engine sends again at once what a delegate has mended, such as a conflict. Behind that it
    /// pauses, so that a delegate that never mends it does not keep a host busy.
    static let hastyCount = 8

    /// What to do next.
    enum Plan: Equatable, Sendable {
        /// Nothing, until there is an occasion.
        case wait
        /// Go on at once.
        case goOn
        case pause(seconds: Double)
    }

    /// Whether an engine tries again by itself, and keeps the change pending (E-06, E-07). A cancelled request has not
    /// been refused.
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
    ///   - errors: All that went wrong in it.
    ///   - failureCount: How many rounds in a row have failed, this one included, without anything being sent.
    ///   - hasMore: Whether there is something left to do.
    /// - Returns: What to do.
    static func plan(after errors: [CKError], failureCount: Int, hasMore: Bool) -> Plan {
        if errors.contains(where: { $0.code == .operationCancelled }) { return .wait }
        let transient = errors.filter(isTransient)
        guard transient.isEmpty else {
            let told = transient.compactMap(\.retryAfterSeconds).max()
            return .pause(seconds: told ?? backOffSeconds(failureCount))
        }
        guard hasMore else { return .wait }
        return failureCount <= hastyCount ? .goOn : .pause(seconds: backOffSeconds(failureCount - hastyCount))
    }

    /// One second, then twice as long each time, a minute at most: as operations do.
    private static func backOffSeconds(_ count: Int) -> Double { min(pow(2, Double(max(count, 1) - 1)), 60) }
}
