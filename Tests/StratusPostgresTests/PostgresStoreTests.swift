// Stores on a server: readers, snapshots, settings, trips, and what a transaction leaves behind.

import StratusStore
import StratusTestSupport
import Testing

@testable import StratusPostgres

@Suite(.enabled(if: PostgresTestStore.isServerThere)) struct PostgresStoreTests {
    @Test("a reader reads beside a host, and does not write")
    func reader() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            let host = try place.open()
            defer { host.close() }
            try host.transact { try $0.set([1], to: [2]) }
            let reader = try place.open { $0.use = .reading }
            defer { reader.close() }
            #expect(try reader.read(.wholeStore) { try $0.value(forKey: [1]) } == [2])
            let error = #expect(throws: StoreError.self) { try reader.transact { try $0.set([1], to: [3]) } }
            #expect(error?.code == .invalidRequest)
        }
    }

    /// How many snapshots of a store wait to be in the serial order. Other tests may have some.
    private static func waitingSnapshots(of store: String) -> String {
        "SELECT count(*)::text FROM pg_stat_activity WHERE wait_event = 'SafeSnapshot' AND application_name = '\(store)'"
    }

    @Test("a snapshot of the whole store is in the order of the transactions, and one of a page need not be")
    func readOnlyAnomaly() async throws {
        try await TestThreads.offPool {
            for scope in [ReadScope.page, .wholeStore] {
                let place = try PostgresTestStore()
                let name = try place.schema
                let store = try PostgresStore.open(
                    url: place.url + "&application_name=\(name)", options: place.options()
                ).store
                defer { store.close() }
                try store.transact { try $0.set([1], to: [1]) }
                // The day is read; then it ends, and somebody reads its sales; then the first one writes a sale of it.
                let (dayWasRead, dayHasEnded) = (Latch("the day to be read"), Latch("the day to end"))
                let (salesSeen, isRead) = (Locked<[UInt8]?>(nil), Locked(false))
                try TestThreads.run(3) { thread in
                    if thread == 2 {
                        defer { dayHasEnded.open() }
                        // A snapshot in the serial order waits for the sale.
                        while !isRead.value, try place.text(Self.waitingSnapshots(of: name)) == "0" {
                            TestThreads.yield()
                        }
                        return
                    }
                    guard thread == 0 else {
                        defer { isRead.withLock { $0 = true } }
                        try dayWasRead.wait()
                        try store.transact { try $0.set([1], to: [2]) }
                        let sales = try store.read(scope) { reader in
                            #expect(try reader.value(forKey: [1]) == [2])
                            return try reader.value(forKey: [2, 1])
                        }
                        return salesSeen.withLock { $0 = sales }
                    }
                    try store.transact { writer in
                        let day = try writer.value(forKey: [1]) ?? []
                        dayWasRead.open()
                        try dayHasEnded.wait()
                        try writer.set([2] + day, to: [7])
                    }
                }
                let wasSold = try store.read { try $0.value(forKey: [2, 1]) } != nil
                switch scope {
                case .page:
                    #expect(wasSold)
                    #expect(salesSeen.value == nil)
                case .wholeStore:
                    // The reader has seen the sale of the day, or there is none.
                    #expect(!wasSold || salesSeen.value == [7])
                }
            }
        }
    }

    @Test(
        "a snapshot of the whole store lasts while its reader works for longer than a transaction may",
        .enabled(if: PostgresTestStore.runsLongTests))
    func longSnapshot() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            let store = try place.open()
            defer { store.close() }
            try store.transact { try $0.set([1], to: [2]) }
            try store.read(.wholeStore) { reader in
                _ = try reader.value(forKey: [1])
                MonotonicTime.pause(seconds: 33)
                #expect(try reader.value(forKey: [2]) == nil)
            }
            let ended = #expect(throws: StoreError.self) {
                try store.read(.page) { reader in
                    _ = try reader.value(forKey: [1])
                    MonotonicTime.pause(seconds: 33)
                    _ = try reader.value(forKey: [2])
                }
            }
            #expect(ended?.code == .snapshotEnded)
        }
    }

    @Test("what divides entries is no entry, is there once, and is removed when it is not needed")
    func divisions() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            let store = try place.open()
            defer { store.close() }
            for round in 0..<2 {
                try store.transact { writer in
                    writer.divide(at: [5], true)
                    try writer.set([4], to: [UInt8(round)])
                    try writer.set([5, 1], to: [UInt8(round)])
                }
                #expect(try place.text("SELECT count(*)::text FROM stratus_entries") == "42")
            }
            for direction in [ScanDirection.forward, .backward] {
                let keys = try store.read { reader in
                    var keys: [[UInt8]] = []
                    try reader.scan(.everything, direction, limit: 10) { key, _ in
                        keys.append([UInt8](copying: key))
                        return .next
                    }
                    return keys
                }
                #expect(keys == (direction == .forward ? [[4], [5, 1]] : [[5, 1], [4]]))
            }
            try store.transact { writer in
                writer.divide(at: [5], false)
                try writer.delete([5, 1])
            }
            #expect(try place.text("SELECT count(*)::text FROM stratus_entries") == "1")
        }
    }

    @Test("an entry that its writer wrongly calls new costs a conflict, and is written")
    func wronglyNew() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            let store = try place.open()
            defer { store.close() }
            try store.transact { try $0.set([1], to: [1]) }
            try store.transact { writer in
                let (key, value): ([UInt8], [UInt8]) = ([1], [2])
                try writer.insert(key.span, value.span)
                try writer.set([3], to: [4])
            }
            #expect(try store.read { try $0.values(forKeys: [[1], [3]]) } == [[2], [4]])
            #expect(store.statistics.conflicts == 1)
        }
    }

    @Test("opening reports settings that cost safety")
    func notices() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            let (store, notices) = try PostgresStore.open(url: place.url, options: place.options())
            defer { store.close() }
            #expect(notices.allSatisfy { $0.code == .serverSetting })
            // The server of the tests may lose commits when the machine stops, and is large enough.
            let isDurable = try place.text("SELECT current_setting('fsync')") == "on"
            #expect(notices.contains { $0.fields["setting"] == "fsync" } != isDurable)
            #expect(!notices.contains { $0.fields["setting"] == "max_pred_locks_per_transaction" })
        }
    }

    @Test("the format is read with the first answer of each transaction and snapshot, and refuses both")
    func format() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            let check = FormatCheck(key: [9]) { value in
                if value == [2] { throw StoreError(.newerFormat, "A newer version has changed the store.") }
            }
            let (store, _) = try PostgresStore.open(url: place.url, options: place.options(), check: check)
            defer { store.close() }
            try store.transact { try $0.set([9], to: [2]) }
            let trips = store.statistics.trips
            let reading = #expect(throws: StoreError.self) { try store.read { try $0.value(forKey: [1]) } }
            #expect(reading?.code == .newerFormat)
            let writing = #expect(throws: StoreError.self) { try store.transact { _ = try $0.value(forKey: [1]) } }
            #expect(writing?.code == .newerFormat)
            let blind = #expect(throws: StoreError.self) { try store.transact { try $0.set([1], to: [1]) } }
            #expect(blind?.code == .newerFormat)
            #expect(store.statistics.trips == trips + 4)
            #expect(try place.text("SELECT count(*)::text FROM stratus_entries") == "1")
        }
    }

    @Test("a transaction in a lane is two trips, a snapshot is one, and neither leaves a lock or a transaction")
    func trips() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            let store = try place.open()
            defer { store.close() }
            let lane = StoreLane(name: [7])
            try store.transact(lane: lane) { try $0.set([1], to: [1]) }
            let start = store.statistics
            try store.transact(lane: lane) { transaction in
                transaction.prefetch((0..<200).map { [1, UInt8($0)] })
                _ = try transaction.value(forKey: [1, 7])
                for index in 0..<200 { try transaction.set([1, UInt8(index)], to: [3]) }
            }
            #expect(store.statistics.trips == start.trips + 2)
            _ = try store.read { try $0.values(forKeys: (0..<200).map { [1, UInt8($0)] }) }
            #expect(store.statistics.trips == start.trips + 3)
            #expect(store.statistics.connectionsOpened == start.connectionsOpened)
            #expect(try place.hasNoOpenTransaction())
            struct Refusal: Error {}
            #expect(throws: Refusal.self) {
                try store.transact(lane: lane) { transaction in
                    _ = try transaction.value(forKey: [1])
                    throw Refusal()
                }
            }
            #expect(try place.hasNoOpenTransaction())
        }
    }

    @Test("a conflict runs the body again, and leaves no lock")
    func conflict() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            let store = try place.open()
            defer { store.close() }
            try store.transact { try $0.set([1], to: [0]) }
            let runs = Locked(0)
            try store.transact(lane: StoreLane(name: [1])) { transaction in
                let old = try transaction.value(forKey: [1])?.first ?? 0
                let run = runs.withLock { runs in
                    runs += 1
                    return runs
                }
                // Another transaction is first, once.
                if run == 1 { try place.run("UPDATE stratus_entries SET v = '\\x05'") }
                try transaction.set([1], to: [old + 1])
            }
            #expect(runs.value == 2)
            #expect(try store.read { try $0.value(forKey: [1]) } == [6])
            #expect(store.statistics.conflicts == 1)
            #expect(try place.hasNoOpenTransaction())
        }
    }

    @Test("values of three megabytes in one commit, and pages larger than a statement, arrive as they are")
    func large() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            let store = try place.open()
            defer { store.close() }
            let value = [UInt8](repeating: 9, count: 1_000)
            try store.transact { transaction in
                for index in 0..<3_000 { try transaction.set([1, UInt8(index >> 8), UInt8(index & 0xFF)], to: value) }
            }
            let entries = try store.read { try $0.entryCount(in: KeyRange(from: [1], upTo: [2])) }
            #expect(entries == 3_000)
            try store.transact { transaction in
                for index in 0..<2_999 { try transaction.delete([1, UInt8(index >> 8), UInt8(index & 0xFF)]) }
            }
            #expect(try store.read { try $0.entryCount(in: KeyRange(from: [1], upTo: [2])) } == 1)
        }
    }

    @Test("bodies that read inside of their transactions get connections while all others are lent")
    func nestedReads() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore { options in
                options.pool.connectionCount = 2
                options.pool.nestedCount = 1
                options.wire.deadlineSeconds = 10
            }
            let store = try place.open()
            defer { store.close() }
            try TestThreads.run(16) { thread in
                for _ in 0..<5 {
                    try store.transact(lane: StoreLane(name: [UInt8(thread % 4)])) { transaction in
                        let count = try transaction.value(forKey: [UInt8(thread)])?.first ?? 0
                        let committed = try store.read { try $0.value(forKey: [UInt8(thread)])?.first ?? 0 }
                        #expect(committed == count)
                        try transaction.set([UInt8(thread)], to: [count + 1])
                    }
                }
            }
            for thread in 0..<16 { #expect(try store.number([UInt8(thread)]) == 5) }
            #expect(store.statistics.connectionsOpened <= 3)
        }
    }

    @Test("emptying a store removes its entries, waits for a snapshot, and leaves the store usable")
    func emptied() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            let store = try place.open()
            defer { store.close() }
            try store.transact { transaction in
                for index in 0..<100 { try transaction.set([UInt8(index)], to: [1]) }
            }
            let isReading = Latch("the snapshot to begin")
            let hasRead = Locked(false)
            let sql = "SELECT count(*)::text FROM pg_locks WHERE NOT granted AND relation = 'stratus_entries'::regclass"
            try TestThreads.run(2) { thread in
                if thread == 0 {
                    try store.read { reader in
                        _ = try reader.value(forKey: [1])
                        isReading.open()
                        while try place.text(sql) == "0" { TestThreads.yield() }
                        #expect(try reader.value(forKey: [2]) == [1])
                        hasRead.withLock { $0 = true }
                    }
                } else {
                    try isReading.wait()
                    try store.removeEverything()
                    #expect(hasRead.value)
                }
            }
            #expect(try store.read { try $0.entryCount(in: .everything) } == 0)
            try store.transact { try $0.set([1], to: [2]) }
            #expect(try store.read { try $0.value(forKey: [1]) } == [2])
        }
    }

    @Test("a closed store refuses calls, and its connections are gone")
    func closing() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            let store = try place.open()
            try store.transact { try $0.set([1], to: [1]) }
            store.close()
            let error = #expect(throws: StoreError.self) { try store.read { try $0.value(forKey: [1]) } }
            #expect(error?.code == .closed)
            while try place.text(PostgresTestStore.fenceCount) != "0" { TestThreads.yield() }
        }
    }
}

