// Zone and database subscriptions of your own: who is notified, how often, and in which order.

import Foundation
import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("subscriptions: notifications of your own zones")
struct DeliveryTests {
    @Test(
        "[N-05][T-12] every device but the writing one is notified; a writer without a device name does not change that"
    )
    func origin() throws {
        let bench = try RecordBench.forSubscriptions()
        try bench.subscribe(.database("d"), .zone("z"))
        try bench.subscribe(.database("bobs"), by: bench.bob)
        try bench.save(.new("a"), on: "phone")
        #expect(try bench.deliver() == [DeviceAddress(account: bench.alice.id, name: "pad")])
        #expect(try bench.told(bench.alice, "pad").sorted() == ["d private", "z Notes"])
        #expect(try bench.told(bench.alice, "phone") == [])
        try bench.save(.new("b"))
        #expect(try bench.told(bench.alice, "phone").count == 2)
        #expect(try bench.told(bench.alice, "pad").count == 2)
        try bench.delete("b", on: "watch")
        #expect(try bench.told(bench.alice, "phone").count == 2)
        // Nobody else's.
        #expect(try bench.told(bench.bob) == [])
        // The feed still reports your own writes.
        #expect(try bench.page().changed.map(\.address.recordName) == ["a"])
        // A device of the same name that is another person's is another device.
        try bench.service.registerDevice(DeviceAddress(account: bench.bob.id, name: "pad"))
        try bench.subscribe(.query("all"), by: bench.bob, in: .public)
        try bench.save(.new("p", in: .defaultZone), on: "pad", in: .public)
        #expect(try bench.told(bench.bob, "pad") == ["all created p"])
        #expect(try bench.subscriptionFindings() == [])
    }

    @Test("[N-05] one notification per zone or database waits, however often it changes, behind earlier ones")
    func coalescing() throws {
        let bench = try RecordBench.forSubscriptions()
        try bench.subscribe(.database("d"))
        try bench.save(.new("a"))
        try bench.deliver()
        try bench.subscribe(.zone("z"))
        for index in 0..<5 { try bench.save(.new("b\(index)")) }
        #expect(try bench.told(bench.alice) == ["d private", "z Notes"])
        #expect(try bench.told(bench.alice) == [])
        try bench.save(.new("c"))
        let first = try bench.service.deliverNotifications()
        try bench.save(.new("e"))
        let second = try bench.service.deliverNotifications()
        #expect(first.count == 2)
        #expect(second == first)
        #expect(try bench.take(bench.alice, limit: 1).map(\.line) == ["d private"])
        #expect(try bench.take(bench.alice, limit: 1).map(\.line) == ["z Notes"])
        #expect(try bench.take(bench.alice, limit: 1).isEmpty)
        #expect(try bench.service.waitingDevices() == [DeviceAddress(account: bench.alice.id, name: "pad")])
        #expect(try bench.outboxCount() == 0)
        #expect(try bench.subscriptionFindings() == [])
    }

    @Test("[N-02] a database subscription ignores the default zone")
    func defaultZone() throws {
        let bench = try RecordBench.forSubscriptions()
        try bench.subscribe(.database("d"))
        try bench.save(.new("a", in: .defaultZone))
        #expect(try bench.outboxCount() == 0)
        #expect(try bench.told(bench.alice) == [])
        try bench.save(.new("a"))
        #expect(try bench.told(bench.alice) == ["d private"])
    }

    @Test("a record type filters a zone's or database's notifications; deletions have the type of the deleted record")
    func types() throws {
        let bench = try RecordBench.forSubscriptions()
        try bench.subscribe(
            .database("notes", type: "Note"), .database("tasks", type: "Task"), .zone("zone tasks", type: "Task"))
        try bench.save(.new("note"))
        #expect(try bench.told(bench.alice) == ["notes private"])
        try bench.save(.new("task", type: "Task"))
        #expect(try bench.told(bench.alice).sorted() == ["tasks private", "zone tasks Notes"])
        try bench.save(.new("both"), .new("other", type: "Task"))
        #expect(try bench.told(bench.alice).count == 3)
        try bench.delete(.note("task"))
        #expect(try bench.told(bench.alice).sorted() == ["tasks private", "zone tasks Notes"])
        let many = (0..<40).map { RecordSave.new("m\($0)", type: "Type\($0)") }
        for result in try bench.modify(many).saves { _ = try result.get() }
        // More types than are recorded: any may have changed.
        #expect(try bench.told(bench.alice).count == 3)
    }

