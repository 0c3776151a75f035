// Questions to the server that are no operations: how an account stands, who the user is.

import Foundation
import StratusCloud
import StratusStore

extension ContainerScope {
    /// Asks the server on a thread that may block, and hands the answer to a handler, never on the caller's thread.
    func ask<Value: Sendable>(
        _ request: @escaping @Sendable (any CloudServer, Caller) throws -> Value,
        completion: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
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
    /// `operationCancelled`, and takes the question back where it has not been asked yet (O-08).
    func ask<Value: Sendable>(
        _ request: @escaping @Sendable (any CloudServer, Caller) throws -> Value
    ) async throws -> Value {
        let session = session
        let asker = Asker<Value>()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                guard asker.wait(continuation) else { return }
                let ticket = ask(session, request) { result, isAccepted in
                    asker.answer(result)
                    if isAccepted { session.activity.end() }
                }
                if let ticket { asker.mayWithdraw { if ticket.withdraw() { session.activity.end() } } }
            }
        } onCancel: {
            asker.cancel()
        }
    }

    /// `completion` is also told whether the question counts as under way in the session, which it then ends.
    ///
    /// Returns the question's place among those that wait for a thread; who takes it back ends it in the session.
    private func ask<Value: Sendable>(
        _ session: CloudSession, _ request: @escaping @Sendable (any CloudServer, Caller) throws -> Value,
        _ completion: @escaping @Sendable (Result<Value, any Error>, _ isAccepted: Bool) -> Void
    ) -> PoolTicket? {
        guard session.activity.accept() else {
            completion(.failure(CKError.of(BlockingPool.Refusal.closed)), false)
            return nil
        }
        let caller = caller(in: session)
        do {
            return try session.pool.submit(priority: .userInitiated) {
                let answer = Result {
                    try Self.check(caller.container)
                    return try request(session.server, caller)
                }
                completion(answer.mapError { CKError.of($0) }, true)
            }
        } catch {
            completion(.failure(CKError.of(error)), true)
            return nil
        }
    }
}

/// A task that waits for an answer and may be cancelled before, while and after it begins to.
///
/// Invariant: its continuation is resumed once, by whoever takes it out of the state.
private final class Asker<Value: Sendable>: Sendable {
    private struct State {
        var continuation: CheckedContinuation<Value, any Error>?
        var withdraw: (@Sendable () -> Void)?
        var isCancelled = false
    }

    private let state = Locked(State())

    /// False when the task was cancelled before; the continuation has been resumed then.
    func wait(_ continuation: CheckedContinuation<Value, any Error>) -> Bool {
        let isCancelled = state.withLock { state in
            if !state.isCancelled { state.continuation = continuation }
            return state.isCancelled
        }
        if isCancelled { continuation.resume(throwing: CKError.operationWasCancelled) }
        return !isCancelled
    }

    func answer(_ result: Result<Value, any Error>) { take()?.resume(with: result) }

    /// How the question is taken back when the task is cancelled from now on, or was meanwhile.
    func mayWithdraw(_ withdraw: @escaping @Sendable () -> Void) {
        let isCancelled = state.withLock { state in
            if !state.isCancelled { state.withdraw = withdraw }
            return state.isCancelled
        }
        if isCancelled { withdraw() }
    }

    func cancel() {
        let withdraw = state.withLock { state in
            state.isCancelled = true
            return state.withdraw
        }
        withdraw?()
        take()?.resume(throwing: CKError.operationWasCancelled)
    }

    private func take() -> CheckedContinuation<Value, any Error>? {
        state.withLock { state in
            defer { state.continuation = nil }
            return state.continuation
        }
    }
}
