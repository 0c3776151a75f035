// The indexes behind queries: the entries of a save, the cost of a page, and how indexes follow the schema.

import Foundation
import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("Indexes for queries")
struct QueryIndexTests {
    private func clean(_ bench: RecordBench) throws {
        let report = try bench.service.engine.verify()
        #expect(report.isClean, "\(report.findings)")
    }

    @Test("a new record in development costs one entry for each value and word, and no additional reads")
    func costOfSaves() throws {
        let bench = try RecordBench(inMemory: true, runsBodiesTwice: false)
        try bench.makeNotes()
        func cost(_ save: RecordSave) throws -> StoreCost {
            let before = bench.store.statistics.cost
            try bench.save(save)
            return bench.store.statistics.cost - before
        }
        func note(_ name: String) -> RecordSave {
            .new(name, ["title": .string("two words"), "age": .int64(1), "tags": .ints(1, 2, 2)])
        }
        try bench.save(note("a"))
        let first = try cost(note("b"))
        let bytes = try cost(.new("c", type: "Raw", ["one": .bytes(.init([1])), "two": .bytes(.init([1]))]))
        let again = try cost(.new("d", type: "Raw", ["one": .bytes(.init([1])), "two": .bytes(.init([1]))]))
        // The text, its two words, the number, two different items.
        #expect(first.entriesWritten == again.entriesWritten + 6)
        #expect(first.reads <= again.reads + 1)
        #expect(bytes.entriesWritten >= again.entriesWritten)
        try clean(bench)
    }

    @Test("W10: a page costs one read for each result plus a constant, for any size of the zone")
    func costOfPages() throws {
        var costs: [[Int]] = []
        for size in [150, 600] {
            let bench = try RecordBench(inMemory: true, runsBodiesTwice: false)
            try bench.makeNotes()
            for start in stride(from: 0, to: size, by: 100) {
                let saves = (start..<min(size, start + 100)).map { index in
                    RecordSave.new(
                        "n\(index)", ["age": .int64(Int64(index % 10)), "rank": .double(Double(index * 7 % size))])
                }
                for result in try bench.modify(saves).saves { _ = try result.get() }
            }
            let queries: [ClientQuery] = [
                .all("Note", .where("age", .equals, .int64(3))),
                .all("Note", .where("rank", .greaterThan, .double(10))),
                .all("Note", sorted: [QuerySort(key: "rank")]),
                .all("Note", sorted: [QuerySort(key: "rank", isAscending: false)]),
                .all("Note", .where("rank", .greaterThan, .double(5)), sorted: [QuerySort(key: "rank")]),
            ]
            costs.append(
                try queries.map { query in
                    let explanation = try bench.explain(query, limit: 10)
                    #expect(explanation.resultCount == 10)
                    #expect(explanation.isMoreComing)
                    #expect(!explanation.description.contains("all records"), "\(explanation)")
                    return explanation.zones.map(\.cost.reads).reduce(0, +)
                })
        }
        #expect(costs[0].allSatisfy { $0 <= 10 + 4 }, "\(costs)")
        #expect(costs[0] == costs[1])
    }

    @Test("[Q-10] an imported schema fills and clears the indexes of existing records while others write")
    func schemaChanges() throws {
        let bench = try RecordBench(inMemory: true, runsBodiesTwice: false)
        try bench.makeNotes()
        func schema(_ marks: String) -> String {
            """
            DEFINE SCHEMA RECORD TYPE Note ( age INT64 \(marks), title STRING,
                GRANT WRITE TO "_creator", GRANT CREATE TO "_icloud", GRANT READ TO "_world" );
            """
        }
        try bench.service.importSchema(schema(""), into: RecordBench.container)
        let saves = (0..<300).map { RecordSave.new("n\($0)", ["age": .int64(Int64($0 % 3)), "title": .string("t")]) }
        for result in try bench.modify(saves).saves { _ = try result.get() }
        let query = ClientQuery.all("Note", .where("age", .equals, .int64(1)))
        func explanation() throws -> String { try bench.explain(query, limit: 200).description }
        #expect(try explanation().contains("all records"))

        try bench.service.importSchema(schema("QUERYABLE"), into: RecordBench.container)
        var steps = 0
        try bench.service.buildIndexes(
            UpkeepPace(
                pause: {},
                shouldContinue: {
                    steps += 1; return steps < 4
                }))
        // Half way: writers continue, and queries do not use the index.
        #expect(try explanation().contains("filling"))
        try bench.save(.new("n000", ["age": .int64(1)]), .new("zzz", ["age": .int64(1)]))
        try bench.delete(.note("n1"), .note("n97"))
        #expect(try bench.names(query).count == 100)
        try clean(bench)
        try bench.buildIndexes()
        #expect(try explanation().contains("the index on Note.age"))
        #expect(try bench.names(query).count == 100)
        try clean(bench)

        try bench.service.importSchema(schema(""), into: RecordBench.container)
        try bench.buildIndexes()
        #expect(try explanation().contains("all records"))
        #expect(try bench.names(query).count == 100)
        let zone = ZoneID(
            database: DatabaseID(container: RecordBench.container, owner: bench.alice.userName, scope: .private),
            name: "Notes")
        let entries = try bench.service.engine.read { reader in
            let zone = try reader.existingZone(zone)
            var count = 0
            try zone.store.scan(zone.keys.keyspace(.fields)) { _, _ in
                count += 1
                return .next
            }
            return count
        }
        #expect(entries == 0)
        try clean(bench)
    }

