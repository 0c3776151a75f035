// Every request of LevelDB to the operating system during a scenario fails once, in every possible way: on the bare
// store and under the record layer. `make test` tries every third, `make sweeps` all.

import StratusLevelDB
import StratusStore
import StratusTestSupport
import Testing

@Suite struct FailingRequestTests {
    /// A kind of fault.
    struct Sweep: Sendable, CustomStringConvertible {
        let point: EngineFaultPoint
        let effect: EngineFaultEffect
        let repetitions: Int
        let description: String

        init(_ point: EngineFaultPoint, _ effect: EngineFaultEffect = .refused, repetitions: Int = 1) {
            self.point = point
            self.effect = effect
            self.repetitions = repetitions
            description = "\(point) \(effect)" + (repetitions == 1 ? "" : " from then on")
        }
    }

    static let writes = [
        Sweep(.append), Sweep(.append, .shortened), Sweep(.append, .done),
        Sweep(.append, repetitions: .max), Sweep(.flush), Sweep(.flush, .done),
        Sweep(.sync), Sweep(.sync, .lost), Sweep(.close), Sweep(.openWritable),
    ]
    static let others = [
        Sweep(.remove), Sweep(.openRandom), Sweep(.readRandom), Sweep(.readRandom, .shortened),
    ]

    @Test(
        "after any failed write nothing more is acknowledged, nothing acknowledged is lost, and no commit is partial",
        arguments: [false, true])
    func writes(syncsInBackground: Bool) async throws {
        try await TestThreads.offPool {
            let bench = try FaultBench(PlainScenario(), syncsInBackground: syncsInBackground)
            try Self.check(Self.writes, bench, mustEndCommits: true)
        }
    }

    @Test("after any failed write under the record layer its indexes are consistent after reopening")
    func recordWrites() async throws {
        try await TestThreads.offPool {
            try Self.check(Self.writes, FaultBench(RecordScenario()), mustEndCommits: true)
        }
    }

    @Test("a failed read is an error or changes no answer, and is never a missing key")
    func others() async throws {
        try await TestThreads.offPool {
            try Self.check(Self.others, FaultBench(PlainScenario()), mustEndCommits: false)
        }
    }

    @Test("a failed read under the record layer is an error or changes no answer")
    func recordReads() async throws {
        try await TestThreads.offPool {
            try Self.check(
                [Sweep(.openRandom), Sweep(.readRandom)], FaultBench(RecordScenario()), mustEndCommits: false)
        }
    }

    private static func check(_ sweeps: [Sweep], _ bench: FaultBench, mustEndCommits: Bool) throws {
        for sweep in sweeps {
            let verdicts = try bench.sweep(
                sweep.point, sweep.effect, repetitions: sweep.repetitions, stride: CaseCount.isFull ? 1 : 3)
            let violations = verdicts.flatMap(\.violations)
            #expect(violations.isEmpty, "\(sweep)")
            #expect(!verdicts.isEmpty, "the scenario makes no request for \(sweep)")
            // A fault in the last step's background work comes too late for an error.
            if mustEndCommits { #expect(verdicts.contains { $0.hasUnknownCommit }, "\(sweep)") }
            if sweep.point == .readRandom { #expect(verdicts.contains { !$0.errors.isEmpty }) }
        }
    }

    @Test("a commit whose sync failed may be there after reopening, or not", arguments: [false, true])
    func unknownCommits(syncsInBackground: Bool) async throws {
        try await TestThreads.offPool {
            let bench = try FaultBench(PlainScenario(), syncsInBackground: syncsInBackground)
            #expect(try bench.sweep(.sync).contains { $0.unknownCommitWasThere })
            let lost = try bench.sweep(.sync, .lost)
            #expect(lost.contains { $0.hasUnknownCommit && !$0.unknownCommitWasThere })
        }
    }

    @Test("a disk that is full at any point is reported as full, and nothing acknowledged is lost")
    func fullDisk() async throws {
        try await TestThreads.offPool {
            for scenario in [PlainScenario(), RecordScenario()] as [any FaultScenario] {
                let bench = try FaultBench(scenario)
                let byteCount = bench.calm.appendedByteCount
                for number in 0..<40 {
                    let room = byteCount * number / 40
                    let verdict = try bench.run(diskByteCount: room)
                    #expect(verdict.violations.isEmpty, "\(room) bytes")
                    #expect(verdict.faultCount > 0, "\(room) bytes")
                    #expect(verdict.errors.allSatisfy { ($0.reason ?? $0.code) == "diskFull" }, "\(room) bytes")
                    // The last tables are written when the last transaction has returned.
                    if number < 20 { #expect(verdict.hasUnknownCommit, "\(room) bytes") }
                }
            }
        }
    }
}
