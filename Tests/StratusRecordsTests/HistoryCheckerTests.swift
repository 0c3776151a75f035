// The checker of histories checked: each planted fault is found within a few histories and shown by a short one.

import StratusTestSupport
import Testing

@Suite("the checker of histories")
struct HistoryCheckerTests {
    @Test("a fault in the store or the cache is found and shown by a short history", arguments: PlantedFault.allCases)
    func plantedFault(fault: PlantedFault) throws {
        try expectFound(on: fault.subject)
    }

    @Test(
        "a wrong rule of the oracle is found and shown by a short history",
        arguments: [
            OracleFault.overlooksRootsBelow, .overlooksRootsAbove, .overlooksMissingParents, .forgetsTombstones,
            .countsOneLevelTooMany,
        ])
    func wrongRule(fault: OracleFault) throws {
        try expectFound(on: HistorySubject.inMemory[0], fault)
    }

    private func expectFound(on subject: HistorySubject, _ fault: OracleFault? = nil) throws {
        let failing = (1...40).lazy.map { HistoryGenerator.history(seed: UInt64($0), stepCount: 60) }
            .first { HistoryRunner.failure(of: $0, on: subject, oracleFault: fault) != nil }
        let history = try #require(failing, "no history of forty shows the fault")
        let shortest = HistoryShrinker.shortest(history) {
            HistoryRunner.failure(of: $0, on: subject, oracleFault: fault) != nil
        }
        #expect(shortest.steps.count <= 8, "\(shortest)")
        #expect(shortest.itemCount <= 9, "\(shortest)")
        // The printed history shows the same again.
        #expect(HistoryRunner.failure(of: try History(text: "\(shortest)"), on: subject, oracleFault: fault) != nil)
    }
}
