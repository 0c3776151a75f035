// Refused queries, by caller and place: marks of the schema, grants, shares, cursors of others.

import Foundation
import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import Testing

@Suite("Queries that are refused")
struct QueryRefusalTests {
    private static let schema = """
        DEFINE SCHEMA
            RECORD TYPE Note (
                "___recordID" REFERENCE QUERYABLE,
                age INT64 QUERYABLE,
                title STRING SORTABLE,
                text STRING SEARCHABLE,
                plain STRING,
                GRANT WRITE TO "_creator", GRANT CREATE TO "_icloud", GRANT READ TO "_world"
            );
            RECORD TYPE Other (
                age INT64,
                GRANT WRITE TO "_creator", GRANT CREATE TO "_icloud", GRANT READ TO "_world"
            );
            RECORD TYPE Diary (
                age INT64 QUERYABLE,
                "___recordID" REFERENCE QUERYABLE,
                GRANT READ, WRITE TO "_creator", GRANT CREATE TO "_icloud"
            );
        """

    private func bench(_ mode: SchemaEnvironment = .production) throws -> RecordBench {
        let bench = try RecordBench(inMemory: true) { $0.schemaMode = mode }
        try bench.service.importSchema(Self.schema, into: RecordBench.container)
        try bench.makeNotes()
        return bench
    }

