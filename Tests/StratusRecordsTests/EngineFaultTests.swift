// Every store operation of a scenario fails once.

import StratusTestSupport
import Testing

@Suite("faults through the seam")
struct EngineFaultTests {
    @Test("a failed operation is an error with its cause, and applies all or nothing", arguments: [4, 6] as [UInt64])
    func everyOperation(seed: UInt64) async throws {
        let history = Self.history(seed: seed, stepCount: 30)
        let struck = try await TestThreads.offPool { try HistoryFaultSweep.run(history) }
        // Every kind of fault struck.
        for point in FaultPoint.allCases { #expect(struck[point, default: 0] >= 5, "\(point)") }
    }

    @Test(
        "a commit that failed silently, or failed and was applied, is detected", arguments: PlantedCommitFault.allCases)
    func plantedFault(fault: PlantedCommitFault) async throws {
        let history = Self.history(seed: 4, stepCount: 4)
        let failure = await #expect(throws: HistoryFailure.self) {
            try await TestThreads.offPool { _ = try HistoryFaultSweep.run(history, planted: fault) }
        }
        #expect(failure?.description.contains("\(FaultPoint.commitNotApplied.rawValue) 1") == true)
    }

    /// The first steps of a history that are commits, or that create and delete zones.
    private static func history(seed: UInt64, stepCount: Int) -> History {
        var history = HistoryGenerator.history(seed: seed, stepCount: 60)
        history.steps = Array(
            history.steps.filter { step in
                switch step {
                case .createZone, .deleteZone, .commit: true
                default: false
                }
            }.prefix(stepCount))
        return history
    }
}
