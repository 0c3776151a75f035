// Many callers on a disk whose syncs are slow. Counts decide, not clocks.

import StratusLevelDB
import StratusStore
import StratusTestSupport
import Testing

@Suite struct SlowSyncTests {
    private static let callerCount = 64
    private static let saveCount = 10

    @Test("64 callers on a disk with slow syncs share them: at least eight transactions per sync")
    func sharesSyncs() async throws {
        try await TestThreads.offPool {
            let statistics = try Self.statistics { _ in }
            #expect(statistics.transactionsCommitted == Self.callerCount * Self.saveCount)
            #expect(Self.sharesSyncs(statistics), "\(statistics.syncs) syncs")
        }
    }

    @Test("a lane that commits one transaction at a time is found to share no syncs")
    func plantedLane() async throws {
        try await TestThreads.offPool {
            let statistics = try Self.statistics { $0.groupByteCount = 1 }
            #expect(!Self.sharesSyncs(statistics))
        }
    }

    private static func sharesSyncs(_ statistics: StoreStatistics) -> Bool {
        statistics.syncs * 8 <= statistics.transactionsCommitted
    }

    /// What the store counted, after its count of syncs was compared with the environment's.
    private static func statistics(_ change: (inout LevelDBOptions) -> Void) throws -> StoreStatistics {
        let directory = try ScratchDirectory()
        let environment = try FaultyEnvironment()
        let store = try FaultBench.open(directory.path, environment, change)
        defer { store.close() }
        environment.waitUntilIdle()
        let syncsBefore = environment.count(of: .sync)
        environment.slowSyncs(microseconds: 1_000)
        try TestThreads.run(callerCount) { caller in
            for save in 0..<saveCount {
                try store.transact { try $0.set([UInt8(caller), UInt8(save)], to: [1]) }
            }
        }
        let statistics = store.statistics
        #expect(environment.count(of: .sync) - syncsBefore == statistics.syncs)
        return statistics
    }
}
