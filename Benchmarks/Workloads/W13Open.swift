// W13: open a large store, beside a raw LevelDB with the same entries and SQLite, and answer W3 at random. Each is
// asked in a process of its own, so that the memory it takes is the store's and not the benchmark's.

import ArgumentParser
import Foundation
import StratusLayout
import StratusLevelDB
import StratusModel
import StratusRecords
import StratusStore
import StratusWorkloads

enum OpenWorkload: Workload {
    static let name = "W13"
    static let title = "open a large store and ask it at random"
    private static let memoryBarMebibytes = 512.0

    static func run(_ run: BenchmarkRun) throws {
        try run.sqlite.settle()
        let task = try OpenTask(run)
        let answers = try closing(run) {
            try [OpenMeasurement.Contestant.stratus, .leveldb, .sqlite].map {
                try OpenMeasurement.inOwnProcess($0, task)
            }
        }
        report(run, answers)
    }

    /// Runs `body` while the stores of the run are closed, and opens them again.
    static func closing<Result>(_ run: BenchmarkRun, _ body: () throws -> Result) throws -> Result {
        run.stratus.close()
        run.raw.close()
        try run.sqlite.close()
        run.sqliteInC.close()
        for reference in run.references { reference.store.close() }
        let result = try body()
        run.stratus = try StratusSide(at: run.folder + "/stratus")
        run.raw = try RawLevelDBPeer(path: run.folder + "/leveldb")
        run.sqlite = try SQLitePeer(
            path: run.folder + "/sqlite.db", cacheByteCount: SQLitePeer.sharedCacheByteCount)
        run.sqliteInC = try SQLiteInCPeer(path: run.folder + "/sqlite-c.db")
        try run.openReferences()
        return result
    }

    private static func report(_ run: BenchmarkRun, _ answers: [OpenMeasurement]) {
        let own = answers[0]
        let peers = [("raw LevelDB", 1), ("GRDB", 2)]
        for (peer, index) in peers {
            run.add(
                Figure(
                    name, "open", own.openMilliseconds[0], "ms", against: peer, own.openMilliseconds[index],
                    ratio: .ourShareOfTheirs, index == 1 ? .atMost(2) : .none))
        }
        let questions = "after \(Figure.text(Double(own.questionCount))) questions"
        run.add(
            Figure(
                name, "anonymous memory \(questions)", count: own.anonymousMebibytes ?? .nan, "MiB",
                .atMost(memoryBarMebibytes)))
        for (peer, index) in peers {
            run.add(
                Figure(
                    name, "anonymous memory \(questions)", own.anonymousMebibytes ?? .nan, "MiB", against: peer,
                    answers[index].anonymousMebibytes ?? .nan, ratio: .ourShareOfTheirs, .none))
        }
        for (peer, index) in peers {
            run.add(
                Figure(
                    name, "W3 at random, not warmed", own.questionMicroseconds ?? .nan, "µs", against: peer,
                    answers[index].questionMicroseconds ?? .nan, ratio: .theirsOverOurs, .none))
        }
        run.add(
            Plot(
                workload: name, title: title, xLabel: "time opened", yLabel: "ms",
                series: zip(["Stratus", "raw LevelDB", "GRDB"], own.openings).map { contestant, times in
                    Series(contestant, times.enumerated().map { (Double($0 + 1), $1) })
                },
                note: """
                    Ours opens LevelDB, reads the marks of format and interrupted work, and makes its caches; SQLite reads the \
                    head of its file and the schema, and reads more when it is asked.
                    """))
    }
}

/// The task of a process that opens stores.
struct OpenTask: Codable {
    var folder: String
    var recordCount: Int
    /// What every key in the parents keyspace of the main zone begins with.
    var parentPrefix: [UInt8]
    /// The same for its records.
    var recordPrefix: [UInt8]
    /// What is asked with nothing in memory, once each. None: the stores are measured warm.
    var cold: [ColdQuestions] = []

    init(_ run: BenchmarkRun) throws {
        (folder, recordCount) = (run.folder, run.scale.recordCount)
        let keys = try run.stratus.engine.read { try $0.existingZone(StratusSide.mainZone).keys }
        parentPrefix = Array(keys.parent(of: RecordName("")).dropLast())
        recordPrefix = Array(keys.record(RecordName("")).dropLast())
    }
}

