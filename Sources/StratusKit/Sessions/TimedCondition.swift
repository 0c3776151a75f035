// A lock to wait at, with time-outs that no change of the wall clock moves.
//
// `NSCondition` waits until a date. A wall clock that is set back makes it wait longer, one that is set forward makes it
// return early, and beyond the year 2262 it ends the process. Here a timer of the monotonic clock wakes who waits.

import Dispatch
import Foundation

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
