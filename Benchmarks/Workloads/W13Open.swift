// W13: open a large store, beside a raw LevelDB with the same entries, and answer W3 at random. It runs in a process of
// its own, so that the memory it takes is the store's and not the benchmark's.

import Foundation
import StratusModel

enum OpenWorkload: Workload {
    static let name = "W13"
    static let title = "open a large store and ask it at random"
    private static let memoryBarMebibytes = 512.0

    static func run(_ run: BenchmarkRun) throws {
        run.stratus.close()
        run.raw.close()
        let answer = try OpenMeasurement.inOwnProcess(folder: run.folder, recordCount: run.scale.recordCount)
        run.stratus = try StratusSide(at: run.folder + "/stratus")
        run.raw = try RawLevelDBPeer(path: run.folder + "/leveldb")
        run.add(
            Figure(
                name, "open", answer.openMilliseconds, "ms", against: "raw LevelDB", answer.rawOpenMilliseconds,
                ratio: .ourShareOfTheirs, .atMost(2)))
        run.add(
            Figure(
                name, "anonymous memory after \(Figure.text(Double(answer.questionCount))) questions",
                count: answer.anonymousMebibytes ?? .nan, "MiB", .atMost(memoryBarMebibytes)))
        run.add(Figure(name, "W3 at random, not warmed", count: answer.questionMicroseconds, "µs", .none))
        run.add(
            Plot(
                workload: name, title: title, xLabel: "time opened", yLabel: "ms",
                series: [
                    Series("Stratus", answer.openings.enumerated().map { (Double($0 + 1), $1) }),
                    Series("raw LevelDB", answer.rawOpenings.enumerated().map { (Double($0 + 1), $1) }),
                ]))
    }
}

/// What the process that opens the stores has found.
struct OpenMeasurement: Codable {
    var openings: [Double] = []
    var rawOpenings: [Double] = []
    /// Nil where the system does not say: no number, which meets no bar.
    var anonymousMebibytes: Double?
    var questionCount = 0
    var questionMicroseconds = Double.nan

    var openMilliseconds: Double { Stopwatch.median(openings) }
    var rawOpenMilliseconds: Double { Stopwatch.median(rawOpenings) }

    /// Runs this executable again as `open-stores`.
    static func inOwnProcess(folder: String, recordCount: Int) throws -> OpenMeasurement {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = ["open-stores", folder, "\(recordCount)"]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw PeerError("The process that opens the stores failed.") }
        return try JSONDecoder().decode(Self.self, from: data)
    }

    /// The work of that process.
    init(folder: String, recordCount: Int) throws {
        let stratusPath = folder + "/stratus"
        let rawPath = folder + "/leveldb"
        // The first opening of each turns the log of its last session into a table, which no later one must.
        try StratusSide(at: stratusPath).close()
        try RawLevelDBPeer(path: rawPath).close()
        try measureQuestions(stratusPath, recordCount)
        for _ in 0..<7 {
            openings.append(
                try Stopwatch.seconds { try StratusSide(at: stratusPath).close() } * 1e3)
            rawOpenings.append(
                try Stopwatch.seconds { try RawLevelDBPeer(path: rawPath).close() } * 1e3)
        }
    }

    private mutating func measureQuestions(_ path: String, _ recordCount: Int) throws {
        let stratus = try StratusSide(at: path)
        defer { stratus.close() }
        questionCount = min(recordCount, 200_000)
        var numbers = SeededNumbers(seed: 3)
        // In pages, so that the names do not count as the store's memory.
        let seconds = try Stopwatch.seconds {
            for _ in 0..<questionCount / 1_000 {
                let targets = (0..<1_000).map { _ in
                    RecordName(seed: MainZoneData.seed, index: numbers.below(recordCount))
                }
                try ShareLookupWorkload.askStratus(stratus.engine, targets)
            }
        }
        questionMicroseconds = seconds / Double(questionCount) * 1e6
        anonymousMebibytes = ProcessMemory.anonymousByteCount().map { Double($0) / Double(1 << 20) }
    }
}
