// Connections to a real server: logging in, setting up, pipelined flushes, deadlines, lost connections.

import Foundation
import StratusStore
import StratusTestSupport
import Testing

@testable import StratusPostgres

@Suite(.enabled(if: TestServer.isThere)) struct ServerTests {
    @Test("a connection has our settings, and the generation of the host's lease")
    func setUp() async throws {
        try await TestThreads.offPool {
            let schema = try TestSchema()
            let connection = try schema.open(.writer)
            defer { connection.close() }
            #expect(connection.generation == 7)
            #expect(connection.serverVersion >= 150_000)
            #expect(connection.trips == 1)
            let settings = [
                ("enable_seqscan", "off"), ("enable_bitmapscan", "off"), ("jit", "off"),
                ("plan_cache_mode", "force_generic_plan"), ("lock_timeout", "5s"),
                ("idle_in_transaction_session_timeout", "30s"), ("default_transaction_isolation", "read committed"),
                ("client_connection_check_interval", "10s"), ("TimeZone", "UTC"),
                ("search_path", schema.info.schema ?? ""),
            ]
            for (name, value) in settings {
                #expect(try connection.answers(to: ["SELECT current_setting('\(name)')"])[0].text(0, 0) == value)
            }
            let held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"
            #expect(try connection.number(held) == 1)
        }
    }

    @Test("a reader holds no fence, and a plain connection needs no tables")
    func roles() async throws {
        try await TestThreads.offPool {
            let schema = try TestSchema()
            let reader = try schema.open(.reader)
            defer { reader.close() }
            let held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"
            #expect(try reader.number(held) == 0)
            let empty = try TestServer.info { $0 + "?stratus_schema=no_such_schema" }
            try TestServer.open(empty).close()
            let error = #expect(throws: ServerError.self) { try TestServer.open(empty, as: .reader) }
            #expect(error?.storeError().code == .notAStore)
        }
    }

    @Test("our settings win over those of the role and the address")
    func settingsWin() async throws {
        try await TestThreads.offPool {
            let options = ["default_transaction_isolation=serializable", "statement_timeout=2000", "lock_timeout=1"]
                .map { "-c%20" + $0.replacing("=", with: "%3D") }.joined(separator: "%20")
            let connection = try TestServer.open(TestServer.info { "\($0)?options=\(options)" })
            defer { connection.close() }
            for (name, value) in [
                ("default_transaction_isolation", "read committed"), ("statement_timeout", "0"), ("lock_timeout", "5s"),
            ] {
                #expect(try connection.answers(to: ["SELECT current_setting('\(name)')"])[0].text(0, 0) == value)
            }
        }
    }

    @Test("a server that takes no writes is refused, and may be tried again")
    func readOnly() async throws {
        try await TestThreads.offPool {
            let info = try TestServer.info { "\($0)?options=-c%20default_transaction_read_only%3Don" }
            let error = #expect(throws: ServerError.self) { try TestServer.open(info) }
            #expect(error?.errorClass == .reconnect)
            #expect(error?.storeError().code == .unavailable)
        }
    }

    @Test("a connection whose process is not the server's goes through a pooler, which is refused")
    func pooler() async throws {
        try await TestThreads.offPool {
            var symbols = try Libpq.shared().symbols
            unsafe symbols.backendPID = { _ in 1 }
            let library = try Libpq(symbols)
            let info = try TestServer.info()
            let error = #expect(throws: ServerError.self) {
                try PostgresConnection.open(info, as: .plain, until: TestServer.soon, library: library)
            }
            #expect(error?.origin == .pooler)
            #expect(error?.isWorthRetrying == false)
            #expect(error?.storeError().message.contains("PgBouncer") == true)
        }
    }

    @Test("a wrong password, and a database that is missing, have their codes and are not tried again")
    func refusals() async throws {
        try await TestThreads.offPool {
            let wrong = try TestServer.info { $0.replacing("@127.0.0.1", with: "x@127.0.0.1") }
            let refused = #expect(throws: ServerError.self) { try TestServer.open(wrong) }
            #expect(refused?.state == SQLState("28P01"))
            #expect(refused?.storeError().code == .notPermitted)
            let missing = try TestServer.info { $0.replacing("/postgres", with: "/no_such_database") }
            let error = #expect(throws: ServerError.self) { try TestServer.open(missing) }
            #expect(error?.state == SQLState("3D000"))
            #expect(error?.isWorthRetrying == false)
        }
    }

    @Test("the second server of an address is tried when the first does not answer")
    func secondServer() async throws {
        try await TestThreads.offPool {
            let both = try TestServer.info { $0.replacing("@127.0.0.1", with: "@127.0.0.1:1,127.0.0.1") }
            let connection = try TestServer.open(both)
            defer { connection.close() }
            #expect(try connection.number("SELECT 5::int8") == 5)
            let none = try TestServer.info { _ in "postgresql://stratus@127.0.0.1:1/postgres" }
            let error = #expect(throws: ServerError.self) { try TestServer.open(none) }
            #expect(error?.errorClass == .reconnect)
        }
    }

    @Test("a first server that says nothing leaves time for the second, which is tried first from then on")
    func silentFirst() async throws {
        try await TestThreads.offPool {
            let listener = try SilentListener()
            let both = try TestServer.info { $0.replacing("@127.0.0.1", with: "@127.0.0.1:\(listener.port),127.0.0.1") }
            // Less than what one server may take.
            let first = try PostgresConnection.open(both, as: .plain, until: .now + 4, library: .shared())
            defer { first.close() }
            #expect(listener.takeWaiting() == 1)
            let second = try PostgresConnection.open(both, as: .plain, until: .now + 4, library: .shared())
            defer { second.close() }
            #expect(try second.number("SELECT 5::int8") == 5)
            #expect(listener.takeWaiting() == 0)
        }
    }

    @Test("each address of a name is a server of its own")
    func namesOfAddresses() async throws {
        try await TestThreads.offPool {
            let local = try TestServer.info { $0.replacing("@127.0.0.1", with: "@localhost") }
            let connection = try TestServer.open(local)
            defer { connection.close() }
            #expect(try connection.number("SELECT 5::int8") == 5)
            #expect(local.route.value.last?.host == "localhost")
            #expect(local.route.value.last?.address == "127.0.0.1")
        }
    }

    @Test("a server that says nothing is given up at the deadline")
    func silentServer() async throws {
        try await TestThreads.offPool {
            let listener = try SilentListener()
            let info = try TestServer.info { _ in
                "postgresql://stratus@127.0.0.1:\(listener.port)/postgres?sslmode=disable"
            }
            let began = MonotonicTime.now
            let error = #expect(throws: ServerError.self) {
                try PostgresConnection.open(info, as: .plain, until: began + 0.3, library: .shared())
            }
            #expect(error?.origin == .deadline)
            #expect((began + 5).secondsLeft > 0)
        }
    }

    @Test("a flush of several segments is one trip, and its outcomes are in order")
    func pipelined() async throws {
        try await TestThreads.offPool {
            let schema = try TestSchema()
            let connection = try schema.open()
            defer { connection.close() }
            let before = connection.trips
            try connection.lock(.lock, 1)
            try connection.sync()
            try connection.send(.beginWrite)
            try connection.send(.lease)
            try connection.put([([1], [10]), ([2], []), ([3], [30])])
            try connection.get([[1], [2], [9]])
            try connection.sync()
            let first = try connection.answers()
            #expect(first.count == 5)
            #expect(try first[2].integer(0, 0, as: Int64.self) == 7)
            #expect(try first[2].text(0, 1).isEmpty)
            #expect(try Set((0..<first[4].rowCount).map { try first[4].bytes($0, 0) }) == [[1], [2]])
            try connection.send(.commit)
            try connection.sync()
            try connection.lock(.unlock, 1)
            try connection.sync()
            let second = try connection.answers()
            #expect(second[0].commandTag == "COMMIT")
            #expect(try second[1].truth(0, 0))
            #expect(connection.trips == before + 2)
        }
    }

    @Test("4 MiB of keys, values and answers in one flush do not block")
    func large() async throws {
        try await TestThreads.offPool {
            let schema = try TestSchema()
            let connection = try schema.open()
            defer { connection.close() }
            let value = [UInt8](repeating: 7, count: 16_384)
            let keys = (0..<256).map { [UInt8(1), UInt8($0)] }
            for _ in 0..<4 {
                try connection.put(keys.map { ($0, value) })
                try connection.get(keys)
            }
            try connection.sync()
            let answers = try connection.answers()
            #expect(answers.count == 8)
            #expect(try answers[7].bytes(255, 1) == value)
        }
    }

    @Test("after an error the segment's other statements are skipped, nothing is committed, and the connection goes on")
    func failedSegment() async throws {
        try await TestThreads.offPool {
            let schema = try TestSchema()
            let connection = try schema.open()
            defer { connection.close() }
            try connection.send(.beginWrite)
            try connection.put([([1], [1])])
            try connection.send(text: "SELECT 1 / 0", named: "division")
            try connection.send(.commit)
            try connection.sync()
            let outcomes = try connection.flush(.until(TestServer.soon))
            #expect(outcomes[2].error?.state == SQLState("22012"))
            #expect(outcomes[2].error?.statement == .text("division"))
            #expect(outcomes[3].isSkipped)
            #expect(connection.transactionStatus == .inFailedTransaction)
            let trips = connection.trips
            connection.finishInBackground(.rollback)
            #expect(connection.trips == trips)
            #expect(try connection.number("SELECT count(*) FROM stratus_entries") == 0)
            #expect(connection.transactionStatus == .idle)
        }
    }

    @Test("a statement over its deadline is cancelled, and the connection can be used again")
    func cancelled() async throws {
        try await TestThreads.offPool {
            let connection = try TestServer.open(TestServer.info())
            defer { connection.close() }
            try connection.send(text: "SELECT pg_sleep(60)", named: "sleep")
            try connection.sync()
            let outcomes = try connection.flush(.until(.now + 0.1))
            #expect(outcomes[0].error?.state == SQLState("57014"))
            #expect(outcomes[0].error?.errorClass == .code(.unavailable))
            #expect(try connection.number("SELECT 3::int8") == 3)
        }
    }

    @Test("a connection whose cancellation may still be on its way is not used again")
    func lateCancellation() async throws {
        try await TestThreads.offPool {
            let connection = try TestServer.open(TestServer.info())
            defer { connection.close() }
            // It answers, although it is cancelled.
            let sql = "DO $$ BEGIN PERFORM pg_sleep(60); EXCEPTION WHEN query_canceled THEN NULL; END $$"
            try connection.send(text: sql, named: "sleep")
            try connection.sync()
            let outcomes = try connection.flush(.until(.now + 0.1))
            #expect(outcomes[0].error == nil)
            #expect(connection.isBroken)
        }
    }

    @Test("a server that has no connection left is asked again until one is free")
    func waiting() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            let role = "r_\(UInt64.random(in: 0 ... .max))"
            try place.run("CREATE ROLE \(role) LOGIN PASSWORD 'secret' CONNECTION LIMIT 1")
            defer { try? place.run("DROP ROLE \(role)") }
            let info = try ConnectionInfo(parsing: place.url(as: role, "secret"))
            let first = try TestServer.open(info)
            let library = try Libpq.shared()
            let error = #expect(throws: ServerError.self) {
                try PostgresConnection.openWaiting(info, as: .plain, until: .now + 0.5, library: library)
            }
            #expect(error?.state == SQLState("53300"))
            try TestThreads.run(2) { thread in
                if thread == 0 {
                    try PostgresConnection.openWaiting(info, as: .plain, until: .now + 60, library: library).close()
                } else {
                    Thread.sleep(forTimeInterval: 0.3)
                    first.close()
                }
            }
        }
    }

    @Test("warnings of a flush are noted with their severity")
    func warnings() async throws {
        try await TestThreads.offPool {
            let connection = try TestServer.open(TestServer.info())
            defer { connection.close() }
            try connection.answers(to: ["DO $$ BEGIN RAISE WARNING 'a warning' USING ERRCODE = '01ABC'; END $$"])
            #expect(connection.lastNotices == [ServerNotice(severity: .warning, state: SQLState("01ABC"))])
            try connection.answers(to: ["SELECT 1"])
            #expect(connection.lastNotices.isEmpty)
        }
    }

    @Test("a connection that the server has ended while it was idle is found before it is lent")
    func endedWhileIdle() async throws {
        try await TestThreads.offPool {
            let pool = try ConnectionPool(
                to: TestServer.info(), as: .plain, limits: PoolLimits(), library: .shared(), jitter: { 0 })
            let first = try pool.lend(until: TestServer.soon)
            let processID = try first.number("SELECT pg_backend_pid()::int8")
            #expect(first.checkIsUsable())
            pool.giveBack(first)
            let other = try TestServer.open(TestServer.info())
            defer { other.close() }
            try other.answers(to: ["SELECT pg_terminate_backend(\(processID), 5000)"])
            let second = try pool.lend(until: TestServer.soon)
            #expect(second !== first)
            #expect(try second.number("SELECT 1::int8") == 1)
            #expect(pool.openedCount == 2)
            pool.giveBack(second)
            pool.close()
        }
    }

    @Test("a pool's error names the server without its password, and a server that is away is tried until the deadline")
    func poolErrors() async throws {
        try await TestThreads.offPool {
            let wrong = try TestServer.info { $0.replacing("@127.0.0.1", with: "x@127.0.0.1") }
            let refusing = try ConnectionPool(
                to: wrong, as: .plain, limits: PoolLimits(), library: .shared(), jitter: { 0 })
            let refused = #expect(throws: StoreError.self) { try refusing.lend(until: TestServer.soon) }
            #expect(refused?.code == .notPermitted)
            #expect(refused?.fields["server"] == wrong.description)
            let away = try TestServer.info { _ in "postgresql://stratus@127.0.0.1:1/postgres" }
            let trying = try ConnectionPool(
                to: away, as: .plain, limits: PoolLimits(), library: .shared(), jitter: { 1 })
            let began = MonotonicTime.now
            let error = #expect(throws: StoreError.self) { try trying.lend(until: began + 0.3) }
            #expect(error?.code == .unavailable)
            #expect((began + 0.3).secondsLeft <= 0)
        }
    }

    @Test("32 threads add one to a number in serializable transactions on 4 connections, and none is lost")
    func shared() async throws {
        try await TestThreads.offPool {
            let schema = try TestSchema()
            var limits = PoolLimits()
            limits.connectionCount = 4
            let pool = try ConnectionPool(
                to: schema.info, as: .writer, limits: limits, library: .shared(), jitter: { 0 })
            try TestThreads.run(32) { _ in
                var isDone = false
                while !isDone {
                    let connection = try pool.lend(until: TestServer.soon)
                    defer { pool.giveBack(connection) }
                    isDone = try Self.increment(connection)
                }
            }
            let connection = try pool.lend(until: TestServer.soon)
            try connection.get([[1]])
            try connection.sync()
            #expect(try connection.answers()[0].bytes(0, 1) == [32])
            pool.giveBack(connection)
            #expect(pool.openedCount <= 4)
            pool.close()
        }
    }

    /// Adds one to the value of a key under a lane's lock. Returns false after a conflict.
    private static func increment(_ connection: PostgresConnection) throws -> Bool {
        try connection.lock(.lock, 9)
        try connection.sync()
        try connection.send(.beginWrite)
        try connection.get([[1]])
        try connection.sync()
        let read = try connection.answers()
        let old = read[2].rowCount == 1 ? try read[2].bytes(0, 1)?.first ?? 0 : 0
        try connection.put([([1], [old + 1])])
        try connection.send(.commit)
        try connection.sync()
        try connection.lock(.unlock, 9)
        try connection.sync()
        let outcomes = try connection.flush(.patient(TestServer.soon))
        if let error = outcomes.compactMap(\.error).first {
            guard error.errorClass == .again else { throw error }
            connection.finishInBackground(.rollback)
            return false
        }
        return try outcomes[1].result().commandTag == "COMMIT"
    }
}
