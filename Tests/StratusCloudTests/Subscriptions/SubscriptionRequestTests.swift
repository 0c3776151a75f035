// Saving, deleting and fetching subscriptions.

import Foundation
import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("subscriptions: saving, deleting, fetching")
struct SubscriptionRequestTests {
    private static func bench() throws -> RecordBench {
        let bench = try RecordBench.forSubscriptions()
        try bench.save(.new("known", ["size": .int64(1), "parts": .list([.int64(1)]), "data": .bytes(.init([1]))]))
        return bench
    }

    @Test("[N-01][D-10] each database accepts its kinds of subscriptions and no others")
    func places() throws {
        let bench = try Self.bench()
        let kinds: [(ClientSubscription, [DatabaseSelector])] = [
            (.query("q"), [.public, .private]), (.zone("z"), [.private]), (.database("d"), [.private, .shared]),
        ]
        for (subscription, allowed) in kinds {
            for database in DatabaseSelector.allCases {
                let error = try bench.subscriptionError(subscription, in: database)
                #expect(
                    (error == nil) == allowed.contains(database),
                    "\(subscription.id) in \(database): \(error.map { "\($0)" } ?? "")")
                if let error { #expect(error.code == .invalidArguments) }
            }
        }
        let standard = try bench.subscriptionError(.zone("standard", .defaultZone))
        #expect(standard?.code == .serverRejectedRequest)
        #expect(standard?.innerCode == 2027)
        #expect(try bench.subscriptionError(.query("standard", zone: .defaultZone)) == nil)
    }

    @Test("[N-03] a subscription without a template is saved, fetched without one, and notifies silently")
    func silent() throws {
        let bench = try Self.bench()
        try bench.subscribe(.database("silent"))
        let found = try bench.service.fetchSubscriptions(
            .named(["silent"]), as: bench.caller(bench.alice), in: .private)
        #expect(try found[0].1.get().template == nil)
        try bench.save(.new("a"))
        try bench.deliver()
        let told = try bench.take(bench.alice)
        try #require(told.count == 1)
        #expect(told[0].alert.isContentAvailable)
        #expect(told[0].alert.body.text == nil)
    }

    @Test("[N-04] a query subscription contains its triggers")
    func triggers() throws {
        let bench = try Self.bench()
        #expect(try bench.subscriptionError(.query("q", triggers: []))?.code == .invalidArguments)
        #expect(try bench.subscriptionError(.query("q", triggers: .once))?.code == .invalidArguments)
        #expect(try bench.subscriptionError(.query("q", triggers: .init(rawValue: 17)))?.code == .invalidArguments)
        #expect(try bench.subscriptionError(.query("q", triggers: [.deletion, .once])) == nil)
    }

    @Test("[N-07] saving an existing identifier replaces it; an unknown one cannot be fetched or deleted")
    func replacing() throws {
        let bench = try Self.bench()
        try bench.subscribe(.zone("s"), .database("t"))
        try bench.subscribe(.query("s", .isSize(5)))
        let caller = bench.caller(bench.alice)
        let found = try bench.service.fetchSubscriptions(.named(["s", "none", "t"]), as: caller, in: .private)
        #expect(found.map(\.0) == ["s", "none", "t"])
        #expect(try found[0].1.get() == .query("s", .isSize(5)))
        #expect(found[1].1.code == .unknownItem)
        let deleted = try bench.service.modifySubscriptions(
            ModifySubscriptionsRequest(deletes: ["none", "s"]), as: caller, in: .private)
        #expect(deleted.deletes[0].code == .unknownItem)
        #expect(deleted.deletes[1].code == nil)
        #expect(try bench.subscriptions() == ["t"])
        // An equal one under another identifier is another one.
        #expect(try bench.subscriptionError(.database("u")) == nil)
    }

    @Test("[N-08] subscriptions belong to one person and one of their databases, in one container")
    func scopes() throws {
        let bench = try Self.bench()
        try bench.subscribe(.database("same"))
        try bench.subscribe(.database("same", type: "Note"), in: .shared)
        try bench.subscribe(.query("same"), in: .public)
        try bench.subscribe(.database("same"), by: bench.bob)
        #expect(try bench.subscriptions(in: .shared) == ["same"])
        let caller = bench.caller(bench.alice)
        _ = try bench.service.modifySubscriptions(
            ModifySubscriptionsRequest(deletes: ["same"]), as: caller, in: .private)
        #expect(try bench.subscriptions().isEmpty)
        #expect(try bench.subscriptions(in: .shared) == ["same"])
        #expect(try bench.subscriptions(in: .public) == ["same"])
        #expect(try bench.subscriptions(of: bench.bob) == ["same"])
        let elsewhere = Caller(container: "iCloud.other", account: bench.alice.id)
        #expect(try bench.service.fetchSubscriptions(.all, as: elsewhere, in: .shared).isEmpty)
        #expect(try bench.subscriptionFindings() == [])
    }