    @Test("[Q-10] an imported schema's indexes reach every zone of its container, wherever the work is interrupted")
    func reviewInPages() throws {
        func schema(_ marks: String) -> String {
            """
            DEFINE SCHEMA RECORD TYPE Note ( age INT64 \(marks),
                GRANT WRITE TO "_creator", GRANT CREATE TO "_icloud", GRANT READ TO "_world" );
            """
        }
        for (pageCount, stop) in [1, 2, 3, 4].flatMap({ count in (1...9).map { (count, $0) } }) {
            let bench = try RecordBench(inMemory: true, runsBodiesTwice: false)
            try bench.service.importSchema(schema(""), into: RecordBench.container)
            var zones: [ZoneID] = []
            func make(_ name: String, _ account: StoredAccount) throws {
                try bench.makeZone(ZoneAddress(zoneName: name), by: account)
                try bench.save(.new("note", in: ZoneAddress(zoneName: name), ["age": .int64(1)]), by: account)
            }
            // Numbers of zones go up where names go down, and those of databases as they come.
            for (account, name) in [(bench.bob, "b"), (bench.alice, "z"), (bench.bob, "a"), (bench.alice, "y")] {
                try make(name, account)
                let database = DatabaseID(
                    container: RecordBench.container, owner: account.userName, scope: .private)
                zones.append(ZoneID(database: database, name: ZoneName(name)))
            }
            try bench.service.importSchema(schema("QUERYABLE"), into: RecordBench.container)
            // One of the zones is recreated while the others are updated; the update stops right after it and continues
            // later.
            var steps = 0
            let pace = UpkeepPace(
                pause: {},
                shouldContinue: {
                    steps += 1
                    if steps == stop {
                        #expect(throws: Never.self) {
                            let isTold = try bench.service.engine.read {
                                try $0.existingZone(zones[1]).queryIndexes(of: "Note").fields["age"] != nil
                            }
                            _ = try bench.service.engine.transact { try $0.deleteZone(zones[1]) }
                            try make("z", bench.alice)
                            // As with the schema of before, so that there is something to update.
                            guard !isTold else { return }
                            try bench.service.engine.transact {
                                _ = try $0.setQueryIndexes([:], of: "Note", in: $0.existingZone(zones[1]))
                            }
                        }
                    }
                    return steps <= stop
                })
            try bench.service.buildIndexes(pace, reviewedZoneCount: pageCount) { _ in }
            try bench.service.buildIndexes(UpkeepPace(pause: {}), reviewedZoneCount: pageCount) { _ in }
            for id in zones {
                let state = try bench.service.engine.read {
                    try $0.existingZone(id).queryIndexes(of: "Note").fields["age"]
                }
                #expect(state?.phase == .ready, "\(id.name.text), \(pageCount) at a time, stopped at \(stop)")
            }
            let hasReview = try bench.service.engine.read { reader in
                try reader.entryCount(in: GlobalKeys.keyspace(.indexReviews)) > 0
            }
            #expect(!hasReview)
            try clean(bench)
        }
    }

    @Test("[Q-10] importing a schema while zones are applying an earlier one reaches all zones")
    func schemaDuringReview() throws {
        func schema(_ marks: String, _ more: String = "") -> String {
            """
            DEFINE SCHEMA RECORD TYPE Note ( age INT64 \(marks), \(more)
                GRANT WRITE TO "_creator", GRANT CREATE TO "_icloud", GRANT READ TO "_world" );
            """
        }
        for step in 1...6 {
            let bench = try RecordBench(inMemory: true, runsBodiesTwice: false)
            try bench.service.importSchema(schema(""), into: RecordBench.container)
            for name in ["a", "b", "c"] {
                try bench.makeZone(ZoneAddress(zoneName: name))
                try bench.save(.new("note", in: ZoneAddress(zoneName: name), ["age": .int64(1)]))
            }
            // It wants the same indexes, so updating the zones writes nothing.
            try bench.service.importSchema(schema("", "title STRING,"), into: RecordBench.container)
            var steps = 0
            let pace = UpkeepPace(
                pause: {},
                shouldContinue: {
                    steps += 1
                    guard steps == step else { return true }
                    #expect(throws: Never.self) {
                        let wanted = schema("QUERYABLE", "title STRING,")
                        try bench.service.importSchema(wanted, into: RecordBench.container)
                    }
                    return true
                })
            try bench.service.buildIndexes(pace) { _ in }
            try bench.service.buildIndexes(UpkeepPace(pause: {})) { _ in }
            for name in ["a", "b", "c"] {
                let database = DatabaseID(
                    container: RecordBench.container, owner: bench.alice.userName, scope: .private)
                let state = try bench.service.engine.read {
                    try $0.existingZone(ZoneID(database: database, name: ZoneName(name)))
                        .queryIndexes(of: "Note").fields["age"]
                }
                #expect(steps < step || state?.phase == .ready, "\(name), at step \(step)")
            }
            try clean(bench)
        }
    }

    @Test(
        "records from before there were indexes are indexed in the background, and found by scanning until then"
    )
    func oldStores() throws {
        let bench = try RecordBench(inMemory: true, runsBodiesTwice: false)
        try bench.makeNotes()
        let saves = (0..<50).map { RecordSave.new("n\($0)", ["age": .int64(Int64($0 % 5))]) }
        for result in try bench.modify(saves).saves { _ = try result.get() }
        // As an earlier version left it: no entries, and no record of any.
        try bench.service.engine.transact { transaction in
            let id = ZoneID(
                database: DatabaseID(container: RecordBench.container, owner: bench.alice.userName, scope: .private),
                name: "Notes")
            let zone = try transaction.existingZone(id)
            var keys: [[UInt8]] = []
            for keyspace in [.fields, .tokens, .queryIndexes] as [ZoneKeyspace] {
                try zone.store.scan(zone.keys.keyspace(keyspace)) { key, _ in
                    keys.append([UInt8](copying: key))
                    return .next
                }
            }
            for key in keys { try transaction.delete(key) }
            var header = try zone.header()
            header.hasQueryIndexes = false
            try transaction.set(zone.keys.header(), to: header.encoded())
        }
        let query = ClientQuery.all("Note", .where("age", .equals, .int64(3)))
        #expect(try bench.names(query).count == 10)
        #expect(try bench.explain(query).description.contains("all records"))
        try clean(bench)
        try bench.service.performUpkeep(historySeconds: nil, UpkeepPace(pause: {}))
        #expect(try bench.names(query).count == 10)
        #expect(try bench.explain(query).description.contains("the index on Note.age"))
        try clean(bench)
    }

    @Test("the verifier finds a missing and a dangling entry, and a rebuild repairs both")
    func damage() throws {
        let bench = try RecordBench(inMemory: true, runsBodiesTwice: false)
        try bench.makeNotes()
        try bench.save(.new("a", ["age": .int64(5), "title": .string("some words")]))
        let id = ZoneID(
            database: DatabaseID(container: RecordBench.container, owner: bench.alice.userName, scope: .private),
            name: "Notes")
        let keys = try bench.service.engine.read { try $0.existingZone(id).keys }
        let five = try #require(IndexedValue.element(of: .int64(5)))
        let six = try #require(IndexedValue.element(of: .int64(6)))
        let changes: [([UInt8], [UInt8]?)] = [
            (keys.field(type: "Note", field: "age", value: five, name: "a"), nil),
            (keys.token("words", field: "title", name: "a"), nil),
            (keys.field(type: "Note", field: "age", value: six, name: "a"), [1]),
            (keys.token("other", field: "title", name: "a"), [1]),
        ]
        for (key, value) in changes {
            try bench.store.transact { writer in
                if let value { try writer.set(key, to: value) } else { try writer.delete(key) }
            }
            let report = try bench.service.engine.verify()
            #expect(value == nil ? report.missingCount == 1 : report.danglingCount == 1, "\(report.findings)")
            try bench.service.engine.rebuild(id, incarnation: UUID())
            try clean(bench)
        }
    }
}
