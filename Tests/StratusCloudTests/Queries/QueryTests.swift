// What queries answer, rule by rule.

import Foundation
import StratusCloud
import StratusModel
import StratusRecords
import Testing

@Suite("Queries")
struct QueryTests {
    /// Alice's notes a to e.
    private func filled(_ change: (inout CloudOptions) -> Void = { _ in }) throws -> RecordBench {
        let bench = try RecordBench(inMemory: true, change)
        try bench.makeNotes()
        let date = Date(timeIntervalSinceReferenceDate: 5)
        try bench.save(
            .new(
                "a",
                ["title": .string("Apple pie"), "age": .int64(1), "tags": .texts("red", "round"), "at": .place(0, 0)]),
            .new("b", ["title": .string("apple tart"), "age": .int64(2), "tags": .texts("red"), "at": .place(0, 1)]),
            .new("c", ["title": .string("Bread"), "age": .int64(3), "when": .date(date), "at": .place(50, 179.9)]),
            .new("d", ["title": .string("Crème brûlée for Bob"), "age": .int64(4), "link": .link("a")]),
            .new("e", ["other": .string("x")]), policy: .allKeys)
        return bench
    }

    @Test("[Q-01][Q-02] comparisons are combined with AND")
    func conjunction() throws {
        let bench = try RecordBench(inMemory: true)
        try bench.makeNotes()
        try bench.save(
            .new("a", ["age": .int64(1), "title": .string("x")]), .new("b", ["age": .int64(2), "title": .string("x")]),
            .new("c", ["age": .int64(3), "title": .string("y")]))
        let query = ClientQuery.all(
            "Note", .where("age", .greaterThanOrEquals, .int64(2)), .where("title", .equals, .string("x")))
        #expect(try bench.names(query) == ["b"])
        let between = ClientQuery.all(
            "Note", .where("age", .greaterThanOrEquals, .int64(2)), .where("age", .lessThanOrEquals, .int64(3)))
        #expect(try bench.names(between).sorted() == ["b", "c"])
        #expect(try bench.names(.all("Note")).sorted() == ["a", "b", "c"])
        var nothing = ClientQuery.all("Note")
        nothing.matchesNothing = true
        #expect(try bench.names(nothing).isEmpty)
    }

    @Test("[Q-03] every comparator does what its name says, and its opposite the opposite")
    func comparators() throws {
        let bench = try RecordBench(inMemory: true)
        try bench.makeNotes()
        try bench.save(
            .new("a", ["age": .int64(1), "title": .string("apple"), "tags": .texts("red", "round")]),
            .new("b", ["age": .int64(2), "title": .string("apricot"), "tags": .texts("red")]),
            .new("c", ["age": .int64(3), "title": .string("bread"), "tags": .texts("dark", "round")]), .new("d"))
        let expected: [(String, QueryComparator, ClientValue, [String])] = [
            ("age", .equals, .int64(2), ["b"]), ("age", .notEquals, .int64(2), ["a", "c", "d"]),
            ("age", .lessThan, .int64(2), ["a"]), ("age", .lessThanOrEquals, .int64(2), ["a", "b"]),
            ("age", .greaterThan, .int64(2), ["c"]), ("age", .greaterThanOrEquals, .double(1.5), ["b", "c"]),
            ("age", .isIn, .ints(1, 3, 9), ["a", "c"]), ("age", .isNotIn, .ints(1, 3), ["b", "d"]),
            ("title", .beginsWith, .string("ap"), ["a", "b"]), ("title", .doesNotBeginWith, .string("ap"), ["c", "d"]),
            ("tags", .listContains, .string("red"), ["a", "b"]),
            ("tags", .listDoesNotContain, .string("red"), ["c", "d"]),
            ("tags", .listContainsAny, .texts("dark", "round"), ["a", "c"]),
            ("tags", .listContainsNoneOf, .texts("dark", "round"), ["b", "d"]),
            ("tags", .listContainsAll, .texts("red", "round"), ["a"]),
            ("tags", .listDoesNotContainAll, .texts("red", "round"), ["b", "c", "d"]),
            ("tags", .listMemberBeginsWith, .string("r"), ["a", "b", "c"]),
            ("tags", .noListMemberBeginsWith, .string("d"), ["a", "b", "d"]),
        ]
        for (key, comparator, operand, names) in expected {
            let query = ClientQuery.all("Note", .where(key, comparator, operand))
            #expect(try bench.names(query).sorted() == names, "\(key) \(comparator)")
        }
    }

