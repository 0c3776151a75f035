// The log of a large commit is synced while the commit is inserted into memory. Its answer waits for both.

import StratusLevelDB
import StratusStore
import StratusTestSupport
import Testing

@Suite struct BackgroundSyncTests {
    /// More than the default for background syncs, and less.
    private static let sizes = (large: 70_000, small: 1_000)
    /// The results that a commit or a compaction may have after a failed sync.
    private static let failures: [StoreError.Code] = [.commitUnknown, .unavailable, .inputOutput, .corruption]

    /// The result of a commit of a number of bytes whose sync, a slow one, loses everything; and its store.
    private static func commit(
        byteCount: Int, in path: String, _ change: (inout LevelDBOptions) -> Void = { _ in }
    ) throws -> (error: StoreError?, next: StoreError?) {
        let environment = try FaultyEnvironment()
        let store = try FaultBench.open(path, environment) {
            $0.writeBufferByteCount = 4 << 20
            $0.testHooks.leavesLog = true
            change(&$0)
        }
        defer { store.close() }
        try store.transact { try $0.set([1], to: [1]) }
        environment.slowSyncs(microseconds: 20_000)
        environment.arm(EngineFault(.sync, .lost, at: 1))
        func set(_ key: UInt8, _ count: Int) throws -> StoreError? {
            do {
                try store.transact { try $0.set([key], to: [UInt8](repeating: key, count: count)) }
                return nil
            } catch let error as StoreError {
                return error
            }
        }
        return (try set(2, byteCount), try set(3, 1))
    }

    private static func keys(in path: String) throws -> [UInt8] {
        let store = try FaultBench.open(path, nil)
        defer { store.close() }
        return try store.read { reader in try (UInt8(1)...3).filter { try reader.contains([$0]) } }
    }

    @Test(
        "a commit is not acknowledged before its sync has ended, large or small", arguments: [sizes.large, sizes.small])
    func waits(byteCount: Int) async throws {
        try await TestThreads.offPool {
            let directory = try ScratchDirectory()
            let (error, next) = try Self.commit(byteCount: byteCount, in: directory.path)
            #expect(error?.code == .commitUnknown)
            #expect(error?.cause?.isEmpty == false)
            #expect(next?.code == .unavailable)
            #expect(try Self.keys(in: directory.path) == [1])
        }
    }

    @Test("a store that acknowledges before a background sync ends is found to lose commits")
    func planted() async throws {
        try await TestThreads.offPool {
            let directory = try ScratchDirectory()
            let large = try Self.commit(byteCount: Self.sizes.large, in: directory.path) {
                $0.testHooks.answersBeforeSyncs = true
            }
            #expect(large.error == nil)
            #expect(!((try? Self.keys(in: directory.path)) ?? [1]).contains(2))
            let other = try ScratchDirectory()
            let small = try Self.commit(byteCount: Self.sizes.small, in: other.path) {
                $0.testHooks.answersBeforeSyncs = true
            }
            #expect(small.error?.code == .commitUnknown)
        }
    }

    @Test("the judge detects a store that answers while a sync runs")
    func judged() async throws {
        try await TestThreads.offPool {
            let bench = try FaultBench(PlainScenario())
            let count = bench.calm.requestCounts[.sync, default: 0]
            let violations = try (1..<count + 1).flatMap { occurrence in
                try bench.run(EngineFault(.sync, .lost, at: occurrence)) { $0.testHooks.answersBeforeSyncs = true }
                    .violations
            }
            #expect(violations.contains { $0.contains("was acknowledged after a request had failed") })
        }
    }

    @Test("compactions that replace the log while it is synced lose nothing", arguments: [false, true])
    func compactions(withFailure: Bool) async throws {
        try await TestThreads.offPool {
            let directory = try ScratchDirectory()
            let environment = try FaultyEnvironment()
            let store = try FaultBench.open(directory.path, environment) { $0.syncs(inBackground: true) }
            environment.slowSyncs(microseconds: 1_000)
            let acknowledged = Locked(0)
            let everything = KeyRange(from: [], upTo: [0xFF])
            try TestThreads.run(2) { thread in
                for number in 0..<60 {
                    if withFailure, thread == 0, number == 30 { environment.arm(EngineFault(.sync, .lost, at: 1)) }
                    do {
                        guard thread == 0 else {
                            try store.compact(everything)
                            continue
                        }
                        let value = [UInt8](repeating: UInt8(number), count: number.isMultiple(of: 2) ? 9_000 : 10)
                        try store.transact { try $0.set([UInt8(number)], to: value) }
                        acknowledged.withLock { $0 = number + 1 }
                    } catch let error as StoreError {
                        guard withFailure, Self.failures.contains(error.code) else { throw error }
                        return
                    }
                }
            }
            // A later compaction reports it, and nothing is rewritten.
            if withFailure { #expect(throws: StoreError.self) { try store.compact(everything) } }
            store.close()
            environment.disarm()
            let count = acknowledged.value
            #expect(withFailure ? (1..<60).contains(count) : count == 60)
            let reopened = try FaultBench.open(directory.path, nil)
            defer { reopened.close() }
            let found = try reopened.read { reader in try (0..<60).count { try reader.contains([UInt8($0)]) } }
            // One more may be: the unknown one.
            #expect((count...count + (withFailure ? 1 : 0)).contains(found))
            #expect(try reopened.verifyChecksums().damages.isEmpty)
        }
    }

    @Test("background syncs are as many as before")
    func counts() async throws {
        try await TestThreads.offPool {
            let counts = try [false, true].map { inBackground in
                try FaultBench(PlainScenario(), syncsInBackground: inBackground).calm.requestCounts[.sync]
            }
            #expect(counts[0] == counts[1])
            #expect(counts[0] != nil)
        }
    }
}
