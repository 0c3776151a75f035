// Commits whose answer is lost: each is found out, none reaches the caller as unknown, and none happens twice.

import StratusStore
import StratusTestSupport
import Testing

@testable import StratusPostgres

@Suite struct CommitOutcomeDecisionTests {
    private static let error = ServerError(origin: .server, severity: .error, state: SQLState("40001"))

    private func describe(
        _ segment: [PostgresConnection.Outcome], _ notices: [ServerNotice] = []
    ) -> String {
        switch CommitOutcome(segment, notices) {
        case .committed: "committed"
        case .refused: "refused"
        case .rolledBack: "rolled back"
        case .unknown: "unknown"
        }
    }

    @Test("a statement before the commit, or the commit itself, that the server refuses has written nothing")
    func refused() {
        #expect(describe([.failure(Self.error), .skipped, .skipped]) == "refused")
    }

    @Test("an error of the whole segment, a code that says so, and an end of the connection leave the outcome unknown")
    func unknown() {
        #expect(describe([.failure(Self.error), .failure(Self.error)]) == "unknown")
        let unknown = ServerError(origin: .server, severity: .error, state: SQLState("40003"))
        #expect(describe([.failure(unknown), .skipped]) == "unknown")
        let fatal = ServerError(origin: .server, severity: .fatal, state: SQLState("57P01"))
        #expect(describe([.failure(fatal), .skipped]) == "unknown")
        #expect(describe([]) == "unknown")
    }
}