    @Test("a subscription round-trips, with the caller's zones under the owner name that stands for the caller")
    func roundTrip() throws {
        let bench = try Self.bench()
        let own = ZoneAddress(zoneName: "Notes", ownerName: bench.alice.userName.text)
        let filters = [
            QueryFilter(key: "size", comparator: .isIn, operand: .list([.int64(1), .int64(2)])),
            QueryFilter(
                key: "link", comparator: .equals,
                operand: .reference(ClientReference(target: .note("known"), action: .none))),
            QueryFilter(
                key: "place", comparator: .isNear,
                operand: .location(Location(latitudeDegrees: 1, longitudeDegrees: 2, timestamp: bench.clock.now)),
                radius: 5),
        ]
        var nothing = ClientQuery(recordType: "Note")
        nothing.matchesNothing = true
        let sent: [ClientSubscription] = [
            ClientSubscription(
                id: "q",
                subject: .query(
                    ClientQuery(recordType: "Note", filters: filters), zone: own, triggers: [.update, .once],
                    predicateArchive: [0, 255])
            ).with {
                $0.alert.body = .init(text: "t", localizationKey: "k", arguments: ["size"])
                $0.alert.title = .init(text: "")
                $0.alert.subtitle = .init(arguments: [])
                $0.alert.actionLocalizationKey = "action"
                $0.alert.launchImage = "image"
                $0.alert.soundName = "sound"
                $0.desiredKeys = ["size", "link", "place"]
                $0.badges = true
                $0.alert.isContentAvailable = true
                $0.alert.isMutable = true
                $0.alert.category = "category"
                $0.collapseKey = "size"
            },
            ClientSubscription(
                id: "n", subject: .query(nothing, zone: nil, triggers: .creation, predicateArchive: [])),
            .zone("z", own, type: "Note"),
            .database("d", type: "Note").with { _ in },
        ]
        let caller = bench.caller(bench.alice)
        let saved = try bench.service.modifySubscriptions(
            ModifySubscriptionsRequest(saves: sent), as: caller, in: .private
        ).saves.map { try $0.get() }
        let fetched = try bench.service.fetchSubscriptions(.named(sent.map(\.id)), as: caller, in: .private)
        #expect(try fetched.map { try $0.1.get() } == saved)
        for (one, other) in zip(sent, saved) {
            #expect(one.id == other.id)
            #expect(one.template == other.template)
        }
        #expect(saved[2].subject == .zone(RecordBench.notes, recordType: "Note"))
        guard case .query(let query, let zone, _, let archive) = saved[0].subject else {
            Issue.record("it is no longer a query: \(saved[0])")
            return
        }
        #expect(query.filters == filters)
        #expect(zone == RecordBench.notes)
        #expect(archive == [0, 255])
    }

    @Test("[L-13] a notification carries at most three fields, and no lists, bytes or assets")
    func desiredKeys() throws {
        let bench = try Self.bench()
        func error(_ keys: [String]) throws -> CloudError.Code? {
            try bench.subscriptionError(.query("q").with { $0.desiredKeys = keys })?.code
        }
        #expect(try error(["a", "b", "c"]) == nil)
        #expect(try error(["a", "b", "c", "d"]) == .invalidArguments)
        #expect(try error(["size"]) == nil)
        #expect(try error(["parts"]) == .invalidArguments)
        #expect(try error(["data"]) == .invalidArguments)
    }

