// The pool of threads for requests that block: how many run at a time, in which order they begin, and what is refused.

import Foundation
import StratusKit
import StratusStore
import StratusTestSupport
import Testing

@Suite struct BlockingPoolTests {
    /// Keeps the only thread of a pool busy until the gate is opened.
    private func block(_ pool: BlockingPool) throws -> Gate {
        let begun = Gate("the job to begin")
        let end = Gate("the job to end")
        try pool.submit {
            begun.open()
            try? end.wait()
        }
        try begun.wait()
        return end
    }

    @Test("a job over the limit of waiting jobs is refused, and the waiting ones still run")
    func full() async throws {
        try await TestThreads.offPool {
            let pool = BlockingPool(threadCount: 1, queueLimit: 2)
            let end = try block(pool)
            let done = [Gate("the first job"), Gate("the second job")]
            for gate in done { try pool.submit { gate.open() } }
            #expect(throws: BlockingPool.Refusal.full) { try pool.submit {} }
            end.open()
            for gate in done { try gate.wait() }
            pool.close()
        }
    }

    @Test("a closed pool refuses jobs, and runs those that it has accepted")
    func closed() async throws {
        try await TestThreads.offPool {
            let pool = BlockingPool(threadCount: 1)
            let end = try block(pool)
            let done = Gate("the job that was accepted")
            try pool.submit { done.open() }
            pool.close()
            #expect(throws: BlockingPool.Refusal.closed) { try pool.submit {} }
            end.open()
            try done.wait()
        }
    }

    @Test("jobs of a higher priority start first, and those of one priority in the order of arrival")
    func order() async throws {
        try await TestThreads.offPool {
            let pool = BlockingPool(threadCount: 1)
            let end = try block(pool)
            let order = Locked<[String]>([])
            let done = Gate("the last job")
            for (priority, name) in [
                (QualityOfService.background, "a"), (.default, "b"), (.userInteractive, "c"), (.default, "d"),
            ] {
                try pool.submit(priority: priority) {
                    order.withLock { $0.append(name) }
                    if name == "a" { done.open() }
                }
            }
            end.open()
            try done.wait()
            #expect(order.withLock { $0 } == ["c", "b", "d", "a"])
            pool.close()
        }
    }

    @Test("a job that is withdrawn before its start does not run, and a started one cannot be withdrawn")
    func withdrawing() async throws {
        try await TestThreads.offPool {
            let pool = BlockingPool(threadCount: 1)
            let begun = Gate("the first job to begin")
            let end = Gate("the first job to end")
            let first = try pool.submit {
                begun.open()
                try? end.wait()
            }
            try begun.wait()
            let hasRun = Locked(false)
            let second = try pool.submit { hasRun.withLock { $0 = true } }
            #expect(second.withdraw())
            #expect(!second.withdraw())
            #expect(!first.withdraw())
            let done = Gate("the third job")
            try pool.submit { done.open() }
            end.open()
            try done.wait()
            #expect(!hasRun.withLock { $0 })
            pool.close()
        }
    }
}
