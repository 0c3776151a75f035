// A value behind a lock, as every shared mutable value above the engine is kept.

import Synchronization

/// A value that threads share under a mutex.
package final class Locked<Value>: Sendable {
    private let mutex: Mutex<Value>
    /// Hands over from one holder to the next what the mutex hands over already, but in code that the thread sanitizer
    /// sees: on Linux it does not see into `Mutex`, and would call every use of it a race.
    private let handover = Atomic<UInt8>(0)

    package init(_ value: sending Value) {
        mutex = Mutex(value)
    }

    package func withLock<Result>(
        _ body: (inout sending Value) throws -> sending Result
    ) rethrows -> sending Result {
        try mutex.withLock { value in
            _ = handover.load(ordering: .acquiring)
            defer { handover.store(0, ordering: .releasing) }
            return try body(&value)
        }
    }
}

extension Locked where Value: Sendable {
    package var value: Value { withLock { $0 } }
}
