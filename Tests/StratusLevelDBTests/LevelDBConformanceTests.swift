// LevelDB stores against the suite that every store must pass.

import StratusLevelDB
import StratusStore
import StratusTestSupport
import Testing

@Suite("a LevelDB store conforms")
struct LevelDBConformanceTests {
    static let checks = StoreConformance.checks(for: LevelDBFixture("LevelDB"))

    @Test("to every check", arguments: LevelDBConformanceTests.checks)
    func synced(check: StoreConformance.Check) async throws {
        let fixture = LevelDBFixture("LevelDB")
        try await TestThreads.offPool { try check.run(fixture) }
    }

    @Test("with tiny tables and groups", arguments: LevelDBConformanceTests.checks)
    func tiny(check: StoreConformance.Check) async throws {
        let fixture = LevelDBFixture("LevelDB, tiny") {
            $0.writeBufferByteCount = 64 << 10
            $0.fileByteCount = 64 << 10
            $0.blockByteCount = 256
            $0.blockCacheByteCount = 0
            $0.bloomFilterBitsPerKey = 0
            $0.compression = .none
            $0.maximumOpenFiles = 20
            $0.groupByteCount = 1
            $0.syncsCommits = false
        }
        try await TestThreads.offPool { try check.run(fixture) }
    }

    @Test("when it runs every body twice", arguments: LevelDBConformanceTests.checks.filter { !$0.plansFaults })
    func bodiesTwice(check: StoreConformance.Check) async throws {
        let fixture = LevelDBFixture("LevelDB, bodies twice") {
            $0.testHooks.runsBodiesTwice = true
            $0.syncsCommits = false
        }
        try await TestThreads.offPool { try check.run(fixture) }
    }
}
