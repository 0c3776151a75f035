// From tasks to the calls of the host API, which block their thread until they are durable. A task that blocked would
// take one of the few threads on which all tasks run; so such calls are made on threads that are there to be blocked.

import NIOPosix

/// Makes calls that block, on threads that may be blocked.
///
/// A call that has begun is not given up where its task is cancelled: it may have been carried out.
struct HostCalls: Sendable {
    private let pool: NIOThreadPool

    init(pool: NIOThreadPool = .singleton) {
        self.pool = pool
    }

    /// Runs `body` on a thread of the pool while the task is suspended.
    func callAsFunction<Answer: Sendable>(_ body: @escaping @Sendable () throws -> Answer) async throws -> Answer {
        try await withCheckedThrowingContinuation { continuation in
            pool.submit { _ in continuation.resume(with: Result(catching: body)) }
        }
    }
}
