// A process that saves without pause is killed at a random moment, again and again over the same store. After each kill
// everything acknowledged must be there, no commit may be partial, and at most one commit of each writer may be
// unacknowledged; and the work on indexes must be able to continue.

import Foundation
import StratusLevelDB
import StratusRecords
import StratusTestSupport
import Testing

@Suite("kills")
struct KillTests {
    private static let killCount = CaseCount.of(80, full: 400)
    private static let partCount = 4

    @Test("an acknowledged commit survives a kill completely", arguments: 0..<partCount)
    func kills(part: Int) async throws {
        let (acknowledgedCount, unfinishedIndexCount) = try await TestThreads.offPool {
            var round = try KillRound(seed: UInt64(part + 1))
            for _ in 0..<(Self.killCount / Self.partCount) { try round.run() }
            return (round.acknowledgedCount, round.unfinishedIndexCount)
        }
        // The rounds did write something: a child that fails at once would prove nothing.
        #expect(acknowledgedCount > Self.killCount)
        #expect(unfinishedIndexCount > 0)
    }

    @Test("a lost acknowledged commit and half a commit are detected", arguments: KillPlant.all)
    fileprivate func planted(plant: KillPlant) async throws {
        let failure = await #expect(throws: HistoryFailure.self) {
            try await TestThreads.offPool {
                var round = try KillRound(seed: 9, planted: plant)
                for _ in 0..<8 { try round.run() }
            }
        }
        #expect(failure?.description.contains("the child") == false)
    }

    @Test("a child that exits by itself, or prints nothing, is detected", arguments: ["/bin/true", "/bin/false"])
    func endsByItself(program: String) async throws {
        let failure = await #expect(throws: ChildEndedByItself.self) {
            try await TestThreads.offPool {
                var round = try KillRound(seed: 1, program: URL(fileURLWithPath: program))
                for _ in 0..<4 { try round.run() }
            }
        }
        #expect(failure?.acknowledgementCount == 0)
    }
}

/// A child that did not end by the kill.
private struct ChildEndedByItself: Error {
    let end: ChildProcess.End
    let acknowledgementCount: Int
}

/// Changes to a store after a kill, so that the checks are shown to detect them.
private enum KillPlant {
    /// One commit more than there is counts as acknowledged.
    case lostCommit
    case halfCommit(CrashDamage)

    static let all: [KillPlant] = [.lostCommit] + CrashDamage.allCases.map { .halfCommit($0) }
}

/// One store over which children are killed. A violation is thrown as `HistoryFailure`.
private struct KillRound {
    private let directory: TemporaryStoreDirectory
    private let workload: CrashWorkload
    private var random: SplitMix64
    private var replays: [CrashWorkload.Replay]
    private(set) var acknowledgedCount = 0
    /// Zones in which the work on indexes was unfinished.
    private(set) var unfinishedIndexCount = 0
    private let seed: UInt64
    private let program: URL
    private let planted: KillPlant?

    /// `program` is the program to kill.
    init(seed: UInt64, program: URL = Self.child, planted: KillPlant? = nil) throws {
        self.seed = seed
        self.program = program
        self.planted = planted
        directory = TemporaryStoreDirectory()
        workload = CrashWorkload(seed: seed)
        random = SplitMix64(seed: seed)
        replays = (0..<CrashWorkload.writerCount).map { [workload] in CrashWorkload.Replay(workload, writer: $0) }
    }

    private static var child: URL {
        URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appendingPathComponent("stratus-test-program")
    }

    mutating func run() throws {
        var acknowledged = try killedChild()
        let store = try LevelDBStore.open(at: directory.path)
        defer { store.close() }
        let engine = try CrashWorkload.openEngine(on: store)
        switch planted {
        case .lostCommit?: acknowledged[0] = try CrashWorkload.lastCommit(of: 0, in: engine) + 1
        // A store that has no record yet is damaged in the next round.
        case .halfCommit(let damage)?: _ = try damage.strike(engine)
        case nil: break
        }
        for writer in 0..<CrashWorkload.writerCount {
            let last = try CrashWorkload.lastCommit(of: writer, in: engine)
            let floor = max(acknowledged[writer] ?? 0, replays[writer].number)
            guard last >= floor else {
                throw HistoryFailure("seed \(seed): commit \(floor) of writer \(writer) was acknowledged and is lost")
            }
            guard last <= floor + 1 else {
                throw HistoryFailure("seed \(seed): commit \(last) of writer \(writer) came before \(floor + 1)")
            }
            acknowledgedCount += last - replays[writer].number
            replays[writer].advance(to: last)
            try replays[writer].check(engine)
        }
        try verify(engine)
        // Indexes that a kill left half filled or half cleared are continued.
        unfinishedIndexCount += try engine.buildIndexes(pause: {}).zonesFinished
        try verify(engine)
    }

    private func verify(_ engine: RecordEngine) throws {
        let report = try engine.verify()
        guard report.isClean else { throw HistoryFailure("seed \(seed): \(report.findings)") }
    }

    /// Starts a child, kills it after some acknowledgements, and returns the last one of each writer.
    private mutating func killedChild() throws -> [Int: Int] {
        let output = Pipe()
        let isSynced = Bool.random(using: &random)
        let child = try ChildProcess(
            program.path, ["crash", directory.path, "\(seed)", isSynced ? "sync" : "nosync"],
            output: .file(output.fileHandleForWriting))
        try output.fileHandleForWriting.close()
        let wanted = Int.random(in: 0...40, using: &random)
        var text: [UInt8] = []
        var lineCount: Int { text.count { $0 == UInt8(ascii: "\n") } }
        while lineCount < wanted {
            let data = output.fileHandleForReading.availableData
            if data.isEmpty { break }
            text += data
        }
        child.kill()
        text += output.fileHandleForReading.readDataToEndOfFile()
        let end = child.wait()
        // A child that traps or fails on what a kill left behind must not pass for one that was killed.
        guard end == .killed(signal: SIGKILL), lineCount >= wanted else {
            throw ChildEndedByItself(end: end, acknowledgementCount: lineCount)
        }
        return try acknowledgements(String(decoding: text, as: UTF8.self))
    }

    private func acknowledgements(_ text: String) throws -> [Int: Int] {
        var last: [Int: Int] = [:]
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            let numbers = words.compactMap { UInt64($0) }
            guard words.count == 3, numbers.count == 3 else { throw HistoryFailure("the child says: \(line)") }
            let (writer, number) = (Int(numbers[0]), Int(numbers[1]))
            guard workload.digest(of: writer, number) == numbers[2] else {
                throw HistoryFailure("the child means another commit: \(line)")
            }
            last[writer] = number
        }
        return last
    }
}

/// A path of its own, removed with the store's files.
final class TemporaryStoreDirectory: Sendable {
    let path = FileManager.default.temporaryDirectory.appending(path: "stratus-\(UUID().uuidString)").path

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }
}