@Suite(.enabled(if: PostgresTestStore.isServerThere)) struct CommitOutcomeTests {
    /// Runs the body with a store behind a proxy.
    private static func behindProxy(
        configure: @escaping @Sendable (inout PostgresOptions) -> Void = { _ in },
        _ body: @escaping @Sendable (PostgresTestStore, WireProxy, PostgresStore) throws -> Void
    ) async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore(configure: configure)
            let proxy = try WireProxy(place.url)
            defer { proxy.stop() }
            let (store, _) = try PostgresStore.open(url: proxy.url, options: place.options())
            defer { store.close() }
            try body(place, proxy, store)
        }
    }

    @Test(
        "a commit around which the connection is cut happens once, and its caller gets its result",
        arguments: [
            WireFault.cutBefore, .cutAfterForwarding, .cutAfterAnswer, .doubled,
        ])
    func cut(fault: WireFault) async throws {
        try await Self.behindProxy { place, proxy, store throws in
            for turn in 1...6 {
                proxy.plan(fault)
                #expect(try store.increment([1], lane: turn % 2 == 0 ? [1] : nil) == turn)
            }
            #expect(try store.number([1]) == 6)
            #expect(store.statistics.unknownOutcomes == 6)
            #expect(try place.hasNoOpenTransaction())
        }
    }

    @Test(
        "a commit that is not answered is found out when the patience is over",
        arguments: [
            WireFault.silentBefore, .silentAfterForwarding,
        ])
    func silent(fault: WireFault) async throws {
        // Only the second commit is impatient: a loaded machine may answer each of the others late.
        let commits = Locked(0)
        let configure: @Sendable (inout PostgresOptions) -> Void = { options in
            options.testHooks.commitPatienceSeconds = {
                commits.withLock { commits in
                    commits += 1
                    return commits == 2 ? 1 : 60
                }
            }
        }
        try await Self.behindProxy(configure: configure) { _, proxy, store throws in
            #expect(try store.increment([1]) == 1)
            proxy.plan(fault)
            #expect(try store.increment([1]) == 2)
            #expect(try store.number([1]) == 2)
            #expect(store.statistics.unknownOutcomes == 1)
        }
    }

    @Test("a connection that is lost before the commit runs the body again, and asks nobody")
    func lostBefore() async throws {
        try await Self.behindProxy { _, proxy, store throws in
            let runs = Locked(0)
            try store.transact { transaction in
                _ = try transaction.value(forKey: [1])
                let run = runs.withLock { runs in
                    runs += 1
                    return runs
                }
                if run == 1 { proxy.cutAll() }
                _ = try transaction.value(forKey: [2])
                try transaction.set([1], to: [UInt8(run)])
            }
            #expect(try store.read { try $0.value(forKey: [1]) } == [2])
            #expect(store.statistics.unknownOutcomes == 0)
        }
    }

    @Test("a session that a proxy leaves at the server is ended by the next transaction, and keeps no lane")
    func doubled() async throws {
        try await Self.behindProxy { place, proxy, store throws in
            for turn in 1...3 {
                let runs = Locked(0)
                try store.transact(lane: StoreLane(name: [1])) { transaction in
                    _ = try transaction.value(forKey: [1])
                    let run = runs.withLock { runs in
                        runs += 1
                        return runs
                    }
                    if run == 1 { proxy.leaveAll() }
                    _ = try transaction.value(forKey: [2])
                    try transaction.set([1], to: [UInt8(turn), UInt8(run)])
                }
                #expect(try store.read { try $0.value(forKey: [1]) } == [UInt8(turn), 2])
            }
            #expect(store.statistics.unknownOutcomes == 0)
            #expect(store.statistics.conflicts == 0)
            #expect(try place.hasNoOpenTransaction())
            #expect(try place.text(PostgresTestStore.fenceCount) == "1")
        }
    }

    @Test("a lost session that is at work is left alone, named, and ended when it waits for its client")
    func lostAtWork() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            let working = try TestServer.open(place.info)
            let (holder, other) = (try TestServer.open(place.info), try TestServer.open(place.info))
            defer { for connection in [working, holder, other] { connection.close() } }
            let session = try #require(working.session)
            let lost = LostSessions()
            lost.add(session)
            /// How many are left.
            @Sendable func end() throws -> Int {
                let names = lost.take()
                try LostSessions.sendEnd(of: names, on: other)
                try lost.noteEnds(of: names, try #require(other.flush(.until(TestServer.soon)).first))
                let left = lost.take()
                lost.add(left)
                return left.count
            }
            // It waits for a lock.
            try holder.answers(to: ["SELECT pg_advisory_lock(\(session.processID))"])
            try TestThreads.run(2) { thread in
                guard thread == 1 else {
                    try working.answers(to: ["SET lock_timeout = 0", "SELECT pg_advisory_lock(\(session.processID))"])
                    return
                }
                let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = \(session.processID)"
                while try other.number(waiting) == 0 {}
                #expect(try end() == 1)
                try holder.answers(to: ["SELECT pg_advisory_unlock(\(session.processID))"])
            }
            #expect(try working.number("SELECT 1::int8") == 1, "it was not ended")
            #expect(try end() == 0)
            #expect(throws: ServerError.self) { try working.number("SELECT 1::int8") }
        }
    }

    @Test("a snapshot that was lost before its first answer is taken again, and ends with its code after it")
    func lostSnapshots() async throws {
        try await Self.behindProxy { _, proxy, store throws in
            try store.transact { try $0.set([1], to: [1]) }
            proxy.cutAll()
            #expect(try store.read { try $0.value(forKey: [1]) } == [1])
            let error = #expect(throws: StoreError.self) {
                try store.read { reader in
                    _ = try reader.value(forKey: [1])
                    proxy.cutAll()
                    return try reader.value(forKey: [2])
                }
            }
            #expect(error?.code == .snapshotEnded)
        }
    }

    @Test("a warning with the answer to a commit is asked about, because a standby may lack the commit")
    func warning() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            let store = try place.open()
            defer { store.close() }
            #expect(try store.increment([1]) == 1)
            try place.run(
                """
                CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                    RAISE WARNING 'a warning'; RETURN NULL; END $$
                """)
            try place.run(
                """
                CREATE CONSTRAINT TRIGGER warn AFTER UPDATE ON stratus_entries
                    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION warn()
                """)
            #expect(try store.increment([1]) == 2)
            #expect(try store.number([1]) == 2)
            #expect(store.statistics.unknownOutcomes == 1)
        }
    }

    @Test("a transaction that is still at work is ended before its outcome is given")
    func stillAtWork() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            let store = try place.open()
            defer { store.close() }
            let working = try TestServer.open(place.info, as: .writer)
            defer { working.close() }
            let receipt = [UInt8](repeating: 3, count: 16)
            try working.send(.beginWrite)
            try working.send(.receipt, .identity(receipt))
            try working.sync()
            try working.answers()
            let pool = try ConnectionPool(
                to: place.info, as: .writer, limits: PoolLimits(), library: .shared(), jitter: { 0 })
            defer { pool.close() }
            let route = try place.info.route
            let desk = ReceiptDesk(pool, place.options(), ClosingSignal(), route, LostSessions()) {
                _ throws(ServerError) in
                throw .lost("not needed")
            }
            let now = try Int64(place.text("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::int8::text")) ?? 0
            let question = ReceiptDesk.Question(
                receipt: receipt, begunAt: now, session: working.session)
            #expect(try desk.settle(question) {} == false)
            let end = #expect(throws: ServerError.self) {
                try working.send(.commit)
                try working.sync()
                try working.answers()
            }
            // It was ended, and not by a time-out of its own.
            #expect(end?.state == SQLState("57P01"))
            // Half an hour later the receipt might have been removed.
            let late = ReceiptDesk.Question(receipt: [1], begunAt: now - 1_900_000, session: nil)
            let error = #expect(throws: StoreError.self) { try desk.settle(late) {} }
            #expect(error?.code == .commitUnknown)
        }
    }

    @Test("a store that closes while no server answers says that the outcome is unknown")
    func closing() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            let proxy = try WireProxy(place.url)
            let (store, _) = try PostgresStore.open(url: proxy.url, options: place.options())
            #expect(try store.increment([1]) == 1)
            proxy.plan(.cutAfterAnswer)
            let commits = proxy.commitCount
            try TestThreads.run(2) { thread in
                if thread == 0 {
                    proxy.refuse(.max)
                    let error = #expect(throws: StoreError.self) { try store.increment([1]) }
                    #expect(error?.code == .commitUnknown)
                } else {
                    while proxy.commitCount == commits { TestThreads.yield() }
                    store.close()
                }
            }
            proxy.stop()
            #expect(try place.text("SELECT encode(v, 'hex') FROM stratus_entries") == "02")
        }
    }

    @Test("old receipts are removed, and young ones are kept")
    func upkeep() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            let store = try place.open()
            defer { store.close() }
            for _ in 0..<5 { _ = try store.increment([1]) }
            try place.run(
                """
                UPDATE stratus_receipts SET at = at - interval '61 minutes'
                    WHERE id IN (SELECT id FROM stratus_receipts LIMIT 3)
                """)
            // A caller may still ask for these.
            try place.run(
                "UPDATE stratus_receipts SET at = at - interval '59 minutes' WHERE at > now() - interval '1 minute'")
            let connection = try TestServer.open(place.info)
            defer { connection.close() }
            #expect(try ReceiptDesk.removeOld(on: connection, until: TestServer.soon) == 3)
            #expect(try place.text("SELECT count(*)::text FROM stratus_receipts") == "2")
        }
    }

    @Test("a host removes old receipts")
    func ownUpkeep() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore { $0.testHooks.upkeepSeconds = 0.1 }
            let store = try place.open()
            defer { store.close() }
            _ = try store.increment([1])
            try place.run("UPDATE stratus_receipts SET at = at - interval '61 minutes'")
            let end = TestServer.soon
            while try place.text("SELECT count(*)::text FROM stratus_receipts") != "0", end > .now {
                MonotonicTime.pause(seconds: 0.2)
            }
            #expect(try place.text("SELECT count(*)::text FROM stratus_receipts") == "0")
        }
    }

    @Test("receipts that cannot be removed in time are tried in smaller steps, and then somebody learns of it")
    func slowUpkeep() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            try place.open().close()
            let other = try TestServer.open(place.info)
            defer { other.close() }
            try other.answers(to: ["BEGIN", "LOCK TABLE stratus_receipts IN EXCLUSIVE MODE"])
            let events = Locked<[StoreError.Code]>([])
            let upkeep = ReceiptUpkeep(onEvent: { event in events.withLock { $0.append(event.code) } })
            for step in 0..<4 {
                let connection = try TestServer.open(place.info)
                defer { connection.close() }
                if step < 3 {
                    #expect(try upkeep.run(on: connection))
                } else {
                    #expect(throws: ServerError.self) { try upkeep.run(on: connection) }
                }
            }
            #expect(events.value == [.unavailable])
            try other.answers(to: ["COMMIT"])
            let connection = try TestServer.open(place.info)
            defer { connection.close() }
            #expect(try upkeep.run(on: connection) == false)
        }
    }

    @Test("while connections are ended all the time, every acknowledged transaction is there, and none twice")
    func terminated() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore { $0.pool.connectionCount = 8 }
            let store = try place.open()
            defer { store.close() }
            let end = MonotonicTime.now + 3
            let counts = Locked<[Int: Int]>([:])
            let terminations = Locked(0)
            try TestThreads.run(9) { thread in
                guard thread < 8 else {
                    return try Self.terminateAll(of: place, until: end) { terminations.withLock { $0 += 1 } }
                }
                var count = 0
                while end > .now {
                    let key: [UInt8] = thread < 4 ? [1] : [2, UInt8(thread)]
                    _ = try store.increment(key, lane: thread % 2 == 0 ? [7] : nil)
                    count += 1
                }
                counts.withLock { $0[thread] = count }
            }
            let done = counts.value
            #expect(try store.number([1]) == (0..<4).reduce(0) { $0 + (done[$1] ?? 0) })
            for thread in 4..<8 { #expect(try store.number([2, UInt8(thread)]) == done[thread]) }
            #expect(terminations.value > 10)
            #expect(try place.hasNoOpenTransaction())
        }
    }

    /// Ends the connections of a place's stores, again and again.
    private static func terminateAll(of place: PostgresTestStore, until end: MonotonicTime, _ note: () -> Void) throws {
        let connection = try TestServer.open(place.info)
        defer { connection.close() }
        while end > .now {
            let ended = try connection.number(
                """
                SELECT count(pg_terminate_backend(pid)) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2
                    AND objid = 'stratus_host'::regclass::oid
                """)
            for _ in 0..<ended { note() }
            try connection.answers(to: ["SELECT pg_sleep(0.02)"])
        }
    }
}

extension OrderedStore {
    /// Adds one to the number under a key, and returns it.
    func increment(_ key: [UInt8], lane: [UInt8]? = nil) throws -> Int {
        try transact(lane: lane.map { StoreLane(name: $0) }) { transaction in
            let next = Self.number(try transaction.value(forKey: key)) + 1
            try transaction.set(key, to: next < 256 ? [UInt8(next)] : [UInt8(next >> 8), UInt8(next & 0xFF)])
            return next
        }
    }

    func number(_ key: [UInt8]) throws -> Int {
        try read { Self.number(try $0.value(forKey: key)) }
    }

    private static func number(_ value: [UInt8]?) -> Int { (value ?? []).reduce(0) { $0 << 8 | Int($1) } }
}

extension StatementParameters {
    static func identity(_ bytes: [UInt8]) -> StatementParameters {
        var parameters = StatementParameters()
        parameters.add(bytes)
        return parameters
    }
}
