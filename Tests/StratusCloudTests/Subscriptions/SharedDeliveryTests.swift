// Subscriptions to shared databases: everyone who sees or saw a part of the change is notified, and no one else.

import Foundation
import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("subscriptions: shared databases")
struct SharedDeliveryTests {
    /// Alice shares; Bob and Carol have phones and subscribe to their shared databases.
    private struct World {
        let bench: RecordBench
        let carol: StoredAccount
        var alice: StoredAccount { bench.alice }
        var bob: StoredAccount { bench.bob }

        init() throws {
            bench = try .forSubscriptions()
            carol = try bench.person("carol")
            try bench.register(carol, "phone")
            try bench.register(bench.bob, "pad")
            for account in [bench.bob, carol] { try bench.subscribe(.database("s"), by: account, in: .shared) }
            try bench.save(
                .new("in"), .new("page", parent: "in"), .new("leaf", parent: "page"), .new("out"))
        }

        /// The people whose phones are notified.
        func told() throws -> [String] {
            try bench.deliver()
            var names: [String] = []
            for (name, account) in [("alice", alice), ("bob", bob), ("carol", carol)] {
                let devices = try bench.service.devices(of: account.id)
                guard !devices.isEmpty, try !bench.take(account).isEmpty else { continue }
                names.append(name)
            }
            for account in [alice, bob] where try bench.service.devices(of: account.id).count > 1 {
                _ = try bench.take(account, "pad")
            }
            return names
        }

        func accept(_ share: ClientRecord, by account: StoredAccount, on device: String? = nil) throws {
            let url = try #require(share.sharing?.url)
            let caller = Caller(container: RecordBench.container, account: account.id, device: device)
            _ = try bench.service.acceptShares([url], as: caller)[0].get()
        }
    }

    @Test("[N-05][M-08] members are notified of joins and changes in a share; outsiders and invited people are not")
    func members() throws {
        let world = try World()
        let bench = world.bench
        let share = try bench.share(
            "in", as: "Share", with: [.email("bob@example.com"), .email("carol@example.com")])
        #expect(try world.told() == [])
        try world.accept(share, by: world.bob, on: "pad")
        #expect(try world.told() == ["bob"])
        try bench.touch("leaf")
        #expect(try world.told() == ["bob"])
        try bench.touch("out")
        #expect(try world.told() == [])
        try bench.save(.new("new", parent: "leaf"))
        #expect(try world.told() == ["bob"])
        try bench.delete(.note("new"))
        #expect(try world.told() == ["bob"])
        try world.accept(share, by: world.carol)
        #expect(try world.told() == ["bob", "carol"])
        // A member's writes notify the other members, the member's other devices and the owner.
        try bench.subscribe(.database("own"))
        try bench.save(.new(bench.shared("b"), parent: "in"), on: "phone", by: world.bob, in: .shared)
        try bench.deliver()
        #expect(try bench.take(world.bob).isEmpty)
        #expect(try !bench.take(world.bob, "pad").isEmpty)
        #expect(try world.told() == ["alice", "carol"])
        #expect(try bench.subscriptionFindings() == [])
    }

    @Test("[N-05][M-08] a person who joins between a commit and its delivery gets no notification of that commit")
    func joinedSince() throws {
        let world = try World()
        let bench = world.bench
        let share = try bench.share(
            "in", as: "Share", with: [.email("bob@example.com"), .email("carol@example.com")])
        try world.accept(share, by: world.bob, on: "phone")
        try bench.deliver()
        _ = try world.told()
        try bench.touch("leaf")
        // Carol's other devices would be notified of this, and she has none.
        try world.accept(share, by: world.carol, on: "phone")
        #expect(try world.told() == ["bob"])
        try bench.touch("leaf")
        #expect(try world.told() == ["bob", "carol"])
    }

    @Test("[X-16][P-09] a person who loses access is notified of that, and of nothing after it")
    func losing() throws {
        let world = try World()
        let bench = world.bench
        let share = try bench.share(
            "in", as: "Share", with: [.email("bob@example.com"), .email("carol@example.com")])
        for account in [world.bob, world.carol] { try world.accept(share, by: account) }
        _ = try world.told()
        try bench.permit(world.carol, ParticipantPermission.none, in: "Share")
        #expect(try world.told() == ["bob", "carol"])
        try bench.touch("leaf")
        #expect(try world.told() == ["bob"])
        try bench.permit(world.carol, .readOnly, in: "Share")
        #expect(try world.told() == ["bob", "carol"])
        try bench.permit(world.carol, nil, in: "Share")
        #expect(try world.told() == ["bob", "carol"])
        try bench.touch("leaf")
        #expect(try world.told() == ["bob"])
        // Leaving notifies the other devices of the person who leaves.
        let request = ModifyRecordsRequest(deletes: [bench.shared("Share")])
        let answer = try bench.service.modifyRecords(request, as: bench.caller(world.bob, on: "phone"), in: .shared)
        _ = try answer.deletes[0].get()
        try bench.deliver()
        #expect(try bench.take(world.bob).isEmpty)
        #expect(try !bench.take(world.bob, "pad").isEmpty)
        try bench.touch("leaf")
        #expect(try world.told() == [])
    }

    @Test("[D-08][X-03] stopping a share notifies its members, and not the invited people")
    func stopping() throws {
        let world = try World()
        let bench = world.bench
        let share = try bench.share(
            "in", as: "Share", with: [.email("bob@example.com"), .email("carol@example.com")])
        try world.accept(share, by: world.bob)
        _ = try world.told()
        try bench.delete(.note("Share"))
        #expect(try world.told() == ["bob"])
        try bench.touch("in")
        #expect(try world.told() == [])
    }

