// The clocks of a store: the system's, or one that a test moves by hand.

public import Foundation
import StratusCloud
import StratusStore
import Synchronization

extension Stratus {
    /// Where a store takes the time from.
    public enum Clock: Sendable {
        /// The clocks of the system.
        case system
        /// A clock that stands still until it is moved.
        case manual(ManualClock)
    }

    /// A wall clock and a monotonic clock that stand still until they are moved by hand.
    ///
    /// Records are stamped with the wall clock, and by it deletions leave change feeds; time-outs, planned faults, retries
    /// and copies of assets go by the monotonic clock.
    /// `advance(by:)` moves both. One clock may serve several stores.
    public final class ManualClock: Sendable {
        private struct Hands: Sendable {
            var now: Date
            var uptimeSeconds = 0.0
            var listeners: [@Sendable () -> Void] = []
        }

        private let hands: Locked<Hands>

        /// A clock whose wall clock shows `now`, and whose monotonic clock shows zero.
        ///
        /// - Parameter now: By default the beginning of the year 2025, UTC.
        public init(now: Date = Date(timeIntervalSince1970: 1_735_689_600)) {
            hands = Locked(Hands(now: now))
        }

        /// What the wall clock shows. Setting it moves the wall clock alone, backwards too, as people do with clocks.
        public var now: Date {
            get { hands.withLock { $0.now } }
            set { move { $0.now = newValue } }
        }

        /// What the monotonic clock shows, in seconds.
        public var uptimeSeconds: Double { hands.withLock { $0.uptimeSeconds } }

        /// Moves both clocks forward by `seconds`, which must not be negative. What was due meanwhile is told at once.
        public func advance(by seconds: Double) {
            precondition(seconds >= 0, "A monotonic clock does not go back: set `now` to move the wall clock alone.")
            move {
                $0.now += seconds
                $0.uptimeSeconds += seconds
            }
        }

        package func onMove(_ body: @escaping @Sendable () -> Void) {
            hands.withLock { $0.listeners.append(body) }
        }

        private func move(_ change: @Sendable (inout Hands) -> Void) {
            let listeners = hands.withLock { state in
                change(&state)
                return state.listeners
            }
            for listener in listeners { listener() }
        }
    }
}

extension Stratus.ManualClock: HandMovedClock {}

extension Stratus.Clock {
    var cloudClock: any CloudClock {
        switch self {
        case .system: SystemClock()
        case .manual(let clock): clock
        }
    }
}
