// What is still to be delivered: operations that were accepted and have not finished, and notifications under way.
//
// Work that waits for other work may wait for ever: nobody may start what it waits for. So what has not begun is known
// one by one, and is asked whether it can begin. It is asked outside the lock, because that looks at clients' objects.
//
// Invariants:
//   1. What has been accepted is in the count until it ends, and among the waiting until it begins.
//   2. Idle means that nothing is under way but what cannot begin. A judgement counts only where nothing has changed
//      while it was made.

import Foundation

/// Something accepted that may have to wait before it begins.
package protocol WaitingWork: AnyObject, Sendable {
    /// Whether it will begin without anybody's doing: all that it waits for has begun, or will.
    var canBegin: Bool { get }
    /// Makes it begin and end at once, without doing anything. False where it does not, and is not to be waited for.
    func giveUp() -> Bool
}

/// Knows what is under way, so that a test or a host can wait until all of it is over.
package final class SessionActivity: @unchecked Sendable {
    // Because all variables are touched only between `condition.lock` and `unlock`.
    private let condition = NSCondition()
    private var count = 0
    private var waiting: [ObjectIdentifier: any WaitingWork] = [:]
    /// Counts every change, so that a judgement can be known to be stale.
    private var changeNumber: UInt64 = 0
    private var isClosed = false
    private var continuations: [CheckedContinuation<Void, Never>] = []

    package init() {}

    /// Counts a request of a client's: nil for what begins at once, else what may have to wait before it begins. False
    /// when the session takes no more.
    package func accept(_ work: (any WaitingWork)? = nil) -> Bool {
        changing {
            guard !isClosed else { return false }
            count += 1
            if let work { waiting[ObjectIdentifier(work)] = work }
            return true
        }
    }

    /// Work that was accepted begins: it ends by `end`.
    package func begin(_ work: any WaitingWork) {
        // Let go of after the lock, as the last reference to it may be this one.
        _ = changing { waiting.removeValue(forKey: ObjectIdentifier(work)) }
    }

    /// Forgets work that will not begin. It must not `end` any more.
    private func forget(_ work: any WaitingWork) {
        let isKnown = changing { waiting.removeValue(forKey: ObjectIdentifier(work)) } != nil
        if isKnown { end() }
    }

    /// What work waits for has changed otherwise than by beginning or ending.
    package func reconsider() {
        changing {}
        resumeIfIdle()
    }

    /// Has `accept` refuse from now on.
    package func close() { changing { isClosed = true } }

    /// Whether the session takes no more requests.
    package var refusesRequests: Bool { locked { isClosed } }

    /// Counts what is not asked by a client.
    package func begin() { changing { count += 1 } }

    package func end() {
        changing {
            count -= 1
            precondition(count >= 0, "more was ended than was begun")
        }
        resumeIfIdle()
    }

    // MARK: Waiting

    /// Blocks its thread until nothing is under way but what cannot begin. Never to be called from a callback.
    package func waitUntilIdle() {
        while true {
            let (quiet, changeNumber) = locked { (quietState(), self.changeNumber) }
            let isIdle = quiet.map(isIdle) ?? false
            condition.lock()
            defer { condition.unlock() }
            let isSame = self.changeNumber == changeNumber
            if isIdle, isSame { return }
            if isSame { condition.wait() }
        }
    }

    /// Suspends until nothing is under way but what cannot begin.
    package func untilIdle() async {
        await withCheckedContinuation { continuation in
            locked { continuations.append(continuation) }
            resumeIfIdle()
        }
    }

    /// Blocks its thread until nothing is under way: what cannot begin is given up at the end. Never to be called from a
    /// callback.
    package func waitUntilOver() {
        while true {
            waitUntilIdle()
            let stuck = locked { Array(waiting.values) }
            guard !stuck.isEmpty else { return }
            for work in stuck where !work.giveUp() { forget(work) }
        }
    }

    // MARK: Helpers

    /// A moment at which nothing runs.
    private struct QuietState {
        var changeNumber: UInt64
        var waiting: [any WaitingWork]
    }

    /// Nil while something runs. The caller holds the lock.
    private func quietState() -> QuietState? {
        guard count == waiting.count else { return nil }
        return QuietState(changeNumber: changeNumber, waiting: Array(waiting.values))
    }

    private func isIdle(_ state: QuietState) -> Bool { !state.waiting.contains { $0.canBegin } }

    /// Whoever waits is resumed by the change that makes the session idle.
    private func resumeIfIdle() {
        while true {
            let quiet = locked { continuations.isEmpty ? nil : quietState() }
            guard let quiet, isIdle(quiet) else { return }
            let resumed = locked { () -> [CheckedContinuation<Void, Never>]? in
                guard changeNumber == quiet.changeNumber else { return nil }
                defer { continuations = [] }
                return continuations
            }
            guard let resumed else { continue }
            for continuation in resumed { continuation.resume() }
            return
        }
    }

    private func changing<Result>(_ body: () -> Result) -> Result {
        locked {
            changeNumber += 1
            defer { condition.broadcast() }
            return body()
        }
    }

    private func locked<Result>(_ body: () -> Result) -> Result {
        condition.lock()
        defer { condition.unlock() }
        return body()
    }
}