    @Test("[Q-04] contains matches members of lists, never parts of texts")
    func membership() throws {
        let bench = try RecordBench(inMemory: true)
        try bench.makeNotes()
        try bench.save(.new("a", ["title": .string("apple"), "tags": .texts("red", "round")]))
        #expect(try bench.names(.all("Note", .where("tags", .listContains, .string("red")))) == ["a"])
        #expect(try bench.names(.all("Note", .where("tags", .listContains, .string("re")))).isEmpty)
        let error = try thrown { _ = try bench.names(.all("Note", .where("title", .listContains, .string("app")))) }
        #expect(error.code == .invalidArguments)
    }

    @Test(
        "[Q-05] words are matched whole, ignoring case and diacritics, in every searchable field; short words never match"
    )
    func words() throws {
        let bench = try RecordBench(inMemory: true)
        try bench.makeNotes()
        try bench.save(
            .new("a", ["title": .string("Crème brûlée for Bob")]),
            .new("b", ["title": .string("The bobsleigh"), "tags": .texts("Smith & Sons")]),
            .new("c", ["title": .string("nothing")]))
        func found(_ text: String, _ comparator: QueryComparator = .containsAnyToken) throws -> [String] {
            try bench.names(.all("Note", .where("", comparator, .string(text)))).sorted()
        }
        #expect(try found("bob smith") == ["a", "b"])
        #expect(try found("bob smith", .containsAllTokens) == [])
        #expect(try found("CREME bob", .containsAllTokens) == ["a"])
        #expect(try found("sons smith", .containsAllTokens) == ["b"])
        #expect(try found("the for").isEmpty)
        #expect(try found("brule").isEmpty)
        let both = ClientQuery.all(
            "Note", .where("", .containsAnyToken, .string("bob")), .where("", .containsAnyToken, .string("brulee")))
        #expect(try bench.names(both) == ["a"])
        try bench.buildIndexes()
        #expect(try found("bob smith") == ["a", "b"])
    }

    @Test("[Q-05] words are cut between characters after 64 bytes; repeated words, and hundreds of them, are all found")
    func manyWords() throws {
        let bench = try RecordBench(inMemory: true)
        try bench.makeNotes()
        let start = String(repeating: "x", count: 63)
        let (some, many) = ((0..<40).map { "w\($0)" }, (0..<300).map { "v\($0)" })
        try bench.save(
            .new("a", ["title": .string(start + "яz")]),
            .new("b", ["title": .string((some + some).joined(separator: " "))]),
            .new("c", ["title": .string(many.joined(separator: ", "))]),
            .new("d", ["title": .string((0..<300).map { "u\($0 % 40)" }.joined(separator: "-"))]))
        func found(_ text: String) throws -> [String] {
            try bench.names(.all("Note", .where("", .containsAnyToken, .string(text)))).sorted()
        }
        for _ in 0..<2 {
            #expect(try found(start + "z") == ["a"])
            #expect(try found(start).isEmpty)
            #expect(try found("w0 w39") == ["b"])
            #expect(try found("v299") == ["c"])
            #expect(try found("u39") == ["d"])
            try bench.buildIndexes()
        }
        // Each of their entries is removed once.
        try bench.save(.new("e", ["title": .string((some + some).joined(separator: " "))]))
        try bench.delete(.note("b"), .note("c"), .note("d"), .note("e"))
        #expect(try found("w39 v299 u39").isEmpty)
        #expect(try bench.service.engine.verify().isClean)
    }

    @Test("[Q-06] texts are compared byte by byte, for equality and for prefixes")
    func exactTexts() throws {
        let bench = try RecordBench(inMemory: true)
        try bench.makeNotes()
        try bench.save(.new("a", ["title": .string("Apple")]), .new("b", ["title": .string("apple")]))
        #expect(try bench.names(.all("Note", .where("title", .equals, .string("apple")))) == ["b"])
        #expect(try bench.names(.all("Note", .where("title", .beginsWith, .string("App")))) == ["a"])
    }

