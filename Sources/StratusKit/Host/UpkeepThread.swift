// The thread on which a store does what nobody waits for.
//
// Invariants:
//   1. The thread starts when there is first something to do, and ends at `stop`; it keeps nothing of the store alive.
//   2. Work is asked often whether it may go on, and ends soon after `stop` or while others `pause` it.

import Foundation
import Logging
import StratusCloud
import StratusStore

/// Does the upkeep of a store now and then, and when it is woken.
final class UpkeepThread: @unchecked Sendable {
    // Because every variable is touched only between `condition.lock` and `unlock`.
    private let condition = TimedCondition()
    private let intervalSeconds: TimeInterval?
    private var work: (@Sendable () -> Void)?
    private var isStarted = false
    private var isStopped = false
    private var isWoken = false
    private var pauseCount = 0

    init(intervalSeconds: TimeInterval?) { self.intervalSeconds = intervalSeconds }

    /// Sets what is to be done; it must ask `mayContinue` often.
    func start(_ work: @escaping @Sendable () -> Void) {
        condition.lock()
        self.work = work
        if intervalSeconds != nil { startThread() }
        condition.unlock()
    }

    /// Has the work done soon. Does nothing where the host does the upkeep itself.
    func wake() {
        condition.lock()
        defer { condition.unlock() }
        guard intervalSeconds != nil else { return }
        isWoken = true
        condition.broadcast()
    }

    /// Ends the thread when the work has noticed.
    func stop() {
        condition.lock()
        isStopped = true
        work = nil
        condition.broadcast()
        condition.unlock()
    }

    /// Runs `body` while no upkeep is done.
    func pausing<Result>(_ body: () throws -> Result) rethrows -> Result {
        changePauses(by: 1)
        defer { changePauses(by: -1) }
        return try body()
    }

    /// Whether work that has begun may go on.
    var mayContinue: Bool {
        condition.lock()
        defer { condition.unlock() }
        return !isStopped && pauseCount == 0
    }

    /// Waits, but not past `stop` or the beginning of a pause.
    func rest(seconds: TimeInterval) {
        condition.lock()
        defer { condition.unlock() }
        let end = TimedCondition.now + seconds
        while !isStopped, pauseCount == 0, condition.wait(until: end) {}
    }

    private func changePauses(by count: Int) {
        condition.lock()
        pauseCount += count
        condition.broadcast()
        condition.unlock()
    }

    /// The caller holds the lock.
    private func startThread() {
        guard !isStarted, !isStopped else { return }
        isStarted = true
        let thread = Thread { [self] in
            while let work = next() { work() }
        }
        thread.name = "Stratus upkeep"
        thread.start()
    }

    /// Waits until there is something to do; nil when it is over.
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

// When a store does the work that nobody waits for.

extension Stratus {
    /// Does at once what the store otherwise does in the background now and then: frees what deleted zones and accounts,
    /// expired history and orphaned assets take.
    ///
    /// It blocks its thread until everything is done.
    ///
    /// - Throws: ``StratusError`` where the store fails or was closed.
    public func performUpkeep() throws {
        session.hub.wake()
        let pace = UpkeepPace(pause: { Thread.sleep(forTimeInterval: 0.05) })
        try asking { try $0.performUpkeep(historySeconds: options.historySeconds, pace) }
        try StratusError.wrapping { try Self.forgetDeleted(server, session.longLived) }
    }

    /// Drops the long-lived operations of accounts that are gone: where their deletion was cut off.
    static func forgetDeleted(_ server: HostedServer, _ longLived: LongLivedRegistry) throws {
        try longLived.forgetAccounts { account in try server.withService { try $0.account(account) == nil } }
    }

    /// History is looked through so often: it costs some reads for each zone of the store.
    private static let historyPauseSeconds = 3_600.0

    /// Does what an end of the process has cut off, then begins with the upkeep in the background.
    func startUpkeep() {
        do { try Self.forgetDeleted(server, session.longLived) } catch {
            // A damaged operation is told to who asks for operations, and must not keep the store shut.
            output.log(.error, "long-lived operations cannot be looked through", ["error": "\(error)"])
        }
        let historySeconds = options.historySeconds
        let clock = session.clock
        let lastHistory = Locked(clock.uptimeSeconds)
        upkeep.start { [server, upkeep, output, hub = session.hub, longLived = session.longLived] in
            // What could not be delivered before.
            hub.wake()
            let pace = UpkeepPace(
                pause: { upkeep.rest(seconds: 0.05) },
                rest: { upkeep.rest(seconds: $0) },
                shouldContinue: { upkeep.mayContinue })
            let isHistoryDue = clock.uptimeSeconds - lastHistory.value >= Self.historyPauseSeconds
            do {
                try server.withService {
                    try $0.performUpkeep(historySeconds: isHistoryDue ? historySeconds : nil, pace)
                }
                if isHistoryDue { lastHistory.withLock { $0 = clock.uptimeSeconds } }
                try Self.forgetDeleted(server, longLived)
            } catch {
                guard upkeep.mayContinue else { return }
                output.log(.error, "upkeep failed", ["error": "\(error)"])
            }
        }
    }
}
