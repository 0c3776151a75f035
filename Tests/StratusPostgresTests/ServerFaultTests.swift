// Servers that crash, refuse connections, or have no room left. These take long: `make postgres` runs them.

import Foundation
import StratusStore
import StratusTestSupport
import Testing

@testable import StratusPostgres

@Suite(.serialized, .enabled(if: PostgresTestStore.isServerThere && PostgresTestStore.runsLongTests))
struct ServerFaultTests {
    @Test("a server that crashes and starts again loses nothing that was acknowledged, and nothing happens twice")
    func crashes() async throws {
        try await TestThreads.offPool {
            let server = try OwnServer()
            defer { server.stop() }
            var options = PostgresOptions { .random(in: 0 ... .max) }
            options.pool.connectionCount = 8
            let (store, _) = try PostgresStore.open(url: server.url, options: options)
            defer { store.close() }
            let isOver = Locked(false)
            let counts = Locked<[Int: Int]>([:])
            try TestThreads.run(9) { thread in
                guard thread < 8 else {
                    defer { isOver.withLock { $0 = true } }
                    for _ in 0..<4 {
                        Thread.sleep(forTimeInterval: 0.5)
                        try server.halt("immediate")
                        try server.resume()
                    }
                    return
                }
                var count = 0
                while !isOver.value {
                    _ = try store.increment(thread < 4 ? [1] : [2, UInt8(thread)], lane: thread % 2 == 0 ? [7] : nil)
                    count += 1
                }
                counts.withLock { $0[thread] = count }
            }
            let done = counts.value
            #expect(done.count == 8)
            #expect(try store.number([1]) == (0..<4).reduce(0) { $0 + (done[$1] ?? 0) })
            for thread in 4..<8 { #expect(try store.number([2, UInt8(thread)]) == done[thread]) }
        }
    }

    @Test("a server that stays away gives every caller its error at the deadline, and works again without a restart")
    func away() async throws {
        try await TestThreads.offPool {
            let server = try OwnServer()
            defer { server.stop() }
            var options = PostgresOptions { .random(in: 0 ... .max) }
            options.wire.deadlineSeconds = 3
            let (store, _) = try PostgresStore.open(url: server.url, options: options)
            defer { store.close() }
            #expect(try store.increment([1]) == 1)
            try server.halt("fast")
            let began = MonotonicTime.now
            try TestThreads.run(4) { thread in
                let lane: [UInt8]? = thread < 2 ? [7] : nil
                let error = #expect(throws: StoreError.self) { try store.increment([1], lane: lane) }
                #expect(error?.code == .unavailable)
            }
            #expect((began + 10).secondsLeft > 0)
            try server.resume()
            // The pool pauses between attempts, five seconds at most.
            var number = 0
            while number == 0, (began + 60).secondsLeft > 0 { number = (try? store.increment([1])) ?? 0 }
            #expect(number == 2)
        }
    }

    @Test("a role with few connections makes callers wait, and none fails")
    func connectionLimit() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            try place.open().close()
            let role = "r_\(UInt64.random(in: 0 ... .max))"
            try place.run("CREATE ROLE \(role) LOGIN PASSWORD 'secret' CONNECTION LIMIT 3")
            defer { try? place.run("DROP OWNED BY \(role); DROP ROLE \(role)", isScript: true) }
            _ = try PostgresStore.create(url: place.url, grantingTo: role)
            let (store, _) = try PostgresStore.open(
                url: try place.url(as: role, "secret"), options: place.options { $0.pool.connectionCount = 8 })
            defer { store.close() }
            try TestThreads.run(8) { thread in
                for _ in 0..<20 { _ = try store.increment([UInt8(thread)]) }
            }
            for thread in 0..<8 { #expect(try store.number([UInt8(thread)]) == 20) }
            #expect(store.statistics.connectionsOpened <= 3)
        }
    }

