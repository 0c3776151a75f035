// Reads while no table can be read, and afterwards.

import StratusLevelDB
import StratusStore
import StratusTestSupport
import Testing

@Suite struct FailingReadTests {
    @Test("while tables cannot be read, every answer is correct or an error, and afterwards all data is back")
    func unreadableTables() async throws {
        try await TestThreads.offPool {
            let bench = try FaultBench(PlainScenario())
            let expected = bench.states[0]
            for (point, effect) in [
                (EngineFaultPoint.openRandom, EngineFaultEffect.refused), (.readRandom, .refused),
                (.readRandom, .shortened),
            ] {
                let directory = try bench.copy()
                let environment = try FaultyEnvironment()
                let store = try FaultBench.open(directory.path, environment)
                defer { store.close() }
                environment.waitUntilIdle()
                environment.arm(EngineFault(point, effect, at: 1, repetitions: .max))
                var errorCount = 0
                for (key, value) in expected {
                    do {
                        #expect(try store.read { try $0.fingerprint(forKey: key) } == value)
                    } catch let error as StoreError {
                        let seen = try #require(SeenError(error))
                        #expect(seen.namesCause, "\(error)")
                        errorCount += 1
                    }
                }
                #expect(errorCount > 0, "\(point) \(effect)")
                for direction in [ScanDirection.forward, .backward] {
                    #expect(throws: StoreError.self) { try contents(store, direction) }
                    #expect(throws: StoreError.self) {
                        try store.transact { transaction in
                            try transaction.set([0], to: [0])
                            try transaction.scan(KeyRange(from: [], upTo: [0xFF]), direction) { _, _ in .next }
                        }
                    }
                }
                environment.disarm()
                #expect(try contents(store) == expected, "\(point) \(effect)")
                #expect(try contents(store, .backward) == expected, "\(point) \(effect)")
            }
        }
    }
}
