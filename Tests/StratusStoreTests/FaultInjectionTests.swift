// The fault injector and its sweep, and the store that runs bodies twice.

import StratusStore
import StratusTestSupport
import Testing

private let planned = StoreError(.inputOutput, "A planned fault.")

@Suite("The fault injector")
struct FaultInjectionTests {
    private let memory = MemoryStore()

    init() throws {
        try memory.transact { transaction in
            for key in UInt8(1)...3 { try transaction.set([key], to: [key]) }
        }
    }

    /// Two look-ups, three scan steps, two writes, one commit.
    private func scenario(_ store: any OrderedStore) throws {
        try store.read { _ = try $0.values(forKeys: [[1], [2]]) }
        try store.transact { transaction in
            try transaction.scan(KeyRange(from: [0], upTo: [9])) { _, _ in .next }
            try transaction.set([4], to: [4])
            try transaction.delete([1])
        }
    }

    @Test("counts the operations")
    func counts() throws {
        let store = FaultInjectingStore(memory)
        try scenario(store)
        let counts = FaultPoint.allCases.map { store.count(of: $0) }
        #expect(counts == [2, 3, 2, 1, 1])
        #expect(!store.hasFired)
    }

    @Test("fails exactly the chosen operation, and continues", arguments: FaultPoint.allCases)
    func failsOnce(point: FaultPoint) throws {
        let store = FaultInjectingStore(memory, fault: Fault(point, at: 1, planned))
        let error = #expect(throws: StoreError.self) { try scenario(store) }
        #expect(error?.code == .inputOutput)
        #expect(store.hasFired)
        let isApplied = try memory.read { try $0.contains([4]) }
        #expect(isApplied == (point == .commitApplied))
        try scenario(store)
    }

    @Test("counts from the time when a fault is set")
    func armedLater() throws {
        let store = FaultInjectingStore(memory)
        try scenario(store)
        store.arm(Fault(.read, at: 2, planned))
        _ = try store.read { try $0.value(forKey: [1]) }
        #expect(throws: StoreError.self) { try store.read { try $0.value(forKey: [1]) } }
        store.arm(Fault(.read, at: 1, planned))
        store.disarm()
        _ = try store.read { try $0.value(forKey: [1]) }
    }

    @Test("refuses everything after a fault that breaks the store")
    func refusesAfterwards() throws {
        let store = FaultInjectingStore(memory, fault: Fault(.commitApplied, at: 1, planned, refusesAfterwards: true))
        #expect(throws: StoreError.self) { try scenario(store) }
        let error = #expect(throws: StoreError.self) { try store.read { _ in } }
        #expect(error?.code == .unavailable)
        #expect(throws: StoreError.self) { try store.transact { _ in } }
    }

    @Test("reports the configured background work")
    func writePressure() {
        let store = FaultInjectingStore(memory)
        #expect(!store.isUnderWritePressure)
        store.setUnderWritePressure(true)
        #expect(store.isUnderWritePressure)
        store.setUnderWritePressure(nil)
        #expect(!store.isUnderWritePressure)
    }

    @Test("runs every operation of a scenario")
    func sweep() throws {
        let report = try FaultSweep.run(
            makeStore: { try FaultInjectionTests().memory }, scenario: scenario,
            verify: { store, fault, thrown in
                let isApplied = try store.read { try $0.contains([4]) }
                #expect(thrown is StoreError, "\(fault)")
                #expect(isApplied == (fault.point == .commitApplied), "\(fault)")
            })
        #expect(report.runCounts == [.read: 2, .scanStep: 3, .write: 2, .commitNotApplied: 1, .commitApplied: 1])
    }

    @Test("its runs show that a retry without a marker applies its effects twice")
    func naiveRetryIsFound() {
        func incrementWithoutMarker(_ store: any OrderedStore) throws {
            func increment() throws {
                try store.transact { transaction in
                    let number = try transaction.value(forKey: [1])?.first ?? 0
                    try transaction.set([1], to: [number + 1])
                }
            }
            do { try increment() } catch let error as StoreError where error.code == .commitUnknown { try increment() }
        }
        let failure = #expect(throws: ConformanceFailure.self) {
            try FaultSweep.run(
                [.commitNotApplied, .commitApplied], makeStore: { MemoryStore() }, scenario: incrementWithoutMarker,
                verify: { store, fault, _ in
                    let number = try store.read { try $0.value(forKey: [1]) }
                    if number != [1] { throw ConformanceFailure("\(fault.point)") }
                })
        }
        #expect(failure?.description == "commitApplied")
    }
}

@Suite("The store that runs bodies twice")
struct TwiceRunningStoreTests {
    @Test("undoes the first run")
    func undoesTheFirstRun() throws {
        let store = TwiceRunningStore(MemoryStore())
        var runCount = 0
        let receipt = try store.transact { transaction in
            runCount += 1
            let number = try transaction.value(forKey: [1])?.first ?? 0
            try transaction.set([1], to: [number + 1])
            return number + 1
        }
        #expect(runCount == 2)
        #expect(receipt == 1)
    }

    @Test("detects a body that is not pure")
    func showsImpurity() throws {
        func insertTwoKeys(_ store: any OrderedStore) throws -> Int {
            var next: UInt8 = 0
            try store.transact { transaction in
                for _ in 0..<2 {
                    next += 1
                    try transaction.set([next], to: [])
                }
            }
            return Int(next)
        }
        #expect(try insertTwoKeys(MemoryStore()) == 2)
        #expect(try insertTwoKeys(TwiceRunningStore(MemoryStore())) == 4)
    }

    @Test("throws what the second run throws")
    func throwsOn() {
        struct Planned: Error, Equatable { let run: Int }
        var runCount = 0
        #expect(throws: Planned(run: 2)) {
            try TwiceRunningStore(MemoryStore()).transact { _ in
                runCount += 1
                throw Planned(run: runCount)
            }
        }
    }
}
