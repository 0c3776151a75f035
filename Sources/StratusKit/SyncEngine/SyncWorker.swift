// The work of an engine: decides when to run a round, and runs its jobs one after the other.
//
// Invariants:
//   1. It retains neither the engine nor the delegate; without either it does nothing.
//   2. A request for a round either adds one or finds one that has not begun, so no occasion is lost. During a pause,
//      the end of the pause adds one.
//   3. A request for a fetch increments `wantedFetch`; a fetch satisfies the requests before its beginning.
//   4. An engine that does not sync automatically reports its state, but does nothing else unprompted (E-11).

import StratusCloud
import StratusStore

/// Does the work of one sync engine.
final class SyncWorker: Sendable {
    /// What a program can request.
    typealias Errand = @Sendable (SyncRound) async throws -> Void

    private struct Schedule {
        weak var engine: CKSyncEngine?
        weak var delegate: (any CKSyncEngineDelegate)?
        var isEnded = false
        /// Whether a round was added that has not begun.
        var isAdded = false
        /// Whether a report of the state was added that has not begun.
        var isReportDue = false
        /// Ends the pause before the next attempt.
        var endPause: (@Sendable () -> Void)?
        var failureCount = 0
        var wantedFetch: UInt64 = 1
        var doneFetch: UInt64 = 0
        /// The device that notifies the engine of others.
        var ear: DeviceAddress?
        /// Where the engine watches.
        var watchers: SessionWatchers?
        /// Whether the subscription is known to exist.
        var isSubscribed = false
    }

    let database: CKDatabase
    let state: CKSyncEngine.State
    let isAutomatic: Bool
    let wantedSubscriptionID: CKSubscription.ID?
    let queue = SyncQueue()
    private let schedule: Locked<Schedule>

    init(_ configuration: CKSyncEngine.Configuration, _ state: CKSyncEngine.State) {
        database = configuration.database
        isAutomatic = configuration.automaticallySync
        wantedSubscriptionID = configuration.subscriptionID
        self.state = state
        schedule = Locked(Schedule(delegate: configuration.delegate))
    }

    /// The current session of the database.
    var session: CloudSession { database.scope.session }

    /// Begins to work for an engine.
    func begin(as engine: CKSyncEngine) {
        schedule.withLock { $0.engine = engine }
        state.setOnChange { [weak self] isToSend in self?.clientHasChanged(isToSend) }
        guard isAutomatic else { return }
        lookOn()
        askForRound()
    }

    /// Ends permanently, at once except for a request under way.
    func end() {
        state.setOnChange(nil)
        let (endPause, watchers) = schedule.withLock { schedule in
            schedule.isEnded = true
            return (schedule.endPause.take(), schedule.watchers.take())
        }
        endPause?()
        watchers?.remove(ObjectIdentifier(self))
        queue.cancelAll()
    }

    // MARK: Occasions

    private func clientHasChanged(_ isToSend: Bool) {
        let isToReport = schedule.withLock { schedule in
            guard !schedule.isEnded else { return false }
            return !exchange(&schedule.isReportDue, with: true)
        }
        if isToReport {
            queue.add(isOwn: true, in: session) { [self] in
                schedule.withLock { $0.isReportDue = false }
                try await reportState()
            }
        }
        if isToSend { askForRound() }
    }

    /// Requests a fetch, because another device has written or for another reason (E-14).
    func wantFetch(andRound isRoundWanted: Bool) {
        schedule.withLock { $0.wantedFetch += 1 }
        if isRoundWanted { askForRound() }
    }

    /// Adds a round, unless one is due anyway.
    func askForRound() {
        guard isAutomatic, database.databaseScope != .public, !session.activity.refusesRequests else { return }
        let isMine = schedule.withLock { schedule in
            guard !schedule.isEnded, !schedule.isAdded, schedule.endPause == nil else { return false }
            schedule.isAdded = true
            return true
        }
        guard isMine else { return }
        queue.add(isOwn: true, in: session) { [self] in
            // Changes that were added again in a callback requested this round before the failure requested a pause.
            let isPausing = schedule.withLock { schedule in
                schedule.isAdded = false
                return schedule.endPause != nil
            }
            if !isPausing { await SyncRound(self, .scheduled).runScheduled() }
        }
    }

