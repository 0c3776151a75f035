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
        session.activity.begin()
        ask(session, request) { result in
            queue.async {
                completion(result)
                session.activity.end()
            }
        }
    }

    /// Asks the server and waits without holding up a thread.
    func ask<Value: Sendable>(
        _ request: @escaping @Sendable (any CloudServer, Caller) throws -> Value
    ) async throws -> Value {
        let session = session
        return try await withCheckedThrowingContinuation { continuation in
            ask(session, request) { continuation.resume(with: $0) }
        }
    }

    private func ask<Value: Sendable>(
        _ session: CloudSession, _ request: @escaping @Sendable (any CloudServer, Caller) throws -> Value,
        _ completion: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
        let caller = caller(in: session)
        do throws(BlockingPool.Refusal) {
            guard !session.activity.isEnding else { throw BlockingPool.Refusal.closed }
            try session.pool.submit(priority: .userInitiated) {
                completion(Result { try request(session.server, caller) }.mapError { CKError.of($0) })
            }
        } catch {
            completion(.failure(CKError.of(error)))
        }
    }
}
