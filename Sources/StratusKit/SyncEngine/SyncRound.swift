// One round of an engine's: who the user is, then fetching or sending, or both. A round is for one account from its
// beginning to its end, also where somebody else signs in meanwhile: what one person has written never goes to another.

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