/// What the process that opens the stores has found.
struct OpenMeasurement: Codable {
    /// Who is opened and asked.
    enum Contestant: String, CaseIterable, ExpressibleByArgument {
        case stratus, leveldb, sqlite, sqliteInC, lmdb, rocksdb

        /// Its directory or file in the folder of the run.
        var name: String {
            switch self {
            case .stratus: "/stratus"
            case .leveldb: "/leveldb"
            case .sqlite: "/sqlite.db"
            case .sqliteInC: "/sqlite-c.db"
            case .lmdb: "/lmdb"
            case .rocksdb: "/rocksdb"
            }
        }

        var title: String {
            switch self {
            case .stratus: "Stratus"
            case .leveldb: "raw LevelDB"
            case .sqlite: "GRDB"
            case .sqliteInC: "SQLite in C"
            case .lmdb: "LMDB"
            case .rocksdb: "RocksDB"
            }
        }
    }

    var cold: ColdMeasurement?

    /// Milliseconds of every opening, of each contestant in turn; only the first process opens all.
    var openings: [[Double]] = []
    /// Nil where the system does not say: no number, which meets no bar.
    var anonymousMebibytes: Double?
    var questionCount = 0
    var questionMicroseconds: Double?

    var openMilliseconds: [Double] { openings.map(Stopwatch.median) }

    /// Runs this executable again as `open-stores`.
    static func inOwnProcess(_ contestant: Contestant, _ task: OpenTask) throws -> OpenMeasurement {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = [
            "open-stores", contestant.rawValue, String(decoding: try JSONEncoder().encode(task), as: UTF8.self),
        ]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw PeerError("The process that opens the stores failed.") }
        return try JSONDecoder().decode(Self.self, from: data)
    }

    /// The work of that process.
    init(_ contestant: Contestant, _ task: OpenTask) throws {
        guard task.cold.isEmpty else {
            cold = try ColdMeasurement(contestant, task)
            return
        }
        let opens: [() throws -> Void] = [
            { try StratusSide.openAndClose(at: task.folder + "/stratus") },
            { try RawLevelDBPeer(path: task.folder + "/leveldb").close() },
            { try Self.openSQLite(task).close() },
        ]
        switch contestant {
        case .stratus:
            // A store that was closed while compactions were behind has a log, which its first opening makes a table.
            try opens[0]()
            let stratus = try StratusSide(at: task.folder + "/stratus")
            try measureQuestions(task) { try StratusSide.askShares(stratus.engine, $0) }
            stratus.close()
        case .leveldb:
            try opens[1]()
            let raw = try RawLevelDBPeer(path: task.folder + "/leveldb")
            try measureQuestions(task) { names in
                for name in names {
                    _ = try raw.walk(from: task.parentPrefix + name.text.utf8 + [0], prefix: task.parentPrefix)
                }
            }
            raw.close()
        case .sqlite:
            let sqlite = try Self.openSQLite(task)
            try measureQuestions(task) { names in _ = try sqlite.read { try $0.share(of: names) } }
            try sqlite.close()
        case .sqliteInC, .lmdb, .rocksdb: break
        }
        guard contestant == .stratus else { return }
        openings = opens.map { _ in [] }
        for _ in 0..<7 {
            for (index, open) in opens.enumerated() { openings[index].append(try Stopwatch.seconds(open) * 1e3) }
        }
    }

    static func openSQLite(_ task: OpenTask) throws -> SQLitePeer {
        try SQLitePeer(path: task.folder + "/sqlite.db", cacheByteCount: SQLitePeer.sharedCacheByteCount)
    }

    private mutating func measureQuestions(_ task: OpenTask, _ ask: ([RecordName]) throws -> Void) throws {
        questionCount = min(task.recordCount, 200_000)
        var numbers = SeededNumbers(seed: 3)
        var seconds = 0.0
        // In pages, so that the names do not count as the store's memory.
        for _ in 0..<questionCount / 1_000 {
            let targets = (0..<1_000).map { _ in
                RecordName(seed: MainZoneData.seed, index: numbers.below(task.recordCount))
            }
            seconds += try Stopwatch.seconds { try ask(targets) }
        }
        questionMicroseconds = seconds / Double(questionCount) * 1e6
        anonymousMebibytes = ProcessMemory.anonymousByteCount().map { Double($0) / Double(1 << 20) }
    }
}
