// Query subscriptions: when they fire, for whom, and with which content.

import Foundation
import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("subscriptions: queries")
struct QueryFiringTests {
    private static func bench(_ change: (inout CloudOptions) -> Void = { _ in }) throws -> RecordBench {
        let bench = try RecordBench.forSubscriptions(change)
        try bench.save(.new("start", ["size": .int64(0), "title": .string("t")]))
        return bench
    }

    private static func set(_ bench: RecordBench, _ name: String, size: Int64) throws {
        let address = RecordAddress.note(name)
        if case .success(let record) = try bench.fetch(address) {
            try bench.save(.change(record, ["size": .int64(size)]))
        } else {
            try bench.save(.new(name, ["size": .int64(size)]))
        }
    }

    @Test("[N-04] created means begins to match, updated still matches, deleted no longer matches or is gone")
    func transitions() throws {
        let bench = try Self.bench()
        try bench.subscribe(.query("q", .isSize(1)))
        func step(_ expected: String?, _ body: () throws -> Void) throws {
            try body()
            #expect(try bench.told(bench.alice) == (expected.map { ["q \($0) r"] } ?? []))
        }
        try step("created") { try Self.set(bench, "r", size: 1) }
        try step("updated") { try Self.set(bench, "r", size: 1) }
        try step("deleted") { try Self.set(bench, "r", size: 2) }
        try step(nil) { try Self.set(bench, "r", size: 3) }
        try step("created") { try Self.set(bench, "r", size: 1) }
        try step("deleted") { try bench.delete(.note("r")) }
        try step(nil) { try Self.set(bench, "r", size: 2) }
        try step(nil) { try bench.delete(.note("r")) }
        try step(nil) { try bench.save(.new("r", type: "Task", ["size": .int64(1)])) }
    }

    @Test("[N-04] each trigger fires alone, and nothing else is sent")
    func eachTrigger() throws {
        let triggers: [(SubscriptionTriggers, String)] = [
            (.creation, "created"), (.update, "updated"), (.deletion, "deleted"),
        ]
        let bench = try Self.bench()
        for (trigger, word) in triggers { try bench.subscribe(.query(word, .isSize(1), triggers: trigger)) }
        for (size, expected) in [(1, "created"), (1, "updated"), (0, "deleted")] as [(Int64, String)] {
            try Self.set(bench, "r", size: size)
            #expect(try bench.told(bench.alice) == ["\(expected) \(expected) r"])
        }
    }

    @Test("a query covers the zone it names, or else all zones including the default zone")
    func zones() throws {
        let bench = try Self.bench()
        try bench.makeZone(ZoneAddress(zoneName: "Other"))
        try bench.subscribe(
            .query("all"), .query("notes", zone: RecordBench.notes), .query("standard", zone: .defaultZone))
        for (zone, ids) in [("Notes", ["all", "notes"]), ("Other", ["all"]), ("_defaultZone", ["all", "standard"])] {
            try bench.save(.new("r", in: ZoneAddress(zoneName: zone)))
            #expect(try bench.told(bench.alice).sorted() == ids.map { "\($0) created r" })
        }
    }

    @Test("[N-04] a one-time subscription is deleted when it fires, and fires once for any number of commits")
    func once() throws {
        let bench = try Self.bench()
        try bench.subscribe(.query("q", .isSize(1), triggers: [.creation, .update, .once]), .query("other"))
        for name in ["a", "b", "c"] { try Self.set(bench, name, size: 1) }
        try bench.deliver()
        let told = try bench.take(bench.alice).map(\.line).filter { $0.hasPrefix("q") }
        #expect(told == ["q created a"])
        #expect(try bench.take(bench.alice, "pad").map(\.line).filter { $0.hasPrefix("q") } == ["q created a"])
        #expect(try bench.subscriptions() == ["other"])
        try Self.set(bench, "d", size: 1)
        #expect(try bench.told(bench.alice) == ["other created d"])
        // If the only device made the change itself, none was notified: the notification stays as it is.
        try bench.service.removeDevice(DeviceAddress(account: bench.alice.id, name: "pad"))
        try bench.subscribe(.query("q", .isSize(1), triggers: [.creation, .once]))
        try bench.save(.new("e", ["size": .int64(1)]), on: "phone")
        #expect(try bench.told(bench.alice) == [])
        #expect(try bench.subscriptions() == ["other", "q"])
        try Self.set(bench, "f", size: 1)
        #expect(try bench.told(bench.alice).sorted() == ["other created f", "q created f"])
        #expect(try bench.subscriptions() == ["other"])
    }

