// Threads of our own for requests, which block until their commits are durable. Swift's cooperative pool and Dispatch's
// threads are few and must never be made to wait.
//
// Invariants:
//   1. At most `threadCount` jobs run at a time; a thread is started only when none is idle.
//   2. Jobs of a higher priority begin first; within a priority in the order they came.
//   3. A job that `submit` accepted runs exactly once, also when the pool is closed, unless it was withdrawn first.
//   4. At most `queueLimit` jobs wait; one more is refused.

import Foundation
import StratusStore

/// A bounded pool of threads for work that blocks.
package final class BlockingPool: Sendable {
    /// What runs first. The order is that of the cases.
    package enum Priority: Int, CaseIterable, Sendable {
        case userInteractive
        case userInitiated
        case normal
        case utility
        case background
    }

    /// Why a job was not taken.
    package enum Refusal: Error, Sendable {
        case closed
        case full
    }

    private let state: PoolState

    /// A pool that starts its threads when they are needed.
    package init(threadCount: Int = 16, queueLimit: Int = 65_536) {
        precondition(threadCount > 0 && queueLimit > 0, "a pool needs a thread and room for a job")
        state = PoolState(threadCount: threadCount, queueLimit: queueLimit)
    }

    deinit { state.close() }

    /// Runs `job` on a thread of the pool.
    ///
    /// Throws `Refusal` when the pool is closed or too many jobs wait.
    @discardableResult
    package func submit(
        priority: Priority = .normal, _ job: @escaping @Sendable () -> Void
    ) throws(Refusal) -> PoolTicket {
        try state.submit(priority: priority, job)
    }

    /// Runs `body` on a thread of the pool while the task is suspended, and returns what it returns.
    ///
    /// Throws `CancellationError` if the task is cancelled before a thread begins; what has begun runs to its end, and the
    /// task gets its result. Throws `Refusal` as `submit` does.
    package func run<Answer: Sendable>(
        priority: Priority = .normal, _ body: @escaping @Sendable () throws -> Answer
    ) async throws -> Answer {
        let call = SuspendedCall()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                do {
                    let ticket = try submit(priority: priority) { continuation.resume(with: Result(catching: body)) }
                    call.waits(for: ticket) { continuation.resume(throwing: CancellationError()) }
                } catch {
                    continuation.resume(throwing: error)
                }
            }
        } onCancel: {
            call.cancel()
        }
    }

    /// Refuses new jobs. Those that were accepted still run; the threads end after them.
    package func close() { state.close() }
}

/// A job's place in the queue. The queue may keep the ticket long after the job has run, but never the job, which may be
/// the last to refer to objects of a client's.
package final class PoolTicket: Sendable {
    /// Nil once the job has begun or was taken back.
    private let job: Locked<(@Sendable () -> Void)?>

    fileprivate init(_ job: @escaping @Sendable () -> Void) { self.job = Locked(job) }

    /// Takes the job back. False when it has begun, or was taken back before.
    package func withdraw() -> Bool { take() != nil }

    fileprivate func take() -> (@Sendable () -> Void)? {
        job.withLock { job in
            defer { job = nil }
            return job
        }
    }
}

/// A task that waits for a thread. Taking the ticket back decides who resumes it: the job or the cancellation, never both.
private final class SuspendedCall: Sendable {
    private struct State {
        var isCancelled = false
        var withdraw: (@Sendable () -> Void)?
    }

    private let state = Locked(State())

    /// `onWithdrawal` is called if the task is cancelled, or was, and no thread has begun.
    func waits(for ticket: PoolTicket, _ onWithdrawal: @escaping @Sendable () -> Void) {
        let withdraw: @Sendable () -> Void = { if ticket.withdraw() { onWithdrawal() } }
        let isCancelled = state.withLock { state in
            state.withdraw = withdraw
            return state.isCancelled
        }
        if isCancelled { withdraw() }
    }

    func cancel() {
        let withdraw = state.withLock { state in
            state.isCancelled = true
            return state.withdraw
        }
        withdraw?()
    }
}

