// Waiting for what is answered asynchronously. Verbs run on the main thread, which nothing else needs.

import CSystem
import Dispatch
import Synchronization

/// An answer that comes from another thread.
final class Answer<Value: Sendable>: Sendable {
    private let result = Mutex<Result<Value, any Error>?>(nil)
    private let ended = DispatchSemaphore(value: 0)

    private init() {}

    private func set(_ value: Result<Value, any Error>) {
        result.withLock { $0 = value }
        ended.signal()
    }

    /// Blocks the thread until `body` has ended. Never to be called on Swift's own threads.
    static func wait(for body: @escaping @Sendable () async throws -> Value) throws -> Value {
        let answer = Answer()
        Task {
            do { answer.set(.success(try await body())) } catch { answer.set(.failure(error)) }
        }
        answer.ended.wait()
        guard let result = answer.result.withLock({ $0 }) else { throw CancellationError() }
        return try result.get()
    }
}

// How the tool waits while the store is behind with its own work.

enum Waiting {
    private static let milliseconds: Int32 = 20

    /// Sleeps for a moment.
    static func aLittle() { cfiletree_sleep(milliseconds) }

    /// Sleeps for so long, to the millisecond.
    static func seconds(_ count: Double) { cfiletree_sleep(Int32(clamping: Int64((count * 1_000).rounded()))) }
}
