// Timers on a session's clock, for time-outs of operations and pauses before a retry; a lock to wait at until a time;
// and the clocks.
//
// On the machine's clock one thread sleeps until the earliest deadline it knows. Cancelling a timer does not wake it,
// so that an operation, which starts two timers and nearly always cancels both, costs only changes of a dictionary. On
// a clock that is moved by hand the move itself fires the timers that are due.

import Dispatch
package import Foundation
package import StratusCloud

/// Calls back when a session's clock has reached a time.
package final class SessionTimers: Sendable {
    /// A timer that can be cancelled.
    package typealias Token = UInt64

    /// Whether the clock stands still until it is moved by hand.
    package var isMovedByHand: Bool { core.isMovedByHand }
    private let core: TimerCore

    package init(clock: any CloudClock) {
        core = TimerCore(clock: clock)
        (clock as? any HandMovedClock)?.onMove { [weak core] in core?.fireDue() }
    }

    deinit { core.end() }

    /// Calls `body` once when `seconds` have passed, on an arbitrary thread. It must be quick. `firesAtClose` is for
    /// timers that must not delay the end of the session.
    package func schedule(
        afterSeconds seconds: Double, firesAtClose: Bool = false, _ body: @escaping @Sendable () -> Void
    ) -> Token {
        core.schedule(afterSeconds: max(seconds, 0), firesAtClose: firesAtClose, body)
    }

    /// Cancels a timer. Returns false if it has fired: its body was called, or is about to be called.
    @discardableResult
    package func cancel(_ token: Token) -> Bool { core.cancel(token) }

    /// The number of waiting timers.
    package var count: Int { core.count }

    /// Fires the timers that were scheduled with `firesAtClose`.
    package func close() { core.fire { $0.firesAtClose } }
}

/// The state that the sleeping thread shares with the session. The thread retains it and not the session, so that
/// releasing the session ends the thread.
private final class TimerCore: @unchecked Sendable {
    // Unchecked because every variable is used only between `condition.lock` and `unlock`.
    struct Entry {
        let deadline: Double
        let firesAtClose: Bool
        let body: @Sendable () -> Void
    }

    let isMovedByHand: Bool
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
        isMovedByHand = clock is any HandMovedClock
    }

    var count: Int { condition.withLock { entries.count } }

    func schedule(
        afterSeconds seconds: Double, firesAtClose: Bool, _ body: @escaping @Sendable () -> Void
    ) -> UInt64 {
        let deadline = clock.uptimeSeconds + seconds
        return condition.withLock {
            lastNumber += 1
            entries[lastNumber] = Entry(deadline: deadline, firesAtClose: firesAtClose, body: body)
            guard !isMovedByHand else { return lastNumber }
            if deadline < wakeUp {
                wakeUp = deadline
                condition.signal()
            }
            if !hasThread {
                hasThread = true
                Thread.start("StratusKit timers") { [self] in
                    while sleep() { fireDue() }
                }
            }
            return lastNumber
        }
    }

    func cancel(_ number: UInt64) -> Bool {
        // Released after the lock, like everything that may be a client's.
        let entry = condition.withLock { entries.removeValue(forKey: number) }
        return entry != nil
    }

    func end() {
        condition.change { isEnded = true }
    }

    func fireDue() {
        let now = clock.uptimeSeconds
        fire { $0.deadline <= now }
    }

    func fire(_ isDue: (Entry) -> Bool) {
        let due = condition.withLock {
            let due = entries.filter { isDue($0.value) }
            for number in due.keys { entries[number] = nil }
            return due.sorted { ($0.value.deadline, $0.key) < ($1.value.deadline, $1.key) }
        }
        for (_, entry) in due { entry.body() }
    }

    /// Sleeps until a deadline. Returns false when the session has ended.
    private func sleep() -> Bool {
        condition.withLock {
            wakeUp = entries.values.map(\.deadline).min() ?? .infinity
            while !isEnded {
                let seconds = wakeUp - clock.uptimeSeconds
                guard seconds > 0 else { return true }
                _ = condition.wait(until: TimedCondition.now + seconds)
            }
            return false
        }
    }
}

// A lock to wait at, with time-outs that do not depend on the wall clock.
//
// `NSCondition` waits until a date. If the wall clock is set back it waits longer, if it is set forward it returns
// early, and after the year 2262 it ends the process. Here a timer of the monotonic clock wakes the waiting thread.

/// A lock with a condition, for waits that may end by time.
final class TimedCondition: NSLocking, Sendable {
    /// A timer may be late by the time that the machine slept; it is set again after this many seconds.
    private static let longestSeconds = 86_400.0
    private static let timeouts = DispatchQueue(label: "Stratus time-outs", attributes: .concurrent)

    /// Sets the process's first timer and waits until it is set. It opens the descriptors that all timers share:
    /// libdispatch ends a process that has none left by then.
    private static let firstTimer: Void = {
        let late = timer(afterSeconds: longestSeconds) {}
        // When the second has fired, the late one was set and not only received.
        for _ in 0..<2 {
            let fired = DispatchSemaphore(value: 0)
            let timer = timer(afterSeconds: 0.001) { fired.signal() }
            fired.wait()
            timer.cancel()
        }
        late.cancel()
    }()

    private let condition = NSCondition()

    init() { _ = Self.firstTimer }

    /// Seconds of the monotonic clock, from an arbitrary beginning.
    static var now: Double { ProcessInfo.processInfo.systemUptime }

    func lock() { condition.lock() }
    func unlock() { condition.unlock() }
    func signal() { condition.signal() }
    func broadcast() { condition.broadcast() }

    /// Unlocks, waits, and locks again. It may return without a signal: call it in a loop.
    func wait() { condition.wait() }

    /// Changes under the lock what threads wait for, and wakes them all.
    func change<Result>(_ body: () throws -> Result) rethrows -> Result {
        try condition.withLock {
            defer { condition.broadcast() }
            return try body()
        }
    }

    /// Waits at most until `end`, measured by `now`. Returns false when the time is over.
    func wait(until end: Double) -> Bool {
        let seconds = end - Self.now
        guard seconds > 0 else { return false }
        // Locked, so that the thread that set the timer is waiting by now.
        let timer = Self.timer(afterSeconds: min(seconds, Self.longestSeconds)) { [self] in change {} }
        wait()
        timer.cancel()
        return Self.now < end
    }

    private static func timer(
        afterSeconds seconds: Double, _ body: @escaping @Sendable () -> Void
    ) -> any DispatchSourceTimer {
        let timer = DispatchSource.makeTimerSource(queue: timeouts)
        timer.schedule(deadline: .now() + seconds)
        timer.setEventHandler(handler: body)
        timer.activate()
        return timer
    }
}

extension Thread {
    /// Starts a thread with a name.
    static func start(_ name: String, stackByteCount: Int? = nil, _ body: @escaping @Sendable () -> Void) {
        let thread = Thread(block: body)
        thread.name = name
        if let stackByteCount { thread.stackSize = stackByteCount }
        thread.start()
    }
}

// The clocks of a session.

/// A clock that stands still until it is moved by hand. Its timers fire when it is moved, not as time passes.
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
