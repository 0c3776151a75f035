// The background work of a store, and its thread.
//
// Invariants:
//   1. The thread starts when there is something to do for the first time, and ends at `stop`. It keeps nothing of the
//      store alive.
//   2. Work checks often whether it may continue, and ends soon after `stop` or during a `pausing` call.

import Foundation
import Logging
import StratusCloud
import StratusStore

/// Runs the upkeep of a store regularly, and when it is woken.
final class UpkeepThread: @unchecked Sendable {
    // Because every variable is touched only between `condition.lock` and `unlock`.
    private let condition = TimedCondition()
    private let intervalSeconds: TimeInterval?
    private var work: (@Sendable () -> Void)?
    private var isStopped = false
    private var isWoken = false
    private var pauseCount = 0

    init(intervalSeconds: TimeInterval?) { self.intervalSeconds = intervalSeconds }

    /// Sets the work, once. It must check `mayContinue` often. There is no thread if the host does the upkeep itself.
    func start(_ work: @escaping @Sendable () -> Void) {
        condition.withLock { self.work = work }
        guard intervalSeconds != nil else { return }
        Thread.start("Stratus upkeep") { [self] in
            while let work = next() { work() }
        }
    }

    /// Runs the work soon. Does nothing if there is no thread.
    func wake() {
        condition.change { isWoken = true }
    }

    /// Ends the thread as soon as the work notices.
    func stop() {
        condition.change {
            isStopped = true
            work = nil
        }
    }

    /// Runs `body` without concurrent upkeep.
    func pausing<Result>(_ body: () throws -> Result) rethrows -> Result {
        condition.change { pauseCount += 1 }
        defer { condition.change { pauseCount -= 1 } }
        return try body()
    }

    /// Whether work that has begun may continue.
    var mayContinue: Bool { condition.withLock { !isStopped && pauseCount == 0 } }

    /// Waits, but not past `stop` or the beginning of a pause.
    func rest(seconds: TimeInterval) {
        condition.lock()
        defer { condition.unlock() }
        let end = TimedCondition.now + seconds
        while !isStopped, pauseCount == 0, condition.wait(until: end) {}
    }

    /// Waits until there is something to do. Nil after `stop`.
    private func next() -> (@Sendable () -> Void)? {
        condition.lock()
        defer { condition.unlock() }
        let end = TimedCondition.now + (intervalSeconds ?? 0)
        var isDue = false
        while !isStopped, pauseCount > 0 || !(isWoken || isDue) {
            if isDue { condition.wait() } else { isDue = !condition.wait(until: end) }
        }
        isWoken = false
        return isStopped ? nil : work
    }
}

// When a store does its background work.

extension Stratus {
    /// Frees the space of deleted zones and accounts, expired history and orphaned assets now, which the store
    /// otherwise does regularly in the background.
    ///
    /// It blocks its thread until everything is done.
    ///
    /// - Throws: ``StratusError`` if the store fails or was closed.
    public func performUpkeep() throws {
        session.hub.wake()
        let pace = UpkeepPace(pause: { Thread.sleep(forTimeInterval: 0.05) })
        try asking { _ = try $0.performUpkeep(historySeconds: options.historySeconds, pace) }
        try StratusError.wrapping { try Self.forgetDeleted(server, session.longLived) }
    }

    /// Removes the long-lived operations of deleted accounts, if their deletion was interrupted.
    static func forgetDeleted(_ server: HostedServer, _ longLived: LongLivedRegistry) throws {
        try longLived.forgetAccounts { account in try server.withService { try $0.account(account) == nil } }
    }

    /// The time between scans of the history: a scan costs some reads for each zone of the store.
    private static let historyPauseSeconds = 3_600.0

    /// Shows other hosts every few seconds that this one is alive, and looks for what they have done.
    func startPulse() {
        // A store that fails shows it in its requests.
        pulse.start { [server] in try? server.beat() }
        lookout.start { [hub = session.hub, longLived = session.longLived] in
            hub.wake()
            longLived.lookAgain()
        }
    }

    /// Ends the background work as soon as it notices.
    func stopThreads() {
        for thread in [upkeep, pulse, lookout] { thread.stop() }
        recovery.stop()
    }

    /// Completes what an ended process has left unfinished, then starts the upkeep in the background.
    func startUpkeep() {
        do { try Self.forgetDeleted(server, session.longLived) } catch {
            // A damaged operation is reported when operations are fetched, and must not prevent opening the store.
            output.log(.error, "long-lived operations cannot be looked through", ["error": "\(error)"])
        }
        let historySeconds = options.historySeconds
        let clock = session.clock
        let lastHistory = Locked(clock.uptimeSeconds)
        upkeep.start { [server, upkeep, output, hub = session.hub, longLived = session.longLived] in
            // Notifications that could not be delivered before.
            hub.wake()
            let pace = UpkeepPace(
                pause: { upkeep.rest(seconds: 0.05) },
                rest: { upkeep.rest(seconds: $0) },
                shouldContinue: { upkeep.mayContinue })
            let isHistoryDue = clock.uptimeSeconds - lastHistory.value >= Self.historyPauseSeconds
            do {
                let hasHistory = try server.withService {
                    try $0.performUpkeep(historySeconds: isHistoryDue ? historySeconds : nil, pace)
                }
                if hasHistory { lastHistory.withLock { $0 = clock.uptimeSeconds } }
                try Self.forgetDeleted(server, longLived)
            } catch {
                guard upkeep.mayContinue else { return }
                output.log(.error, "upkeep failed", ["error": "\(error)"])
            }
        }
    }
}
