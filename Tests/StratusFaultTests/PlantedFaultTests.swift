// The judge of the fault tests gets stores that break each rule, and must detect it.

import StratusLevelDB
import StratusStore
import StratusTestSupport
import Testing

@Suite struct PlantedFaultTests {
    @Test("the faults support LevelDB 1.23 only and refuse every other version")
    func versions() {
        for major in 0..<4 {
            for minor in 0..<100 {
                let isSupported = FaultyEnvironment.supports(majorVersion: major, minorVersion: minor)
                #expect(isSupported == (major == 1 && minor == 23))
            }
        }
    }

    @Test("a lane that continues after a failed write is found to acknowledge what it must not")
    func careFreeLane() async throws {
        try await TestThreads.offPool {
            let bench = try FaultBench(RecordScenario())
            let count = bench.calm.requestCounts[.append, default: 0]
            let violations = try (1..<count + 1).flatMap { occurrence in
                try bench.run(EngineFault(.append, .shortened, at: occurrence)) {
                    $0.testHooks.goesOnAfterFailedWrites = true
                    $0.testHooks.leavesLog = true
                }.violations
            }
            #expect(violations.contains { $0.contains("was acknowledged after a request had failed") })
            #expect(violations.contains { $0.contains("reopening") })
        }
    }

    @Test("LevelDB itself acknowledges commits after a short append, and loses them")
    func shortAppend() async throws {
        try await TestThreads.offPool {
            let directory = try ScratchDirectory()
            let environment = try FaultyEnvironment()
            let store = try FaultBench.open(directory.path, environment) {
                $0.testHooks.goesOnAfterFailedWrites = true
                $0.testHooks.leavesLog = true
            }
            try store.transact { try $0.set([1], to: [1]) }
            environment.arm(EngineFault(.append, .shortened, at: 2))
            let error = #expect(throws: StoreError.self) { try store.transact { try $0.set([2], to: [2]) } }
            #expect(error?.code == .commitUnknown)
            try store.transact { try $0.set([3], to: [3]) }
            store.close()
            // Either the store reports the damage, or the commit is gone.
            let survives = try? FaultBench.open(directory.path, nil).read { try $0.contains([3]) }
            #expect(survives != true)
        }
    }

    @Test("a store that reports unknown commits as successful is found to lose acknowledged ones")
    func confidentStore() async throws {
        try await TestThreads.offPool {
            let bench = try FaultBench(PlainScenario())
            let verdict = try bench.run(EngineFault(.append, at: 1), wrap: ConfidentStore.init)
            #expect(verdict.violations.contains { $0.contains("after reopening the store holds steps") })
        }
    }

    @Test("a store that commits in two halves is found to leave one half")
    func splittingStore() async throws {
        try await TestThreads.offPool {
            let bench = try FaultBench(PlainScenario())
            // One of the first syncs is that of the first step's second half; LevelDB's own, of tables, may come
            // between.
            let violations = try (1..<5).flatMap { occurrence in
                try bench.run(EngineFault(.sync, .lost, at: occurrence), wrap: SplittingStore.init).violations
            }
            #expect(violations.contains { $0.contains("after reopening the store holds steps []") })
        }
    }

    @Test("a store that treats failed look-ups as missing keys is detected")
    func forgetfulStore() async throws {
        try await TestThreads.offPool {
            let bench = try FaultBench(PlainScenario())
            let count = bench.calm.requestCounts[.readRandom, default: 0]
            let violations = try (count / 2..<count + 1).flatMap { occurrence in
                try bench.run(EngineFault(.readRandom, at: occurrence), wrap: ForgetfulStore.init).violations
            }
            #expect(violations.contains { $0.contains("wrong or missing") })
        }
    }
}