    @Test("[Q-07] a circle contains what is nearer than its radius, also across the 180th meridian, in the host's unit")
    func circles() throws {
        for unit in [1.0, 1_000] {
            let bench = try RecordBench(inMemory: true) { $0.queryDistanceUnitMetres = unit }
            try bench.makeNotes()
            try bench.save(
                .new("a", ["at": .place(0, 179.999)]), .new("b", ["at": .place(0, -179.999)]),
                .new("c", ["at": .place(0, 179)]), .new("pole", ["at": .place(90, 17)]),
                .new("north", ["at": .place(89.999, -120)]), .new("none"))
            func near(_ latitude: Double, _ longitude: Double, _ metres: Double) throws -> [String] {
                try bench.names(.all("Note", .near("at", latitude, longitude, metres / unit))).sorted()
            }
            #expect(try near(0, 180, 200) == ["a", "b"])
            #expect(try near(0, -180, 112_000) == ["a", "b", "c"])
            #expect(try near(89.9995, 60, 500) == ["north", "pole"])
            #expect(try near(0, 180, 0).isEmpty)
            #expect(try near(0, 0, 3e7).count == 5)
        }
    }

    @Test("[Q-08] references are compared by the record they name, regardless of their action")
    func references() throws {
        let bench = try RecordBench(inMemory: true)
        try bench.makeNotes()
        try bench.makeZone(ZoneAddress(zoneName: "Else"))
        try bench.save(
            .new("a"), .new("b", ["link": .link("a")]), .new("c", ["link": .owned(by: "a")]),
            .new("d", ["link": .link("b")]))
        try bench.save(
            .new("far", in: ZoneAddress(zoneName: "Else"), ["link": .link("a", in: ZoneAddress(zoneName: "Else"))]))
        #expect(try bench.names(.all("Note", .where("link", .equals, .owned(by: "a")))).sorted() == ["b", "c"])
        // A record of the same name in another zone is another record.
        #expect(try bench.names(.all("Note", .where("link", .equals, .link("a"))), zone: nil).sorted() == ["b", "c"])
        let inElse = ClientQuery.all(
            "Note", .where("link", .equals, .link("a", in: ZoneAddress(zoneName: "Else"))))
        #expect(try bench.names(inElse, zone: nil) == ["far"])
    }

    @Test("[Q-09] system fields can be queried by both of their names")
    func systemFields() throws {
        let bench = try RecordBench(inMemory: true)
        try bench.makeNotes()
        try bench.save(.new("a"))
        bench.clock.advance(bySeconds: 100)
        try bench.save(.new("b", parent: "a"))
        let between = ClientValue.date(bench.clock.now.addingTimeInterval(-50))
        let me = ClientValue.link(ZoneAddress.currentUser, in: .defaultZone)
        let named = ClientValue.link(bench.alice.userName.text, in: .defaultZone)
        let expected: [([String], QueryComparator, ClientValue, [String])] = [
            (["recordID", "recordName", "___recordID"], .equals, .link("a"), ["a"]),
            (["recordName"], .equals, .string("b"), ["b"]),
            (["creationDate", "___createTime"], .greaterThan, between, ["b"]),
            (["modificationDate", "___modTime"], .lessThan, between, ["a"]),
            (["creatorUserRecordID", "___createdBy"], .equals, me, ["a", "b"]),
            (["lastModifiedUserRecordID", "___modifiedBy"], .equals, named, ["a", "b"]),
            (["parent", "___parent"], .equals, .link("a"), ["b"]),
            (["share", "___share"], .equals, .link("a"), []),
        ]
        for (keys, comparator, operand, names) in expected {
            for key in keys {
                let query = ClientQuery.all("Note", .where(key, comparator, operand))
                #expect(try bench.names(query).sorted() == names, "\(key)")
            }
        }
    }

