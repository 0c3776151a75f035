// Every operation that a scenario asks of its store fails once.

import StratusTestSupport
import Testing

@Suite("faults through the seam")
struct EngineFaultTests {
    @Test("a failed operation is an error with its cause, and leaves all or nothing", arguments: [4, 6] as [UInt64])
    func everyOperation(seed: UInt64) async throws {
        var history = HistoryGenerator.history(seed: seed, stepCount: 60)
        history.steps = Array(
            history.steps.filter { step in
                switch step {
                case .createZone, .deleteZone, .commit: true
                default: false
                }
            }.prefix(30))
        let steps = history
        let struck = try await TestThreads.offPool { try HistoryFaultSweep.run(steps) }
        // Every kind of fault struck.
        for point in FaultPoint.allCases { #expect(struck[point, default: 0] >= 5, "\(point)") }
    }
}
