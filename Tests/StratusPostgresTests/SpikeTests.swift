// Facts about PostgreSQL and libpq that the design rests on, each tested once.

import Glibc
import StratusStore
import StratusTestSupport
import Testing

@testable import StratusPostgres

@Suite(.enabled(if: TestServer.isThere)) struct SpikeTests {
    @Test("[S1] a transaction that waits for the lane's lock in the same flush sees what the lock's holder committed")
    func snapshotAfterLock() async throws {
        try await TestThreads.offPool {
            let schema = try TestSchema()
            let holder = try schema.open()
            defer { holder.close() }
            try holder.lock(.lock, 5)
            try holder.sync()
            try holder.send(.beginWrite)
            try holder.put([([1], [1])])
            try holder.sync()
            try holder.answers()
            let isSent = Latch("the waiting flush to begin")
            let process = Locked(Int64(0))
            try TestThreads.run(2) { thread in
                guard thread == 0 else {
                    let waiter = try schema.open()
                    defer { waiter.close() }
                    let number = try waiter.number("SELECT pg_backend_pid()::int8")
                    process.withLock { $0 = number }
                    try waiter.lock(.lock, 5)
                    try waiter.sync()
                    try waiter.send(.beginWrite)
                    try waiter.get([[1]])
                    try waiter.sync()
                    isSent.open()
                    let answers = try waiter.answers()
                    #expect(answers[2].rowCount == 1)
                    waiter.finishInBackground(.rollback)
                    return
                }
                try isSent.wait()
                let watcher = try schema.open(.plain)
                defer { watcher.close() }
                let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = \(process.value)"
                while try watcher.number(waiting) == 0 { TestThreads.yield() }
                try holder.send(.commit)
                try holder.sync()
                try holder.lock(.unlock, 5)
                try holder.sync()
                #expect(try holder.answers()[0].commandTag == "COMMIT")
            }
        }
    }

    @Test("[S2] every statement is prepared, and BEGIN, COMMIT and ROLLBACK run in a pipeline")
    func preparedTransactions() async throws {
        try await TestThreads.offPool {
            let schema = try TestSchema()
            let connection = try schema.open()
            defer { connection.close() }
            for begin in [Statement.beginWrite, .beginPage, .beginWhole] {
                for end in [Statement.commit, .rollback] {
                    try connection.send(begin)
                    try connection.send(.lease)
                    try connection.send(end)
                    try connection.sync()
                    let tag = try connection.answers()[2].commandTag
                    #expect(tag == end.rawValue.uppercased())
                }
            }
            var identity = StatementParameters()
            identity.add([UInt8](repeating: 3, count: 16))
            var range = StatementParameters()
            range.add([UInt8]())
            range.add([255])
            range.add(Int64(10))
            try connection.send(.beginWrite)
            try connection.put([([1], [2]), ([2], [3])])
            try connection.send(.receipt, identity)
            var one = StatementParameters()
            one.add(array: [[1]])
            try connection.send(.get, one)
            try connection.send(.up, range)
            try connection.send(.down, range)
            var keys = StatementParameters()
            keys.add(array: [[1]])
            try connection.send(.delete, keys)
            try connection.send(.commit)
            try connection.sync()
            try connection.send(.settle, identity)
            try connection.sync()
            let answers = try connection.answers()
            #expect(try answers[3].bytes(0, 1) == [2])
            #expect(try answers[4].bytes(0, 0) == [1])
            #expect(try answers[5].bytes(0, 0) == [2])
            #expect(answers[6].commandTag == "DELETE 1")
            #expect(try answers[8].integer(0, 0, as: Int16.self) == 1)
        }
    }

    @Test("[S2] settling an unknown receipt fences its transaction, whose receipt then runs again")
    func fencedReceipt() async throws {
        try await TestThreads.offPool {
            let schema = try TestSchema()
            let connection = try schema.open()
            defer { connection.close() }
            var identity = StatementParameters()
            identity.add([UInt8](repeating: 4, count: 16))
            try connection.send(.settle, identity)
            try connection.sync()
            #expect(try connection.answers()[0].integer(0, 0, as: Int16.self) == 0)
            try connection.send(.beginWrite)
            try connection.put([([1], [2])])
            try connection.send(.receipt, identity)
            try connection.send(.commit)
            try connection.sync()
            let outcomes = try connection.flush(.patient(TestServer.soon))
            #expect(outcomes[2].error?.state == SQLState("23505"))
            #expect(outcomes[2].error?.errorClass == .again)
            #expect(outcomes[3].isSkipped)
            connection.finishInBackground(.rollback)
            #expect(try connection.number("SELECT count(*) FROM stratus_entries") == 0)
        }
    }

    @Test("[S3] reads are index scans on an empty, a small and a large table", arguments: [0, 10, 20_000])
    func plans(count: Int) async throws {
        try await TestThreads.offPool {
            let schema = try TestSchema()
            let connection = try schema.open()
            defer { connection.close() }
            try connection.answers(
                to: [
                    "INSERT INTO stratus_entries SELECT int4send(n), int4send(n) FROM generate_series(1, \(count)) AS g(n)"
                ])
            if count > 0 { try connection.answers(to: ["ANALYZE stratus_entries"]) }
            try connection.answers(
                to: [
                    "INSERT INTO stratus_receipts (id, written_by) SELECT int8send(n) || int8send(n), 1 FROM generate_series(1, \(count)) AS g(n)",
                    "PREPARE removal (int8, int8) AS \(ReceiptDesk.removalSQL)",
                ])
            if count > 0 { try connection.answers(to: ["ANALYZE stratus_receipts"]) }
            let executions = [
                "get(ARRAY['\\x01'::bytea, '\\x02'])", "up('\\x00', '\\xff', 100)",
                "down('\\x00', '\\xff', 100)", "delete(ARRAY['\\x01'::bytea])", "lease",
                "removal(3600, 2000)", "unite('\\x01')",
            ]
            for execution in executions {
                let result = try connection.answers(to: ["EXPLAIN EXECUTE \(execution)"])[0]
                let plan = try (0..<result.rowCount).map { try result.text($0, 0) }.joined(separator: "\n")
                #expect(plan.contains("Index Scan") || plan.contains("Index Only Scan"), "\(plan)")
                #expect(!plan.contains("Seq Scan"), "\(plan)")
                #expect(!plan.contains("Bitmap"), "\(plan)")
            }
        }
    }

    @Test("[S6] a backend that was terminated between BEGIN and COMMIT is a lost connection with the server's code")
    func terminated() async throws {
        try await TestThreads.offPool {
            let schema = try TestSchema()
            let connection = try schema.open()
            defer { connection.close() }
            try connection.send(.beginWrite)
            try connection.put([([1], [2])])
            try connection.send(text: "SELECT pg_backend_pid()::int8", named: "pid")
            try connection.sync()
            let processID = try connection.answers()[2].integer(0, 0, as: Int64.self)
            let other = try schema.open(.plain)
            defer { other.close() }
            try other.answers(to: ["SELECT pg_terminate_backend(\(processID), 5000)"])
            let error = #expect(throws: ServerError.self) {
                try connection.send(.commit)
                try connection.sync()
                _ = try connection.flush(.patient(TestServer.soon))
            }
            #expect(error?.endsConnection == true)
            #expect(error?.errorClass == .reconnect)
            #expect(connection.isBroken)
            #expect(try other.number("SELECT count(*) FROM stratus_entries") == 0)
        }
    }

    @Test("[S6] a backend that is terminated while a statement runs reports FATAL with its code")
    func terminatedWhileRunning() async throws {
        try await TestThreads.offPool {
            let connection = try TestServer.open(TestServer.info())
            defer { connection.close() }
            let processID = try connection.number("SELECT pg_backend_pid()::int8")
            let other = try TestServer.open(TestServer.info())
            defer { other.close() }
            try connection.send(text: "SELECT pg_sleep(60)", named: "sleep")
            try connection.send(.commit)
            try connection.sync()
            try other.send(
                text: "SELECT pg_sleep(0.2), pg_terminate_backend(\(processID))", named: "terminate")
            try other.sync()
            other.finishInBackground(.rollback)
            let error = #expect(throws: ServerError.self) { _ = try connection.flush(.patient(TestServer.soon)) }
            #expect(error?.severity == .fatal)
            #expect(error?.state == SQLState("57P01"))
            #expect(error?.errorClass == .reconnect)
        }
    }

    @Test(
        "[S6] a connection that ends after COMMIT was sent is lost without a code, and the receipt says what happened")
    func endOfFile() async throws {
        try await TestThreads.offPool {
            let schema = try TestSchema()
            let connection = try schema.open()
            defer { connection.close() }
            var identity = StatementParameters()
            identity.add([UInt8](repeating: 5, count: 16))
            try connection.send(.beginWrite)
            try connection.put([([1], [2])])
            try connection.sync()
            try connection.answers()
            try connection.send(.receipt, identity)
            try connection.send(.commit)
            try connection.sync()
            // The sync has sent all that, up to libpq 16. The answer finds no socket: the descriptor is another one.
            var pair: [Int32] = [0, 0]
            try #require(unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
            close(pair[1])
            unsafe _ = dup2(pair[0], connection.symbols.socket(connection.handle))
            close(pair[0])
            let error = #expect(throws: ServerError.self) { _ = try connection.flush(.patient(TestServer.soon)) }
            #expect(error?.origin == .connection)
            #expect(error?.state == nil)
            #expect(error?.errorClass == .reconnect)
            let other = try schema.open()
            defer { other.close() }
            try other.send(.settle, identity)
            try other.sync()
            // Waits for the other's end if it still works on the row.
            let writtenBy = try other.answers()[0].integer(0, 0, as: Int16.self)
            #expect(try other.number("SELECT count(*) FROM stratus_entries") == Int64(writtenBy))
        }
    }

    @Test(
        "[S5] two writers on both sides of a division do not conflict, and without it they do",
        arguments: [true, false])
    func dividedWriters(isDivided: Bool) async throws {
        try await TestThreads.offPool {
            // While a transaction of the server is open, the server forgets details of the serialisable ones that end:
            // beyond ten for each connection that it may have, unrelated ones conflict. Other tests have some open.
            let server = try OwnServer()
            defer { server.stop() }
            let schema = try TestSchema(on: server)
            let first = try schema.open()
            try first.put([[0x40], [0x41]].flatMap { side in (0..<100).map { (side + [1, UInt8($0)], [1]) } })
            if isDivided {
                var bound = StatementParameters()
                bound.add([0x41] as [UInt8])
                try first.send(.divide, bound)
            }
            try first.sync()
            try first.answers()
            let second = try schema.open()
            // Each reads to its end and where it begins, and then writes there.
            for (connection, side) in [(first, [0x40] as [UInt8]), (second, [0x41])] {
                var rest = StatementParameters()
                rest.add(side + [1, 99])
                rest.add([side[0] + 1] as [UInt8])
                rest.add(Int64(10))
                try connection.send(.beginWrite)
                try connection.get([side + [1, 0]])
                try connection.send(.up, rest)
                try connection.sync()
                try connection.answers()
            }
            try first.put([([0x40, 2], [1])])
            try second.put([([0x41, 0], [1])])
            var refusals: [ErrorClass] = []
            for connection in [first, second] {
                try connection.send(.commit)
                try connection.sync()
                let outcomes = try connection.flush(.until(TestServer.soon))
                refusals += outcomes.compactMap(\.error).prefix(1).map(\.errorClass)
                connection.close()
            }
            #expect(refusals == (isDivided ? [] : [.again]))
        }
    }
}
