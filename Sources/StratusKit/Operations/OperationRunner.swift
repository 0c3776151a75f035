// Carries out a started operation: its request on a thread of the session's pool, its time-outs, its repetitions, its
// blocks. The operation's state machine decides what happens; this does it.
//
// Invariants:
//   1. `onWorkEnd` is called once the request is over, or was taken back before it began, and never while it runs.
//   2. After `stop` no request begins.
//   3. Timers are cancelled when the work is over.

import Foundation
import StratusCloud
import StratusStore

/// One started operation's work.
final class OperationRunner: Sendable {
    private struct State {
        var isStopped = false
        var ticket: PoolTicket?
        var retry: SessionTimers.Token?
        var retryCount = 0
        /// Whether the client was told that the operation is kept.
        var isPersisted = false
        /// Whether another object's answer is waited for.
        var isWaiting = false
        /// Whether that answer came before the wait began.
        var isWoken = false
        var requestTimer: SessionTimers.Token?
        var resourceTimer: SessionTimers.Token?
        var failure: CKError?
    }

    let context: RequestContext
    let configuration: EffectiveConfiguration
    private let job: any OperationJob
    private let longLived: LongLivedRun?
    /// Why nothing is to be sent; nil where it is.
    private let refusal: CKError?
    private let onWorkEnd: @Sendable () -> Void
    private let onTimeOut: @Sendable () -> Void
    private let state = Locked(State())

    init(
        _ job: any OperationJob, context: RequestContext, configuration: EffectiveConfiguration,
        longLived: LongLivedRun?, refusal: CKError?,
        onWorkEnd: @escaping @Sendable () -> Void, onTimeOut: @escaping @Sendable () -> Void
    ) {
        self.job = job
        self.context = context
        self.configuration = configuration
        self.longLived = longLived
        self.refusal = refusal
        self.onWorkEnd = onWorkEnd
        self.onTimeOut = onTimeOut
    }

    private var session: CloudSession { context.session }

    /// Begins the work.
    func begin() {
        if let refusal {
            state.withLock { $0.failure = refusal }
            return end()
        }
        if let seconds = configuration.resourceSeconds {
            let timer = session.timers.schedule(afterSeconds: seconds, onTimeOut)
            state.withLock { $0.resourceTimer = timer }
        }
        submit()
    }

