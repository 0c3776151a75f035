// Older and newer hosts of one store at once, while the older ones save: nothing that was acknowledged is lost, the
// newer one waits where it must, and the older ones stop.
//
// The older hosts are this version's. The newer one does what a later version will do: take the store for itself to
// change the tables, or change the format in a transaction.

import FoundationEssentials
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@testable import StratusPostgres

@Suite("Older and newer hosts of one store", .enabled(if: PostgresTestStore.isServerThere), .timeLimit(.minutes(5)))
struct HostVersionTests {
    /// Threads that save by older hosts, each under a key of its own and under one that all have.
    private struct Writers {
        static let threadCount = 4
        static let common: [UInt8] = [1]
        static func key(_ thread: Int) -> [UInt8] { [2, UInt8(thread)] }

        let hosts: [PostgresStore]
        let savedCount = Locked(0)

        /// Saves so often, or until a save fails. Returns how many were acknowledged, and the error.
        func save(by thread: Int, _ times: Int, then: () -> Void = {}) throws -> (count: Int, error: StoreError?) {
            let host = hosts[thread % hosts.count]
            var count = 0
            while count < times {
                do {
                    try host.transact { transaction in
                        for key in [Self.common, Self.key(thread)] {
                            let old = (try transaction.value(forKey: key) ?? []).reduce(0) { $0 << 8 | Int($1) } + 1
                            try transaction.set(key, to: [UInt8(old >> 8 & 0xFF), UInt8(old & 0xFF)])
                        }
                    }
                } catch let error as StoreError { return (count, error) }
                count += 1
                _ = savedCount.takeNext()
                then()
            }
            return (count, nil)
        }

        /// Compares what is there with what was acknowledged, which is all that there may be.
        static func expect(_ counts: [Int: Int], in store: some OrderedStore) throws {
            for thread in 0..<threadCount { #expect(try store.number(key(thread)) == counts[thread]) }
            #expect(try store.number(common) == counts.values.reduce(0, +))
        }
    }

    /// What a later version does when it opens a store whose tables have this version's layout.
    private static func openLater(_ place: PostgresTestStore, waiting seconds: Double) throws -> HostLease {
        let change = HostLease.Preparation { _ in
            try place.text("SELECT schema_version::text FROM stratus_host") == "\(Schema.version)"
        } run: {
            try place.run("UPDATE stratus_host SET schema_version = \(Schema.version + 1)")
        }
        let options = place.options { $0.leaseWaitSeconds = seconds }
        return try HostLease.take(place.info, Libpq.shared(), options, preparing: change)
    }

    /// Opens the store again as this version does.
    private static func openAgain(_ place: PostgresTestStore) throws -> PostgresStore {
        try place.run("UPDATE stratus_host SET schema_version = \(Schema.version)")
        return try place.open()
    }

    @Test(
        """
        a host with a newer layout is refused while older ones save, gets the store when they have closed it, and then \
        refuses them; no save is lost
        """)
    func waits() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            let writers = Writers(hosts: try (0..<2).map { try place.openOlder("older \($0)") })
            let counts = Locked<[Int: Int]>([:])
            let (areSaving, isWaiting) = (Latch("the older hosts to save"), Latch("the newer host to wait"))
            let ended = Locked(0)
            try TestThreads.run(Writers.threadCount + 1) { thread in
                guard thread < Writers.threadCount else {
                    try areSaving.wait()
                    let error = #expect(throws: StoreError.self) { try Self.openLater(place, waiting: 0) }
                    #expect(error?.code == .held)
                    #expect(error?.fields["holderName"]?.hasPrefix("older") == true)
                    isWaiting.open()
                    return try Self.openLater(place, waiting: 60).giveBack()
                }
                let before = try writers.save(by: thread, 10)
                areSaving.open()
                try isWaiting.wait()
                let after = try writers.save(by: thread, 50)
                #expect(before.error == nil && after.error == nil)
                counts.withLock { $0[thread] = before.count + after.count }
                if ended.takeNext() == Writers.threadCount - 1 { for host in writers.hosts { host.close() } }
            }
            let error = #expect(throws: StoreError.self) { try place.open() }
            #expect(error?.code == .newerFormat)
            let store = try Self.openAgain(place)
            defer { store.close() }
            try Writers.expect(counts.value, in: store)
        }
    }

    @Test(
        """
        an older host that stands still in the middle of a save while a newer one changes the tables saves nothing more, \
        and does not open again; what it saved before is there
        """)
    func standsStill() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            let isPaused = Locked(false)
            let older = try place.open { $0.testHooks.holdsBeats = { isPaused.value } }
            defer { older.close() }
            for _ in 0..<5 { _ = try older.increment([1]) }
            let changed = Locked(false)
            let error = #expect(throws: StoreError.self) {
                try older.transact { transaction in
                    let old = try transaction.value(forKey: [1]) ?? []
                    isPaused.withLock { $0 = true }
                    if !changed.value {
                        try Self.openLater(place, waiting: 30).giveBack()
                        changed.withLock { $0 = true }
                    }
                    try transaction.set([1], to: old + [9])
                }
            }
            #expect(error?.code == .held)
            isPaused.withLock { $0 = false }
            let writing = #expect(throws: StoreError.self) { try older.increment([1]) }
            #expect(writing?.code == .held)
            let reading = #expect(throws: StoreError.self) { try older.number([1]) }
            #expect(reading?.code == .held)
            let opening = #expect(throws: StoreError.self) { try place.open() }
            #expect(opening?.code == .newerFormat)
            let store = try Self.openAgain(place)
            defer { store.close() }
            #expect(try store.number([1]) == 5)
        }
    }

    @Test("older hosts that save stop when a newer one changes the format, and all that was acknowledged is there")
    func newerFormat() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            let writers = Writers(hosts: try (0..<2).map { try place.openOlder("older \($0)") })
            defer { for host in writers.hosts { host.close() } }
            _ = try RecordEngine(store: writers.hosts[0], incarnation: UUID())
            let newer = try place.open()
            defer { newer.close() }
            let counts = Locked<[Int: Int]>([:])
            let areSaving = Latch("the older hosts to save")
            try TestThreads.run(Writers.threadCount + 1) { thread in
                guard thread < Writers.threadCount else {
                    try areSaving.wait()
                    try StoreFormat.check(
                        newer, incarnation: UUID(), supported: UInt64(StoreFormat.number) + 1, olderFormat: .migrated)
                    return
                }
                let done = try writers.save(by: thread, 3_000) {
                    if writers.savedCount.value >= 40 { areSaving.open() }
                }
                #expect(done.error?.code == .newerFormat)
                counts.withLock { $0[thread] = done.count }
            }
            try Writers.expect(counts.value, in: newer)
            for host in writers.hosts {
                let reading = #expect(throws: StoreError.self) { try host.number(Writers.common) }
                #expect(reading?.code == .newerFormat)
            }
            // The newer one goes on.
            _ = try newer.increment(Writers.common)
        }
    }
}

extension PostgresTestStore {
    /// Opens the store as a host that shares it and checks its format.
    fileprivate func openOlder(_ name: String) throws -> PostgresStore {
        try open(checksFormat: true) { $0.hostName = name }
    }
}
