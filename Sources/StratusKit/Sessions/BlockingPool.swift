// Threads for requests, which block until their commits are durable, and serial queues for clients' blocks. The threads
// of Swift's cooperative pool and of Dispatch are few and must never wait.
//
// Invariants:
//   1. At most `threadCount` jobs run at a time; a thread is started only when none is idle.
//   2. Jobs of a higher priority begin first; jobs of one priority begin in the order of submission.
//   3. A job that `submit` accepted runs exactly once, also when the pool is closed, unless it was withdrawn first.
//   4. At most `queueLimit` jobs wait; one more is refused.

package import Foundation
import StratusStore

/// A bounded pool of threads for work that blocks.
package final class BlockingPool: Sendable {
    /// Why a job was not accepted.
    package enum Refusal: Error, Sendable {
        case closed
        case full
    }

    private let state: PoolState

    /// Creates a pool, which starts its threads on demand.
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
        priority: QualityOfService = .default, _ job: @escaping @Sendable () -> Void
    ) throws(Refusal) -> PoolTicket {
        try state.submit(priority: priority, job)
    }

    /// The jobs that it accepted: each is a hop from one thread to another.
    package var acceptedCount: Int { state.acceptedCount }

    /// Runs `body` on a thread of the pool while the task is suspended, and returns what it returns.
    ///
    /// Throws `CancellationError` if the task is cancelled before a thread begins. A job that has begun runs to its
    /// end, and the task gets its result. Throws `Refusal` as `submit` does.
    package func run<Answer: Sendable>(
        priority: QualityOfService = .default, _ body: @escaping @Sendable () throws -> Answer
    ) async throws -> Answer {
        // Taking the job out of the ticket decides what resumes the task: the job or the cancellation, never both.
        let withdrawal = Locked<(@Sendable () -> Void)?>(nil)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                do {
                    let ticket = try submit(priority: priority) { continuation.resume(with: Result(catching: body)) }
                    let withdraw: @Sendable () -> Void = {
                        if ticket.withdraw() { continuation.resume(throwing: CancellationError()) }
                    }
                    withdrawal.withLock { $0 = withdraw }
                    // An earlier cancellation has found nothing to withdraw.
                    if Task.isCancelled { withdraw() }
                } catch {
                    continuation.resume(throwing: error)
                }
            }
        } onCancel: {
            withdrawal.value?()
        }
    }

    /// Refuses new jobs. Those that were accepted still run; the threads end after them.
    package func close() { state.close() }
}

/// A job's place in the queue. The queue may keep the ticket long after the job has run, but not the job, which may
/// hold the last reference to a client's objects.
package final class PoolTicket: Sendable {
    /// Nil once the job has begun or was withdrawn.
    private let job: Locked<(@Sendable () -> Void)?>

    fileprivate init(_ job: @escaping @Sendable () -> Void) { self.job = Locked(job) }

    /// Withdraws the job. Returns false if it has begun or was withdrawn before.
    package func withdraw() -> Bool { take() != nil }

    fileprivate func take() -> (@Sendable () -> Void)? { job.withLock { $0.take() } }
}

extension QualityOfService {
    fileprivate static let rankCount = 5

    /// The place in the order in which jobs begin.
    fileprivate var rank: Int {
        switch self {
        case .userInteractive: 0
        case .userInitiated: 1
        case .utility: 3
        case .background: 4
        default: 2
        }
    }
}

/// The state that the threads share. They retain it and not the pool, so that releasing the pool ends them.
private final class PoolState: @unchecked Sendable {
    // Unchecked because every variable is used only between `condition.lock` and `unlock`.
    private let condition = TimedCondition()
    private let threadCount: Int
    private let queueLimit: Int
    private var waiting = [[PoolTicket]](repeating: [], count: QualityOfService.rankCount)
    /// The index of the first job that waits, by priority: removing the front of an array one by one is slow.
    private var firsts = [Int](repeating: 0, count: QualityOfService.rankCount)
    private var waitingCount = 0
    private var allAcceptedCount = 0
    private var startedCount = 0
    private var idleCount = 0
    private var isClosed = false

    init(threadCount: Int, queueLimit: Int) {
        self.threadCount = threadCount
        self.queueLimit = queueLimit
    }

    func submit(
        priority: QualityOfService, _ job: @escaping @Sendable () -> Void
    ) throws(BlockingPool.Refusal) -> PoolTicket {
        let ticket = PoolTicket(job)
        condition.lock()
        defer { condition.unlock() }
        guard !isClosed else { throw .closed }
        guard waitingCount < queueLimit else { throw .full }
        waiting[priority.rank].append(ticket)
        waitingCount += 1
        allAcceptedCount += 1
        if idleCount >= waitingCount {
            condition.signal()
        } else if startedCount < threadCount {
            startedCount += 1
            Thread.start("StratusKit requests") { [self] in
                while let ticket = next() { ticket.take()?() }
            }
        }
        return ticket
    }

    func close() {
        condition.change { isClosed = true }
    }

    var acceptedCount: Int {
        condition.lock()
        defer { condition.unlock() }
        return allAcceptedCount
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

// Where clients' blocks are called: one after another for each operation, on threads of the session.
//
// The session has many threads for them, because blocks may wait for other operations: a waiting thread must not delay
// the blocks it waits for. Blocks pass between threads through locks that the thread sanitizer knows.

/// The private serial queue on which one operation calls its blocks (O-03).
package final class CallbackQueue: Sendable {
    private struct State {
        var waiting: [Callback] = []
        var isDraining = false
    }

    /// Nil if no block of a client's is called: then `async` calls its body at once.
    private let pool: BlockingPool?
    private let state = Locked(State())

    package init(pool: BlockingPool?) {
        self.pool = pool
    }

    /// Calls `body` after everything that was passed in before.
    package func async(_ body: @escaping () -> Void) {
        guard let pool else { return body() }
        let callback = Callback(body: body)
        let begins = state.withLock { state in
            state.waiting.append(callback)
            return !exchange(&state.isDraining, with: true)
        }
        guard begins else { return }
        do {
            try pool.submit { [self] in drain() }
        } catch {
            // No thread is available: better on this one than never.
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
    // Unchecked because it is called once, on the serial queue it was passed to. Clients' blocks are not sendable, as
    // on Apple's systems.
    let body: () -> Void
}
