// The work under way in a session: operations that were accepted and have not finished, and notifications that are
// being delivered.
//
// Work that waits for other work may wait forever, because a program may never start the other work. So the session
// knows each piece of waiting work and asks whether it can begin. It asks outside the lock, because that uses clients'
// objects.
//
// Invariants:
//   1. Accepted work is counted until it ends, and listed as waiting until it begins.
//   2. A session is idle when only work that cannot begin is left. A check counts only if nothing changed meanwhile.

import Foundation

/// Accepted work that may have to wait before it begins.
package protocol WaitingWork: AnyObject, Sendable {
    /// Whether it will begin without help: all work that it waits for has begun, or will begin.
    var canBegin: Bool { get }
    /// Makes the work do nothing if it begins. Call it for all work that you give up, before you give up the first.
    func prepareToGiveUp()
    /// Makes it begin and end immediately, without doing anything. Returns false if it does not: then do not wait.
    func giveUp() -> Bool
}

/// Counts the work under way, so that a test or a host can wait for its end.
package final class SessionActivity: @unchecked Sendable {
    // Unchecked because all variables are used only between `condition.lock` and `unlock`.
    private let condition = TimedCondition()
    private var count = 0
    private var waiting: [ObjectIdentifier: any WaitingWork] = [:]
    /// Counts every change, so that a stale check is detected.
    private var changeNumber: UInt64 = 0
    private var isClosed = false
    private var continuations: [CheckedContinuation<Void, Never>] = []

    package init() {}

    /// Counts a client's request; `work` is nil if it begins at once, and otherwise may have to wait. Returns false if
    /// the session accepts no more.
    package func accept(_ work: (any WaitingWork)? = nil) -> Bool {
        changing {
            guard !isClosed else { return false }
            count += 1
            if let work { waiting[ObjectIdentifier(work)] = work }
            return true
        }
    }

    /// Notes that accepted work begins. It ends with `end`.
    package func begin(_ work: any WaitingWork) {
        // Released after the lock, because this may be the last reference.
        _ = changing { waiting.removeValue(forKey: ObjectIdentifier(work)) }
    }

    /// Forgets work that will not begin, and that must not call `end` later.
    private func forget(_ work: any WaitingWork) {
        let isKnown = changing { waiting.removeValue(forKey: ObjectIdentifier(work)) } != nil
        if isKnown { end() }
    }

    /// Notes that the dependencies of waiting work have changed.
    package func reconsider() {
        changing {}
        resumeIfIdle()
    }

    /// Makes `accept` refuse requests from now on.
    package func close() { changing { isClosed = true } }

    /// Whether the session accepts no more requests.
    package var refusesRequests: Bool { condition.withLock { isClosed } }

    /// Counts work that no client requested.
    package func begin() { changing { count += 1 } }

    package func end() {
        changing {
            count -= 1
            precondition(count >= 0, "more was ended than was begun")
        }
        resumeIfIdle()
    }

    // MARK: Waiting

    /// Blocks its thread until only work that cannot begin is left. Do not call it from a callback.
    package func waitUntilIdle() {
        while true {
            let (quiet, seen) = condition.withLock { (quietWork, changeNumber) }
            let isIdle = quiet.map { !$0.contains(where: \.canBegin) } ?? false
            condition.lock()
            defer { condition.unlock() }
            guard changeNumber == seen else { continue }
            if isIdle { return }
            condition.wait()
        }
    }

    /// Suspends until only work that cannot begin is left.
    package func untilIdle() async {
        await withCheckedContinuation { continuation in
            condition.withLock { continuations.append(continuation) }
            resumeIfIdle()
        }
    }

    /// Blocks its thread until nothing is under way; work that cannot begin is given up at the end. Do not call it from
    /// a callback.
    package func waitUntilOver() {
        while true {
            waitUntilIdle()
            let stuck = condition.withLock { Array(waiting.values) }
            guard !stuck.isEmpty else { return }
            // The end of one may let another begin, before that one is given up.
            for work in stuck { work.prepareToGiveUp() }
            for work in stuck where !work.giveUp() { forget(work) }
        }
    }

    // MARK: Helpers

    /// The work that waits while nothing runs; nil while something runs. The caller holds the lock.
    private var quietWork: [any WaitingWork]? { count == waiting.count ? Array(waiting.values) : nil }

    /// Resumes the waiting tasks if the session is idle. Called after every change that may make it so.
    private func resumeIfIdle() {
        while true {
            let (quiet, seen) = condition.withLock { (continuations.isEmpty ? nil : quietWork, changeNumber) }
            guard let quiet, !quiet.contains(where: \.canBegin) else { return }
            let resumed = condition.withLock { () -> [CheckedContinuation<Void, Never>]? in
                guard changeNumber == seen else { return nil }
                return exchange(&continuations, with: [])
            }
            guard let resumed else { continue }
            for continuation in resumed { continuation.resume() }
            return
        }
    }

    private func changing<Result>(_ body: () -> Result) -> Result {
        condition.change {
            changeNumber += 1
            return body()
        }
    }
}
