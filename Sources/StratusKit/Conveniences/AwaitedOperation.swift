// How the convenience calls run their operations and questions: for a task that awaits, or for a completion handler.

import Foundation
import StratusCloud
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

    /// Asks the server on a thread that may block, and passes the answer to a handler, never on the caller's thread.
    func ask<Value: Sendable>(_ request: @escaping Question<Value>, completion: @escaping Completion<Value>) {
        let session = session
        Inquiry<Value>(session, CallbackQueue(pool: session.callbackPool)).begin(request, in: self, completion)
    }

    /// Asks the server and waits without holding up a thread. Cancelling the task ends the wait at once with
    /// `operationCancelled`, and withdraws the question if it has not been asked yet (O-08).
    func ask<Value: Sendable>(_ request: @escaping Question<Value>) async throws -> Value {
        let inquiry = Inquiry<Value>(session)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                // The task may have been cancelled before this, or while the question was asked.
                guard !Task.isCancelled else { return continuation.resume(throwing: CKError.operationWasCancelled) }
                inquiry.begin(request, in: self) { continuation.resume(with: $0) }
                if Task.isCancelled { inquiry.cancel() }
            }
        } onCancel: {
            inquiry.cancel()
        }
    }
}

/// What a block has received, until the operation ends.
final class Gathered<Value>: @unchecked Sendable {
    // Unchecked because blocks of one operation are called one after another (O-03).
    var value: Value

    init(_ value: Value) { self.value = value }
}

extension Gathered {
    /// Answers as a dictionary. It is made once, because each time that it grew it would hash all identifiers again.
    func byID<ID: Hashable, Item>() -> [ID: Item] where Value == [(ID, Item)] {
        Dictionary(value) { _, last in last }
    }
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
    let answers = Gathered<[(ID, Result<Item, any Error>)]>([])
    return ({ answers.value.append(($0, $1)) }, { completion($0.map { answers.byID() }) })
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

// Questions to the server that are no operations: how an account stands, who the user is. They have the time-outs and
// the urgency of `configuredWith` as operations do (O-12), and are answered at once when their time is over.

/// What is asked of the server.
typealias Question<Value> = @Sendable (any CloudServer, Caller) throws -> Value

/// A question, until it is answered, times out or is withdrawn, and its handler has returned. It counts as under way in
/// the session until then, also if nobody waits for the answer any longer. A question that a closed session refuses
/// does not count, so that a client that asks again in its handler does not keep the session from closing.
///
/// Invariant: the completion is called once, by the caller that takes it out of the state.
private final class Inquiry<Value: Sendable>: Sendable {
    private struct State {
        var isUnderWay = false
        var completion: Completion<Value>?
        var ticket: PoolTicket?
        var timer: SessionTimers.Token?
    }

    private let session: CloudSession
    /// Calls the completion; nil to call it at once.
    private let queue: CallbackQueue?
    private let state = Locked(State())

    init(_ session: CloudSession, _ queue: CallbackQueue? = nil) { (self.session, self.queue) = (session, queue) }

    func begin(
        _ request: @escaping Question<Value>, in scope: ContainerScope, _ completion: @escaping Completion<Value>
    ) {
        guard session.activity.accept() else {
            return deliver { completion(.failure(CKError.of(BlockingPool.Refusal.closed))) }
        }
        let caller = scope.caller(in: session)
        // What `configuredWith` has set, and for the rest what convenience calls have (O-11).
        let configuration = CKOperation.Configuration.Explicit().inheriting(
            from: scope.defaults, group: nil, qualityOfService: .userInitiated)
        do {
            // Under the lock, because the question may be answered before its ticket and its timer are noted.
            try state.withLock { state in
                (state.isUnderWay, state.completion) = (true, completion)
                state.ticket = try session.pool.submit(priority: configuration.qualityOfService ?? .default) { [self] in
                    let answer = Result {
                        try ContainerScope.check(caller.container)
                        return try request(session.server, caller)
                    }
                    end(with: answer.mapError { CKError.of($0) })
                }
                state.timer = configuration.shortestSeconds.map { seconds in
                    session.timers.schedule(afterSeconds: seconds) { [self] in
                        // A question that still waits for a thread is not asked.
                        _ = self.state.withLock { $0.ticket }?.withdraw()
                        end(with: .failure(CKError.operationTimedOut))
                    }
                }
            }
        } catch {
            end(with: .failure(CKError.of(error)))
        }
    }

    /// Ends the wait, and takes the question back if it has not been asked yet.
    func cancel() {
        let (completion, ticket) = state.withLock { ($0.completion.take(), $0.ticket) }
        if ticket?.withdraw() == true { end(with: .failure(CKError.operationWasCancelled)) }
        completion?(.failure(CKError.operationWasCancelled))
    }

    private func end(with result: Result<Value, any Error>) {
        let ended = state.withLock { exchange(&$0, with: State()) }
        if let timer = ended.timer { session.timers.cancel(timer) }
        deliver { [session] in
            ended.completion?(result)
            if ended.isUnderWay { session.activity.end() }
        }
    }

    private func deliver(_ body: @escaping @Sendable () -> Void) {
        if let queue { queue.async(body) } else { body() }
    }
}
