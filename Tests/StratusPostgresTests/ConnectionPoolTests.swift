// Lending connections: bounds, order, failures. The connections are fakes.

import StratusStore
import StratusTestSupport
import Testing

@testable import StratusPostgres

private final class FakeConnection: PooledConnection {
    let number: Int
    private let state = Locked((isBroken: false, isLost: false, isClosed: false))

    init(_ number: Int) { self.number = number }

    var isBroken: Bool { state.withLock { $0.isBroken } }
    var isClosed: Bool { state.withLock { $0.isClosed } }
    func checkIsUsable() -> Bool { state.withLock { !$0.isLost } }
    func close() { state.withLock { $0.isClosed = true } }
    /// As after an error.
    func breakNow() { state.withLock { $0.isBroken = true } }
    /// As when the server ends it while it is idle.
    func lose() { state.withLock { $0.isLost = true } }
}

/// Opens connections, or fails as planned.
private final class FakeServer: Sendable {
    private let opened = Locked(0)
    private let failures = Locked<[OpeningFailure]>([])
    private let attempts = Locked((now: 0, most: 0, all: 0))

    var mostAttempts: Int { attempts.withLock { $0.most } }
    var attemptCount: Int { attempts.withLock { $0.all } }

    func fail(_ count: Int, retry: Bool = true) {
        let failure = OpeningFailure(error: StoreError(.unavailable, "Refused.", cause: "plan"), isWorthRetrying: retry)
        failures.withLock { $0 += Array(repeating: failure, count: count) }
    }

    func pool(_ connectionCount: Int, nested: Int = 1, _ change: (inout PoolLimits) -> Void = { _ in })
        -> ConnectionPool<FakeConnection>
    {
        var limits = PoolLimits()
        limits.connectionCount = connectionCount
        limits.nestedCount = nested
        change(&limits)
        return ConnectionPool(limits: limits, jitter: { 0.1 }) { [self] _ throws(OpeningFailure) in
            attempts.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1), $0.all + 1) }
            defer { attempts.withLock { $0.now -= 1 } }
            TestThreads.yield()
            if let failure = failures.withLock({ $0.popLast() }) { throw failure }
            return FakeConnection(
                opened.withLock { opened in
                    opened += 1
                    return opened
                })
        }
    }
}

@Suite struct ConnectionPoolTests {
    private static var soon: MonotonicTime { .now + 60 }

    @Test("a connection that came back last is lent first, and nothing new is opened")
    func newestFirst() throws {
        let pool = FakeServer().pool(3)
        let (first, second) = (try pool.lend(until: Self.soon), try pool.lend(until: Self.soon))
        pool.giveBack(first)
        pool.giveBack(second)
        #expect(try pool.lend(until: Self.soon) === second)
        #expect(pool.openedCount == 2)
        pool.giveBack(second)
        pool.close()
    }

    @Test("64 threads share as many connections as the pool may have")
    func bounded() async throws {
        try await TestThreads.offPool {
            let server = FakeServer()
            let pool = server.pool(3)
            let inUse = Locked((now: 0, most: 0))
            try TestThreads.run(64) { _ in
                for _ in 0..<20 {
                    let connection = try pool.lend(until: Self.soon)
                    inUse.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
                    TestThreads.yield()
                    inUse.withLock { $0.now -= 1 }
                    pool.giveBack(connection)
                }
            }
            #expect(inUse.withLock { $0.most } <= 3)
            #expect(pool.openedCount <= 3)
            #expect(pool.connectionCount <= 3)
            pool.close()
        }
    }

    @Test("a thread that has a connection gets another one although all are in use")
    func nested() throws {
        let pool = FakeServer().pool(1)
        let outer = try pool.lend(until: Self.soon)
        let inner = try pool.lend(until: Self.soon, isNested: true)
        #expect(outer !== inner)
        let error = #expect(throws: StoreError.self) { try pool.lend(until: .now + 0.01, isNested: true) }
        #expect(error?.code == .unavailable)
        pool.giveBack(inner)
        pool.giveBack(outer)
        pool.close()
    }

    @Test("a further connection that came back is lent to nested callers only")
    func nestedOnly() throws {
        let pool = FakeServer().pool(1)
        let outer = try pool.lend(until: Self.soon)
        pool.giveBack(try pool.lend(until: Self.soon, isNested: true))
        let error = #expect(throws: StoreError.self) { try pool.lend(until: .now + 0.01) }
        #expect(error?.code == .unavailable)
        pool.giveBack(try pool.lend(until: Self.soon, isNested: true))
        pool.giveBack(outer)
        pool.giveBack(try pool.lend(until: Self.soon))
        pool.close()
    }