    /// Opens a store for hosts that may have 60 connections together, of which each wants 50 for its callers.
    private func withManyWanted(
        idleSeconds: Double = PoolLimits().idleSeconds, _ body: @Sendable @escaping ([PostgresStore]) throws -> Void
    ) async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            try place.open().close()
            let role = "r_\(UInt64.random(in: 0 ... .max))"
            try place.run("CREATE ROLE \(role) LOGIN PASSWORD 'secret' CONNECTION LIMIT 60")
            defer { try? place.run("DROP OWNED BY \(role); DROP ROLE \(role)", isScript: true) }
            _ = try PostgresStore.create(url: place.url, grantingTo: role)
            let url = try place.url(as: role, "secret")
            let hosts = try (0..<4).map { _ in
                try PostgresStore.open(
                    url: url,
                    options: place.options { options in
                        options.pool.connectionCount = 50
                        options.pool.idleSeconds = idleSeconds
                    }
                ).store
            }
            defer { for host in hosts { host.close() } }
            try body(hosts)
        }
    }

    @Test("200 callers of four hosts that may have 60 connections together wait for each other, and none fails")
    func connectionsOfHosts() async throws {
        try await withManyWanted(idleSeconds: 300) { hosts in
            // Each host has one for its lease. So many reads run at once, and then all others.
            let readerCount = 60 - hosts.count
            let (reading, areReading) = (Locked(0), Latch("all connections to be in use"))
            try TestThreads.run(200) { thread in
                let host = hosts[thread % hosts.count]
                try host.read { reader in
                    _ = try reader.value(forKey: [1])
                    if reading.takeNext() == readerCount - 1 { areReading.open() }
                    try areReading.wait()
                }
                for _ in 0..<5 { _ = try host.increment([1, UInt8(thread)]) }
            }
            for thread in 0..<200 { #expect(try hosts[thread % 3].number([1, UInt8(thread)]) == 5) }
            #expect(hosts.map(\.statistics.connectionsOpened).reduce(0, +) == readerCount)
        }
    }

    @Test("a host whose callers come when others have taken all connections serves them, once those are idle")
    func lateCallers() async throws {
        try await withManyWanted { hosts in
            // One after the other, each with as many callers at once as there are connections left.
            for (host, callerCount) in [(hosts[0], 50), (hosts[1], 6)] {
                let barrier = Barrier(callerCount)
                try TestThreads.run(callerCount) { _ in
                    try host.read { reader in
                        _ = try reader.value(forKey: [1])
                        try barrier.wait()
                    }
                }
            }
            #expect(hosts.map(\.statistics.connectionsOpened) == [50, 6, 0, 0])
            try TestThreads.run(8) { thread in
                for _ in 0..<5 { _ = try hosts[2 + thread % 2].increment([1, UInt8(thread)]) }
            }
            for thread in 0..<8 { #expect(try hosts[2].number([1, UInt8(thread)]) == 5) }
        }
    }

    @Test("a role with the least privileges sees the sizes of tables, and of transactions only its own")
    func figures() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            let owner = try place.open()
            let role = "r_\(UInt64.random(in: 0 ... .max))"
            try place.run("CREATE ROLE \(role) LOGIN PASSWORD 'secret'")
            defer { try? place.run("DROP OWNED BY \(role); DROP ROLE \(role)", isScript: true) }
            owner.close()
            _ = try PostgresStore.create(url: place.url, grantingTo: role)
            let (store, _) = try PostgresStore.open(url: try place.url(as: role, "secret"), options: place.options())
            defer { store.close() }
            try store.transact { try $0.set([1], to: [UInt8](repeating: 1, count: 100)) }
            let reader = try place.open { $0.use = .reading }
            defer { reader.close() }
            let figures = try reader.read { reader in
                _ = try reader.value(forKey: [1])
                return try store.read { own in
                    _ = try own.value(forKey: [1])
                    return try store.figures()
                }
            }
            #expect(figures.tables.map(\.name) == Schema.tableNames)
            let entries = try #require(figures.tables.first)
            #expect(entries.byteCount > 0)
            #expect(entries.indexByteCount > 0)
            #expect(figures.oldestTransactionSeconds != nil)
            #expect(figures.hiddenConnectionCount > 0)
        }
    }

    @Test("a full disk refuses writes with its code, and the next write succeeds when there is room")
    func fullDisk() async throws {
        try await TestThreads.offPool {
            let volume = try SmallVolume(byteCount: 24 << 20)
            guard volume.isMounted else {
                print("No volume could be mounted: a full disk of PostgreSQL was not tested.")
                return
            }
            let server = try OwnServer()
            defer { server.stop() }
            let folder = try server.makeDirectory("\(volume.path)/data")
            let connection = try TestServer.open(ConnectionInfo(parsing: server.url))
            defer { connection.close() }
            try connection.answers(to: ["CREATE TABLESPACE small LOCATION '\(folder)'"])
            var options = PostgresOptions { .random(in: 0 ... .max) }
            options.pool.connectionCount = 4
            let (store, _) = try PostgresStore.open(url: server.url, options: options)
            defer { store.close() }
            try connection.answers(to: ["ALTER TABLE stratus_entries SET TABLESPACE small"])
            var random = SplitMix64(seed: 1)
            var refusal: StoreError?
            var count = 0
            while refusal == nil, count < 40 {
                do {
                    try store.transact { transaction in
                        for index in 0..<20 {
                            // The server compresses what it can.
                            try transaction.set([1, UInt8(count), UInt8(index)], to: random.bytes(count: 50_000))
                        }
                    }
                    count += 1
                } catch let error as StoreError { refusal = error }
            }
            #expect(refusal?.code == .diskFull)
            #expect(try store.read { try $0.value(forKey: [1, UInt8(count), 0]) } == nil)
            #expect(try store.read { try $0.value(forKey: [1, 0, 0]) }?.count == 50_000)
            #expect(volume.resize(byteCount: 64 << 20))
            #expect(try store.increment([2]) == 1)
        }
    }
}
