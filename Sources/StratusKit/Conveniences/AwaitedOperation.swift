// How the convenience calls run their operations: for a task that awaits, or for a completion handler.

import Foundation
import StratusStore

extension ContainerScope {
    /// Runs the operation that `make` creates, and returns its result. Cancelling the task cancels the operation
    /// (O-08).
    func await<Value: Sendable>(
        _ make: (@escaping @Sendable (Result<Value, any Error>) -> Void) -> CKOperation
    ) async throws -> Value {
        let awaited = Locked<CKOperation?>(nil)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let operation = make { continuation.resume(with: $0) }
                awaited.withLock { $0 = operation }
                // The task may have been cancelled before there was an operation.
                if Task.isCancelled { operation.cancel() }
                // The continuation returns at once, so a queue for blocks would only cost time.
                start(operation, isInline: true)
            }
        } onCancel: {
            awaited.value?.cancel()
        }
    }

    /// Runs an operation for a completion handler.
    func begin(_ operation: CKOperation) { start(operation, isInline: false) }
}

/// What a block has received, until the operation ends.
final class Gathered<Value>: @unchecked Sendable {
    // Unchecked because blocks of one operation are called one after another (O-03).
    var value: Value

    init(_ value: Value) { self.value = value }
}

/// What gets the answer of a call.
typealias Completion<Value> = @Sendable (Result<Value, any Error>) -> Void

/// The answers of a batch, item by item.
typealias AnswersByID<ID: Hashable, Item> = [ID: Result<Item, any Error>]

/// The answers of a batch of items to save and to delete.
typealias ModifiedItems<ID: Hashable, Item> = (
    saveResults: AnswersByID<ID, Item>, deleteResults: AnswersByID<ID, Void>
)

/// The blocks of an operation that fetches items: they gather the answers for `completion`.
func gathering<ID: Hashable, Item>(
    _ completion: @escaping Completion<AnswersByID<ID, Item>>
) -> (item: ((ID, Result<Item, any Error>) -> Void)?, end: ((Result<Void, any Error>) -> Void)?) {
    let answers = Gathered<AnswersByID<ID, Item>>([:])
    return ({ answers.value[$0] = $1 }, { completion($0.map { answers.value }) })
}

/// The blocks of an operation that saves and deletes items: they gather the answers for `completion`.
func gathering<ID: Hashable, Item>(
    _ completion: @escaping Completion<ModifiedItems<ID, Item>>
) -> (
    save: ((ID, Result<Item, any Error>) -> Void)?, delete: ((ID, Result<Void, any Error>) -> Void)?,
    end: ((Result<Void, any Error>) -> Void)?
) {
    let answers = Gathered<ModifiedItems<ID, Item>>(([:], [:]))
    return (
        { answers.value.saveResults[$0] = $1 }, { answers.value.deleteResults[$0] = $1 },
        { completion($0.map { answers.value }) }
    )
}

extension Result where Failure == any Error {
    /// Calls a handler that takes a value or an error.
    func call(_ handler: (Success?, (any Error)?) -> Void) {
        switch self {
        case .success(let value): handler(value, nil)
        case .failure(let error): handler(nil, error)
        }
    }

    /// Calls a handler that takes a value, nothing or an error.
    func call<Value>(_ handler: (Value?, (any Error)?) -> Void) where Success == Value? {
        handler((try? get()) ?? nil, error)
    }

    /// The answer for one item, as if it had been requested alone.
    func item<ID: Hashable, Item>(_ id: ID) -> Result<Item, any Error> where Success == AnswersByID<ID, Item> {
        flatMap { $0[id] ?? .failure(CKError.unanswered(["item": "\(id)"])) }
    }

    /// The answer for one item to save, as if it had been saved alone.
    func saved<ID: Hashable, Item>(_ id: ID) -> Result<Item, any Error> where Success == ModifiedItems<ID, Item> {
        map(\.saveResults).item(id)
    }

    /// The identifier of one item to delete, as if it had been deleted alone.
    func deleted<ID: Hashable, Item>(_ id: ID) -> Result<ID, any Error> where Success == ModifiedItems<ID, Item> {
        map(\.deleteResults).item(id).map { id }
    }
}
