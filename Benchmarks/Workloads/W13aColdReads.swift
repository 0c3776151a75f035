// W13a: open a large store and ask it with nothing of its files in memory, as after a restart of the machine: which
// share a record is in, records at random, the first page of a first sync, a page of a query, a page of changes. Each
// store is asked in a process of its own, and opened again before each question.

import Foundation
import StratusCloud
import StratusLayout
import StratusLevelDB
import StratusModel
import StratusRecords
import StratusStore
import StratusWorkloads

enum ColdWorkload: QueryWorkload {
    static let name = "W13a"
    static let title = "open a large store and ask it, with nothing of it in memory"

    static func run(_ run: BenchmarkRun) throws {
        var task = try OpenTask(run)
        task.cold = try questions(run)
        try run.waitForRest()
        let references: [OpenMeasurement.Contestant] = run.references.isEmpty ? [] : [.lmdb, .rocksdb]
        let contestants: [OpenMeasurement.Contestant] = [.stratus, .leveldb, .sqlite, .sqliteInC] + references
        let answers = try OpenWorkload.closing(run) {
            try contestants.map { try OpenMeasurement.inOwnProcess($0, task).cold }
        }
        for work in ColdWork.allCases {
            for (peer, answer) in zip(contestants.map(\.title), answers).dropFirst() {
                guard let own = answers[0]?.medians[work], let theirs = answer?.medians[work] else { continue }
                run.add(
                    Figure(name, work.subject, own, work.unit, against: peer, theirs, ratio: .theirsOverOurs, .none))
            }
        }
    }

    /// Changes a tenth of the zone, so that a page of changes has records from everywhere, and chooses what to ask.
    private static func questions(_ run: BenchmarkRun) throws -> [ColdQuestions] {
        let zone = run.main.zone
        let roots = zone.forest.sample(atDepth: 10, limit: ColdQuestions.roundCount, seed: 13)
        let changes = RecordChanges(
            indices: RecordChanges.tenth(of: zone, seed: 131, batchCount: ColdQuestions.roundCount),
            firstChange: 1 << 43)
        let positions = try changes.save(run)
        let files = SizeQueries.filesBySize(zone)
        var numbers = SeededNumbers(seed: 130)
        return roots.enumerated().map { round, root in
            let start = (2 * round + 1) * files.count / (2 * roots.count)
            let page = files[start..<start + SizeQueries.resultCount]
            return ColdQuestions(
                root: root, records: (0..<ColdQuestions.fetchCount).map { _ in numbers.below(zone.count) },
                files: page.map(\.index), sizes: page[page.startIndex].size...page[page.endIndex - 1].size,
                position: positions[(2 * round + 1) * positions.count / (2 * roots.count)])
        }
    }
}

/// What a store is asked in one round. Records are indices of the zone.
struct ColdQuestions: Codable {
    static let roundCount = 5
    static let fetchCount = 100
    static let syncCount = 1_000

    /// Whose share is asked for.
    var root: Int
    /// What is fetched.
    var records: [Int]
    /// The files of a page of a query, and their sizes.
    var files: [Int]
    var sizes: ClosedRange<Int64>
    /// Where a page of changes begins.
    var position: ChangePosition
}

/// What is measured.
enum ColdWork: Int, CaseIterable, Codable {
    case open, question, fetch, sync, query, changes

    var subject: String {
        switch self {
        case .open: "open"
        case .question: "the first question about a share"
        case .fetch: "\(ColdQuestions.fetchCount) records at random, each"
        case .sync: "the first page of a first sync, each of 1,000 records"
        case .query: "a page of a query, each of \(SizeQueries.resultCount) results"
        case .changes: "a page of changes, each of \(ChangePosition.pageCount)"
        }
    }

    var unit: String { itemCount == 1 ? "ms" : "µs" }

    /// By how many the time is divided.
    private var itemCount: Int {
        switch self {
        case .open, .question: 1
        case .fetch: ColdQuestions.fetchCount
        case .sync: ColdQuestions.syncCount
        case .query: SizeQueries.resultCount
        case .changes: ChangePosition.pageCount
        }
    }

    /// `seconds` for all items, as one of them in `unit`.
    func figure(_ seconds: Double) -> Double {
        itemCount == 1 ? seconds * 1e3 : seconds / Double(itemCount) * 1e6
    }
}

/// What a store takes with nothing of its files in memory.
struct ColdMeasurement: Codable {
    /// The median of all rounds, in the unit of the work. What a contestant cannot do is left out.
    let medians: [ColdWork: Double]

    init(_ contestant: OpenMeasurement.Contestant, _ task: OpenTask) throws {
        var figures: [ColdWork: [Double]] = [:]
        // A store that was just opened for each work: what one has read would be there for the next.
        for (questions, work) in task.cold.flatMap({ questions in ColdWork.allCases.map { (questions, $0) } }) {
            ProcessFiles.dropFromMemory(at: task.folder + contestant.name)
            var opened: (any ColdStore)?
            var seconds = try Stopwatch.seconds { opened = try Self.open(contestant, task) }
            guard let opened else { continue }
            if work != .open {
                guard let ask = try opened.asker(work, questions) else { continue }
                seconds = try Stopwatch.seconds(ask)
            }
            figures[work, default: []].append(work.figure(seconds))
            try opened.close()
        }
        medians = figures.mapValues(Stopwatch.median)
    }