    @Test("creating or deleting a zone notifies databases; its own subscriptions fire last and end with it")
    func zones() throws {
        let bench = try RecordBench.forSubscriptions()
        let other = ZoneAddress(zoneName: "Other")
        try bench.save(.new("start"))
        try bench.subscribe(.database("d"), .database("typed", type: "Note"))
        try bench.makeZone(other)
        #expect(try bench.told(bench.alice) == ["d private"])
        // Saving it again changes nothing.
        try bench.makeZone(other)
        #expect(try bench.told(bench.alice) == [])
        try bench.subscribe(.zone("z", other), .query("q", type: "Note", zone: nil), .zone("notes"))
        try bench.subscribe(.query("in zone", type: "Note", zone: other))
        let request = ModifyZonesRequest(deletes: [other])
        _ = try bench.service.modifyZones(request, as: bench.caller(bench.alice, on: "pad"), in: .private)
        #expect(try bench.subscriptions() == ["d", "notes", "q", "typed"])
        #expect(try bench.told(bench.alice).sorted() == ["d private", "typed private", "z Other"])
        #expect(try bench.told(bench.alice, "pad") == ["d private"])
        try bench.makeZone(other)
        #expect(try bench.told(bench.alice) == ["d private"])
        try bench.save(.new("a", in: other))
        #expect(try bench.told(bench.alice).sorted() == ["d private", "q created a", "typed private"])
        // A host's changes notify all devices.
        try bench.service.purgeZone(other, of: bench.alice.id, in: RecordBench.container, reason: .purged)
        #expect(try bench.told(bench.alice).sorted() == ["d private", "typed private"])
        #expect(try bench.subscriptionFindings() == [])
    }

    @Test("a refused request and one that changes nothing leave no trace")
    func refusals() throws {
        let bench = try RecordBench.forSubscriptions()
        try bench.save(.new("a"))
        try bench.subscribe(.database("d"))
        let refused = try bench.modify([.new("a"), .new("b")])
        #expect(refused.saves.allSatisfy { $0.error != nil })
        #expect(try bench.modify(deleting: [.note("unknown")]).deletes[0].code == nil)
        #expect(try bench.outboxCount() == 0)
        #expect(try bench.told(bench.alice) == [])
        // In a zone without atomicity the saved records notify.
        try bench.subscribe(.query("q", triggers: .creation))
        let alone = try bench.modify([.new("a"), .new("c")], atomic: false)
        #expect(alone.saves[0].error != nil)
        #expect(alone.saves[1].error == nil)
        #expect(try bench.told(bench.alice).sorted() == ["d private", "q created c"])
    }

    @Test("over the limit the oldest is dropped; a device's queue survives until taken, also in a new process")
    func bounds() throws {
        let bench = try RecordBench.forSubscriptions(inMemory: false) { $0.waitingNotificationCount = 3 }
        try bench.save(.new("start"))
        try bench.subscribe(.query("q", triggers: .creation))
        for index in 0..<5 {
            try bench.save(.new("r\(index)"))
            if index != 2 { try bench.deliver() }
        }
        #expect(try bench.subscriptionFindings() == [])
        try bench.save(.new("last"))
        let next = try bench.reopened()
        let phone = DeviceAddress(account: bench.alice.id, name: "phone")
        #expect(try next.waitingDevices().contains(phone))
        #expect(try next.deliverNotifications().count == 2)
        let all = try next.takeNotifications(for: phone, limit: 2) + next.takeNotifications(for: phone, limit: 5)
        // The new process has the usual limit, and the last one was not delivered before.
        #expect(all.map(\.line) == ["q created r2", "q created r3", "q created r4", "q created last"])
        #expect(try next.waitingDevices() == [DeviceAddress(account: bench.alice.id, name: "pad")])
        let ids = all.compactMap(\.id)
        #expect(Set(ids).count == 4)
        next.engine.store.close()
    }

