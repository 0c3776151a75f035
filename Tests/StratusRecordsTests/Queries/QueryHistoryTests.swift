// Random queries over random records, against the oracle, while records and indexes change between them. A history may
// have the engines of several hosts, of which each request uses another one.

import Foundation
import StratusLayout
import StratusLevelDB
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("Queries over random histories")
struct QueryHistoryTests {
    /// Of the histories that run everywhere.
    private static let count = TestStores.chosen?.isOnServer == true ? Int(PostgresTestStore.historyCount) : 40

    @Test("[Q-13][Q-14] every query gives the same result as examining every record, in memory")
    func inMemory() async throws {
        let random = SplitMix64.announced("query histories")
        let asked = try await TestThreads.offPool {
            var asked = QueryHistory.Asked()
            for index in 0..<Self.count {
                let stores = try TestStores.makeShared() ?? [TestStores.make()]
                var history = try QueryHistory(random.generator(forCase: index), stores)
                try history.run(steps: 25, queriesPerStep: 10)
                asked.add(history.asked)
            }
            return asked
        }
        #expect(asked.queryCount >= 250 * Self.count)
        // No kind of plan is left out.
        guard Self.count >= 40 else { return }
        #expect(Set(asked.sources.keys) == QueryHistory.Asked.allSources, "\(asked.sources)")
    }

    @Test("[Q-13][Q-14] every query gives the same result as examining every record, over a wire")
    func overWire() async throws {
        let random = SplitMix64.announced("query histories over a wire")
        try await TestThreads.offPool {
            var history = try QueryHistory(random, [TripStore()])
            try history.run(steps: 15, queriesPerStep: 10)
        }
    }

    @Test(
        "[Q-13][Q-14] every query gives the same result as examining every record, if hosts of one store take turns",
        arguments: [2, 4])
    func onManyHosts(hostCount: Int) async throws {
        let random = SplitMix64.announced("query histories of \(hostCount) hosts")
        try await TestStores.withHosts(hostCount) {
            // Chosen in this task, and not on the other thread.
            let stores = try #require(try TestStores.makeShared())
            try await TestThreads.offPool {
                var history = try QueryHistory(random, stores)
                try history.run(steps: 25, queriesPerStep: 10)
            }
        }
    }

    @Test("[Q-13][Q-14] every query gives the same result as examining every record, on disk")
    func onDisk() async throws {
        let random = SplitMix64.announced("query histories on disk")
        try await TestThreads.offPool {
            for index in 0..<4 {
                let path = FileManager.default.temporaryDirectory.appendingPathComponent("q-\(UUID().uuidString)").path
                defer { try? FileManager.default.removeItem(atPath: path) }
                let store = try TestStores.make { try LevelDBStore.open(at: path) }
                defer { store.close() }
                var history = try QueryHistory(random.generator(forCase: index), [store])
                try history.run(steps: 10, queriesPerStep: 10)
            }
        }
    }
}

extension QueryHistory {
    /// The number of queries, and the sources of their plans.
    struct Asked: Sendable {
        var queryCount = 0
        private(set) var sources: [String: Int] = [:]

        /// How the sources of plans end, except those that are distinguished otherwise.
        private static let endings = [
            "for its order", "a range", "items that begin with a text", "ranges of cells", " names of records",
            " parents", " share roots", " words",
        ]
        static let allSources = Set(endings + ["a whole type", "what several give", "one word", "a value"])

        mutating func note(_ source: String) {
            let kind =
                if source.hasPrefix("reads all records of type ") {
                    "a whole type"
                } else if source.contains(" and ") {
                    "what several give"
                } else if source.contains("the word \"") {
                    "one word"
                } else {
                    Self.endings.first { source.hasSuffix($0) } ?? "a value"
                }
            sources[kind, default: 0] += 1
        }

        mutating func add(_ other: Asked) {
            queryCount += other.queryCount
            sources.merge(other.sources) { $0 + $1 }
        }
    }
}

struct QueryMismatch: Error, CustomStringConvertible {
    var description: String
}

/// A zone, its known contents, and the dice.
struct QueryHistory {
    /// Of all hosts of the store.
    private let engines: [RecordEngine]
    private let turn = Locked(0)
    let id = ZoneID(database: DatabaseID(container: "c", owner: "alice", scope: .private), name: "zone")
    var dice: QueryDice
    var records: [RecordName: StoredRecord] = [:]
    var tick = 0.0
    private(set) var asked = Asked()

    init(_ random: SplitMix64, _ stores: [any OrderedStore]) throws {
        dice = QueryDice(random: random)
        var options = RecordEngineOptions()
        options.limits.indexBatchCount = 3
        options.limits.queryProbeCount = dice.random.element(of: [0, 2, 8, 128])
        var engines: [RecordEngine] = []
        for store in stores {
            engines.append(try RecordEngine(store: store, options: options, incarnation: dice.random.uuid()))
        }
        self.engines = engines
        let birth = ZoneBirth(
            identity: dice.random.uuid(), incarnation: dice.random.uuid(),
            stamp: Stamp(date: Date(timeIntervalSinceReferenceDate: 0), user: "alice"),
            databaseIdentity: dice.random.uuid())
        try nextEngine().transact { [id] in try $0.createZone(id, birth) }
    }

    /// The engine of the host whose turn it is.
    private func nextEngine() -> RecordEngine {
        engines[turn.takeNext() % engines.count]
    }

    mutating func run(steps: Int, queriesPerStep: Int) throws {
        for step in 0..<steps {
            try write()
            if dice.random.isOne(in: 4) { try changeIndexes() }
            if dice.random.isOne(in: 2) { try build(commits: dice.random.below(12)) }
            for _ in 0..<queriesPerStep { try ask() }
            if step % 8 == 7 { try verify() }
        }
        try build(commits: .max)
        try verify()
        for _ in 0..<queriesPerStep { try ask() }
    }

