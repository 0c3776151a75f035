// A host whose every trip takes 50 ms more, beside three quick ones on the same server: it finishes, and costs the
// others no trip and no conflict.

import FoundationEssentials
import StratusStore
import StratusTestSupport
import Testing

@testable import StratusPostgres

@Suite("A slow host beside quick ones", .enabled(if: PostgresTestStore.isServerThere), .timeLimit(.minutes(5)))
struct SlowHostTests {
    /// Opens a store by three quick hosts and a slow one.
    private func withHosts(
        _ body: @escaping @Sendable (_ quick: [PostgresStore], _ slow: PostgresStore) throws -> Void
    ) async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            let quick = try (0..<3).map { _ in try place.open() }
            let proxy = try WireProxy(place.url)
            defer { proxy.stop() }
            // A trip passes the proxy twice.
            proxy.delay(seconds: 0.025)
            let (slow, _) = try PostgresStore.open(url: proxy.url, options: place.options())
            defer { for host in quick + [slow] { host.close() } }
            try body(quick, slow)
        }
    }

    /// Checks that transactions of a host have cost two trips each, and met no conflict.
    private static func expectTwoTrips(_ count: Int, of host: PostgresStore, since start: StoreStatistics) {
        let now = host.statistics
        #expect(now.trips - start.trips == 2 * count)
        #expect(now.conflicts == start.conflicts)
    }

    @Test("a slow host and quick ones that change one key take turns: none meets a conflict, and no change is lost")
    func oneLane() async throws {
        try await withHosts { quick, slow in
            let hosts = quick + [slow]
            let starts = hosts.map(\.statistics)
            let counts = Locked<[Int: Int]>([:])
            let isOver = Locked(false)
            try TestThreads.run(hosts.count) { thread in
                var count = 0
                // The quick ones stop far beyond what they do meanwhile, so that a slow one that starves fails here.
                while thread == quick.count ? count < 15 : !isOver.value && count < 8_000 {
                    _ = try hosts[thread].increment([1], lane: [7])
                    count += 1
                }
                if thread == quick.count { isOver.withLock { $0 = true } }
                let done = count
                counts.withLock { $0[thread] = done }
            }
            for (thread, host) in hosts.enumerated() {
                // Also one that began late and found the slow one done.
                Self.expectTwoTrips(counts.value[thread] ?? 0, of: host, since: starts[thread])
            }
            #expect(counts.value[quick.count] == 15)
            #expect(try slow.number([1]) == counts.value.values.reduce(0, +))
        }
    }

    @Test("quick hosts do not wait for a slow one that is in the middle of a transaction of another lane")
    func otherLanes() async throws {
        try await withHosts { quick, slow in
            let hosts = quick + [slow]
            // New keys are neighbours in the index.
            for thread in 0..<hosts.count { _ = try slow.increment([1, UInt8(thread)]) }
            let starts = hosts.map(\.statistics)
            let hasRead = Latch("the slow host to read")
            let areDone = quick.map { _ in Latch("a quick host") }
            try TestThreads.run(hosts.count) { thread in
                let (key, lane): ([UInt8], [UInt8]) = ([1, UInt8(thread)], [7, UInt8(thread)])
                guard thread == quick.count else {
                    try hasRead.wait()
                    for _ in 0..<10 { _ = try hosts[thread].increment(key, lane: lane) }
                    return areDone[thread].open()
                }
                try slow.transact(lane: StoreLane(name: lane)) { transaction in
                    let old = try transaction.value(forKey: key)
                    hasRead.open()
                    for one in areDone { try one.wait() }
                    try transaction.set(key, to: (old ?? []) + [1])
                }
            }
            Self.expectTwoTrips(1, of: slow, since: starts[quick.count])
            for (thread, host) in quick.enumerated() {
                Self.expectTwoTrips(10, of: host, since: starts[thread])
                #expect(try slow.number([1, UInt8(thread)]) == 11)
            }
        }
    }
}
