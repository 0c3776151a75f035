// The work of a started operation: its request on a thread of the session's pool, its timers, its blocks.
// `OperationState` decides what happens; the runner does it, and reports the result as an event.
//
// Invariants:
//   1. A ticket or a pause is stored under the lock before it can report anything, so that an older one never replaces
//      a newer one.
//   2. No lock is held while an event is reported.

import Foundation
import StratusCloud
import StratusStore

/// Does the work of one started operation.
final class OperationRunner: Sendable {
    private struct State {
        var ticket: PoolTicket?
        var pause: SessionTimers.Token?
        var requestTimer: SessionTimers.Token?
        var resourceTimer: SessionTimers.Token?
        /// Whether the client knows that the operation is stored.
        var isPersisted = false
        var failure: CKError?
    }

    let context: RequestContext
    private let configuration: CKOperation.Configuration.Explicit
    private let job: any OperationJob
    private let longLived: LongLivedRun?
    private let report: @Sendable (OperationEvent) -> Void
    private let state: Locked<State>

    /// `refusal` is the error of an operation that sends nothing.
    init(
        _ job: any OperationJob, context: RequestContext, configuration: CKOperation.Configuration.Explicit,
        longLived: LongLivedRun?, refusal: CKError?, report: @escaping @Sendable (OperationEvent) -> Void
    ) {
        self.job = job
        self.context = context
        self.configuration = configuration
        self.longLived = longLived
        self.report = report
        state = Locked(State(failure: refusal))
    }

    private var session: CloudSession { context.session }

    func run(_ action: WorkAction) {
        switch action {
        case .startResourceTimer(let seconds): startTimer(\.resourceTimer, seconds)
        case .startRequestTimer(let seconds): startTimer(\.requestTimer, seconds)
        case .cancelRequestTimer: cancelTimer(\.requestTimer)
        case .cancelTimers:
            cancelTimer(\.requestTimer)
            cancelTimer(\.resourceTimer)
        case .submitRequest: submit()
        case .withdrawRequest: if state.withLock({ $0.ticket })?.withdraw() == true { report(.requestWithdrawn) }
        case .sendRequest: send()
        case .pause(let seconds): pause(forSeconds: seconds)
        case .endPause:
            if let pause = state.withLock({ $0.pause }), session.timers.cancel(pause) { pauseHasEnded() }
        case .deliverPage:
            context.deliver { [self] in
                job.deliver()
                report(.pageDelivered)
            }
        case .deliverCallbacks(let outcome): conclude(outcome)
        }
    }

    private func conclude(_ outcome: OperationOutcome) {
        let failure: CKError? =
            switch outcome {
            case .workEnded: state.withLock { $0.failure }
            case .cancelled: .operationWasCancelled
            case .timedOut: .operationTimedOut
            }
        context.deliver { [self] in
            job.conclude(failure.map { .failure($0) } ?? .success(()))
            // An operation that could not be dropped is found again, which is harmless, and is dropped after a day.
            if let longLived { try? session.longLived.leave(longLived.id, as: longLived.member) }
            report(.callbacksDelivered)
        }
    }

    // MARK: Timers

    private typealias Timer = any WritableKeyPath<State, SessionTimers.Token?> & Sendable

    private func startTimer(_ timer: Timer, _ seconds: Double) {
        let token = session.timers.schedule(afterSeconds: seconds) { [weak self] in self?.report(.timeOutReached) }
        replace(timer, by: token)
    }

    private func cancelTimer(_ timer: Timer) { replace(timer, by: nil) }

    private func replace(_ timer: Timer, by token: SessionTimers.Token?) {
        let last = state.withLock { exchange(&$0[keyPath: timer], with: token) }
        if let last { session.timers.cancel(last) }
    }

    private func pause(forSeconds seconds: Double) {
        state.withLock { state in
            state.pause = session.timers.schedule(afterSeconds: seconds, firesAtClose: true) { [self] in
                pauseHasEnded()
            }
        }
        report(.pauseBegan)
        // A manual clock moves only when a test moves it. So the operation stops counting as under way once the blocks
        // before the pause have been called: otherwise a test that waits for the session would wait forever. The timer
        // is scheduled before that, so that a test that finds the session idle can move the clock.
        if session.timers.isMovedByHand { context.deliver { [session] in session.activity.end() } }
    }

    private func pauseHasEnded() {
        if session.timers.isMovedByHand { session.activity.begin() }
        report(.pauseEnded)
    }

    // MARK: The request

    private func submit() {
        do {
            // Under the lock: the request may fail, and be submitted again, before `submit` returns.
            try state.withLock { state in
                state.ticket = try session.pool.submit(priority: configuration.qualityOfService ?? .default) { [self] in
                    report(.requestBegan)
                }
            }
            report(.requestQueued)
        } catch {
            fail(with: CKError.of(error))
        }
    }

    private func send() {
        do {
            guard try isAnswered() else { return report(.answerAwaited) }
            state.withLock { $0.failure = nil }
            report(.requestAnswered(isMoreToSend: job.isMoreToSend))
        } catch {
            fail(with: clientError(error))
        }
    }

    private func fail(with error: CKError) {
        state.withLock { $0.failure = error }
        report(.requestFailed(failure(error)))
    }

    private func failure(_ error: CKError) -> RequestFailure {
        RequestFailure(
            isOfNetwork: error.code == .networkUnavailable || error.code == .networkFailure,
            retryAfterSeconds: error.retryAfterSeconds, isSessionClosed: session.activity.refusesRequests)
    }

    private func clientError(_ error: any Error) -> CKError {
        (error as? CloudError).map { context.clientError($0) } ?? CKError.of(error)
    }

    // MARK: Long-lived operations

    /// Gets the answer. Returns false if another object has sent the request and its answer must be waited for.
    private func isAnswered() throws -> Bool {
        try ContainerScope.check(context.caller.container)
        guard let longLived, let job = job as? any LongLivedJob else {
            if !context.isStopped() { try job.send(context) }
            return true
        }
        let entry = try longLived.entry(job, in: session)
        let step = try session.longLived.join(entry, as: longLived.member) { [self] in report(.answerArrived) }
        switch step {
        case .send:
            let wasPersisted = state.withLock { exchange(&$0.isPersisted, with: true) }
            if !wasPersisted, let onPersisted = longLived.onPersisted { context.deliver(onPersisted) }
            if !context.isStopped() { try send(longLived, job) }
            return true
        case .replay(let data):
            let archive = try LongLivedArchive.root(of: data)
            if let error = LongLivedArchive.error(archive["failure"]) { throw error }
            job.adopt((archive["answer"] as? NSDictionary) as? [String: Any] ?? [:], in: context)
            return true
        case .wait: return false
        }
    }

    private func send(_ longLived: LongLivedRun, _ job: any LongLivedJob) throws {
        do {
            try job.send(context)
        } catch {
            let error = clientError(error)
            if !configuration.rules.retries(failure(error)) {
                keep(["failure": LongLivedArchive.object(of: error)], of: longLived, job)
            }
            throw error
        }
        keep(["answer": job.archivedAnswer as NSDictionary], of: longLived, job)
    }

    /// Stores the answer. An answer that cannot be stored is delivered anyway, because the server has applied the
    /// request; if the process ends before the last block, the request is sent again.
    private func keep(_ answer: [String: Any], of longLived: LongLivedRun, _ job: any LongLivedJob) {
        try? session.longLived.answer(
            try longLived.entry(job, in: session), with: try LongLivedArchive.data(answer))
    }
}
