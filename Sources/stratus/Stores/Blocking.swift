// Calls that block a thread: until an asynchronous call returns, or for a time. Verbs run on the main thread, which
// nothing else needs.

import CSystem
import Dispatch
import Synchronization

enum Blocking {
    private static let pauseMilliseconds: Int32 = 20

    /// Runs `body` as a task and blocks the thread until it returns. Never call it on Swift's own threads.
    static func wait<Value: Sendable>(for body: @escaping @Sendable () async throws -> Value) throws -> Value {
        let result = SharedResult<Value>()
        let ended = DispatchSemaphore(value: 0)
        Task {
            do { result.set(.success(try await body())) } catch { result.set(.failure(error)) }
            ended.signal()
        }
        ended.wait()
        return try result.get()
    }

    /// Starts `body` as a task.
    static func begin<Value: Sendable>(
        _ body: @escaping @Sendable () async throws -> Value
    ) -> Task<Value, any Error> {
        Task { try await body() }
    }

    /// Sleeps for a moment, so that the store can catch up with its background work.
    static func pause() { cfiletree_sleep(pauseMilliseconds) }

    /// Sleeps, to the millisecond.
    static func sleep(seconds: Double) { cfiletree_sleep(Int32(clamping: Int64((seconds * 1_000).rounded()))) }
}

/// The result of a call that another thread makes.
final class SharedResult<Value: Sendable>: Sendable {
    private let result = Mutex<Result<Value, any Error>?>(nil)

    func set(_ value: Result<Value, any Error>) { result.withLock { $0 = value } }

    /// Throws `CancellationError` if no result was set.
    func get() throws -> Value {
        guard let result = result.withLock({ $0 }) else { throw CancellationError() }
        return try result.get()
    }
}
