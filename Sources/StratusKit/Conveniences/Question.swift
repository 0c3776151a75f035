// Questions to the server that are no operations: how an account stands, who the user is. They have the time-outs and
// the urgency of `configuredWith` as operations do (O-12), and are answered at once when their time is over.

import Foundation
import StratusCloud
import StratusStore

/// What is asked of the server.
typealias Question<Value> = @Sendable (any CloudServer, Caller) throws -> Value

extension ContainerScope {
    /// Asks the server on a thread that may block, and passes the answer to a handler, never on the caller's thread.
    func ask<Value: Sendable>(_ request: @escaping Question<Value>, completion: @escaping Completion<Value>) {
        let session = session
        let queue = CallbackQueue(pool: session.callbackPool)
        _ = ask(session, request) { result, isAccepted in
            queue.async {
                completion(result)
                if isAccepted { session.activity.end() }
            }
        }
    }

    /// Asks the server and waits without holding up a thread. Cancelling the task ends the wait at once with
    /// `operationCancelled`, and withdraws the question if it has not been asked yet (O-08).
    func ask<Value: Sendable>(_ request: @escaping Question<Value>) async throws -> Value {
        let session = session
        let asker = Asker<Value>()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                asker.wait(continuation)
                // The task may have been cancelled before this, or while the question was asked.
                if Task.isCancelled { return asker.cancel() }
                let inquiry = ask(session, request) { result, isAccepted in
                    asker.answer(result)
                    if isAccepted { session.activity.end() }
                }
                if let inquiry { asker.mayWithdraw { if inquiry.withdraw() { session.activity.end() } } }
                if Task.isCancelled { asker.cancel() }
            }
        } onCancel: {
            asker.cancel()
        }
    }

    /// `completion` also gets whether the session counts the question as under way; it ends that.
    ///
    /// Returns the question's place among those that wait for a thread. A caller that withdraws it ends it in the
    /// session.
    private func ask<Value: Sendable>(
        _ session: CloudSession, _ request: @escaping Question<Value>,
        _ completion: @escaping @Sendable (Result<Value, any Error>, _ isAccepted: Bool) -> Void
    ) -> Inquiry<Value>? {
        guard session.activity.accept() else {
            completion(.failure(CKError.of(BlockingPool.Refusal.closed)), false)
            return nil
        }
        let caller = caller(in: session)
        // What `configuredWith` has set, and for the rest what convenience calls have (O-11).
        let configuration = CKOperation.Configuration.Explicit().inheriting(
            from: defaults, group: nil, qualityOfService: .userInitiated)
        let inquiry = Inquiry<Value>(session.timers) { completion($0, true) }
        do {
            let ticket = try session.pool.submit(priority: configuration.priority) {
                let answer = Result {
                    try Self.check(caller.container)
                    return try request(session.server, caller)
                }
                inquiry.end(with: answer.mapError { CKError.of($0) })
            }
            inquiry.begin(ticket, forSeconds: configuration.shortestSeconds)
            return inquiry
        } catch {
            inquiry.end(with: .failure(CKError.of(error)))
            return nil
        }
    }
}

/// A question that was asked, until it is answered, times out or is withdrawn.
private final class Inquiry<Value: Sendable>: Sendable {
    private struct State {
        var isOver = false
        var ticket: PoolTicket?
        var timer: SessionTimers.Token?
    }

    private let timers: SessionTimers
    private let completion: Completion<Value>
    private let state = Locked(State())

    init(_ timers: SessionTimers, _ completion: @escaping Completion<Value>) {
        self.timers = timers
        self.completion = completion
    }

    /// Gives the question its place and its time; nil for no limit.
    func begin(_ ticket: PoolTicket, forSeconds seconds: TimeInterval?) {
        let timer = seconds.map { seconds in
            timers.schedule(afterSeconds: seconds) { [self] in
                // A question that still waits for a thread is not asked.
                _ = state.withLock { $0.ticket }?.withdraw()
                end(with: .failure(CKError.operationTimedOut))
            }
        }
        let isOver = state.withLock { state in
            if !state.isOver { (state.ticket, state.timer) = (ticket, timer) }
            return state.isOver
        }
        // It may have been answered before this.
        if isOver, let timer { timers.cancel(timer) }
    }

    func end(with result: Result<Value, any Error>) {
        if finish() { completion(result) }
    }

    /// Takes the question back. False when it is being asked, or is over.
    func withdraw() -> Bool { state.withLock { $0.ticket }?.withdraw() == true && finish() }

    /// False when it was over before.
    private func finish() -> Bool {
        let (isFirst, timer) = state.withLock { state in
            defer { state = State(isOver: true) }
            return (!state.isOver, state.timer)
        }
        if let timer { timers.cancel(timer) }
        return isFirst
    }
}

/// A task that waits for an answer and may be cancelled before, while and after it begins to.
///
/// Invariant: its continuation is resumed once, by the caller that takes it out of the state.
private final class Asker<Value: Sendable>: Sendable {
    private struct State {
        var continuation: CheckedContinuation<Value, any Error>?
        /// Takes the question back. Holds the question, which holds this. Released with the answer.
        var withdraw: (@Sendable () -> Void)?
        var isAnswered = false
    }

    private let state = Locked(State())

    func wait(_ continuation: CheckedContinuation<Value, any Error>) {
        state.withLock { $0.continuation = continuation }
    }

    /// How the question is taken back if the task is cancelled.
    func mayWithdraw(_ withdraw: @escaping @Sendable () -> Void) {
        state.withLock { if !$0.isAnswered { $0.withdraw = withdraw } }
    }

    func answer(_ result: Result<Value, any Error>) { take(isAnswered: true).continuation?.resume(with: result) }

    /// Ends the wait. The question may still be answered, if it is being asked.
    func cancel() {
        let taken = take(isAnswered: false)
        taken.withdraw?()
        taken.continuation?.resume(throwing: CKError.operationWasCancelled)
    }

    private func take(isAnswered: Bool) -> State {
        state.withLock { state in
            defer { state = State(isAnswered: isAnswered || state.isAnswered) }
            return state
        }
    }
}