    @Test("[Q-11][Z-04] an invalid query, an unknown type and a missing zone are refused")
    func refusals() throws {
        let bench = try Self.bench()
        let outside = QueryFilter(key: "size", comparator: .beginsWith, operand: .string("x"))
        #expect(try bench.subscriptionError(.query("q", outside))?.code == .invalidArguments)
        let unknown = try bench.subscriptionError(.query("q", type: "Unknown"))
        #expect(unknown?.code == .unknownItem)
        #expect(unknown?.innerCode == 2003)
        #expect(unknown?.message.hasPrefix("Did not find record type: Unknown. Save a record of it first") == true)
        #expect(try bench.subscriptionError(.query("q", type: "Users"))?.code == .invalidArguments)
        let missing = ZoneAddress(zoneName: "Missing")
        #expect(try bench.subscriptionError(.zone("z", missing))?.code == .zoneNotFound)
        #expect(try bench.subscriptionError(.query("q", zone: missing))?.code == .zoneNotFound)
        let others = ZoneAddress(zoneName: "Notes", ownerName: bench.bob.userName.text)
        #expect(try bench.subscriptionError(.zone("z", others))?.code == .invalidArguments)
        let long = String(repeating: "x", count: 256)
        for id in ["", long] { #expect(try bench.subscriptionError(.database(id))?.code == .invalidArguments) }
        #expect(try bench.subscriptionError(.database(String(long.dropLast()))) == nil)
        #expect(try bench.subscriptions() == [String(long.dropLast())])
    }

    @Test("[L-01] limits of items, bytes and subscriptions are checked before any work")
    func limits() throws {
        let bench = try RecordBench.forSubscriptions {
            $0.requestItemCount = 5
            $0.subscriptionCount = 3
            $0.subscriptionByteCount = 1_000
        }
        let caller = bench.caller(bench.alice)
        let many = (0..<6).map { ClientSubscription.database("d\($0)") }
        #expect(
            try thrown {
                _ = try bench.service.modifySubscriptions(.init(saves: many), as: caller, in: .private)
            }.code == .limitExceeded)
        #expect(
            try thrown {
                _ = try bench.service.fetchSubscriptions(.named(many.map(\.id)), as: caller, in: .private)
            }.code == .limitExceeded)
        let answer = try bench.service.modifySubscriptions(
            .init(saves: Array(many.prefix(4))), as: caller, in: .private)
        #expect(answer.saves.map(\.code) == [nil, nil, nil, .limitExceeded])
        // One may replace another, and be saved again.
        let next = try bench.service.modifySubscriptions(
            .init(saves: [many[4], many[1]], deletes: ["d0"]), as: caller, in: .private)
        #expect(next.saves.map(\.code) == [nil, nil])
        let large = ClientSubscription.database("d1").with { $0.alert.body.text = String(repeating: "x", count: 1_001) }
        #expect(try bench.subscriptionError(large)?.code == .limitExceeded)
        let twice = ModifySubscriptionsRequest(saves: [many[1]], deletes: ["d1"])
        #expect(
            try thrown { _ = try bench.service.modifySubscriptions(twice, as: caller, in: .private) }.code
                == .invalidArguments)
        let huge = try RecordBench.forSubscriptions { $0.requestByteCount = 2_000 }
        let texts = (0..<3).map { number in
            ClientSubscription.database("d\(number)").with { $0.alert.body.text = String(repeating: "x", count: 900) }
        }
        let error = try thrown {
            _ = try huge.service.modifySubscriptions(.init(saves: texts), as: huge.caller(huge.alice), in: .private)
        }
        #expect(error.code == .limitExceeded)
    }

    @Test("[S-17][S-21] only a signed-in user can subscribe; planned faults occur before and after the request")
    func callers() throws {
        let bench = try Self.bench()
        for database in DatabaseSelector.allCases {
            let nobody = bench.caller(nil)
            #expect(
                try thrown {
                    _ = try bench.service.modifySubscriptions(.init(deletes: ["x"]), as: nobody, in: database)
                }.code == .notAuthenticated)
            #expect(
                try thrown { _ = try bench.service.fetchSubscriptions(.all, as: nobody, in: database) }.code
                    == .notAuthenticated)
        }
        bench.faults.set { point in
            if case .response(.modifySubscriptions, _) = point { return CloudError(.serverResponseLost, "lost") }
            if case .request(.fetchSubscriptions, _) = point { return CloudError(.zoneBusy, "busy") }
            return nil
        }
        #expect(try thrown { try bench.subscribe(.database("d")) }.code == .serverResponseLost)
        #expect(try thrown { _ = try bench.subscriptions() }.code == .zoneBusy)
        bench.faults.set(nil)
        #expect(try bench.subscriptions() == ["d"])
        let kinds = bench.events.value.suffix(3).map(\.kind)
        #expect(kinds == [.modifySubscriptions, .fetchSubscriptions, .fetchSubscriptions])
    }
}