    @Test("[Q-11] a type without records is unknown, user records cannot be queried, literals have the field's type")
    func types() throws {
        let bench = try filled()
        let unknown = try thrown { _ = try bench.names(.all("Nothing")) }
        #expect(unknown.code == .unknownItem)
        #expect(unknown.innerCode == 2003)
        #expect(unknown.message == "Did not find record type: Nothing")
        #expect(try thrown { _ = try bench.names(.all("Users")) }.code == .invalidArguments)
        for operand in [ClientValue.int64(1), .date(Date(timeIntervalSinceReferenceDate: 0)), .texts("a")] {
            let query = ClientQuery.all("Note", .where("title", .equals, operand))
            #expect(try thrown { _ = try bench.names(query) }.code == .invalidArguments)
        }
        let hidden = ClientQuery.all("Note", .where("___sharing", .equals, .string("x")))
        #expect(try thrown { _ = try bench.names(hidden) }.code == .invalidArguments)
    }

    @Test("[L-11] a list of more than 250 values is over the limit")
    func listLimit() throws {
        let bench = try filled()
        func query(_ count: Int64) -> ClientQuery {
            .all("Note", .where("age", .isIn, .list((0..<count).map { .int64($0) })))
        }
        _ = try bench.names(query(250))
        let error = try thrown { _ = try bench.names(query(251)) }
        #expect(error.code == .limitExceeded)
        #expect(error.innerCode == 2023)
    }

