// How a store takes writes again after one has failed: on a full disk, after an input or output error, or when its volume was
// lost and is back.
//
// LevelDB may go on acknowledging after a failed write, so the store refuses writes from then on, and answers reads of what is
// durable. Opening it again in place decides the commit in doubt: it is there whole, or not at all. Containers, devices, sync
// engines, subscriptions and long-lived operations stay as they are.

import Foundation
import StratusCloud
import StratusStore

extension Stratus {
    /// Why the store takes no writes: the error of the write that has failed, or of the attempt to open the store again. Nil
    /// while it takes them.
    public var writeFailure: StratusError? {
        guard let failure = server.writeFailure else { return nil }
        return StratusError.wrapped(failure)
            ?? StratusError(.unavailable, "The store takes no writes: fix the cause, then call recover().")
    }

    /// Opens the store again in place after a failed write. Does nothing where none has failed.
    ///
    /// Fix the cause first: make room on the disk, or mount the volume again. What was acknowledged is there afterwards, change
    /// tokens stay valid, and nothing is carried out again: a request that was answered with `serverResponseLost` has happened
    /// or not. Requests that come meanwhile fail with `serviceUnavailable` and a time to try again; those that run may go on for
    /// five seconds.
    ///
    /// Before anything is closed, a file as large as what opening the store writes is written, synced and removed. Where that
    /// fails, the store goes on answering reads. It blocks its thread, and must be called neither from a block of an operation
    /// nor from the host's `onEvent`.
    ///
    /// - Throws: ``StratusError`` with `diskFull`, `inputOutput` or `notPermitted` where the cause is still there, and
    ///   `unavailable` where another store, or an older copy of this one, is at the path. Call it again once that is fixed.
    ///   `notAllowed` where `onEvent` calls it when it is told of a failed write.
    public func recover() throws {
        try recovery.recover()
    }
}

extension Stratus {
    /// Says how the store is opened again.
    func startRecovery() {
        recovery.start(
            reopen: { [server, upkeep, hub = session.hub] in
                let isReopened = try upkeep.pausing { try StratusError.wrapping { try server.recover() } }
                guard isReopened else { return false }
                // Deliver notifications of commits that were made before the failure.
                hub.wake()
                return true
            }, takesWrites: { [server] in server.writeFailure == nil },
            afterwards: { [weak self] in self?.serveToolAgain() })
    }
}

/// Reports failed writes to the host, and opens the store again: when it is asked to, or by itself with growing pauses.
///
/// Invariants:
///   1. The host gets an event of every failed write, and not on the thread that has failed, which holds the store's lock.
///   2. The host gets the events of failures and recoveries in order: the last one is the current state.
///   3. The thread starts with the first failed write and ends at `stop`; it keeps nothing of the store alive.
final class StoreRecovery: @unchecked Sendable {
    // Because every variable is touched only between `condition.lock` and `unlock`, and `isTelling` under `telling`.

    /// Pauses double from the first to this one, in seconds.
    private static let longestPauseSeconds = 60.0

    /// Held while an event is sent, and while the store is opened again.
    private let telling = NSRecursiveLock()
    private var isTelling = false
    private let condition = TimedCondition()
    private let output: EventOutput
    private let firstPauseSeconds: TimeInterval?
    private var reopen: (@Sendable () throws -> Bool)?
    private var takesWrites: @Sendable () -> Bool = { true }
    private var afterwards: @Sendable () -> Void = {}
    /// What the host has not heard of yet.
    private var failure: StoreError?
    /// When the store is to be opened again by itself, and the pause after that.
    private var attempt: (time: Double, nextPauseSeconds: TimeInterval)?
    private var isStarted = false
    private var isStopped = false

    /// `firstPauseSeconds` is how long after a failed write the store is opened again by itself; nil where it is not.
    init(output: EventOutput, firstPauseSeconds: TimeInterval?) {
        self.output = output
        self.firstPauseSeconds = firstPauseSeconds
    }

    /// Sets how the store is opened again; the result of `reopen` says whether there was anything to do. `afterwards` is
    /// called when it was opened.
    func start(
        reopen: @escaping @Sendable () throws -> Bool, takesWrites: @escaping @Sendable () -> Bool,
        afterwards: @escaping @Sendable () -> Void
    ) {
        condition.lock()
        (self.reopen, self.takesWrites, self.afterwards) = (reopen, takesWrites, afterwards)
        condition.unlock()
    }

    /// To be called when a write has failed. Returns at once.
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
        let thread = Thread { [self] in run() }
        thread.name = "Stratus recovery"
        thread.start()
    }

    func stop() {
        condition.lock()
        isStopped = true
        // They keep the server.
        (reopen, takesWrites, afterwards) = (nil, { true }, {})
        condition.broadcast()
        condition.unlock()
    }

    /// Opens the store again, and reports how that went. Returns false where there was nothing to do.
    @discardableResult
    func recover() throws -> Bool {
        condition.lock()
        let (reopen, afterwards) = (reopen, afterwards)
        condition.unlock()
        guard let reopen else { throw StratusError(.closed, "The store was closed: open it again.") }
        let isReopened = try reopenAndTell(reopen)
        if isReopened { afterwards() }
        return isReopened
    }

    private func reopenAndTell(_ reopen: () throws -> Bool) throws -> Bool {
        telling.lock()
        defer { telling.unlock() }
        guard !isTelling else {
            throw StratusError(.notAllowed, "The hook of an event must not recover the store: use another thread.")
        }
        tellFailure()
        do {
            guard try reopen() else { return false }
        } catch {
            tell(error)
            throw error
        }
        tellRecovered()
        return true
    }

    /// Reports that the store takes writes again. A write of the store that was opened may have failed already.
    func tellRecovered() {
        telling.lock()
        defer { telling.unlock() }
        tellFailure()
        condition.lock()
        let takesWrites = takesWrites
        condition.unlock()
        if takesWrites() { tell(nil) }
    }

    /// Reports a failed write that the host has no event of yet.
    private func tellFailure() {
        telling.lock()
        defer { telling.unlock() }
        condition.lock()
        let error = failure
        failure = nil
        condition.unlock()
        if let error { tell(error) }
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
            let isDone = (try? recover()) != nil
            if isDone { cancel(planned) }
        }
    }

    /// Waits for a failed write, or until the store is to be opened again. Returns false when it is over.
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

    /// Plans the next attempt, and returns its time, where the store is to be opened now.
    private func takeAttempt() -> Double? {
        condition.lock()
        defer { condition.unlock() }
        let now = TimedCondition.now
        guard !isStopped, let attempt, attempt.time <= now else { return nil }
        let pause = attempt.nextPauseSeconds
        self.attempt = (now + pause, min(pause * 2, Self.longestPauseSeconds))
        return now + pause
    }

    /// Forgets an attempt, unless a write that failed meanwhile has planned another.
    private func cancel(_ planned: Double) {
        condition.lock()
        if attempt?.time == planned { attempt = nil }
        condition.unlock()
    }
}