    // MARK: Calls of the program

    private var isInCallback: Bool { SyncCallback.workers.contains(ObjectIdentifier(self)) }

    func run(_ errand: @escaping Errand) async throws {
        if isInCallback { throw SyncCallback.refusal() }
        let job = queue.add(isOwn: false, in: session) { [self] in try await SyncRound(self, .manual).run(errand) }
        try await withTaskCancellationHandler {
            try await job.value
        } onCancel: {
            job.cancel()
        }
    }

    func cancel() async {
        endPause()
        let jobs = queue.cancelAll()
        guard !isInCallback else { return }
        for job in jobs { _ = await job.result }
    }

    // MARK: The delegate

    /// Calls the delegate. Throws `operationCancelled` if the delegate or the engine is gone.
    func ask<Answer: Sendable>(
        _ body: @Sendable (any CKSyncEngineDelegate, CKSyncEngine) async -> Answer
    ) async throws -> Answer {
        let (delegate, engine, isEnded) = schedule.withLock { ($0.delegate, $0.engine, $0.isEnded) }
        guard let delegate, let engine, !isEnded else { throw CKError.operationWasCancelled }
        let workers = SyncCallback.workers.union([ObjectIdentifier(self)])
        return await SyncCallback.$workers.withValue(workers) { await body(delegate, engine) }
    }

    /// Sends an event to the delegate.
    func report(_ event: CKSyncEngine.Event) async throws {
        try await ask { delegate, engine in await delegate.handleEvent(event, syncEngine: engine) }
    }

    /// Sends the state to the delegate if it has changed (E-09).
    func reportState() async throws {
        guard let update = state.takeUpdate() else { return }
        try await report(.stateUpdate(.init(stateSerialization: update)))
    }

    // MARK: Scheduling

    /// Whether some fetch requests are not satisfied.
    var hasOpenFetch: Bool { schedule.withLock { $0.wantedFetch > $0.doneFetch } }

    /// The number of the fetch requests so far.
    var wantedFetch: UInt64 { schedule.withLock { $0.wantedFetch } }

    /// Notes the end of a fetch that began at this number of requests.
    func noteFetch(_ number: UInt64) { schedule.withLock { $0.doneFetch = max($0.doneFetch, number) } }

    /// Notes that a round has succeeded, or has sent something.
    func noteProgress() { schedule.withLock { $0.failureCount = 0 } }

    /// Notes that a round has failed, and decides when to try again.
    func noteFailures(_ errors: [CKError]) {
        let count = schedule.withLock { schedule in
            schedule.failureCount += 1
            return schedule.failureCount
        }
        guard isAutomatic else { return }
        let hasMore = state.content.hasPendingChanges
        switch SyncRetry.plan(after: errors, failureCount: count, hasMore: hasMore) {
        case .wait: break
        case .goOn: askForRound()
        case .pause(let seconds): pause(forSeconds: seconds)
        }
    }

    private func pause(forSeconds seconds: Double) {
        let (timers, activity) = (session.timers, session.activity)
        guard !activity.refusesRequests else { return }
        let last = schedule.withLock { schedule -> (@Sendable () -> Void)? in
            guard !schedule.isEnded else { return nil }
            // Under the lock, because the pause may be over before it is noted.
            let token = timers.schedule(afterSeconds: seconds) { [weak self] in
                self?.schedule.withLock { $0.endPause = nil }
                self?.askForRound()
            }
            return exchange(&schedule.endPause, with: { timers.cancel(token) })
        }
        last?()
    }

    private func endPause() {
        let end = schedule.withLock { $0.endPause.take() }
        end?()
    }

    // MARK: Hearing of others

    /// Whether this engine has found or created the subscription (E-12).
    var isSubscribed: Bool {
        get { schedule.withLock { $0.isSubscribed } }
        set { schedule.withLock { $0.isSubscribed = newValue } }
    }