    @Test("[L-11] for a long list, a page reads only the values that it needs, in their order")
    func longList() throws {
        let bench = try RecordBench(inMemory: true)
        try bench.makeNotes()
        for number in 0..<120 { try bench.save(.new("n\(number)", ["age": .int64(Int64(number % 60))])) }
        try bench.buildIndexes()
        let list = ClientValue.list((0..<250).map { .int64(Int64(250 - $0)) })
        let query = ClientQuery.all("Note", .where("age", .isIn, list))
        let expected = (1..<60).flatMap { ["n\($0)", "n\($0 + 60)"].sorted() }
        for limit in [1, 2, 3, 50, 400] { #expect(try bench.names(query, limit: limit) == expected, "\(limit)") }
        let plan = try #require(try bench.explain(query, limit: 4).zones.first)
        #expect(plan.readCount <= 5 + 4 + 8, "\(plan)")
        #expect(plan.examinedCount == 5, "\(plan)")
        // With an order of its own, and with another filter.
        let down = ClientQuery.all(
            "Note", .where("age", .isIn, list), sorted: [QuerySort(key: "age", isAscending: false)])
        for limit in [1, 7, 400] {
            #expect(try bench.names(down, limit: limit) == expected.reversed(), "\(limit)")
        }
        let both = ClientQuery.all(
            "Note", .where("age", .isIn, list), .where("age", .greaterThan, .int64(50)),
            sorted: [QuerySort(key: "recordName")])
        let names = (51..<60).flatMap { ["n\($0)", "n\($0 + 60)"] }.sorted()
        for limit in [1, 7, 400] { #expect(try bench.names(both, limit: limit) == names, "\(limit)") }
    }

    @Test("[Q-12] without a zone, all zones of the database are queried, in one order if the query has an order")
    func allZones() throws {
        let bench = try RecordBench(inMemory: true)
        for zone in ["B", "A", "C"] {
            let address = ZoneAddress(zoneName: zone)
            try bench.makeZone(address)
            for number in 0..<5 {
                try bench.save(.new("\(zone)\(number)", in: address, ["n": .int64(Int64(number))]))
            }
        }
        try bench.save(.new("default", in: .defaultZone, ["n": .int64(2)]))
        #expect(try bench.names(.all("Note"), zone: nil, limit: 2).count == 16)
        #expect(try bench.names(.all("Note"), zone: ZoneAddress(zoneName: "A")).count == 5)
        let expected = (0..<5).flatMap { number in
            ["A", "B", "C"].map { "\($0)\(number)" } + (number == 2 ? ["default"] : [])
        }
        for limit in 1...17 {
            let sorted = ClientQuery.all("Note", sorted: [QuerySort(key: "n")])
            #expect(try bench.names(sorted, zone: nil, limit: limit) == expected)
            let down = ClientQuery.all("Note", sorted: [QuerySort(key: "n", isAscending: false)])
            #expect(try bench.names(down, zone: nil, limit: limit) == expected.reversed())
        }
    }

    @Test("[Q-13] sort keys after the record's name decide between records of one name in several zones")
    func keysBehindNames() throws {
        let bench = try RecordBench(inMemory: true)
        for (zone, ages) in [("A", [3, 1]), ("B", [2, 2]), ("C", [1, 3])] {
            let address = ZoneAddress(zoneName: zone)
            try bench.makeZone(address)
            for (name, age) in zip(["m", "n"], ages) {
                try bench.save(.new(name, in: address, ["age": .int64(Int64(age))]))
            }
        }
        func found(_ isAscending: Bool, limit: Int) throws -> [String] {
            let query = ClientQuery.all(
                "Note", sorted: [QuerySort(key: "recordName"), QuerySort(key: "age", isAscending: isAscending)])
            return try bench.results(query, zone: nil, limit: limit)
                .map { $0.address.recordName + $0.address.zone.zoneName }
        }
        for limit in 1...7 {
            #expect(try found(true, limit: limit) == ["mC", "mB", "mA", "nA", "nB", "nC"], "\(limit)")
            #expect(try found(false, limit: limit) == ["mA", "mB", "mC", "nC", "nB", "nA"], "\(limit)")
        }
    }

    @Test("[Q-13] results come in the requested order, also by distance")
    func order() throws {
        let bench = try filled()
        let up = ClientQuery.all("Note", .where("age", .greaterThan, .int64(0)), sorted: [QuerySort(key: "age")])
        #expect(try bench.names(up) == ["a", "b", "c", "d"])
        let down = ClientQuery.all("Note", sorted: [QuerySort(key: "age", isAscending: false)])
        #expect(try bench.names(down, limit: 2) == ["d", "c", "b", "a", "e"])
        let near = ClientQuery.all(
            "Note", .where("title", .greaterThan, .string("")),
            sorted: [QuerySort(key: "at", isAscending: true, origin: .at(0, 0.9))])
        #expect(try bench.names(near) == ["b", "a", "c", "d"])
        let plain = ClientQuery.all("Note", sorted: [QuerySort(key: "at")])
        #expect(try thrown { _ = try bench.names(plain) }.code == .invalidArguments)
    }

    @Test("[Q-15] a saved record is found at once, and a deleted one never")
    func consistency() throws {
        let bench = try RecordBench(inMemory: true)
        try bench.makeNotes()
        let query = ClientQuery.all("Note", .where("age", .equals, .int64(7)))
        let saved = try bench.save(.new("a", ["age": .int64(7)]))[0]
        #expect(try bench.names(query) == ["a"])
        try bench.save(.change(saved, ["age": .int64(8)]))
        #expect(try bench.names(query).isEmpty)
        try bench.delete(.note("a"))
        #expect(try bench.names(.all("Note")).isEmpty)
    }

    @Test("[Q-16] only the requested fields are returned, even if others are compared")
    func desiredKeys() throws {
        let bench = try filled()
        let query = ClientQuery.all(
            "Note", .where("age", .equals, .int64(1)), sorted: [QuerySort(key: "title")])
        for (keys, expected) in [(nil, 4), ([], 0), (["title"], 1), (["title", "gone"], 1)] as [(Set<String>?, Int)] {
            let page = try bench.page(.query(query, zone: RecordBench.notes), keys: keys)
            #expect(try page.records[0].get().fields.count == expected)
        }
    }

    @Test("[L-14] a page has the server's default size unless one is requested, and never more than the maximum")
    func pageSize() throws {
        let bench = try RecordBench(inMemory: true) {
            ($0.queryPageCount, $0.queryPageLimit) = (3, 5)
        }
        try bench.makeNotes()
        for index in 0..<12 { try bench.save(.new("n\(index)")) }
        for (limit, count) in [(0, 3), (2, 2), (4, 4), (100, 5)] {
            let page = try bench.page(.query(.all("Note"), zone: RecordBench.notes), limit: limit)
            #expect(page.records.count == count)
            #expect(page.cursor != nil)
        }
    }
}
