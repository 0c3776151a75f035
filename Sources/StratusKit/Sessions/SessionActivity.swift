// What is still to be delivered: operations that were accepted and have not finished, and notifications under way.

import Foundation

/// Counts what is under way, so that a test or a host can wait until all of it is over.
package final class SessionActivity: @unchecked Sendable {
    // Because every variable is touched only between `condition.lock` and `unlock`.
    private let condition = NSCondition()
    private var count = 0
    private var waiters: [CheckedContinuation<Void, Never>] = []
    private var refusesFurther = false

    package init() {}

    /// Counts something as under way, until `end`. False when the session is ending: what begins now is counted too, but
    /// is to be refused.
    @discardableResult
    package func begin() -> Bool {
        condition.lock()
        defer { condition.unlock() }
        count += 1
        return !refusesFurther
    }

    /// What begins from now on is to be refused. What has begun goes on.
    package func refuseFurther() {
        condition.lock()
        refusesFurther = true
        condition.unlock()
    }

    /// Whether the session is ending.
    package var isEnding: Bool {
        condition.lock()
        defer { condition.unlock() }
        return refusesFurther
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
