// Calls that block a thread: until an asynchronous call returns, or for a time. Verbs run on the main thread, which
// nothing else needs.

import CStratusSystem
import Dispatch
import Synchronization

enum Blocking {
    private static let pauseMilliseconds: Int32 = 20

    /// Runs `body` as a task and blocks the thread until it returns. Never call it on Swift's own threads.
    static func wait<Value: Sendable>(for body: @escaping @Sendable () async throws -> Value) throws -> Value {
        let result = Mutex<Result<Value, any Error>>(.failure(CancellationError()))
        let ended = DispatchSemaphore(value: 0)
        Task {
            let outcome: Result<Value, any Error>
            do { outcome = .success(try await body()) } catch { outcome = .failure(error) }
            result.withLock { $0 = outcome }
            ended.signal()
        }
        ended.wait()
        return try result.withLock { $0 }.get()
    }

    /// Sleeps for a moment, so that the store can catch up with its background work.
    static func pause() { cfiletree_sleep(pauseMilliseconds) }

    /// Sleeps, to the millisecond.
    static func sleep(seconds: Double) { cfiletree_sleep(Int32(clamping: Int64((seconds * 1_000).rounded()))) }
}
