// The clocks a session runs on: the machine's, or one that somebody moves by hand.

package import Foundation
package import StratusCloud

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