    private static func open(_ contestant: OpenMeasurement.Contestant, _ task: OpenTask) throws -> any ColdStore {
        let path = task.folder + contestant.name
        return switch contestant {
        case .stratus: try ColdStratus(path)
        case .leveldb: ColdRawStore(raw: try RawLevelDBPeer(path: path), task: task)
        case .lmdb: ColdRawStore(raw: try LMDBPeer(path: path), task: task)
        case .rocksdb: ColdRawStore(raw: try RocksDBPeer(path: path), task: task)
        case .sqlite: ColdSQLite(sqlite: try OpenMeasurement.openSQLite(task))
        case .sqliteInC: ColdSQLiteInC(sqlite: try SQLiteInCPeer(path: path))
        }
    }
}

/// A store that was opened.
private protocol ColdStore {
    /// What does a work other than opening. It is prepared outside the clock. Nil if the store cannot do it.
    func asker(_ work: ColdWork, _ questions: ColdQuestions) throws -> (() throws -> Void)?
    func close() throws
}

extension ColdStore {
    func names(_ indices: [Int]) -> [RecordName] { indices.map { RecordName(seed: MainZoneData.seed, index: $0) } }

    func expect(_ count: Int, _ wanted: Int) throws {
        guard count == wanted else { throw PeerError("A page has \(count) records.") }
    }
}

/// As a host opens it: with one engine, where `StratusSide` has two.
private struct ColdStratus: ColdStore {
    private let store: LevelDBStore
    private let engine: RecordEngine

    init(_ path: String) throws {
        store = try LevelDBStore.open(at: path, options: LevelDBOptions(formatVersion: StoreFormat.number))
        engine = try RecordEngine(store: store, incarnation: UUID())
    }

    func asker(_ work: ColdWork, _ questions: ColdQuestions) throws -> (() throws -> Void)? {
        switch work {
        case .open: return nil
        case .question:
            let root = names([questions.root])
            return { try StratusSide.askShares(engine, root) }
        case .fetch:
            let records = names(questions.records)
            return { try StratusSide.fetch(engine, records) }
        case .sync:
            let server = try ServerSide(engine: engine)
            let request = FetchZoneChangesRequest(
                zone: ZoneAddress(zoneName: StratusSide.mainZone.name.text), limit: ColdQuestions.syncCount)
            return {
                let page = try server.service.fetchZoneChanges(request, as: server.owner, in: .private)
                for record in page.changed { try ServerSide.takeOut(record) }
                try expect(page.changed.count, ColdQuestions.syncCount)
            }
        case .query:
            let server = try ServerSide(engine: engine)
            let query = SizeQueries.request(questions.sizes, in: StratusSide.mainZone)
            return { try ColdWorkload.ask(server, query) }
        case .changes:
            let server = try ServerSide(engine: engine)
            return { try server.readPage(questions.position) }
        }
    }

    func close() { store.close() }
}

/// Raw gets of the records that the others answer with. It has no feed.
private struct ColdRawStore: ColdStore {
    let raw: any ReferencePeer
    let task: OpenTask

    func asker(_ work: ColdWork, _ questions: ColdQuestions) -> (() throws -> Void)? {
        switch work {
        case .open, .sync: return nil
        case .question:
            guard let raw = raw as? RawLevelDBPeer else { return nil }
            let root = task.parentPrefix + names([questions.root])[0].text.utf8 + [0]
            return { _ = try raw.walk(from: root, prefix: task.parentPrefix) }
        case .fetch: return get(questions.records)
        case .query: return get(questions.files)
        case .changes: return get(questions.position.indices)
        }
    }

    private func get(_ indices: [Int]) -> () throws -> Void {
        let keys = names(indices).map { task.recordPrefix + $0.text.utf8 + [0] }
        return { _ = try raw.byteCount(of: keys) }
    }

    func close() { raw.close() }
}

private struct ColdSQLite: ColdStore {
    let sqlite: SQLitePeer

    func asker(_ work: ColdWork, _ questions: ColdQuestions) -> (() throws -> Void)? {
        switch work {
        case .open: return nil
        case .question:
            let root = names([questions.root])
            return { _ = try sqlite.read { try $0.share(of: root) } }
        case .fetch:
            let records = names(questions.records)
            return { _ = try sqlite.read { try $0.fetch(records) } }
        case .sync:
            let count = ColdQuestions.syncCount
            return { try expect(sqlite.read { try $0.records(after: "", limit: count).count }, count) }
        case .query:
            return {
                try expect(sqlite.read { try $0.records(ofSizes: questions.sizes).count }, questions.files.count)
            }
        case .changes: return { try sqlite.readPage(questions.position) }
        }
    }

    func close() throws { try sqlite.close() }
}

private struct ColdSQLiteInC: ColdStore {
    let sqlite: SQLiteInCPeer

    func asker(_ work: ColdWork, _ questions: ColdQuestions) throws -> (() throws -> Void)? {
        switch work {
        case .open: return nil
        case .question:
            let root = try SQLiteInCPeer.Rows(names: names([questions.root]))
            return { _ = try sqlite.read { try sqlite.sharedCount(root) } }
        case .fetch:
            let records = try SQLiteInCPeer.Rows(names: names(questions.records))
            return { _ = try sqlite.read { try sqlite.fetch(records) } }
        case .sync:
            let count = ColdQuestions.syncCount
            return { try expect(sqlite.read { try sqlite.changes(after: -1, limit: count).count }, count) }
        case .query:
            let (count, sizes) = (SizeQueries.resultCount, questions.sizes)
            return {
                try expect(sqlite.read { try sqlite.sizes(SizeQueries.type, sizes, limit: count) }, count)
            }
        case .changes: return { try sqlite.readPage(questions.position) }
        }
    }

    func close() { sqlite.close() }
}