    /// Asks the work to end early. A request that is being answered is waited for: what it does on the server stays.
    func stop() {
        let (ticket, retry, isWaiting) = state.withLock { state in
            defer { (state.isStopped, state.isWaiting) = (true, false) }
            return (state.ticket, state.retry, state.isWaiting)
        }
        if isWaiting || ticket?.withdraw() == true {
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
        context.deliver { [self] in
            job.conclude(failure.map { .failure($0) } ?? .success(()))
            leave()
            completion()
        }
    }

    // MARK: Helpers

    private func submit() {
        // For those who try again, a slow request is waited for until the whole time is over (O-10).
        if let seconds = configuration.requestSeconds, !configuration.retriesNetworkErrors {
            let timer = session.timers.schedule(afterSeconds: seconds, onTimeOut)
            let last = state.withLock { state in
                defer { state.requestTimer = timer }
                return state.requestTimer
            }
            // An operation that has waited for another's answer begins anew.
            if let last { session.timers.cancel(last) }
        }
        do {
            // Under the lock, because the work may be over, and wait to be repeated, before `submit` returns.
            let withdrawn = try state.withLock { state in
                let ticket = try session.pool.submit(priority: configuration.priority) { [self] in work() }
                (state.ticket, state.retry) = (ticket, nil)
                return state.isStopped ? ticket : nil
            }
            if withdrawn?.withdraw() == true { end() }
        } catch {
            state.withLock { $0.failure = CKError.of(error) }
            end()
        }
    }

    private func work() {
        do {
            guard try answer() else { return }
            state.withLock { $0.failure = nil }
            if job.isMoreToSend { return deliverAndGoOn() }
            context.deliver { [job] in job.deliver() }
        } catch {
            let failure = clientError(error)
            if mayRetry(failure) { return waitAndRetry(failure) }
            state.withLock { $0.failure = failure }
        }
        end()
    }

    /// Hands a page over, and sends for the next one when its blocks have returned, so that pages do not pile up.
    private func deliverAndGoOn() {
        let timer = state.withLock { state in
            (state.ticket, state.retryCount) = (nil, 0)
            defer { state.requestTimer = nil }
            return state.requestTimer
        }
        // The next page is a request of its own, and what blocks take is none of its time.
        if let timer { session.timers.cancel(timer) }
        context.deliver { [self] in
            job.deliver()
            if isStopped { end() } else { submit() }
        }
    }

    private var isStopped: Bool { state.withLock { $0.isStopped } }

    /// The context of a request that is being made, which can be told to end early.
    private var stoppableContext: RequestContext {
        var context = context
        context.isStopped = { [weak self] in self?.isStopped ?? true }
        return context
    }

    private func clientError(_ error: any Error) -> CKError {
        (error as? CloudError).map { context.clientError($0) } ?? CKError.of(error)
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
        guard configuration.retriesNetworkErrors, !session.activity.refusesRequests else { return false }
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
        let (retry, isStopped) = state.withLock { state in
            let retry = session.timers.schedule(afterSeconds: pauseSeconds, firesAtClose: true) { [self] in
                resumeActivity()
                submit()
            }
            state.retry = retry
            return (retry, state.isStopped)
        }
        // Who stopped the work before found no pause to end, and who stops it from now on finds one.
        if isStopped {
            if session.timers.cancel(retry) { return end() }
        }
        // Nobody can wait for a clock that stands still: a pause on it is not under way, once the blocks that come before
        // it were called. The timer comes first, so that who finds the session idle can move the clock.
        if session.timers.isMovedByHand { context.deliver { [session] in session.activity.end() } }
    }

    private func resumeActivity() {
        if session.timers.isMovedByHand { session.activity.begin() }
    }
}

// MARK: Long-lived operations

extension OperationRunner {
    /// Gets the answer; false when another object has sent the request and its answer is waited for.
    private func answer() throws -> Bool {
        try ContainerScope.check(context.caller.container)
        guard let longLived, let job = job as? any LongLivedJob else {
            if !isStopped { try job.send(stoppableContext) }
            return true
        }
        let entry = try longLived.entry(job, in: session)
        let step = try session.longLived.join(entry, as: longLived.member) { [self] in wake() }
        switch step {
        case .send:
            let isFirst = state.withLock { state in
                defer { state.isPersisted = true }
                return !state.isPersisted
            }
            if isFirst, let onPersisted = longLived.onPersisted { context.deliver(onPersisted) }
            if !isStopped { try send(longLived, job) }
            return true
        case .replay(let data):
            let archive = try LongLivedArchive.root(of: data)
            if let error = LongLivedArchive.error(archive["failure"]) { throw error }
            job.adopt((archive["answer"] as? NSDictionary) as? [String: Any] ?? [:], in: stoppableContext)
            return true
        case .wait:
            let wait = state.withLock { state in
                defer { (state.isWoken, state.isWaiting) = (false, !state.isWoken && !state.isStopped) }
                return (isOver: state.isWoken, isStopped: state.isStopped)
            }
            if wait.isOver { return try answer() }
            // Stopped before it could wait: there is no answer, and the work is over.
            return wait.isStopped
        }
    }

    private func wake() {
        let goesOn = state.withLock { state in
            defer { (state.isWoken, state.isWaiting) = (!state.isWaiting, false) }
            return state.isWaiting
        }
        if goesOn { submit() }
    }

    private func send(_ longLived: LongLivedRun, _ job: any LongLivedJob) throws {
        do {
            try job.send(stoppableContext)
        } catch {
            let failure = clientError(error)
            if !mayRetry(failure) { keep(["failure": LongLivedArchive.object(of: failure)], of: longLived, job) }
            throw failure
        }
        keep(["answer": job.archivedAnswer as NSDictionary], of: longLived, job)
    }

    /// Keeps the answer. One that cannot be kept is delivered all the same, for the server has done what it says; should
    /// the process end before the last block, the request is sent once more.
    private func keep(_ answer: [String: Any], of longLived: LongLivedRun, _ job: any LongLivedJob) {
        try? session.longLived.answer(
            try longLived.entry(job, in: session), with: try LongLivedArchive.data(answer))
    }

    private func leave() {
        // What could not be dropped is found again, which does no harm, and is dropped after a day.
        if let longLived { try? session.longLived.leave(longLived.id, as: longLived.member) }
    }
}

// Where an operation stands when it starts.

extension CKOperation {
    /// Where an operation stands that was added to a container or database, or made by a convenience call.
    struct Surroundings {
        /// The container it was added to.
        var scope: ContainerScope?
        /// The quality of service where nothing sets one.
        var qualityOfService = QualityOfService.default
        /// The session that counts the operation as under way.
        var countedBy: CloudSession?
        /// Why nothing is to be sent: the session takes no more requests, or the programmer made a mistake.
        var refusal: CKError?
        /// The mistake of a programmer who added it twice.
        var misuse: String?
        /// Where the operation is held that was found again, so that it is not dropped before it runs (O-14).
        var holder: LongLivedRegistry?
        /// Whether no block of a client's is called, so that a queue for them is not needed.
        var isInline = false

        /// The error that the operation fails with, without anything being sent.
        var whyRefused: CKError? {
            misuse.map { CKError(CloudError(.invalidArguments, text: $0)) } ?? refusal
        }
    }
}
