// How the convenience calls run their operations: for a task that awaits, or for a completion handler.

import Foundation
import StratusStore

extension ContainerScope {
    /// Runs the operation that `make` creates, and returns its result. Cancelling the task cancels the operation
    /// (O-08).
    func await<Value: Sendable>(
        _ make: (@escaping @Sendable (Result<Value, any Error>) -> Void) -> CKOperation
    ) async throws -> Value {
        let awaited = AwaitedOperation()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let operation = make { continuation.resume(with: $0) }
                if awaited.adopt(operation) { operation.cancel() }
                // The continuation returns at once, so a queue for blocks would only cost time.
                start(operation, isInline: true)
            }
        } onCancel: {
            awaited.cancel()
        }
    }

    /// Runs an operation for a completion handler.
    func begin(_ operation: CKOperation) { start(operation, isInline: false) }
}

/// The operation of a task that may be cancelled before the operation is created.
private final class AwaitedOperation: Sendable {
    private struct State {
        var operation: CKOperation?
        var isCancelled = false
    }

    private let state = Locked(State())

    /// Stores the operation. Returns whether the task was cancelled before.
    func adopt(_ operation: CKOperation) -> Bool {
        state.withLock { state in
            state.operation = operation
            return state.isCancelled
        }
    }

    func cancel() {
        let operation = state.withLock { state in
            state.isCancelled = true
            return state.operation
        }
        operation?.cancel()
    }
}

/// What a block has received, until the operation ends.
final class Gathered<Value>: @unchecked Sendable {
    // Unchecked because blocks of one operation are called one after another (O-03).
    var value: Value

    init(_ value: Value) { self.value = value }
}
