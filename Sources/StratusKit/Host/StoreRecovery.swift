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
        do { try StratusError.wrapping { throw failure } } catch let error as StratusError { return error } catch {}
        return StratusError(.unavailable, "The store takes no writes: fix the cause, then call recover().")
    }

    /// Opens the store again in place after a failed write. Does nothing where none has failed.
    ///
    /// Fix the cause first: make room on the disk, or mount the volume again. What was acknowledged is there afterwards, change
    /// tokens stay valid, and nothing is carried out again: a request that was answered with `serverResponseLost` has happened
    /// or not. Requests that come meanwhile fail with `serviceUnavailable` and a time to try again; those that run may go on for
    /// five seconds.
    ///
    /// Before anything is closed, a file as large as what opening the store writes is written, synced and removed. Where that
    /// fails, the store goes on answering reads. It blocks its thread, and must not be called from a block of an operation.
    ///
    /// - Throws: ``StratusError`` with `diskFull`, `inputOutput` or `notPermitted` where the cause is still there, and
    ///   `unavailable` where another store, or an older copy of this one, is at the path. Call it again once that is fixed.
    public func recover() throws {
        try recovery.recover()
    }
}

extension Stratus {
    /// Says how the store is opened again.
    func startRecovery() {
        recovery.start { [server, upkeep, hub = session.hub] in
            let isReopened = try upkeep.pausing { try StratusError.wrapping { try server.recover() } }
            // What commits before have left behind to be delivered.
            if isReopened { hub.wake() }
            return isReopened
        }
    }
}

/// Reports failed writes to the host, and opens the store again: when it is asked to, or by itself with growing pauses.
///
/// Invariants:
///   1. The host hears of every failed write on a thread of ours: the thread that has failed holds the store's lock.
///   2. The thread starts with the first failed write and ends at `stop`; it keeps nothing of the store alive.
final class StoreRecovery: @unchecked Sendable {
    // Because every variable is touched only between `condition.lock` and `unlock`.

    /// Pauses double from the first to this one, in seconds.
    private static let longestPauseSeconds = 60.0

    private let condition = TimedCondition()
    private let output: EventOutput
    private let firstPauseSeconds: TimeInterval?
    private var reopen: (@Sendable () throws -> Bool)?
    private var failure: StoreError?
    private var isStarted = false
    private var isStopped = false

    /// `firstPauseSeconds` is how long after a failed write the store is opened again by itself; nil where it is not.
    init(output: EventOutput, firstPauseSeconds: TimeInterval?) {
        self.output = output
        self.firstPauseSeconds = firstPauseSeconds
    }

    /// Sets how the store is opened again; the result says whether there was anything to do.
    func start(_ reopen: @escaping @Sendable () throws -> Bool) {
        condition.lock()
        self.reopen = reopen
        condition.unlock()
    }

    /// To be called when a write has failed. Returns at once.
    func noteFailure(_ error: StoreError) {
        condition.lock()
        defer { condition.unlock() }
        failure = error
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
        reopen = nil
        condition.broadcast()
        condition.unlock()
    }

    /// Opens the store again, and reports how that went.
    func recover() throws {
        condition.lock()
        let reopen = reopen
        // What has failed before is decided by what follows.
        failure = nil
        condition.unlock()
        guard let reopen else { throw StratusError(.closed, "The store was closed: open it again.") }
        do {
            if try reopen() { output.tellRecovery(nil) }
        } catch {
            output.tellRecovery(error)
            throw error
        }
    }

    private func run() {
        while let error = nextFailure() {
            output.tellRecovery(error)
            guard let firstPauseSeconds else { continue }
            var pause = firstPauseSeconds
            while wait(seconds: pause), (try? recover()) == nil { pause = min(pause * 2, Self.longestPauseSeconds) }
        }
    }

    /// Waits for a failed write; nil when it is over.
    private func nextFailure() -> StoreError? {
        condition.lock()
        defer { condition.unlock() }
        while failure == nil, !isStopped { condition.wait() }
        defer { failure = nil }
        return isStopped ? nil : failure
    }

    /// Waits by a clock that nobody sets. Returns false when it is over.
    private func wait(seconds: TimeInterval) -> Bool {
        let end = TimedCondition.now + seconds
        condition.lock()
        defer { condition.unlock() }
        while !isStopped, condition.wait(until: end) {}
        return !isStopped
    }
}
