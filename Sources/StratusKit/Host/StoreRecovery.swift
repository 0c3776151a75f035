// How a store takes writes again after a failed one: a full disk, an input or output error, or a volume that was lost
// and is back.
//
// LevelDB may continue to acknowledge after a failed write, so from then on the store refuses writes and answers reads
// of durable data. Reopening it in place decides the commit in doubt: it exists completely or not at all. Containers,
// devices, sync engines, subscriptions and long-lived operations stay as they are.

import Foundation
import StratusStore

extension Stratus {
    /// Why the store refuses writes: the error of the failed write, or of the attempt to reopen the store. Nil while
    /// it takes writes.
    public var writeFailure: StratusError? {
        guard let failure = server.writeFailure else { return nil }
        return StratusError.wrapped(failure)
            ?? StratusError(.unavailable, "The store takes no writes: fix the cause, then call recover().")
    }

    /// Reopens the store in place after a failed write. Does nothing if none has failed, and nothing for a store on a
    /// server, which connects again by itself.
    ///
    /// Fix the cause first: free space on the disk, or mount the volume again. Acknowledged data is there afterwards,
    /// change tokens stay valid, and nothing is applied twice: a request that was answered with `serverResponseLost`
    /// has happened or not. Requests meanwhile fail with `serviceUnavailable` and a time to try again; running requests
    /// may continue for five seconds.
    ///
    /// Before anything is closed, a file as large as what reopening the store writes is written, synced and removed. If
    /// that fails, the store continues to answer reads. This call blocks its thread. Do not call it from a block of an
    /// operation or from the host's `onEvent`.
    ///
    /// - Throws: ``StratusError`` with `diskFull`, `inputOutput` or `notPermitted` if the cause still exists, and
    ///   `unavailable` if another store, or an older copy of this one, is at the path. Fix it and call again.
    ///   `notAllowed` if `onEvent` calls it while it handles a failed write.
    public func recover() throws {
        try recovery.recover()
    }
}

/// Reports failed writes to the host, and reopens the store: on request, or automatically with growing pauses.
///
/// Invariants:
///   1. The host gets an event of every failed write, but not on the thread of the write, which holds the store's lock.
///   2. The host gets the events of failures and recoveries in order: the last one is the current state.
///   3. The thread starts with the first failed write and ends at `stop`. It keeps nothing of the store alive.
final class StoreRecovery: @unchecked Sendable {
    // Because every variable is touched only between `condition.lock` and `unlock`, and `isTelling` under `telling`.

    /// Pauses double from the first to this one, in seconds.
    private static let longestPauseSeconds = 60.0

    /// What the store is reopened with.
    struct Parts: Sendable {
        let server: HostedServer
        let upkeep: UpkeepThread
        let hub: NotificationHub
        /// Called after a success.
        let afterwards: @Sendable () -> Void

        /// Returns false if there was nothing to do.
        func reopen() throws -> Bool {
            let isReopened = try upkeep.pausing { try StratusError.wrapping { try server.recover() } }
            // Deliver notifications of commits before the failure.
            if isReopened { hub.wake() }
            return isReopened
        }
    }

    /// Held while an event is sent, and while the store is reopened.
    private let telling = NSRecursiveLock()
    private var isTelling = false
    private let condition = TimedCondition()
    private let output: EventOutput
    private let firstPauseSeconds: TimeInterval?
    /// Nil before `start` and after `stop`, because it keeps the server alive.
    private var parts: Parts?
    /// A failure that was not reported to the host yet.
    private var failure: StoreError?
    /// When to reopen the store automatically, and the pause after that.
    private var attempt: (time: Double, nextPauseSeconds: TimeInterval)?
    private var isStarted = false
    private var isStopped = false

    /// `firstPauseSeconds` is the time between a failed write and the first automatic attempt; nil for none.
    init(output: EventOutput, firstPauseSeconds: TimeInterval?) {
        self.output = output
        self.firstPauseSeconds = firstPauseSeconds
    }

    /// Allows the store to be reopened.
    func start(_ parts: Parts) { condition.withLock { self.parts = parts } }

    /// Call this when a write has failed. Returns at once.
    func noteFailure(_ error: StoreError) {
        condition.lock()
        defer { condition.unlock() }
        failure = error
        if let firstPauseSeconds {
            attempt = (TimedCondition.now + firstPauseSeconds, min(firstPauseSeconds * 2, Self.longestPauseSeconds))
        }
        condition.broadcast()
        guard !isStarted, !isStopped else { return }
        isStarted = true
        Thread.start("Stratus recovery") { [self] in run() }
    }

    func stop() {
        condition.change {
            isStopped = true
            parts = nil
        }
    }

    /// Reopens the store and reports the result. Returns false if there was nothing to do.
    @discardableResult
    func recover() throws -> Bool {
        guard let parts = condition.withLock({ parts }) else {
            throw StratusError(.closed, "The store was closed: open it again.")
        }
        let isReopened = try reopenAndTell(parts)
        if isReopened { parts.afterwards() }
        return isReopened
    }

    private func reopenAndTell(_ parts: Parts) throws -> Bool {
        telling.lock()
        defer { telling.unlock() }
        guard !isTelling else {
            throw StratusError(.notAllowed, "onEvent must not recover the store. Call recover() on another thread.")
        }
        tellFailure()
        do {
            guard try parts.reopen() else { return false }
        } catch {
            tell(error)
            throw error
        }
        tellRecovered()
        return true
    }

    /// Reports that the store takes writes again. A write of the reopened store may have failed already.
    func tellRecovered() {
        telling.lock()
        defer { telling.unlock() }
        tellFailure()
        if condition.withLock({ parts })?.server.writeFailure == nil { tell(nil) }
    }

    /// Reports a failed write that was not reported yet.
    private func tellFailure() {
        telling.lock()
        defer { telling.unlock() }
        if let error = condition.withLock({ failure.take() }) { tell(error) }
    }

    /// The caller holds `telling`.
    private func tell(_ error: (any Error)?) {
        isTelling = true
        output.tellRecovery(error)
        isTelling = false
    }

    private func run() {
        while waitForWork() {
            tellFailure()
            guard let planned = takeAttempt() else { continue }
            guard (try? recover()) != nil else { continue }
            // A later failed write may have planned another one.
            condition.withLock { if attempt?.time == planned { attempt = nil } }
        }
    }

    /// Waits for a failed write, or for the time to reopen the store. Returns false after `stop`.
    private func waitForWork() -> Bool {
        condition.lock()
        defer { condition.unlock() }
        while !isStopped, failure == nil {
            guard let attempt else {
                condition.wait()
                continue
            }
            if !condition.wait(until: attempt.time) { break }
        }
        return !isStopped
    }

    /// Plans the next attempt and returns its time, if the store should be reopened now.
    private func takeAttempt() -> Double? {
        condition.lock()
        defer { condition.unlock() }
        let now = TimedCondition.now
        guard !isStopped, let attempt, attempt.time <= now else { return nil }
        let pause = attempt.nextPauseSeconds
        self.attempt = (now + pause, min(pause * 2, Self.longestPauseSeconds))
        return now + pause
    }
}
