// Where clients' blocks are called: one after another for each operation, on threads of the session's.
//
// They are threads of our own, and many, because blocks may wait for other operations: a thread that waits must not
// hold up the blocks it waits for. The hand-over between threads is by locks that the thread sanitizer knows.

import StratusStore

/// The private serial queue on which one operation calls its blocks (O-03).
package final class CallbackQueue: Sendable {
    private struct State {
        var waiting: [Callback] = []
        var isDraining = false
    }

    /// Nil where no block of a client's is called: then there is nothing to leave the thread for.
    private let pool: BlockingPool?
    private let state = Locked(State())

    package init(pool: BlockingPool?) {
        self.pool = pool
    }

    /// Calls `body` after everything that was handed in before.
    package func async(_ body: @escaping () -> Void) {
        guard let pool else { return body() }
        let callback = Callback(body: body)
        let begins = state.withLock { state in
            state.waiting.append(callback)
            defer { state.isDraining = true }
            return !state.isDraining
        }
        guard begins else { return }
        do {
            try pool.submit { [self] in drain() }
        } catch {
            // No thread is to be had: better on this one than never.
            drain()
        }
    }

    private func drain() {
        while let callback = next() { callback.body() }
    }

    private func next() -> Callback? {
        state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.isDraining = false
                return nil
            }
            return state.waiting.removeFirst()
        }
    }
}

/// A client's block on its way to the operation's queue.
private struct Callback: @unchecked Sendable {
    // Because it is called once, in the serial queue it was handed to. Clients' blocks are not sendable, as on Apple's
    // systems.
    let body: () -> Void
}