    @Test("another thread waits until its deadline, and gets the connection that comes back before")
    func waiting() async throws {
        try await TestThreads.offPool {
            let pool = FakeServer().pool(1)
            let isLent = Latch("the connection to be lent")
            let hasFailed = Latch("the other thread to give up")
            try TestThreads.run(2) { thread in
                if thread == 0 {
                    let connection = try pool.lend(until: Self.soon)
                    isLent.open()
                    try hasFailed.wait()
                    pool.giveBack(connection)
                } else {
                    try isLent.wait()
                    #expect(throws: StoreError.self) { try pool.lend(until: .now + 0.01) }
                    hasFailed.open()
                    pool.giveBack(try pool.lend(until: Self.soon))
                }
            }
            #expect(pool.openedCount == 1)
            pool.close()
        }
    }

    @Test("a broken connection is closed and replaced, and so is one that was lost while it was idle")
    func replaced() throws {
        let pool = FakeServer().pool(1)
        let first = try pool.lend(until: Self.soon)
        first.breakNow()
        pool.giveBack(first)
        #expect(first.isClosed)
        let second = try pool.lend(until: Self.soon)
        pool.giveBack(second)
        second.lose()
        let third = try pool.lend(until: Self.soon)
        #expect(second.isClosed)
        #expect(third.number == 3)
        #expect(pool.connectionCount == 1)
        pool.giveBack(third)
        pool.close()
    }

    @Test("after a failure one thread at a time tries again, and all get a connection in the end")
    func reconnecting() async throws {
        try await TestThreads.offPool {
            let server = FakeServer()
            let pool = server.pool(4)
            server.fail(1)
            // From here on the pool knows of a failure, or has recovered from it.
            pool.giveBack(try pool.lend(until: Self.soon))
            #expect(server.attemptCount == 2)
            server.fail(5)
            let barrier = Barrier(4)
            try TestThreads.run(4) { _ in
                let connection = try pool.lend(until: Self.soon)
                try barrier.wait()
                pool.giveBack(connection)
            }
            #expect(pool.connectionCount == 4)
            pool.close()
        }
    }

    @Test("the error after the deadline is the reason of the last failure")
    func lastFailure() {
        let server = FakeServer()
        server.fail(1_000)
        let pool = server.pool(1)
        let error = #expect(throws: StoreError.self) { try pool.lend(until: .now + 0.05) }
        #expect(error?.cause == "plan")
        pool.close()
    }

    @Test("an error that no retry repairs is thrown at once")
    func hopeless() {
        let server = FakeServer()
        server.fail(1, retry: false)
        let pool = server.pool(1)
        #expect(throws: StoreError.self) { try pool.lend(until: Self.soon) }
        #expect(server.attemptCount == 1)
        pool.close()
    }

    @Test("idle connections above the number that stays are closed, oldest first")
    func surplus() throws {
        let pool = FakeServer().pool(4) {
            $0.idleCount = 1
            $0.idleSeconds = 0
        }
        let connections = [try pool.lend(until: Self.soon), try pool.lend(until: Self.soon)]
        for connection in connections { pool.giveBack(connection) }
        #expect(connections.map(\.isClosed) == [true, false])
        #expect(pool.connectionCount == 1)
        pool.close()
        #expect(connections[1].isClosed)
    }

    @Test("a closed pool lends nothing, and closing waits for what is lent")
    func closing() async throws {
        try await TestThreads.offPool {
            let pool = FakeServer().pool(1)
            let isLent = Latch("the connection to be lent")
            try TestThreads.run(2) { thread in
                if thread == 0 {
                    let connection = try pool.lend(until: Self.soon)
                    isLent.open()
                    TestThreads.yield()
                    pool.giveBack(connection)
                    return
                }
                try isLent.wait()
                pool.close()
                #expect(pool.connectionCount == 0)
                let error = #expect(throws: StoreError.self) { try pool.lend(until: Self.soon) }
                #expect(error?.code == .closed)
            }
        }
    }
}

@Suite struct FlushDeadlineTests {
    @Test("a flush is cancelled at its deadline and given up soon after")
    func cancelled() {
        var deadlines = FlushDeadlines(.until(.now))
        guard case .cancel = deadlines.pass() else {
            Issue.record("no cancel at the deadline")
            return
        }
        #expect(deadlines.next.secondsLeft > 1)
        guard case .giveUp = deadlines.pass() else {
            Issue.record("the flush goes on after the second deadline")
            return
        }
    }

    @Test("a commit is noticed once when it takes long, and never cancelled")
    func commits() {
        let end = MonotonicTime.now + 60
        var deadlines = FlushDeadlines(.patient(end, noticing: {}))
        #expect(deadlines.next < end)
        guard case .notice = deadlines.pass() else {
            Issue.record("no notice")
            return
        }
        #expect(deadlines.next == end)
        guard case .giveUp = deadlines.pass() else {
            Issue.record("a commit was cancelled, or waits longer than its caller")
            return
        }
        #expect(FlushDeadlines(.patient(end)).next == end)
    }
}
