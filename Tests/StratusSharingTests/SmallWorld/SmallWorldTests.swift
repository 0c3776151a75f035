// Every combination of role, permission, acceptance, public permission, position and action against naive rules.
//
//     make test FILTER=SmallWorldTests
//     STRATUS_SEED=7 make test FILTER=SmallWorldTests         another part of the worlds on LevelDB

import Foundation
import StratusKit
import StratusSharingSupport
import StratusTestSupport
import Testing

@Suite("A small world of sharing")
struct SmallWorldTests {
    private func trials(of worlds: [SmallWorld], in town: Town) async throws -> [SmallTrial] {
        var trials: [SmallTrial] = []
        for (number, world) in worlds.enumerated() {
            let bench = SmallWorldBench(world, number: number, in: town)
            trials += try await bench.run(SmallOracle(world: world))
        }
        let findings = try town.findings()
        #expect(findings.isEmpty)
        return trials
    }

    private func check(_ trials: [SmallTrial]) {
        for trial in trials {
            let wanted = SmallOracle(world: trial.world).outcome(trial.attempt)
            if trial.outcome != wanted { Issue.record("\(trial), and not \(wanted)") }
        }
    }

    @Test("there are as many worlds as the rules allow")
    func count() {
        #expect(SmallWorld.all.count == 70)
        #expect(SmallTry.all.count == 45)
    }

    @Test("[P-09][P-10][P-11][P-12][P-13][D-03][D-04][M-08][X-13][X-14][X-18] all of it in memory follows the rules")
    func inMemory() async throws {
        let trials = try await trials(of: SmallWorld.all, in: Town(["owner", "other"]))
        check(trials)
        // The findings depend on the oracle: each wrong rule contradicts what has happened.
        for fault in SmallFault.allCases {
            let isFound = trials.contains { trial in
                SmallOracle(world: trial.world, fault: fault).outcome(trial.attempt) != trial.outcome
            }
            #expect(isFound, "\(fault) is not found")
        }
    }

    @Test("a part of it on LevelDB follows the rules", .enabled(if: TestStores.chosen == nil))
    func onLevelDB() async throws {
        var random = SplitMix64.announced("a small world of sharing on LevelDB")
        let worlds = (0..<8).map { _ in random.element(of: SmallWorld.all) }
        let directory = ScratchDirectory()
        let town = try Town(["owner", "other"], in: directory.url)
        check(try await trials(of: worlds, in: town))
        try await TestThreads.offPool { town.store.close() }
    }
}
