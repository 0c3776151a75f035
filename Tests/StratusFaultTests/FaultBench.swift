// Runs a scenario on a copy of a prepared store, with faults below LevelDB, and judges the answers to its caller and
// the contents after reopening.
//
// The rules:
//   1. Nothing is acknowledged after a failed write: neither after a transaction ended with `commitUnknown`, nor after
//      a request failed in the background.
//   2. Acknowledged transactions are complete after closing and reopening. One more transaction may be there: the
//      unknown one.
//   3. Every error names its cause. A failed read is an error, never a missing key.
//   4. The reopened store has no damage, and accepts transactions.

import Foundation
import StratusLevelDB
import StratusStore
import StratusTestSupport
import Testing

/// The results of a run.
struct FaultVerdict {
    var violations: [String] = []
    var errors: [SeenError] = []
    /// Steps that were acknowledged.
    var acknowledgedCount = 0
    /// Whether one step ended with `commitUnknown`.
    var hasUnknownCommit = false
    /// Whether the unknown commit was there after reopening.
    var unknownCommitWasThere = false
    var faultCount = 0
    var appendedByteCount = 0
    var requestCounts: [EngineFaultPoint: Int] = [:]

    /// The steps whose effects may be there after reopening.
    var possibleCounts: [Int] { hasUnknownCommit ? [acknowledgedCount, acknowledgedCount + 1] : [acknowledgedCount] }
}

/// A prepared store, and its contents after every step.
final class FaultBench: Sendable {
    let scenario: any FaultScenario
    private let syncsInBackground: Bool
    private let template: ScratchDirectory
    let states: [StoreContents]
    /// A run in which nothing failed.
    let calm: FaultVerdict

    /// Small buffers and no cache, so that LevelDB uses its files often.
    static var options: LevelDBOptions {
        var options = LevelDBOptions()
        options.compression = .none
        options.blockCacheByteCount = 0
        options.keptByteCount = 0
        options.writeBufferByteCount = 64 << 10
        options.blockByteCount = 16 << 10
        return options
    }

    /// With `syncsInBackground` the log of every commit is synced during its insertion, else before.
    init(_ scenario: any FaultScenario, syncsInBackground: Bool = true) throws {
        self.scenario = scenario
        self.syncsInBackground = syncsInBackground
        template = try ScratchDirectory()
        let environment = try FaultyEnvironment()
        // Its log is not empty, so that each opening reads one.
        let store = try Self.open(template.path, environment) { $0.testHooks.leavesLog = true }
        try scenario.prepare(store)
        store.close()
        try #require(Self.logByteCount(in: template.path) > 0)

        let directory = try ScratchDirectory(copying: template.path)
        let trial = try Self.open(directory.path, nil)
        let run = try scenario.begin(trial, trial, states: [])
        var states = [try contents(trial)]
        for step in 0..<scenario.stepCount {
            try run.perform(step)
            states.append(try contents(trial))
        }
        trial.close()
        self.states = states
        calm = try Self.run(
            scenario, template.path, states, .stops, { _ in }, { $0.syncs(inBackground: syncsInBackground) }, { $0 })
        try #require(calm.violations == [], "the scenario must be right without faults")
    }

    static func open(
        _ path: String, _ environment: FaultyEnvironment?, _ change: (inout LevelDBOptions) -> Void = { _ in }
    ) throws -> LevelDBStore {
        var options = Self.options
        options.testHooks.environment = environment
        change(&options)
        return try LevelDBStore.open(at: path, options: options)
    }

    /// The bytes of a store's logs.
    static func logByteCount(in path: String) throws -> Int {
        let names = try FileManager.default.contentsOfDirectory(atPath: path).filter { $0.hasSuffix(".log") }
        return try names.reduce(0) { sum, name in
            let size = try FileManager.default.attributesOfItem(atPath: "\(path)/\(name)")[.size] as? Int
            return sum + (size ?? 0)
        }
    }

    func copy() throws -> ScratchDirectory { try ScratchDirectory(copying: template.path) }

    /// One run with one fault, armed when the store is open. `wrap` puts a plant around the store.
    func run(
        _ fault: EngineFault, _ change: (inout LevelDBOptions) -> Void = { _ in },
        wrap: (LevelDBStore) -> any OrderedStore = { $0 }
    ) throws -> FaultVerdict {
        try Self.run(
            scenario, template.path, states, FaultStrictness(fault.point), { $0.arm(fault) },
            { [syncsInBackground] options in
                options.syncs(inBackground: syncsInBackground)
                change(&options)
            }, wrap)
    }

    /// One run on a disk with room for a number of bytes.
    func run(diskByteCount: Int) throws -> FaultVerdict {
        try Self.run(
            scenario, template.path, states, .stops, { $0.limitDisk(byteCount: diskByteCount) },
            { [syncsInBackground] in $0.syncs(inBackground: syncsInBackground) }, { $0 })
    }

    /// One run for every request of a kind, or for some of them. Returns the verdicts, with the violations.
    func sweep(
        _ point: EngineFaultPoint, _ effect: EngineFaultEffect = .refused, repetitions: Int = 1, stride step: Int = 1
    ) throws -> [FaultVerdict] {
        let count = calm.requestCounts[point, default: 0]
        return try stride(from: 1, through: count, by: step).map { occurrence in
            let fault = EngineFault(point, effect, at: occurrence, repetitions: repetitions)
            var verdict = try run(fault)
            if verdict.faultCount == 0 { verdict.violations.append("it never struck") }
            verdict.violations = verdict.violations.map { "\(fault): \($0)" }
            return verdict
        }
    }

    private static func run(
        _ scenario: any FaultScenario, _ template: String, _ states: [StoreContents],
        _ strictness: FaultStrictness, _ arm: (FaultyEnvironment) -> Void, _ change: (inout LevelDBOptions) -> Void,
        _ wrap: (LevelDBStore) -> any OrderedStore
    ) throws -> FaultVerdict {
        let directory = try ScratchDirectory(copying: template)
        let environment = try FaultyEnvironment()
        let engine = try open(directory.path, environment, change)
        let store = wrap(engine)
        let steps = try scenario.begin(store, engine, states: states)
        environment.waitUntilIdle()
        let countsBefore = EngineFaultPoint.allCases.map { environment.count(of: $0) }
        let bytesBefore = environment.appendedByteCount
        arm(environment)
        var judge = FaultJudge(strictness)
        judge.follow(steps, scenario.stepCount, environment)
        judge.readAll(store, states)
        store.close()
        environment.disarm()
        judge.verdict.faultCount = environment.faultCount
        judge.verdict.appendedByteCount = environment.appendedByteCount - bytesBefore
        for (point, before) in zip(EngineFaultPoint.allCases, countsBefore) {
            judge.verdict.requestCounts[point] = environment.count(of: point) - before
        }
        judge.reopen(directory.path, states, scenario)
        return judge.verdict
    }
}

extension LevelDBOptions {
    /// Syncs all commits, of any size, during their insertion, or all before.
    mutating func syncs(inBackground: Bool) { backgroundSyncByteCount = inBackground ? 1 : .max }
}