/// What the threads share. They hold this and not the pool, so that a forgotten pool ends them.
private final class PoolState: @unchecked Sendable {
    // Because every variable is touched only between `condition.lock` and `unlock`.
    private let condition = NSCondition()
    private let threadCount: Int
    private let queueLimit: Int
    private var waiting = [[PoolTicket]](repeating: [], count: BlockingPool.Priority.allCases.count)
    /// The index of the first job that waits, by priority: the front of an array is not removed one by one.
    private var firsts = [Int](repeating: 0, count: BlockingPool.Priority.allCases.count)
    private var waitingCount = 0
    private var startedCount = 0
    private var idleCount = 0
    private var isClosed = false

    init(threadCount: Int, queueLimit: Int) {
        self.threadCount = threadCount
        self.queueLimit = queueLimit
    }

    func submit(
        priority: BlockingPool.Priority, _ job: @escaping @Sendable () -> Void
    ) throws(BlockingPool.Refusal) -> PoolTicket {
        let ticket = PoolTicket(job)
        condition.lock()
        defer { condition.unlock() }
        guard !isClosed else { throw .closed }
        guard waitingCount < queueLimit else { throw .full }
        waiting[priority.rawValue].append(ticket)
        waitingCount += 1
        if idleCount >= waitingCount {
            condition.signal()
        } else if startedCount < threadCount {
            startedCount += 1
            startThread()
        }
        return ticket
    }

    func close() {
        condition.lock()
        isClosed = true
        condition.broadcast()
        condition.unlock()
    }

    private func startThread() {
        let thread = Thread { [self] in
            while let ticket = next() {
                ticket.take()?()
            }
        }
        thread.name = "StratusKit requests"
        thread.start()
    }

    /// Waits for a job; nil when the pool is closed and nothing is left.
    private func next() -> PoolTicket? {
        condition.lock()
        defer { condition.unlock() }
        while waitingCount == 0 {
            guard !isClosed else { return nil }
            idleCount += 1
            condition.wait()
            idleCount -= 1
        }
        waitingCount -= 1
        for index in waiting.indices where firsts[index] < waiting[index].count {
            let ticket = waiting[index][firsts[index]]
            firsts[index] += 1
            if firsts[index] == waiting[index].count || firsts[index] > 1_024 {
                waiting[index].removeFirst(firsts[index])
                firsts[index] = 0
            }
            return ticket
        }
        return nil
    }
}

// Where clients' blocks are called: one after another for each operation, on threads of the session's.
//
// They are threads of our own, and many, because blocks may wait for other operations: a thread that waits must not
// hold up the blocks it waits for. The hand-over between threads is by locks that the thread sanitizer knows.

/// The private serial queue on which one operation calls its blocks (O-03).
package final class CallbackQueue: Sendable {
    private struct State {
        var waiting: [Callback] = []
        var isDraining = false
    }

    /// Nil where no block of a client's is called: then there is nothing to leave the thread for.
    private let pool: BlockingPool?
    private let state = Locked(State())

    package init(pool: BlockingPool?) {
        self.pool = pool
    }

    /// Calls `body` after everything that was handed in before.
    package func async(_ body: @escaping () -> Void) {
        guard let pool else { return body() }
        let callback = Callback(body: body)
        let begins = state.withLock { state in
            state.waiting.append(callback)
            defer { state.isDraining = true }
            return !state.isDraining
        }
        guard begins else { return }
        do {
            try pool.submit { [self] in drain() }
        } catch {
            // No thread is to be had: better on this one than never.
            drain()
        }
    }

    private func drain() {
        while let callback = next() { callback.body() }
    }

    private func next() -> Callback? {
        state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.isDraining = false
                return nil
            }
            return state.waiting.removeFirst()
        }
    }
}

/// A client's block on its way to the operation's queue.
private struct Callback: @unchecked Sendable {
    // Because it is called once, in the serial queue it was handed to. Clients' blocks are not sendable, as on Apple's
    // systems.
    let body: () -> Void
}
