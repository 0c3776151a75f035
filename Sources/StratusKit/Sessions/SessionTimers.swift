// Timers on a session's clock: time-outs of operations and the pauses before a retry.
//
// On the machine's clock one thread sleeps until the earliest deadline it was told of. A timer that is cancelled leaves
// it sleeping, so that an operation, which makes two timers and nearly always cancels both, costs two changes of a
// dictionary. On a clock that is moved by hand the move itself fires what is due.

import Dispatch
package import Foundation
package import StratusCloud

/// Calls back when a session's clock has reached a time.
package final class SessionTimers: Sendable {
    /// A timer that can be cancelled.
    package struct Token: Hashable, Sendable {
        fileprivate let number: UInt64
    }

    /// Whether time stands still until somebody moves it.
    package let isMovedByHand: Bool
    private let core: TimerCore

    package init(clock: any CloudClock) {
        core = TimerCore(clock: clock)
        let handMoved = clock as? any HandMovedClock
        isMovedByHand = handMoved != nil
        handMoved?.onMove { [weak core] in core?.fireDue() }
    }

    deinit { core.end() }

    /// Calls `body` once when `seconds` have passed, on a thread of no meaning; it must be quick. `firesAtClose` is for
    /// what must not hold up the end of the session.
    package func schedule(
        afterSeconds seconds: Double, firesAtClose: Bool = false, _ body: @escaping @Sendable () -> Void
    ) -> Token {
        Token(
            number: core.schedule(
                afterSeconds: max(seconds, 0), firesAtClose: firesAtClose, wantsThread: !isMovedByHand, body))
    }

    /// Cancels a timer. False when it has fired: its body was called, or is about to be.
    @discardableResult
    package func cancel(_ token: Token) -> Bool { core.cancel(token.number) }

    /// How many timers wait.
    package var count: Int { core.count }

    /// Fires at once what was scheduled to fire at the end.
    package func close() { core.fire { $0.firesAtClose } }
}

/// What the sleeping thread shares with the session. It holds this and not the session, so that a forgotten session ends
/// it.
private final class TimerCore: @unchecked Sendable {
    // Because every variable is touched only between `condition.lock` and `unlock`.
    struct Entry {
        let deadline: Double
        let firesAtClose: Bool
        let body: @Sendable () -> Void
    }

    private let clock: any CloudClock
    private let condition = TimedCondition()
    private var entries: [UInt64: Entry] = [:]
    private var lastNumber: UInt64 = 0
    /// Until when the thread sleeps.
    private var wakeUp = Double.infinity
    private var hasThread = false
    private var isEnded = false

    init(clock: any CloudClock) {
        self.clock = clock
    }

    var count: Int { locked { entries.count } }

    func schedule(
        afterSeconds seconds: Double, firesAtClose: Bool, wantsThread: Bool, _ body: @escaping @Sendable () -> Void
    ) -> UInt64 {
        let deadline = clock.uptimeSeconds + seconds
        return locked {
            lastNumber += 1
            entries[lastNumber] = Entry(deadline: deadline, firesAtClose: firesAtClose, body: body)
            guard wantsThread else { return lastNumber }
            if deadline < wakeUp {
                wakeUp = deadline
                condition.signal()
            }
            if !hasThread {
                hasThread = true
                startThread()
            }
            return lastNumber
        }
    }

    func cancel(_ number: UInt64) -> Bool {
        // Let go of after the lock, as everything that may be a client's.
        let entry = locked { entries.removeValue(forKey: number) }
        return entry != nil
    }

    func end() {
        locked {
            isEnded = true
            condition.signal()
        }
    }

    func fireDue() {
        let now = clock.uptimeSeconds
        fire { $0.deadline <= now }
    }

    func fire(_ isDue: (Entry) -> Bool) {
        let due = locked {
            let due = entries.filter { isDue($0.value) }
            for number in due.keys { entries[number] = nil }
            return due.sorted { ($0.value.deadline, $0.key) < ($1.value.deadline, $1.key) }
        }
        for (_, entry) in due { entry.body() }
    }

    private func startThread() {
        let thread = Thread { [self] in
            while sleep() { fireDue() }
        }
        thread.name = "StratusKit timers"
        thread.start()
    }

    /// Sleeps until a deadline has come; false when the session has ended.
    private func sleep() -> Bool {
        locked {
            wakeUp = entries.values.map(\.deadline).min() ?? .infinity
            while !isEnded {
                let seconds = wakeUp - clock.uptimeSeconds
                guard seconds > 0 else { return true }
                _ = condition.wait(until: TimedCondition.now + seconds)
            }
            return false
        }
    }

    private func locked<Value>(_ body: () -> Value) -> Value {
        condition.lock()
        defer { condition.unlock() }
        return body()
    }
}

// A lock to wait at, with time-outs that no change of the wall clock moves.
//
// `NSCondition` waits until a date. A wall clock that is set back makes it wait longer, one that is set forward makes it
// return early, and beyond the year 2262 it ends the process. Here a timer of the monotonic clock wakes who waits.

/// A lock with a condition, for waits that may end by time.
final class TimedCondition: Sendable {
    /// A timer may be late by as much as a machine slept; it is set again after so many seconds.
    private static let longestSeconds = 86_400.0
    private static let timeouts = DispatchQueue(label: "Stratus time-outs", attributes: .concurrent)

    private let condition = NSCondition()

    /// Seconds of the monotonic clock from any beginning: what ends of waits are counted from.
    static var now: Double { ProcessInfo.processInfo.systemUptime }

    func lock() { condition.lock() }
    func unlock() { condition.unlock() }
    func signal() { condition.signal() }
    func broadcast() { condition.broadcast() }

    /// Unlocks, waits, and locks again. It may wake for no reason: wait in a loop.
    func wait() { condition.wait() }

    /// The same, but no longer than until then, by `now`. Returns false when the time is over.
    func wait(until end: Double) -> Bool {
        let seconds = end - Self.now
        guard seconds > 0 else { return false }
        let timer = DispatchSource.makeTimerSource(queue: Self.timeouts)
        timer.schedule(deadline: .now() + min(seconds, Self.longestSeconds))
        timer.setEventHandler { [condition] in
            // Locked, so that who has set the timer is waiting already.
            condition.lock()
            condition.broadcast()
            condition.unlock()
        }
        timer.activate()
        condition.wait()
        timer.cancel()
        return Self.now < end
    }
}

// The clocks a session runs on: the machine's, or one that somebody moves by hand.

/// A clock that stands still until somebody moves it. Timers on it fire when it is moved, not when time goes by.
package protocol HandMovedClock: CloudClock {
    /// Calls `body` after every move, on the thread that moved the clock.
    func onMove(_ body: @escaping @Sendable () -> Void)
}

/// The machine's own clocks.
package struct SystemClock: CloudClock {
    package init() {}

    package var now: Date { Date() }
    package var uptimeSeconds: Double { ProcessInfo.processInfo.systemUptime }
}
