// Threads for tests that block. Stores block their callers, and a blocked thread of Swift's cooperative pool may stop
// every other test, so blocking work runs here. Nothing sleeps: threads wait for each other by name, and a wait that
// would never end becomes an error.

package import StratusStore
internal import Foundation

/// A wait that would never have ended.
package struct TestTimeout: Error, CustomStringConvertible {
    package let description: String
}

/// Starts threads and waits for them.
package enum TestThreads {
    /// How long a thread waits for another before the test fails. Only a deadlock reaches it: a task that opens a gate
    /// may have to wait until most other tests of the run have finished, because all share a few threads.
    package static let deadlineSeconds = 900.0

    /// Runs `body` on `count` threads that start together, and waits for all. Throws the error of the lowest index.
    package static func run(_ count: Int, _ body: @escaping @Sendable (_ index: Int) throws -> Void) throws {
        let barrier = Barrier(count)
        let errors = Locked<[Int: any Error]>([:])
        let done = Gate("the threads to end")
        for index in 0..<count {
            Task(executorPreference: ThreadExecutor.shared) {
                do {
                    try barrier.wait()
                    try body(index)
                } catch {
                    errors.withLock { $0[index] = error }
                }
                done.open()
            }
        }
        for _ in 0..<count { try done.wait() }
        if let first = errors.withLock({ $0.min { $0.key < $1.key } }) { throw first.value }
    }

    /// Runs blocking work on a thread of its own while the calling task is suspended.
    package static func offPool<Result: Sendable>(
        _ body: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        try await Task(executorPreference: ThreadExecutor.shared) { try body() }.value
    }

    /// Lets other threads run, so that a race that is possible becomes likely.
    package static func yield() {
        _ = sched_yield()
    }
}

/// Runs each job on a thread of its own, where it may block. A thread that a test starts itself has no current test, so
/// a failure there belongs to no test; a task keeps it.
///
/// Unsafe: the executor is named by a reference without a count; it is never freed.
final class ThreadExecutor: TaskExecutor {
    static let shared = ThreadExecutor()
    private static let stackByteCount = 8 << 20

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let thread = Thread { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        thread.stackSize = Self.stackByteCount
        thread.start()
    }
}

/// A counted permission: `open` adds one, `wait` takes one.
package final class Gate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private let purpose: String

    package init(_ purpose: String) {
        self.purpose = purpose
    }

    package func open() {
        semaphore.signal()
    }

    /// Throws `TestTimeout` if the gate is never opened.
    package func wait() throws {
        guard case .success = semaphore.wait(timeout: .now() + TestThreads.deadlineSeconds) else {
            throw TestTimeout(description: "waited in vain for \(purpose)")
        }
    }
}

/// A door that stays open: after `open` was called, no thread waits.
package final class Latch: Sendable {
    private let gate: Gate

    package init(_ purpose: String) {
        gate = Gate(purpose)
    }

    package func open() {
        gate.open()
    }

    /// Throws `TestTimeout` if the latch is never opened.
    package func wait() throws {
        try gate.wait()
        gate.open()
    }
}

extension Locked<Int> {
    /// The number, which is one larger afterwards.
    package func takeNext() -> Int {
        withLock { number in
            defer { number += 1 }
            return number
        }
    }
}

/// Holds threads until all have arrived.
package final class Barrier: Sendable {
    private let missing: Locked<Int>
    private let count: Int
    private let gate = Gate("all threads to start")

    package init(_ count: Int) {
        self.count = count
        missing = Locked(count)
    }

    package func wait() throws {
        let isLast = missing.withLock { missing in
            missing -= 1
            return missing == 0
        }
        if isLast {
            for _ in 0..<count { gate.open() }
        }
        try gate.wait()
    }
}
