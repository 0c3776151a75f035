// Contents on a PostgreSQL server, and in memory, against the same checks.

import StratusStore
import StratusTestSupport
import Testing

@testable import StratusPostgres

@Suite("contents")
struct PostgresContentsTests {
    @Test("in memory pass every check", arguments: ContentsConformance.checks)
    func memory(check: ContentsConformance.Check) throws {
        try check.run(on: MemoryContents { 1_800_000_000_000 })
    }

    @Test(
        "on PostgreSQL pass every check", .enabled(if: PostgresTestStore.isServerThere),
        arguments: ContentsConformance.checks)
    func server(check: ContentsConformance.Check) async throws {
        let place = try PostgresTestStore()
        try await TestThreads.offPool {
            let store = try place.open()
            defer { store.close() }
            guard let contents = store.contents else { throw ConformanceFailure("The store has no contents.") }
            try check.run(on: contents)
        }
    }

    @Test(
        "an emptied store has neither entries nor contents, and keeps its host",
        .enabled(if: PostgresTestStore.isServerThere))
    func emptying() async throws {
        let place = try PostgresTestStore()
        try await TestThreads.offPool {
            let store = try place.open()
            try store.transact { try $0.set([1], to: [1]) }
            try store.contents?.append([[1]], from: 0, to: [1])
            try store.removeEverything()
            store.close()
            let next = try place.open()
            defer { next.close() }
            #expect(try next.read { try $0.value(forKey: [1]) } == nil)
            #expect(try next.contents?.names(after: nil, limit: 1) == [])
            try next.transact { try $0.set([1], to: [2]) }
        }
    }

    @Test(
        "contents that are read and written inside of snapshots and transactions wait for none of these",
        .enabled(if: PostgresTestStore.isServerThere))
    func nested() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore { options in
                options.pool.connectionCount = 1
                options.pool.nestedCount = 1
                options.wire.deadlineSeconds = 20
            }
            let store = try place.open()
            defer { store.close() }
            try TestThreads.run(12) { thread in
                let key = [UInt8(thread)]
                for turn in 1...4 {
                    try store.transact(lane: StoreLane(name: [UInt8(thread % 3)])) { transaction in
                        _ = try transaction.value(forKey: key)
                        try store.contents?.append([[UInt8(turn)]], from: 0, to: key)
                        try transaction.set(key, to: [UInt8(turn)])
                    }
                    try store.read { reader in
                        let (value, part) = (try reader.value(forKey: key), try store.contents?.part(0, of: key))
                        #expect(value == [UInt8(turn)])
                        #expect(part == [UInt8(turn)])
                    }
                }
            }
            #expect(store.statistics.connectionsOpened <= 2)
        }
    }
}