    @Test("[D-12] a record moved into or out of a share notifies those who see or saw it")
    func moving() throws {
        let world = try World()
        let bench = world.bench
        let one = try bench.share("in", as: "One", with: [.email("bob@example.com")])
        let two = try bench.share("out", as: "Two", with: [.email("carol@example.com")])
        try world.accept(one, by: world.bob)
        try world.accept(two, by: world.carol)
        _ = try world.told()
        try bench.move("page", below: nil)
        #expect(try world.told() == ["bob"])
        try bench.touch("leaf")
        #expect(try world.told() == [])
        try bench.move("page", below: "out")
        #expect(try world.told() == ["carol"])
        try bench.move("page", below: "in")
        #expect(try world.told() == ["bob", "carol"])
        // A type filters notifications, but zones that come or go may hold any type.
        try bench.subscribe(.database("s", type: "Task"), by: world.bob, in: .shared)
        try bench.touch("leaf")
        #expect(try world.told() == [])
        try bench.move("page", below: nil)
        #expect(try world.told() == ["bob"])
        try bench.save(.new("task", type: "Task", parent: "in"))
        #expect(try world.told() == ["bob"])
    }

    @Test(
        "[D-04] a zone that is shared whole notifies of everything; deleting a zone notifies all who saw any part of it"
    )
    func wholeZone() throws {
        let world = try World()
        let bench = world.bench
        let share = try bench.shareNotes(with: [.email("bob@example.com")])
        try world.accept(share, by: world.bob)
        _ = try world.told()
        try bench.touch("out")
        #expect(try world.told() == ["bob"])
        let other = ZoneAddress(zoneName: "Other")
        try bench.makeZone(other)
        try bench.save(.new("r", in: other))
        #expect(try world.told() == [])
        _ = try bench.service.modifyZones(
            .init(deletes: [RecordBench.notes]), as: bench.caller(world.alice), in: .private)
        #expect(try world.told() == ["bob"])
        _ = try bench.service.modifyZones(.init(deletes: [other]), as: bench.caller(world.alice), in: .private)
        #expect(try world.told() == [])
    }

    @Test("[D-08] deleting a zone notifies its members, also if its shares are released first")
    func releasing() throws {
        let world = try World()
        let bench = world.bench
        let share = try bench.share(
            "in", as: "Share", with: [.email("bob@example.com"), .email("carol@example.com")])
        try world.accept(share, by: world.carol)
        _ = try world.told()
        _ = try bench.service.modifyZones(
            .init(deletes: [RecordBench.notes]), as: bench.caller(world.alice), in: .private)
        try bench.service.performUpkeep(historySeconds: nil, UpkeepPace(pause: {}))
        #expect(try bench.outboxCount() == 0)
        // The next delivery reports it, and has nothing left to do itself.
        #expect(try bench.deliver() == [DeviceAddress(account: world.carol.id, name: "phone")])
        #expect(try world.told() == ["carol"])
    }

    @Test("deleting an account notifies the members of its shares, and the owners of the shares it was in")
    func departure() throws {
        let world = try World()
        let bench = world.bench
        let share = try bench.share("in", as: "Share", with: [.email("bob@example.com")])
        try world.accept(share, by: world.bob)
        try bench.makeZone(RecordBench.notes, by: world.carol)
        try bench.subscribe(.database("own"))
        _ = try world.told()
        try bench.service.deleteAccount(world.carol.id)
        #expect(try world.told() == [])
        try bench.service.deleteAccount(world.bob.id)
        #expect(try world.told() == ["alice"])
        #expect(try bench.subscriptionFindings() == [])

        let next = try World()
        let shared = try next.bench.share("in", as: "Share", with: [.email("bob@example.com")])
        try next.accept(shared, by: next.bob)
        _ = try next.told()
        try next.bench.service.deleteAccount(next.alice.id)
        let devices = try next.bench.deliver()
        #expect(devices.contains(DeviceAddress(account: next.bob.id, name: "phone")))
        #expect(try next.bench.take(next.bob).map(\.line) == ["s shared"])
        #expect(try next.bench.subscriptionFindings() == [])
    }

    @Test("a new participant is not notified of earlier changes, however late they are delivered")
    func late() throws {
        let world = try World()
        let bench = world.bench
        let share = try bench.share("in", as: "Share", with: [.email("bob@example.com")])
        try bench.touch("leaf")
        try world.accept(share, by: world.bob, on: "phone")
        #expect(try world.told() == [])
        try bench.touch("leaf")
        try bench.permit(world.bob, nil, in: "Share")
        let again = try bench.change("Share") { $0.participants.append(.email("bob@example.com")) }.get()
        try world.accept(again, by: world.bob, on: "phone")
        // Of the removal, though Bob is back by then.
        #expect(try world.told() == ["bob"])
        try bench.touch("out")
        #expect(try world.told() == [])
    }

    @Test("a person without such a subscription is not notified, and a public user is while they can read")
    func publicUsers() throws {
        let world = try World()
        let bench = world.bench
        let share = try bench.share("in", as: "Share", publicPermission: .readOnly)
        try world.accept(share, by: world.bob)
        _ = try world.told()
        try bench.touch("leaf")
        #expect(try world.told() == ["bob"])
        _ = try bench.change("Share") { $0.publicPermission = ParticipantPermission.none }.get()
        #expect(try world.told() == ["bob"])
        try bench.touch("leaf")
        #expect(try world.told() == [])
        _ = try bench.service.modifySubscriptions(
            .init(deletes: ["s"]), as: bench.caller(world.carol), in: .shared)
        let other = try bench.share("out", as: "Other", with: [.email("carol@example.com")])
        try world.accept(other, by: world.carol)
        try bench.touch("out")
        #expect(try world.told() == [])
    }
}
