// Questions to the server that are no operations: how an account stands, who the user is.

import Foundation
import StratusCloud

extension ContainerScope {
    /// Asks the server on a thread that may block, and hands the answer to a handler, never on the caller's thread.
    func ask<Value: Sendable>(
        _ request: @escaping @Sendable (any CloudServer, Caller) throws -> Value,
        completion: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
        let session = session
        let queue = CallbackQueue(pool: session.callbackPool)
        ask(session, request) { result, isAccepted in
            queue.async {
                completion(result)
                if isAccepted { session.activity.end() }
            }
        }
    }

    /// Asks the server and waits without holding up a thread.
    func ask<Value: Sendable>(
        _ request: @escaping @Sendable (any CloudServer, Caller) throws -> Value
    ) async throws -> Value {
        let session = session
        return try await withCheckedThrowingContinuation { continuation in
            ask(session, request) { result, isAccepted in
                continuation.resume(with: result)
                if isAccepted { session.activity.end() }
            }
        }
    }

    /// `completion` is also told whether the question counts as under way in the session, which it then ends.
    private func ask<Value: Sendable>(
        _ session: CloudSession, _ request: @escaping @Sendable (any CloudServer, Caller) throws -> Value,
        _ completion: @escaping @Sendable (Result<Value, any Error>, _ isAccepted: Bool) -> Void
    ) {
        guard session.activity.accept() else {
            return completion(.failure(CKError.of(BlockingPool.Refusal.closed)), false)
        }
        let caller = caller(in: session)
        do {
            try session.pool.submit(priority: .userInitiated) {
                let answer = Result {
                    try Self.check(caller.container)
                    return try request(session.server, caller)
                }
                completion(answer.mapError { CKError.of($0) }, true)
            }
        } catch {
            completion(.failure(CKError.of(error)), true)
        }
    }
}
