// Every operation of the store fails once while a zone with assets is deleted, released and purged: afterwards all
// counts are correct, and the next round of upkeep has the same result as without the failure.

import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("store faults while assets of deleted zones are released")
struct ZoneReleaseFaultTests {
    @Test("[S-21][R-14] if anything fails, every asset is released exactly once")
    func sweep() async throws {
        let report = try await TestThreads.offPool { try Self.run() }
        #expect(report.runCounts.values.allSatisfy { $0 > 5 })
        #expect(report.runCounts.count == StratusTestSupport.FaultPoint.allCases.count)
    }

    /// A store with a zone to delete and another that holds some of the same files.
    private static func makeBench() throws -> (bench: ReleaseBench, store: MemoryStore) {
        let store = MemoryStore()
        let bench = try ReleaseBench(on: store, batchCount: 2)
        for zone in [ReleaseBench.notes, ReleaseBench.photos] { try bench.makeZone(zone) }
        try bench.save(0..<6, in: ReleaseBench.notes)
        try bench.save(3..<8, in: ReleaseBench.photos)
        return (bench, store)
    }

    private static func run() throws -> FaultSweep.Report {
        var made = try makeBench()
        return try FaultSweep.run {
            made = try makeBench()
            return made.store
        } scenario: { store in
            let failing = try made.bench.next(on: store, batchCount: 2)
            try failing.deleteZone(ReleaseBench.notes)
            try failing.upkeep()
        } verify: { store, fault, thrown in
            let next = try made.bench.next(on: store, batchCount: 3)
            let problems = try next.problems()
            guard problems.isEmpty else { throw ConformanceFailure("\(fault): \(problems)") }
            do { try next.deleteZone(ReleaseBench.notes) } catch let error as CloudError {
                guard error.code == .zoneNotFound else { throw error }
            }
            try next.upkeep()
            let left = try (next.heldCount(), next.contentCount(), next.problems(), next.service.verifyAssets())
            guard left.0 == 5, left.1 == 5, left.2.isEmpty, left.3.isEmpty else {
                throw ConformanceFailure("\(fault), which threw \(thrown.map { "\($0)" } ?? "nothing"): \(left)")
            }
        }
    }
}