    @Test("[N-04] a one-time subscription fires once, also under concurrent writes and deliveries")
    func onceRaced() async throws {
        let found = try await TestThreads.offPool { () -> (Int, [String], [String]) in
            let bench = try RecordBench.forSubscriptions(inMemory: true, runsBodiesTwice: false)
            try bench.save(.new("start"))
            try bench.subscribe(.query("q", triggers: [.creation, .once]))
            let errors = Locked<[String]>([])
            DispatchQueue.concurrentPerform(iterations: 4) { index in
                do {
                    for number in 0..<6 {
                        try bench.save(.new("r\(index)-\(number)"))
                        try bench.deliver()
                    }
                } catch { errors.withLock { $0.append("\(error)") } }
            }
            try bench.deliver()
            return (
                try bench.take(bench.alice).count, try bench.subscriptions() + bench.subscriptionFindings(),
                errors.value
            )
        }
        #expect(found.0 == 1)
        #expect(found.1 == [])
        #expect(found.2 == [])
    }

    @Test("[S-18] in the public database, subscribers hear only of what they can read")
    func grants() throws {
        let bench = try Self.bench()
        try bench.service.importSchema(
            """
            DEFINE SCHEMA
            RECORD TYPE Note ( size INT64 QUERYABLE, title STRING, "___recordID" REFERENCE QUERYABLE,
                GRANT WRITE, READ TO "_creator", GRANT CREATE TO "_icloud" );
            RECORD TYPE Open ( size INT64 QUERYABLE, "___recordID" REFERENCE QUERYABLE,
                GRANT READ TO "_world", GRANT CREATE TO "_icloud", GRANT WRITE TO "_creator" );
            """, into: RecordBench.container)
        for account in [bench.alice, bench.bob] {
            try bench.subscribe(
                .query("notes"), .query("open", .isSize(1), type: "Open"), by: account, in: .public)
        }
        try bench.save(.new("a", in: .defaultZone), in: .public)
        #expect(try bench.told(bench.alice) == ["notes created a"])
        #expect(try bench.told(bench.bob) == [])
        try bench.save(.new("b", in: .defaultZone, type: "Open", ["size": .int64(1)]), in: .public)
        #expect(try bench.told(bench.alice) == ["open created b"])
        #expect(try bench.told(bench.bob) == ["open created b"])
        // A private database does not notify of the public one.
        try bench.subscribe(.query("private"))
        try bench.save(.new("c", in: .defaultZone, type: "Open", ["size": .int64(1)]), by: bench.bob, in: .public)
        #expect(try bench.told(bench.alice) == ["open created c"])
    }

    @Test("a participant's changes fire the owner's queries, and none of the participant's")
    func participants() throws {
        let bench = try Self.bench()
        try bench.share("folder", as: "Share", with: bench.bob, "bob@example.com")
        try bench.subscribe(.query("q"))
        try bench.subscribe(.query("bobs"), by: bench.bob)
        try bench.save(.new(bench.shared("page"), parent: "folder"), by: bench.bob, in: .shared)
        #expect(try bench.told(bench.alice) == ["q created page"])
        #expect(try bench.told(bench.bob) == [])
    }

    @Test("[N-05] one notification per record waits; an update after an unread creation is a creation")
    func coalescing() throws {
        let bench = try Self.bench()
        try bench.subscribe(.query("q").with { $0.desiredKeys = ["size"] })
        try Self.set(bench, "a", size: 1)
        try Self.set(bench, "b", size: 1)
        try Self.set(bench, "a", size: 2)
        try bench.deliver()
        let told = try bench.take(bench.alice)
        #expect(told.map(\.line) == ["q created b", "q created a"])
        guard case .query(_, _, let fields) = told[1].subject else {
            Issue.record("it tells of no query: \(told[1])")
            return
        }
        #expect(fields == ["size": .int64(2)])
        try Self.set(bench, "a", size: 3)
        try bench.delete(.note("a"))
        #expect(try bench.told(bench.alice) == ["q deleted a"])
    }

