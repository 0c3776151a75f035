// Timers on a session's clock: time-outs of operations and the pauses before a retry.
//
// On the machine's clock one wake-up of Dispatch is pending at a time, for the earliest deadline it was told of. A timer
// that is cancelled leaves that wake-up alone, so that an operation, which makes two timers and nearly always cancels
// both, costs two changes of a dictionary. On a clock that is moved by hand the move itself fires what is due.

import Dispatch
package import StratusCloud
import StratusStore

/// Calls back when a session's clock has reached a time.
package final class SessionTimers: Sendable {
    /// A timer that can be cancelled.
    package struct Token: Hashable, Sendable {
        fileprivate let number: UInt64
    }

    private struct Entry {
        let deadline: Double
        let firesAtClose: Bool
        let body: @Sendable () -> Void
    }

    private struct State {
        var entries: [UInt64: Entry] = [:]
        var lastNumber: UInt64 = 0
        /// When the pending wake-up of Dispatch will come; infinity for none.
        var wakeUp = Double.infinity
    }

    private let clock: any CloudClock
    /// Whether time stands still until somebody moves it.
    package let isMovedByHand: Bool
    private let state = Locked(State())

    package init(clock: any CloudClock) {
        self.clock = clock
        let handMoved = clock as? any HandMovedClock
        isMovedByHand = handMoved != nil
        handMoved?.onMove { [weak self] in self?.fireDue() }
    }

    /// Calls `body` once when `seconds` have passed, on a thread of no meaning; it must be quick. `firesAtClose` is for
    /// what must not hold up the end of the session.
    package func schedule(
        afterSeconds seconds: Double, firesAtClose: Bool = false, _ body: @escaping @Sendable () -> Void
    ) -> Token {
        let deadline = clock.uptimeSeconds + max(seconds, 0)
        let (number, wantsWakeUp) = state.withLock { state in
            state.lastNumber += 1
            state.entries[state.lastNumber] = Entry(deadline: deadline, firesAtClose: firesAtClose, body: body)
            let wantsWakeUp = !isMovedByHand && deadline < state.wakeUp
            if wantsWakeUp { state.wakeUp = deadline }
            return (state.lastNumber, wantsWakeUp)
        }
        if wantsWakeUp { askForWakeUp(afterSeconds: seconds) }
        return Token(number: number)
    }

    /// Cancels a timer. False when it has fired: its body was called, or is about to be.
    @discardableResult
    package func cancel(_ token: Token) -> Bool {
        state.withLock { $0.entries.removeValue(forKey: token.number) != nil }
    }

    /// How many timers wait.
    package var count: Int { state.withLock { $0.entries.count } }

    private func askForWakeUp(afterSeconds seconds: Double) {
        // A wake-up far away is only asked for in part: it looks again, and Dispatch's times cannot overflow.
        let delay = min(max(seconds, 0), 86_400)
        DispatchQueue.global().asyncAfter(deadline: .now() + delay) { [weak self] in self?.wakeUp() }
    }

    private func wakeUp() {
        fireDue()
        let now = clock.uptimeSeconds
        let next = state.withLock { state in
            state.wakeUp = state.entries.values.map(\.deadline).min() ?? .infinity
            return state.wakeUp
        }
        if next < .infinity { askForWakeUp(afterSeconds: next - now) }
    }

    /// Fires at once what was scheduled to fire at the end.
    package func close() { fire { $0.firesAtClose } }

    private func fireDue() {
        let now = clock.uptimeSeconds
        fire { $0.deadline <= now }
    }

    private func fire(_ isDue: @Sendable (Entry) -> Bool) {
        let due = state.withLock { state in
            let due = state.entries.filter { isDue($0.value) }
            for number in due.keys { state.entries[number] = nil }
            return due.sorted { ($0.value.deadline, $0.key) < ($1.value.deadline, $1.key) }.map(\.value)
        }
        for entry in due { entry.body() }
    }
}
