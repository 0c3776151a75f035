// W13: open a large store, beside a raw LevelDB with the same entries and SQLite, and answer W3 at random. Each is
// asked in a process of its own, so that the memory it takes is the store's and not the benchmark's. W13a: the same
// with nothing of the files in memory, as after a restart of the machine.

import ArgumentParser
import Foundation
import StratusCloud
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
        let keys = try run.stratus.engine.read { try $0.existingZone(StratusSide.mainZone).keys }
        let prefix = Array(keys.parent(of: RecordName("")).dropLast())
        let task = OpenTask(folder: run.folder, recordCount: run.scale.recordCount, parentPrefix: prefix)
        let answers = try closing(run) {
            try [OpenMeasurement.Contestant.stratus, .leveldb, .sqlite].map {
                try OpenMeasurement.inOwnProcess($0, task)
            }
        }
        report(run, answers)
    }

    /// Runs `body` while the stores of the run are closed, and opens them again.
    fileprivate static func closing<Result>(_ run: BenchmarkRun, _ body: () throws -> Result) throws -> Result {
        run.stratus.close()
        run.raw.close()
        try run.sqlite.close()
        run.sqliteInC.close()
        let result = try body()
        run.stratus = try StratusSide(at: run.folder + "/stratus")
        run.raw = try RawLevelDBPeer(path: run.folder + "/leveldb")
        run.sqlite = try SQLitePeer(
            path: run.folder + "/sqlite.db", cacheByteCount: SQLitePeer.sharedCacheByteCount)
        run.sqliteInC = try SQLiteInCPeer(path: run.folder + "/sqlite-c.db")
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

enum ColdWorkload: Workload {
    static let name = "W13a"
    static let title = "open a large store and ask it, with nothing of it in memory"

    static func run(_ run: BenchmarkRun) throws {
        try run.sqlite.settle()
        try run.sqliteInC.settle()
        let keys = try run.stratus.engine.read { try $0.existingZone(StratusSide.mainZone).keys }
        var task = OpenTask(
            folder: run.folder, recordCount: run.scale.recordCount,
            parentPrefix: Array(keys.parent(of: RecordName("")).dropLast()))
        task.recordPrefix = Array(keys.record(RecordName("")).dropLast())
        task.questions = run.main.zone.forest.sample(atDepth: 10, limit: ColdMeasurement.roundCount, seed: 13)
        let answers = try OpenWorkload.closing(run) {
            try OpenMeasurement.Contestant.allCases.map { try OpenMeasurement.inOwnProcess($0, task).cold }
        }
        let names = ["Stratus", "raw LevelDB", "GRDB", "SQLite in C"]
        let figures: [(subject: String, unit: String, value: (ColdMeasurement) -> Double?)] = [
            ("open", "ms", \.openMilliseconds), ("the first question about a share", "ms", \.questionMilliseconds),
            ("100 records at random, each", "µs", \.fetchMicroseconds),
            ("the first page of a first sync, each of 1,000 records", "µs", \.syncMicroseconds),
        ]
        for (subject, unit, value) in figures {
            for (name, answer) in zip(names, answers).dropFirst() {
                guard let own = answers[0].flatMap(value), let theirs = answer.flatMap(value) else { continue }
                run.add(
                    Figure(Self.name, subject, own, unit, against: name, theirs, ratio: .theirsOverOurs, .none))
            }
        }
    }
}

/// What a store takes with nothing of its files in memory.
struct ColdMeasurement: Codable {
    static let roundCount = 5
    private static let fetchCount = 100
    static let syncCount = 1_000

    var openMilliseconds: Double
    var questionMilliseconds: Double
    var fetchMicroseconds: Double
    /// Nil if the contestant has no feed.
    var syncMicroseconds: Double?

    /// A store that was opened.
    struct Opened {
        var ask: (RecordName) throws -> Void
        var fetch: ([RecordName]) throws -> Void
        /// Makes what reads the first page of a first sync.
        var makeSync: (() throws -> () throws -> Int)?
        var close: () throws -> Void
    }

    init(_ path: String, _ task: OpenTask, _ questions: [Int], _ open: () throws -> Opened) throws {
        var times: [[Double]] = [[], [], [], []]
        var numbers = SeededNumbers(seed: 130)
        for question in questions {
            let names = (0..<Self.fetchCount).map { _ in
                RecordName(seed: MainZoneData.seed, index: numbers.below(task.recordCount))
            }
            ProcessFiles.dropFromMemory(at: path)
            var opened: Opened?
            times[0].append(try Stopwatch.seconds { opened = try open() } * 1e3)
            guard let opened else { continue }
            let asked = RecordName(seed: MainZoneData.seed, index: question)
            times[1].append(try Stopwatch.seconds { try opened.ask(asked) } * 1e3)
            times[2].append(try Stopwatch.seconds { try opened.fetch(names) } / Double(Self.fetchCount) * 1e6)
            if let sync = try opened.makeSync?() {
                times[3].append(
                    try Stopwatch.seconds {
                        let count = try sync()
                        guard count == Self.syncCount else { throw PeerError("A page has \(count) records.") }
                    } / Double(Self.syncCount) * 1e6)
            }
            try opened.close()
        }
        (openMilliseconds, questionMilliseconds) = (Stopwatch.median(times[0]), Stopwatch.median(times[1]))
        fetchMicroseconds = Stopwatch.median(times[2])
        syncMicroseconds = times[3].isEmpty ? nil : Stopwatch.median(times[3])
    }
}

/// The task of a process that opens stores.
struct OpenTask: Codable {
    var folder: String
    var recordCount: Int
    /// What every key in the parents keyspace of the main zone begins with.
    var parentPrefix: [UInt8]
    /// The same for its records.
    var recordPrefix: [UInt8] = []
    /// Records whose shares are asked for with nothing in memory. None: the stores are measured warm.
    var questions: [Int] = []
}

/// What the process that opens the stores has found.
struct OpenMeasurement: Codable {
    /// Who is opened and asked.
    enum Contestant: String, CaseIterable, ExpressibleByArgument {
        case stratus, leveldb, sqlite, sqliteInC

        /// Its directory or file in the folder of the run.
        var name: String {
            switch self {
            case .stratus: "/stratus"
            case .leveldb: "/leveldb"
            case .sqlite: "/sqlite.db"
            case .sqliteInC: "/sqlite-c.db"
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
        guard task.questions.isEmpty else {
            cold = try ColdMeasurement(task.folder + contestant.name, task, task.questions) {
                try Self.open(contestant, task)
            }
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
        case .sqliteInC: break
        }
        guard contestant == .stratus else { return }
        openings = opens.map { _ in [] }
        for _ in 0..<7 {
            for (index, open) in opens.enumerated() { openings[index].append(try Stopwatch.seconds(open) * 1e3) }
        }
    }

    private static func open(_ contestant: Contestant, _ task: OpenTask) throws -> ColdMeasurement.Opened {
        let path = task.folder + contestant.name
        switch contestant {
        case .stratus:
            // As a host opens it: with one engine, where `StratusSide` has two.
            let store = try LevelDBStore.open(
                at: path, options: LevelDBOptions(formatVersion: StoreFormat.number))
            let engine = try RecordEngine(store: store, incarnation: UUID())
            return .init(
                ask: { try StratusSide.askShares(engine, [$0]) },
                fetch: { try StratusSide.fetch(engine, $0) },
                makeSync: {
                    let server = try ServerSide(engine: engine)
                    let request = FetchZoneChangesRequest(
                        zone: ZoneAddress(zoneName: StratusSide.mainZone.name.text), limit: ColdMeasurement.syncCount)
                    return {
                        let page = try server.service.fetchZoneChanges(request, as: server.owner, in: .private)
                        for record in page.changed { try ServerSide.takeOut(record) }
                        return page.changed.count
                    }
                }, close: store.close)
        case .leveldb:
            let raw = try RawLevelDBPeer(path: path)
            return .init(
                ask: { _ = try raw.walk(from: task.parentPrefix + $0.text.utf8 + [0], prefix: task.parentPrefix) },
                fetch: { for name in $0 { _ = try raw.byteCount(of: task.recordPrefix + name.text.utf8 + [0]) } },
                makeSync: nil, close: raw.close)
        case .sqlite:
            let sqlite = try openSQLite(task)
            return .init(
                ask: { name in _ = try sqlite.read { try $0.share(of: [name]) } },
                fetch: { names in _ = try sqlite.read { try $0.fetch(names) } },
                makeSync: {
                    { try sqlite.read { try $0.records(after: "", limit: ColdMeasurement.syncCount).count } }
                }, close: sqlite.close)
        case .sqliteInC:
            let sqlite = try SQLiteInCPeer(path: path)
            return .init(
                ask: { name in _ = try sqlite.read { try sqlite.sharedCount(.init(names: [name])) } },
                fetch: { names in _ = try sqlite.read { try sqlite.fetch(.init(names: names)) } },
                makeSync: {
                    { try sqlite.read { try sqlite.changes(after: -1, limit: ColdMeasurement.syncCount).count } }
                }, close: sqlite.close)
        }
    }

    private static func openSQLite(_ task: OpenTask) throws -> SQLitePeer {
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
