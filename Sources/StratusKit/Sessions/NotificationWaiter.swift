// A task that waits for a notification, may be cancelled at any time, and must not be while one is being taken for it.
//
// Invariant: the continuation is resumed once, by whoever takes it out of the state.

import StratusCloud
import StratusStore

/// A task that waits for a notification.
final class NotificationWaiter: Sendable {
    typealias Continuation = CheckedContinuation<ClientNotification?, Never>

    private struct State {
        var continuation: Continuation?
        var isClaimed = false
        var isCancelled = false
    }

    private let state = Locked(State())

    /// Begins to wait. False when the task was cancelled before; the continuation has been resumed then.
    func wait(_ continuation: Continuation) -> Bool {
        let waits = state.withLock { state in
            if !state.isCancelled { state.continuation = continuation }
            return !state.isCancelled
        }
        if !waits { continuation.resume(returning: nil) }
        return waits
    }

    /// Whether nobody waits any more.
    var isOver: Bool { state.withLock { $0.continuation == nil } }

    /// A notification is being taken for it. False where it waits no more.
    func claim() -> Bool {
        state.withLock { state in
            state.isClaimed = state.continuation != nil
            return state.isClaimed
        }
    }

    /// None came. False where it waits no more, having been cancelled meanwhile.
    func release() -> Bool {
        let (continuation, waits) = state.withLock { state in
            state.isClaimed = false
            guard state.isCancelled else { return (Continuation?.none, state.continuation != nil) }
            defer { state.continuation = nil }
            return (state.continuation, false)
        }
        continuation?.resume(returning: nil)
        return waits
    }

    /// The notification came.
    func resume(_ notification: ClientNotification) {
        let continuation = state.withLock { state in
            defer { state.continuation = nil }
            return state.continuation
        }
        continuation?.resume(returning: notification)
    }

    /// Ends the wait, unless a notification is being taken for it: then as soon as none has come.
    func cancel() {
        let continuation = state.withLock { state in
            state.isCancelled = true
            guard !state.isClaimed else { return Continuation?.none }
            defer { state.continuation = nil }
            return state.continuation
        }
        continuation?.resume(returning: nil)
    }
}