    @Test("devices are registered once, limited in number, and removed with their queue")
    func devices() throws {
        let bench = try RecordBench.forSubscriptions { $0.deviceCount = 3 }
        let service = bench.service
        try bench.register(bench.alice, "phone", "watch")
        #expect(try service.devices(of: bench.alice.id).map(\.name) == ["pad", "phone", "watch"])
        #expect(try thrown { try bench.register(bench.alice, "tv") }.code == .limitExceeded)
        for name in ["", String(repeating: "x", count: 256)] {
            #expect(try thrown { try bench.register(bench.alice, name) }.code == .invalidArguments)
        }
        let nobody = DeviceAddress(account: "nobody", name: "phone")
        #expect(try thrown { try service.registerDevice(nobody) }.code == .unknownItem)
        #expect(try thrown { _ = try service.takeNotifications(for: nobody, limit: 1) }.code == .unknownItem)
        try bench.subscribe(.database("d"))
        try bench.save(.new("a"))
        try bench.deliver()
        let watch = DeviceAddress(account: bench.alice.id, name: "watch")
        try service.removeDevice(watch)
        try service.removeDevice(watch)
        #expect(try bench.subscriptionFindings() == [])
        try bench.register(bench.alice, "watch")
        #expect(try bench.take(bench.alice, "watch").isEmpty)
        #expect(try bench.take(bench.alice).count == 1)
    }

    @Test("the host gets one signal that there is something to deliver, and none without")
    func bell() throws {
        let bench = try RecordBench.forSubscriptions()
        let count = Locked(0)
        let environment = CloudEnvironment(
            clock: bench.clock, identifiers: BenchIdentifiers(seed: 3),
            onSomethingToDeliver: { count.withLock { $0 += 1 } })
        let service = CloudService(engine: bench.service.engine, environment: environment)
        let caller = bench.caller(bench.alice)
        func save(_ name: String) throws {
            let request = ModifyRecordsRequest(saves: [.new(name)])
            _ = try service.modifyRecords(request, as: caller, in: .private).saves[0].get()
        }
        try save("a")
        #expect(count.value == 0)
        _ = try service.modifySubscriptions(.init(saves: [.database("d")]), as: caller, in: .private)
        #expect(count.value == 0)
        try save("b")
        #expect(count.value == 1)
        #expect(try service.deliverNotifications().count == 2)
        _ = try service.fetchZones(.all, as: caller, in: .private)
        #expect(count.value == 1)
        try service.purgeZone(RecordBench.notes, of: bench.alice.id, in: RecordBench.container, reason: .purged)
        #expect(count.value == 2)
        // Another server over the same store loads the subscriptions again.
        let other = CloudService(engine: bench.service.engine, environment: environment)
        _ = try other.modifyZones(.init(saves: [ClientZone(address: RecordBench.notes)]), as: caller, in: .private)
        #expect(count.value == 3)
    }

    @Test("[X-09] an account is deleted with its subscriptions, devices and queues; a closed account gets nothing")
    func accounts() throws {
        let bench = try RecordBench.forSubscriptions()
        try bench.save(.new("start"))
        try bench.subscribe(.database("d"))
        try bench.subscribe(.query("q", type: "Note"), by: bench.bob, in: .public)
        try bench.save(.new("a"))
        try bench.deliver()
        try bench.touch("a")
        try bench.service.setStanding(.suspended, of: bench.alice.id)
        #expect(try bench.deliver() == [])
        #expect(try bench.take(bench.alice).isEmpty)
        try bench.service.setStanding(.good, of: bench.alice.id)
        // Waiting notifications are there, and their devices get a signal.
        #expect(try bench.deliver().map(\.name).sorted() == ["pad", "phone"])
        #expect(try bench.take(bench.alice).map(\.line) == ["d private"])
        try bench.save(.new("b"))
        #expect(try bench.deliver().count == 2)
        try bench.service.deleteAccount(bench.alice.id)
        #expect(try bench.service.devices(of: bench.alice.id).isEmpty)
        #expect(try bench.service.waitingDevices().isEmpty)
        #expect(try bench.subscriptionFindings() == [])
        #expect(try bench.subscriptions(of: bench.bob, in: .public) == ["q"])
        try bench.service.finishDepartures()
        #expect(try bench.subscriptionFindings() == [])
    }
}