    @Test("[Q-10] in production a field can be filtered, sorted and searched only if the schema marks it")
    func marks() throws {
        let bench = try bench()
        try bench.save(
            .new("a", ["age": .int64(1), "title": .string("x"), "text": .string("some words"), "plain": .string("p")]))
        #expect(try bench.names(.all("Note")) == ["a"])
        #expect(
            try bench.names(.all("Note", .where("age", .equals, .int64(1)), sorted: [QuerySort(key: "title")])) == ["a"]
        )
        #expect(try bench.names(.all("Note", .where("", .containsAnyToken, .string("words")))) == ["a"])
        let refused: [(ClientQuery, String)] = [
            (.all("Other"), "Field 'recordName' is not marked queryable"),
            (.all("Note", .where("title", .equals, .string("x"))), "Field 'title' is not marked queryable"),
            (.all("Note", .where("plain", .equals, .string("x"))), "Field 'plain' is not marked queryable"),
            (.all("Note", sorted: [QuerySort(key: "age")]), "Field 'age' is not marked sortable"),
            (
                .all("Note", .where("creationDate", .lessThan, .date(Date()))),
                "Field 'creationDate' is not marked queryable"
            ),
            (
                .all("Other", .where("", .containsAnyToken, .string("x"))),
                "No field of record type 'Other' is marked searchable"
            ),
            (.all("Note", .where("nothing", .equals, .int64(1))), "Unknown field 'nothing'"),
        ]
        for (query, text) in refused {
            let error = try thrown { _ = try bench.names(query) }
            #expect(error.code == .invalidArguments, "\(error)")
            #expect(error.message == text, "\(error)")
        }
    }

    @Test("[Q-10][X-31] in development every field of a type can be queried, and the plan reports full scans")
    func development() throws {
        let bench = try bench(.development)
        try bench.save(.new("a", ["age": .int64(1), "title": .string("x"), "plain": .string("p")]))
        let query = ClientQuery.all(
            "Note", .where("plain", .equals, .string("p")), sorted: [QuerySort(key: "age", isAscending: false)])
        #expect(try bench.names(query) == ["a"])
        #expect(try bench.explain(query).description.contains("reads all records of type Note"))
        let error = try thrown { _ = try bench.names(.all("Note", .where("nothing", .equals, .int64(1)))) }
        #expect(error.message == "Unknown field 'nothing'", "the schema was imported")
    }

    @Test("[Q-10] encrypted values, bytes and files cannot be queried in either mode")
    func hidden() throws {
        let bench = try RecordBench(inMemory: true)
        try bench.makeNotes()
        var save = RecordSave.new("a", ["bytes": .bytes(.init([1]))])
        save.fields["secret"] = ClientField(.string("x"), isEncrypted: true)
        save.changedKeys.insert("secret")
        try bench.save(save)
        for key in ["secret", "bytes"] {
            let query = ClientQuery.all("Note", .where(key, .equals, .string("x")))
            #expect(try thrown { _ = try bench.names(query) }.message == "Field '\(key)' is not marked queryable")
        }
    }

    @Test("[D-09] the shared database is queried zone by zone")
    func sharedDatabase() throws {
        let bench = try RecordBench(inMemory: true)
        let error = try thrown { _ = try bench.names(.all("Note"), zone: nil, in: .shared) }
        #expect(error.code == .invalidArguments)
        #expect(error.message == "SharedDB does not support Zone Wide queries")
        let foreign = ZoneAddress(zoneName: "Notes", ownerName: bench.alice.userName.text)
        try bench.makeNotes()
        try bench.save(.new("a"))
        let missing = try thrown { _ = try bench.names(.all("Note"), zone: foreign, by: bench.bob, in: .shared) }
        #expect(missing.code == .zoneNotFound)
    }

    @Test("in the public database a query returns what the grants let the caller read, and needs no account")
    func grants() throws {
        let bench = try bench(.development)
        for account in [bench.alice, bench.bob] {
            try bench.save(
                .new("n\(account.userName)", in: .defaultZone, ["age": .int64(1)]),
                .new("d\(account.userName)", in: .defaultZone, type: "Diary", ["age": .int64(1)]), by: account,
                in: .public)
        }
        let diaries = ClientQuery.all("Diary", .where("age", .equals, .int64(1)))
        #expect(try bench.names(diaries, zone: nil, in: .public) == ["d\(bench.alice.userName)"])
        #expect(try bench.names(.all("Note"), zone: nil, by: bench.bob, in: .public).count == 2)
        let world = try bench.service.query(
            QueryRequest(.query(.all("Note"), zone: nil)), as: bench.caller(nil), in: .public)
        #expect(world.records.count == 2)
        let nobody = try thrown {
            _ = try bench.service.query(
                QueryRequest(.query(diaries, zone: nil)), as: bench.caller(nil), in: .public)
        }
        #expect(nobody.code == .permissionFailure)
        #expect(nobody.message == "QUERY operation not permitted")
        #expect(
            try thrown {
                _ = try bench.service.query(
                    QueryRequest(.query(.all("Note"), zone: nil)), as: bench.caller(nil), in: .private)
            }.code == .notAuthenticated)
    }

    @Test("[X-24][Q-14] a cursor is valid unchanged for its own account, container and database, and for no other")
    func foreignCursors() throws {
        let bench = try RecordBench(inMemory: true)
        try bench.makeNotes()
        for index in 0..<4 { try bench.save(.new("n\(index)")) }
        let page = try bench.page(.query(.all("Note"), zone: RecordBench.notes), limit: 2)
        let cursor = try #require(page.cursor)
        #expect(try bench.page(.cursor(cursor)).records.count == 2)
        #expect(try thrown { _ = try bench.page(.cursor(cursor), by: bench.bob) }.code == .invalidArguments)
        for database in [DatabaseSelector.public, .shared] {
            #expect(try thrown { _ = try bench.page(.cursor(cursor), in: database) }.code == .invalidArguments)
        }
        for index in cursor.indices {
            var changed = cursor
            changed[index] ^= 1
            #expect(try thrown { _ = try bench.page(.cursor(changed)) }.code == .invalidArguments)
        }
        #expect(try thrown { _ = try bench.page(.cursor([])) }.code == .invalidArguments)
        let other = try RecordBench(inMemory: true, seed: 2)
        #expect(try thrown { _ = try other.page(.cursor(cursor)) }.code == .invalidArguments)
    }

    @Test(
        "[Q-14] a cursor outlives the process and continues after the last result, whatever was added or removed meanwhile"
    )
    func cursorsLast() throws {
        let bench = try RecordBench()
        try bench.makeNotes()
        for index in 0..<6 { try bench.save(.new("n\(index)", ["n": .int64(Int64(index))])) }
        let query = ClientQuery.all("Note", sorted: [QuerySort(key: "n")])
        let page = try bench.page(.query(query, zone: RecordBench.notes), limit: 3)
        let cursor = try #require(page.cursor)
        try bench.delete(.note("n2"), .note("n4"))
        try bench.save(.new("before", ["n": .int64(1)]), .new("behind", ["n": .int64(9)]))
        let caller = bench.caller(bench.alice)
        let service = try bench.reopened()
        let rest = try service.query(QueryRequest(.cursor(cursor)), as: caller, in: .private)
        #expect(try rest.records.map { try $0.get().address.recordName } == ["n3", "n5", "behind"])
        #expect(rest.cursor == nil)
        service.engine.store.close()
    }

    @Test("[X-06] a root is not found by its parent where the parent is hidden, and its owner finds it")
    func parentsOfRoots() throws {
        let bench = try RecordBench.forSharing()
        _ = try bench.modify([.new("top"), .new("root", parent: "top")]).saves.map { try $0.get() }
        try bench.share("root", as: "Share", with: bench.bob, "bob@example.com")
        #expect(try bench.names(.all("Note", .where("parent", .equals, .link("top")))) == ["root"])
        let zone = bench.others()
        let query = ClientQuery.all("Note", .where("parent", .equals, .link("top", in: zone)))
        #expect(try bench.names(query, zone: zone, by: bench.bob, in: .shared) == [])
        #expect(try bench.names(.all("Note"), zone: zone, by: bench.bob, in: .shared) == ["root"])
    }
}