    func verify() throws {
        let report = try nextEngine().verify()
        guard report.isClean else { throw QueryMismatch(description: "verify: \(report.findings)") }
    }

    private mutating func write() throws {
        tick += 1
        let user: UserName = dice.random.element(of: ["alice", "bob"])
        var request = MutationRequest(
            [], stamp: Stamp(date: Date(timeIntervalSinceReferenceDate: tick), user: user), tagSalt: 7)
        var names: Set<RecordName> = []
        for _ in 0..<(1 + dice.random.below(10)) {
            let name = dice.name(below: 40)
            guard names.insert(name).inserted else { continue }
            if dice.random.isOne(in: 5) {
                request.mutations.append(.delete(name))
            } else {
                var record = dice.record(name)
                // A record keeps its type: these queries need nothing else.
                if let known = records[name] { record.type = known.record.type }
                // Parents are r0 to r9, which have none and stay.
                if let number = Int(name.text.dropFirst()), number >= 10, records["r0"] != nil, dice.random.isOne(in: 2)
                {
                    record.parent = "r0"
                }
                request.mutations.append(.save(record))
            }
        }
        request.mutations.removeAll { mutation in
            if case .delete(let name) = mutation { return name == "r0" }
            return false
        }
        if dice.random.isOne(in: 3) { request.queryIndexes = ["Thing": dice.indexes(), "Other": dice.indexes()] }
        let sent = request
        let plan = try nextEngine().transact { [id] in try $0.apply(sent, in: id) }
        for stored in plan.saved { records[stored.record.name] = stored }
        for deletion in plan.deleted { records[deletion.name] = nil }
    }

    private mutating func changeIndexes() throws {
        let wanted = dice.indexes()
        let type: RecordType = dice.random.isOne(in: 3) ? "Other" : "Thing"
        try nextEngine().transact { [id] transaction in
            try transaction.setQueryIndexes(wanted, of: type, in: transaction.existingZone(id))
        }
    }

    private func build(commits: Int) throws {
        try nextEngine().buildIndexes(pause: {}, shouldContinue: { $0.commits < commits })
    }

    private mutating func ask() throws {
        asked.queryCount += 1
        let query = dice.query()
        let expected = QueryOracle(query: query).names(of: Array(records.values))
        var found: [RecordName] = []
        var position: QueryPosition?
        var order: ResultOrder? = query.sorts.isEmpty ? nil : ResultOrder(query.sorts)
        var plans: [String] = []
        var sources: [String] = []
        var (work, wholeCount) = (QueryWork(), 0)
        while true {
            let limit = 1 + dice.random.below(dice.random.isOne(in: 8) ? 5 : 100)
            let looks = dice.random.isOne(in: 8) ? 1 + dice.random.below(10) : 1_000
            let selection: FieldSelection = dice.random.element(of: [.all, .none, .only(["int", "text"])])
            let page = try nextEngine().read { [id] reader in
                let zone = try reader.existingZone(id)
                let plan = try zone.plan(query, order: order)
                order = plan.order
                plans.append(plan.description)
                sources.append(plan.source)
                if sources.count == 1 {
                    let noLimits = QueryPageLimits(rowCount: .max, examinedCount: .max)
                    wholeCount = try zone.page(of: query, plan, after: nil, noLimits).examinedCount
                }
                return try zone.page(
                    of: query, plan, after: position, QueryPageLimits(rowCount: limit, examinedCount: looks),
                    fields: selection)
            }
            found += page.rows.map(\.record.stored.record.name)
            let isFull = page.stopped == nil && page.rows.count == limit
            let next = work.adding(isFull ? page.rows.last?.work ?? page.work : page.work)
            // As much as one page that returns everything examines: more is counted twice.
            let isOneWay = Set(sources).count == 1
            guard next.doneCount >= max(work.doneCount, found.count), !isOneWay || next.doneCount <= wholeCount else {
                throw QueryMismatch(
                    description: "\(query)\nfound \(found.count) of \(wholeCount), done \(work), then \(next)\n"
                        + "plans \(plans.joined(separator: "\n"))")
            }
            work = next
            if let stopped = page.stopped {
                position = stopped
            } else if isFull, let last = page.rows.last {
                position = QueryPosition(values: last.values, name: .name(last.record.stored.record.name))
            } else {
                guard !isOneWay || work.doneCount == wholeCount else {
                    throw QueryMismatch(description: "\(query)\ndone \(work) at the end, not \(wholeCount)")
                }
                break
            }
            guard plans.count < 500 else { break }
        }
        for source in sources { asked.note(source) }
        if isRight(found, expected, query) { return }
        throw QueryMismatch(
            description: "\(query)\nfound \(found)\nexpected \(expected)\nplans \(plans.joined(separator: "\n"))")
    }

    /// Without an order only the results count. Two ways to measure a distance may differ a little.
    private func isRight(_ found: [RecordName], _ expected: [RecordName], _ query: RecordQuery) -> Bool {
        guard let first = query.sorts.first else { return found.sorted() == expected.sorted() }
        guard query.sorts.contains(where: { $0.origin != nil }) else { return found == expected }
        guard found.sorted() == expected.sorted() else { return false }
        guard let origin = first.origin, case .field(let key) = first.field else { return true }
        let metres = found.map { name -> Double in
            guard case .location(let place)? = records[name]?.record.fields[key]?.value else { return .infinity }
            return QueryOracle.metres(origin, place) ?? .infinity
        }
        let ascending = first.isAscending ? metres : metres.reversed()
        return zip(ascending, ascending.dropFirst()).allSatisfy { $0 <= $1 + 1 }
    }
}
