// The newest log file of a store is cut, or a bit of it flipped, as a crash of the machine or a bad disk might. Cut,
// the store holds exactly the commits before the cut. Flipped, it reports the damage or holds everything: it never
// loses data silently.

import Foundation
import StratusLevelDB
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("damaged logs")
struct LogCutTests {
    private static let partCount = 4

    @Test("a log truncated anywhere keeps the commits before the cut completely", arguments: 0..<partCount)
    func cuts(part: Int) async throws {
        try await TestThreads.offPool {
            let written = try WrittenStore(seed: 7, commitCount: 40)
            let sizes = written.logSizes
            // Places in the last commits: every third, or all.
            var cuts = Array(
                stride(from: sizes[sizes.count - 3], through: sizes[sizes.count - 1], by: CaseCount.isFull ? 1 : 3))
            var random = SplitMix64(seed: 7)
            cuts += (0..<CaseCount.of(60, full: 1_000)).map { _ in
                Int.random(in: sizes[0]...sizes[sizes.count - 1], using: &random)
            }
            for cut in cuts where cut % Self.partCount == part {
                let expected = sizes.lastIndex { $0 <= cut } ?? 0
                try written.withDamagedCopy({ $0.removeSubrange(cut...) }) { engine in
                    try written.check(engine, lastCommit: expected, "cut at \(cut)")
                }
            }
        }
    }

    @Test("a flipped bit in the log is corruption, or makes no difference")
    func flips() async throws {
        let reported = try await TestThreads.offPool {
            let written = try WrittenStore(seed: 8, commitCount: 30)
            let last = written.logSizes.count - 1
            var random = SplitMix64(seed: 8)
            var reported = 0
            for _ in 0..<300 {
                let position = Int.random(in: 0..<written.logSizes[last], using: &random)
                let bit = UInt8(1) << UInt8.random(in: 0..<8, using: &random)
                do {
                    try written.withDamagedCopy({ $0[position] ^= bit }) { engine in
                        try written.check(engine, lastCommit: last, "bit \(bit) of byte \(position) flipped")
                    }
                } catch let error as StoreError where error.code == .corruption {
                    reported += 1
                }
            }
            return reported
        }
        #expect(reported > 200)
    }

    @Test("a commit too many and one too few are detected", arguments: [-1, 1])
    func wrongCommit(difference: Int) async throws {
        await #expect(throws: HistoryFailure.self) {
            try await TestThreads.offPool {
                let written = try WrittenStore(seed: 9, commitCount: 20)
                // The log is cut behind the tenth commit.
                try written.withDamagedCopy({ $0.removeSubrange(written.logSizes[10]...) }) { engine in
                    try written.check(engine, lastCommit: 10 - difference, "cut behind the tenth commit")
                }
            }
        }
    }

    @Test("half a commit is detected", arguments: CrashDamage.allCases)
    func halfCommit(damage: CrashDamage) async throws {
        await #expect(throws: HistoryFailure.self) {
            try await TestThreads.offPool {
                let written = try WrittenStore(seed: 7, commitCount: 40)
                try written.withDamagedCopy({ _ in }) { engine in
                    guard try damage.strike(engine) else { throw ConformanceFailure("there is nothing to damage") }
                    try written.check(engine, lastCommit: 40, "\(damage)")
                }
            }
        }
    }
}

/// A closed store whose commits are all in one log, with the log's size after each. A violation is thrown as
/// `HistoryFailure`.
private final class WrittenStore {
    private let directory = TemporaryStoreDirectory()
    private let workload: CrashWorkload
    private let logName: String
    /// At index n the bytes of the log when commit n was acknowledged; at 0 when the zones had been created.
    private(set) var logSizes: [Int] = []
    private var replays: [Int: CrashWorkload.Replay] = [:]

    init(seed: UInt64, commitCount: Int) throws {
        workload = CrashWorkload(seed: seed)
        var options = LevelDBOptions()
        options.testHooks.leavesLog = true
        let store = try LevelDBStore.open(at: directory.path, options: options)
        defer { store.close() }
        let engine = try CrashWorkload.openEngine(on: store)
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
        guard let newest = names.filter({ $0.hasSuffix(".log") }).max() else { throw HistoryFailure("there is no log") }
        logName = newest
        let log = URL(fileURLWithPath: "\(directory.path)/\(logName)")
        var replay = CrashWorkload.Replay(workload, writer: 0)
        for number in 0...commitCount {
            if number > 0 { try workload.commit(number, of: 0, to: engine) }
            replay.advance(to: number)
            replays[number] = replay
            logSizes.append(try Data(contentsOf: log).count)
        }
    }

    func check(_ engine: RecordEngine, lastCommit: Int, _ damage: String) throws {
        let found = try CrashWorkload.lastCommit(of: 0, in: engine)
        guard found == lastCommit, let replay = replays[lastCommit] else {
            throw HistoryFailure("\(damage): the last commit is not \(lastCommit) but \(found)")
        }
        try replay.check(engine)
        let report = try engine.verify()
        guard report.isClean else { throw HistoryFailure("\(damage): \(report.findings)") }
    }

    /// Opens a copy of the store with another log.
    func withDamagedCopy(_ damage: (inout [UInt8]) -> Void, _ body: (RecordEngine) throws -> Void) throws {
        let copy = TemporaryStoreDirectory()
        try FileManager.default.copyItem(atPath: directory.path, toPath: copy.path)
        let log = URL(fileURLWithPath: "\(copy.path)/\(logName)")
        var bytes = [UInt8](try Data(contentsOf: log))
        damage(&bytes)
        try Data(bytes).write(to: log)
        let store = try LevelDBStore.open(at: copy.path)
        defer { store.close() }
        try body(RecordEngine(store: store, incarnation: HistoryContent.identity(1_000_000)))
    }
}
