// Opening and creating a store while requests fail: a clear error or a right store, and a store that opens afterwards.

import StratusLevelDB
import StratusStore
import StratusTestSupport
import Testing

@Suite struct OpeningFaultTests {
    /// A read that lost its end without an error is like a shorter file, and is not tested here.
    static let effects: [EngineFaultPoint: [EngineFaultEffect]] = [
        .append: [.refused, .shortened], .flush: [.refused], .sync: [.refused, .lost], .close: [.refused],
        .rename: [.refused], .remove: [.refused], .openWritable: [.refused], .openSequential: [.refused],
        .openRandom: [.refused], .readSequential: [.refused], .readRandom: [.refused, .shortened], .list: [.refused],
        .lock: [.refused],
    ]

    @Test("opening with any failing request gives a clear error or the complete store, and damages nothing")
    func opening() async throws {
        try await TestThreads.offPool {
            for scenario in [PlainScenario(), RecordScenario()] as [any FaultScenario] {
                let bench = try FaultBench(scenario)
                let failureCount = try Self.sweep(
                    makeDirectory: bench.copy, expected: bench.states[0], findings: scenario.findings(in:))
                #expect(failureCount > 20)
            }
        }
    }

    @Test("creating with any failing request gives a clear error or an empty store, and the next attempt succeeds")
    func creating() async throws {
        try await TestThreads.offPool {
            let failureCount = try Self.sweep(
                makeDirectory: { try ScratchDirectory() }, expected: [:], findings: { _ in [] })
            #expect(failureCount > 10)
        }
    }

    @Test("opening and creating on a full disk report the full disk")
    func fullDisk() async throws {
        try await TestThreads.offPool {
            let bench = try FaultBench(PlainScenario())
            for directory in [try bench.copy(), try ScratchDirectory()] {
                let environment = try FaultyEnvironment()
                environment.limitDisk(byteCount: 10)
                let error = #expect(throws: StoreError.self) { try FaultBench.open(directory.path, environment) }
                #expect(error?.code == .diskFull)
                #expect(error?.cause?.contains("planned fault") == true)
                environment.disarm()
                try FaultBench.open(directory.path, environment).close()
            }
        }
    }

    /// Opens once for every request that opening makes. Returns how often opening failed.
    private static func sweep(
        makeDirectory: () throws -> ScratchDirectory, expected: StoreContents,
        findings: (any OrderedStore) throws -> [String]
    ) throws -> Int {
        let counting = try FaultyEnvironment()
        let calm = try makeDirectory()
        let calmStore = try FaultBench.open(calm.path, counting)
        counting.waitUntilIdle()
        let counts = EngineFaultPoint.allCases.map { ($0, counting.count(of: $0)) }
        calmStore.close()
        var failureCount = 0
        for (point, count) in counts {
            for effect in effects[point, default: []] {
                for occurrence in 1..<count + 1 {
                    let fault = EngineFault(point, effect, at: occurrence)
                    let directory = try makeDirectory()
                    if try open(directory.path, fault, expected) == false { failureCount += 1 }
                    let store = try FaultBench.open(directory.path, nil)
                    defer { store.close() }
                    #expect(try contents(store) == expected, "\(fault)")
                    #expect(try store.verifyChecksums().damages.isEmpty, "\(fault)")
                    #expect(try findings(store) == [], "\(fault)")
                    try store.transact { try $0.delete([0xFE]) }
                }
            }
        }
        return failureCount
    }

    /// Whether the store opened in spite of the fault.
    private static func open(_ path: String, _ fault: EngineFault, _ expected: StoreContents) throws -> Bool {
        let environment = try FaultyEnvironment()
        environment.arm(fault)
        do {
            let store = try FaultBench.open(path, environment)
            defer { store.close() }
            environment.waitUntilIdle()
            #expect(environment.faultCount == 1, "\(fault) never struck")
            #expect(try contents(store) == expected, "\(fault)")
            return true
        } catch let error as StoreError {
            let seen = try #require(SeenError(error))
            #expect(["inputOutput", "corruption"].contains(seen.code), "\(fault): \(error)")
            #expect(seen.namesCause, "\(fault): \(error)")
            return false
        }
    }
}
