// A process that saves without pause is copied from outside, again and again. Each copy is a prefix of what it has committed,
// with everything that was acknowledged before the copy was begun; and the process does not notice.

import Foundation
import StratusLevelDB
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("copies of a store that another process writes")
struct LiveCopyTests {
    private static let copyCount = 200

    @Test("200 copies under full load are prefixes of the commits, and the writer is undisturbed")
    func underLoad() async throws {
        try await TestThreads.offPool {
            let directory = TemporaryStoreDirectory()
            let folder = TemporaryStoreDirectory()
            try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: false)
            let writer = try LiveWriter(directory.path, seed: 21)
            defer { writer.kill() }
            try writer.waitForCommits(100)
            var reader = LiveReader(writer.workload)
            for number in 0..<Self.copyCount { try reader.read(directory.path, in: folder.path, number, writer) }
            #expect(reader.growthCount > 50, "the writer hardly wrote meanwhile")
            #expect(writer.isRunning, "the writer has failed: \(writer.lastLine)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
            writer.kill()
            let foreign = try FileManager.default.contentsOfDirectory(atPath: directory.path).filter { name in
                !["CURRENT", "LOCK", "LOG", "LOG.old", "STRATUS"].contains(name)
                    && ![".ldb", ".log", ".dbtmp"].contains { name.hasSuffix($0) } && !name.hasPrefix("MANIFEST-")
            }
            #expect(foreign.isEmpty)
            // The store is as the writer left it.
            let store = try LevelDBStore.open(at: directory.path)
            defer { store.close() }
            #expect(try store.verifyChecksums().damages.isEmpty)
            try reader.check(CrashWorkload.openEngine(on: store), floor: writer.acknowledged)
        }
    }
}

/// Reads copies of one store.
private struct LiveReader {
    private var replays: [CrashWorkload.Replay]
    /// How many copies held more than the one before.
    private(set) var growthCount = 0

    init(_ workload: CrashWorkload) {
        replays = (0..<CrashWorkload.writerCount).map { CrashWorkload.Replay(workload, writer: $0) }
    }

    mutating func read(_ path: String, in folder: String, _ number: Int, _ writer: LiveWriter) throws {
        let floor = writer.acknowledged
        try #require(LevelDBStore.holder(ofStoreAt: path)?.processID == writer.processID)
        let copy = try PrivateDirectory.make(in: folder, prefix: "copy-")
        defer { copy.remove() }
        _ = try LevelDBStore.copyToRead(path, into: copy.path, formatVersion: 1)
        let store = try LevelDBStore.open(at: copy.path)
        defer { store.close() }
        let before = replays.map(\.number)
        try check(CrashWorkload.openEngine(on: store), floor: floor)
        if replays.map(\.number) != before { growthCount += 1 }
        // Everything is read now and then.
        if number.isMultiple(of: 20) { try #require(try store.verifyChecksums().damages.isEmpty) }
    }

    /// Throws unless the store holds a prefix of the commits, and `floor`.
    mutating func check(_ engine: RecordEngine, floor: [Int: Int]) throws {
        for writer in 0..<CrashWorkload.writerCount {
            let last = try CrashWorkload.lastCommit(of: writer, in: engine)
            try #require(last >= max(floor[writer] ?? 0, replays[writer].number), "an acknowledged commit is missing")
            replays[writer].advance(to: last)
            try replays[writer].check(engine)
        }
        let report = try engine.verify()
        try #require(report.isClean, "\(report.findings)")
    }
}

/// A child that writes.
private final class LiveWriter: Sendable {
    let workload: CrashWorkload
    private let child = Process()
    private let progress = Locked((acknowledged: [Int: Int](), count: 0, lastLine: ""))

    init(_ path: String, seed: UInt64) throws {
        workload = CrashWorkload(seed: seed)
        let output = Pipe()
        child.executableURL = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appendingPathComponent("stratus-crash-child")
        child.arguments = [path, "\(seed)", "nosync"]
        child.standardOutput = output
        try child.run()
        let progress = progress
        Thread.detachNewThread {
            var rest = Data()
            while case let data = output.fileHandleForReading.availableData, !data.isEmpty {
                rest += data
                let lines = rest.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
                rest = Data(lines.last ?? Data())
                for line in lines.dropLast() { Self.note(String(decoding: line, as: UTF8.self), progress) }
            }
        }
    }

    private static func note(
        _ line: String, _ progress: Locked<(acknowledged: [Int: Int], count: Int, lastLine: String)>
    ) {
        let numbers = line.split(separator: " ").compactMap { Int($0) }
        progress.withLock { progress in
            progress.lastLine = line
            // The digest may be larger than any `Int`.
            guard numbers.count >= 2 else { return }
            progress.acknowledged[numbers[0]] = numbers[1]
            progress.count += 1
        }
    }

    var processID: Int32 { child.processIdentifier }
    var isRunning: Bool { child.isRunning }
    var lastLine: String { progress.value.lastLine }
    /// The last commit of each writer that the store had acknowledged.
    var acknowledged: [Int: Int] { progress.value.acknowledged }

    func waitForCommits(_ count: Int) throws {
        while progress.value.count < count {
            try #require(child.isRunning, "the writer has failed: \(lastLine)")
            TestThreads.yield()
        }
    }

    func kill() {
        guard child.isRunning else { return }
        Foundation.kill(child.processIdentifier, SIGKILL)
        child.waitUntilExit()
    }
}
