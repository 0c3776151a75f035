// A value that threads share under a lock. The lock is Foundation's, because the thread sanitizer knows that one: it
// cannot see into the slow path of `Synchronization.Mutex` and reports what is guarded by it.

internal import Foundation

/// A guarded value that can be captured by closures.
///
/// `@unchecked Sendable` because the value is reached only while the lock is held.
package final class Locked<Value: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    private var guarded: Value

    package init(_ value: Value) {
        guarded = value
    }

    package func withLock<Result: Sendable>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        lock.lock()
        defer { lock.unlock() }
        return try body(&guarded)
    }

    package var value: Value { withLock { $0 } }
}