    /// Watches the current session of the database. It may differ from the previous one: the default store is reopened
    /// after it was closed.
    func lookOn() {
        let watchers = session.hub.watchers
        let (last, isEnded) = schedule.withLock { schedule in
            let last = schedule.watchers
            guard !schedule.isEnded, last !== watchers else { return (SessionWatchers?.none, true) }
            (schedule.watchers, schedule.ear) = (watchers, nil)
            return (last, false)
        }
        last?.remove(ObjectIdentifier(self))
        guard !isEnded else { return }
        watchers.add(
            ObjectIdentifier(self), onDevice: { [weak self] in self?.wantFetch(andRound: true) },
            onAccount: { [weak self] in
                self?.endPause()
                self?.askForRound()
            })
        // An engine may end while it starts to watch.
        if schedule.withLock({ $0.isEnded }) { watchers.remove(ObjectIdentifier(self)) }
    }

    /// Whether the engine is notified through this device.
    func hears(as device: DeviceAddress) -> Bool { schedule.withLock { $0.ear == device } }

    /// Watches a device from now on; nil for none.
    func listen(as device: DeviceAddress?) {
        let watchers = schedule.withLock { schedule in
            schedule.ear = device
            return schedule.watchers
        }
        watchers?.watch(device, ObjectIdentifier(self))
    }
}

// A serial queue for the jobs of one engine.
//
// Invariants:
//   1. A job begins when all previous jobs have ended, also if it or they were cancelled.
//   2. A job counts as under way in the session until it ends, so that waiting for the session includes engines
//      (`Stratus.settle`).
//   3. A job of the engine's own inherits only the current store from the requesting task. That task may be a callback
//      of the delegate's, which must not seem to last longer than it does.

/// A serial queue of asynchronous jobs.
final class SyncQueue: Sendable {
    typealias Job = Task<Void, any Error>

    private struct State {
        var last: Job?
        /// Jobs that have not ended.
        var open: [UInt64: Job] = [:]
        var lastNumber: UInt64 = 0
    }

    private let state = Locked(State())
    /// The store that was current when the engine was created.
    private let taskSession = CurrentSession.ofTask

    /// Adds a job: the engine's own, or one that the program waits for, with the priority and the values of the
    /// program's task.
    @discardableResult
    func add(isOwn: Bool, in session: CloudSession, _ body: @escaping @Sendable () async throws -> Void) -> Job {
        session.activity.begin()
        return state.withLock { [taskSession] state in
            state.lastNumber += 1
            let (number, previous) = (state.lastNumber, state.last)
            let run: @Sendable () async throws -> Void = { [self] in
                defer {
                    // Released after the lock.
                    _ = self.state.withLock { $0.open.removeValue(forKey: number) }
                    session.activity.end()
                }
                _ = await previous?.result
                try await body()
            }
            let job =
                isOwn
                ? Task.detached { try await CurrentSession.$ofTask.withValue(taskSession, operation: run) }
                : Task(operation: run)
            state.open[number] = job
            state.last = job
            return job
        }
    }

    /// Cancels all jobs that have not ended, and returns them.
    @discardableResult
    func cancelAll() -> [Job] {
        let jobs = state.withLock { Array($0.open.values) }
        for job in jobs { job.cancel() }
        return jobs
    }
}

// The callbacks that a task runs in. A callback that waited for its own engine would deadlock (E-04).

enum SyncCallback {
    /// The engines whose callbacks the task runs in, nested.
    @TaskLocal static var workers: Set<ObjectIdentifier> = []
    /// The limits of a request in the store of the innermost engine that requests a batch; nil if none does.
    @TaskLocal static var requestLimits: RequestSize?

    /// The error of a call to an engine in a callback of the engine's own delegate.
    static func refusal() -> CKError {
        let mistake = Misuse(
            "A callback of a sync engine's delegate must not wait for a call of that engine: return first, or make the "
                + "call in a detached task.")
        StratusMisuse.note(mistake.text)
        return CKError(mistake.error)
    }
}