    @Test("a collapse key merges notifications: by the field of its name, or else by the text itself")
    func collapsing() throws {
        let bench = try Self.bench()
        try bench.subscribe(
            .query("q", triggers: .creation).with { $0.collapseKey = "title" },
            .database("d").with { $0.collapseKey = "y" })
        try bench.save(.new("a", ["title": .string("x")]), .new("b", ["title": .string("x")]))
        try bench.save(.new("c", ["title": .string("y")]))
        try bench.deliver()
        // A change of the database has no record: its key is the text itself, and so the title of c.
        #expect(try bench.take(bench.alice).map(\.line) == ["q created b", "q created c"])
    }

    @Test("[L-17][C-08] texts and values come from the record: truncated, in their order, and without encrypted fields")
    func filling() throws {
        let bench = try Self.bench()
        let long = String(repeating: "\u{E9}", count: 150)
        try bench.subscribe(
            .query("q").with {
                $0.alert.body = .init(text: "Body", localizationKey: "KEY", arguments: ["title", "size", "none"])
                $0.alert.title = .init(text: "Title")
                $0.alert.subtitle = .init(localizationKey: "SUB", arguments: ["secret", "when", "link", "half"])
                $0.desiredKeys = ["title", "secret", "size"]
                $0.alert.soundName = "ping"
                $0.alert.launchImage = "image"
                $0.alert.actionLocalizationKey = "OPEN"
                $0.alert.category = "cat"
                $0.alert.isContentAvailable = true
                $0.alert.isMutable = true
            })
        var save = RecordSave.new(
            "r",
            [
                "title": .string(long), "size": .int64(-7), "when": .date(Date(timeIntervalSinceReferenceDate: 0)),
                "link": .link("start"), "half": .double(0.5),
            ])
        save.fields["secret"] = ClientField(.string("hidden"), isEncrypted: true)
        save.changedKeys.insert("secret")
        try bench.save(save)
        try bench.deliver()
        let told = try #require(try bench.take(bench.alice).first)
        let alert = told.alert
        let cut = String(repeating: "\u{E9}", count: 100)
        #expect(alert.body == .init(text: "Body", localizationKey: "KEY", arguments: [cut, "-7", ""]))
        #expect(alert.title == .init(text: "Title"))
        #expect(alert.subtitle.arguments == ["", "2001-01-01T00:00:00Z", "start", "0.5"])
        #expect(alert.soundName == "ping")
        #expect(alert.launchImage == "image")
        #expect(alert.actionLocalizationKey == "OPEN")
        #expect(alert.category == "cat")
        #expect(alert.isContentAvailable)
        #expect(alert.isMutable)
        #expect(told.badge == nil)
        #expect(told.container == RecordBench.container)
        #expect(told.subscriptionOwner == bench.alice.userName)
        #expect(told.database == .private)
        #expect(!told.isPruned)
        #expect(told.id != nil)
        #expect(
            told.subject
                == .query(
                    reason: .recordCreated, record: .note("r"), fields: ["title": .string(cut), "size": .int64(-7)]))
        // A deleted record is reported with its last values.
        try bench.delete(.note("r"))
        try bench.deliver()
        #expect(try bench.take(bench.alice).first?.alert.body.arguments == [cut, "-7", ""])
    }

    @Test("the badge grows with each notification, on each device, from the value it was set to")
    func badges() throws {
        let bench = try Self.bench()
        try bench.subscribe(.query("q").with { $0.badges = true }, .query("plain", .isSize(9)))
        for name in ["a", "b"] { try Self.set(bench, name, size: 1) }
        try bench.deliver()
        #expect(try bench.take(bench.alice).map(\.badge) == [1, 2])
        try bench.service.setBadge(0, of: DeviceAddress(account: bench.alice.id, name: "phone"))
        try Self.set(bench, "c", size: 9)
        try bench.deliver()
        #expect(try Set(bench.take(bench.alice).map(\.badge)) == [1, nil])
        #expect(try Set(bench.take(bench.alice, "pad").map(\.badge)) == [1, 2, 3, nil])
    }

    @Test("a first record of a new field matches words at once; a query that is no longer allowed is silent")
    func schema() throws {
        let bench = try Self.bench()
        let words = QueryFilter(key: "", comparator: .containsAnyToken, operand: .string("plans"))
        try bench.subscribe(.query("words", words))
        try bench.save(.new("a", ["novel": .string("Great plans")]))
        #expect(try bench.told(bench.alice) == ["words created a"])
    }
}
