// Carries out a started operation: its request on a thread of the session's pool, its time-outs, its repetitions, its
// blocks. The operation's state machine decides what happens; this does it.
//
// Invariants:
//   1. `onWorkEnd` is called once the request is over, or was taken back before it began, and never while it runs.
//   2. After `stop` no request begins.
//   3. Timers are cancelled when the work is over.

import Foundation
import StratusCloud
import StratusOperations
import StratusStore

/// One started operation's work.
final class OperationRunner: Sendable {
    private struct State {
        var isStopped = false
        var ticket: PoolTicket?
        var retry: SessionTimers.Token?
        var retryCount = 0
        var requestTimer: SessionTimers.Token?
        var resourceTimer: SessionTimers.Token?
        var failure: CKError?
    }

    let context: RequestContext
    let configuration: EffectiveConfiguration
    private let job: any OperationJob
    private let onWorkEnd: @Sendable () -> Void
    private let onTimeOut: @Sendable () -> Void
    private let state = Locked(State())

    init(
        _ job: any OperationJob, context: RequestContext, configuration: EffectiveConfiguration,
        onWorkEnd: @escaping @Sendable () -> Void, onTimeOut: @escaping @Sendable () -> Void
    ) {
        self.job = job
        self.context = context
        self.configuration = configuration
        self.onWorkEnd = onWorkEnd
        self.onTimeOut = onTimeOut
    }

    private var session: CloudSession { context.session }

    /// Begins the work.
    func begin() {
        if let seconds = configuration.resourceSeconds {
            let timer = session.timers.schedule(afterSeconds: seconds, onTimeOut)
            state.withLock { $0.resourceTimer = timer }
        }
        submit()
    }

    /// Asks the work to end early. A request that is being answered is waited for: what it does on the server stays.
    func stop() {
        let (ticket, retry) = state.withLock { state in
            state.isStopped = true
            return (state.ticket, state.retry)
        }
        if ticket?.withdraw() == true {
            end()
        } else if let retry, session.timers.cancel(retry) {
            resumeActivity()
            end()
        }
    }

    /// Calls the blocks that end the operation, then `completion`.
    func conclude(_ outcome: OperationOutcome, then completion: @escaping @Sendable () -> Void) {
        let failure: CKError? =
            switch outcome {
            case .workEnded: state.withLock { $0.failure }
            case .cancelled: .operationWasCancelled
            case .timedOut: .operationTimedOut
            }
        context.deliver { [job] in
            job.conclude(failure.map { .failure($0) } ?? .success(()))
            completion()
        }
    }

    // MARK: Helpers

    private func submit() {
        // For those who try again, a slow request is waited for until the whole time is over (O-10).
        if let seconds = configuration.requestSeconds, !configuration.retriesNetworkErrors {
            let timer = session.timers.schedule(afterSeconds: seconds, onTimeOut)
            state.withLock { $0.requestTimer = timer }
        }
        do {
            let ticket = try session.pool.submit(priority: configuration.priority) { [self] in work() }
            let isStopped = state.withLock { state in
                state.ticket = ticket
                state.retry = nil
                return state.isStopped
            }
            if isStopped, ticket.withdraw() { end() }
        } catch {
            state.withLock { $0.failure = Self.refusal(error) }
            end()
        }
    }

    private static func refusal(_ refusal: BlockingPool.Refusal) -> CKError {
        switch refusal {
        case .closed: CKError(CloudError(.serviceUnavailable, "The store was closed: open it again."))
        case .full:
            CKError(
                CloudError(
                    .requestRateLimited, "Too many operations wait for the store: try again later.",
                    retryAfterSeconds: 1))
        }
    }

    private func work() {
        do {
            try job.run(context)
            state.withLock { $0.failure = nil }
        } catch {
            let failure = (error as? CloudError).map { context.clientError($0) } ?? CKError.of(error)
            if mayRetry(failure) { return waitAndRetry(failure) }
            state.withLock { $0.failure = failure }
        }
        end()
    }

    private func end() {
        let timers = state.withLock { state in
            defer { (state.requestTimer, state.resourceTimer) = (nil, nil) }
            return [state.requestTimer, state.resourceTimer]
        }
        for timer in timers { if let timer { session.timers.cancel(timer) } }
        onWorkEnd()
    }
}

// MARK: Trying again

extension OperationRunner {
    private func mayRetry(_ failure: CKError) -> Bool {
        guard configuration.retriesNetworkErrors else { return false }
        return failure.code == .networkUnavailable || failure.code == .networkFailure
    }

    private func waitAndRetry(_ failure: CKError) {
        let count = state.withLock { state in
            state.failure = failure
            state.ticket = nil
            state.retryCount += 1
            return state.retryCount
        }
        let pauseSeconds = failure.retryAfterSeconds ?? min(pow(2, Double(count - 1)), 60)
        // Nobody can wait for a clock that stands still: a pause on it is not under way.
        if session.timers.isMovedByHand { session.activity.end() }
        let isStopped = state.withLock { state in
            state.retry = session.timers.schedule(afterSeconds: pauseSeconds, firesAtClose: true) { [self] in
                resumeActivity()
                submit()
            }
            return state.isStopped
        }
        if isStopped { stop() }
    }

    private func resumeActivity() {
        if session.timers.isMovedByHand { session.activity.begin() }
    }
}