extension StoreReader {
    fileprivate func entryCount(in range: KeyRange) throws -> Int {
        var count = 0
        try scan(range) { _, _ in
            count += 1
            return .next
        }
        return count
    }
}

extension PostgresTestStore {
    var info: ConnectionInfo { get throws { try ConnectionInfo(parsing: url) } }
    var schema: String { get throws { try info.schema ?? "" } }

    /// Runs a text on a connection of its own.
    func run(_ text: String, isScript: Bool = false) throws {
        let connection = try TestServer.open(info)
        defer { connection.close() }
        for statement in isScript ? text.split(separator: "; ").map(String.init) : [text] {
            try connection.answers(to: [statement])
        }
    }

    /// The first value of the answer to a text.
    func text(_ text: String) throws -> String {
        let connection = try TestServer.open(info)
        defer { connection.close() }
        return try connection.answers(to: [text])[0].text(0, 0)
    }

    /// The address with another user.
    func url(as role: String, _ password: String) throws -> String {
        let rest = url.drop { $0 != "@" }
        return "postgresql://\(role):\(password)\(rest)"
    }

    /// How many connections hold the fence of this place.
    static let fenceCount = """
        SELECT count(*)::text FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND mode = 'ShareLock'
            AND objid = 'stratus_host'::regclass::oid
        """

    /// Whether the stores of this place have no transaction and no lock of a lane, now or within a moment: what ends
    /// in the background was sent.
    func hasNoOpenTransaction() throws -> Bool {
        let open = """
            SELECT count(*)::text FROM pg_stat_activity AS a WHERE pid IN (SELECT pid FROM pg_locks
                WHERE locktype = 'advisory' AND objsubid = 2
                AND objid = 'stratus_host'::regclass::oid)
                AND (state <> 'idle' OR EXISTS (SELECT 1 FROM pg_locks AS l
                    WHERE l.pid = a.pid AND locktype = 'advisory' AND objsubid = 1))
            """
        for _ in 0..<50 {
            if try text(open) == "0" { return true }
        }
        return false
    }
}
