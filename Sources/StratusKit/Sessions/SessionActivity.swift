// What is still to be delivered: operations that were accepted and have not finished, and notifications under way.

import Foundation

/// Counts what is under way, so that a test or a host can wait until all of it is over.
package final class SessionActivity: @unchecked Sendable {
    // Because all variables are touched only between `condition.lock` and `unlock`.
    private let condition = NSCondition()
    private var count = 0
    private var isClosed = false
    private var waiters: [CheckedContinuation<Void, Never>] = []

    package init() {}

    /// Counts a request of a client's. False when the session takes no more.
    package func accept() -> Bool {
        condition.lock()
        defer { condition.unlock() }
        if !isClosed { count += 1 }
        return !isClosed
    }

    /// Has `accept` refuse from now on.
    package func close() {
        condition.lock()
        isClosed = true
        condition.unlock()
    }

    /// Whether the session takes no more requests.
    package var refusesRequests: Bool {
        condition.lock()
        defer { condition.unlock() }
        return isClosed
    }

    /// Counts what is not asked by a client.
    package func begin() {
        condition.lock()
        count += 1
        condition.unlock()
    }

    package func end() {
        condition.lock()
        count -= 1
        precondition(count >= 0, "more was ended than was begun")
        let resumed = count == 0 ? waiters : []
        if count == 0 {
            waiters = []
            condition.broadcast()
        }
        condition.unlock()
        for waiter in resumed { waiter.resume() }
    }

    package var isIdle: Bool {
        condition.lock()
        defer { condition.unlock() }
        return count == 0
    }

    /// Blocks its thread until nothing is under way. Never to be called from a callback.
    package func waitUntilIdle() {
        condition.lock()
        while count > 0 { condition.wait() }
        condition.unlock()
    }

    /// Suspends until nothing is under way.
    package func untilIdle() async {
        await withCheckedContinuation { continuation in
            condition.lock()
            let isIdle = count == 0
            if !isIdle { waiters.append(continuation) }
            condition.unlock()
            if isIdle { continuation.resume() }
        }
    }
}
