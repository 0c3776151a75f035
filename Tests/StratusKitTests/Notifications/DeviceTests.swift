// Devices in the host API: created, listed, removed; which notifications they get, and when.

import Foundation
import StratusKit
import StratusStore
import StratusTestSupport
import Testing

/// The notifications of a device, in order: kinds, subscriptions and records.
final class Heard: Sendable {
    private let notes = Locked<[String]>([])

    var all: [String] { notes.value }

    func note(_ received: Stratus.RemoteNotification) {
        let notification = received.notification
        var words = [notification.subscriptionID ?? "-"]
        if let query = notification as? CKQueryNotification {
            words += ["query", query.recordID?.recordName ?? "-", "\(query.queryNotificationReason)"]
        } else if let zone = notification as? CKRecordZoneNotification {
            words += ["zone", zone.recordZoneID?.zoneName ?? "-"]
        } else if let database = notification as? CKDatabaseNotification {
            words += ["database", "\(database.databaseScope)"]
        }
        let text = words.joined(separator: " ")
        notes.withLock { $0.append(text) }
    }

    /// Hears of a device from now on.
    static func of(_ device: Stratus.Device) -> Heard {
        let heard = Heard()
        device.onNotification = { heard.note($0) }
        return heard
    }
}

@Suite("Devices")
struct DeviceTests {
    private let container = "iCloud.test"

    @Test("a device is created once per name, listed by name, and gone when it is removed")
    func registering() throws {
        let (store, account) = try Stratus.tested()
        #expect(try store.devices(of: account).isEmpty)
        let phone = try store.device("phone", signedInAs: account)
        #expect(try store.device("phone", signedInAs: account) == phone)
        let desk = try store.device("desk", signedInAs: account)
        #expect(phone.name == "phone")
        #expect(phone.accountID == account.id)
        #expect("\(phone)" == "device phone")
        #expect(phone != desk)
        #expect(Set([phone, desk, try store.device("desk", signedInAs: account)]).count == 2)
        #expect(try store.devices(of: account).map(\.name) == ["desk", "phone"])
        try phone.remove()
        try phone.remove()
        #expect(try store.devices(of: account) == [desk])
        let other = try store.createAccount(.init(), externalID: "other")
        #expect(try store.device("phone", signedInAs: other) != phone)
        #expect(try store.devices(of: account) == [desk])
    }

    @Test("a device needs a name and a person; a closed store has none")
    func refusals() throws {
        let (store, account) = try Stratus.tested()
        for name in ["", String(repeating: "x", count: 10_000)] {
            let error = try #require(throws: StratusError.self) { try store.device(name, signedInAs: account) }
            #expect(error.code == .invalidArgument, "\(error)")
        }
        try store.deleteAccountWithAllData(account)
        let error = try #require(throws: StratusError.self) { try store.device("phone", signedInAs: account) }
        #expect(error.code == .unknownAccount, "\(error)")
        #expect(try store.localDevice == nil)
        store.close()
        #expect(throws: StratusError.self) { try store.devices(of: account) }
    }

    @Test("[N-05] a device gets other devices' changes before settle returns, and not its own")
    func otherDevices() async throws {
        let (store, account) = try Stratus.tested()
        let (phone, desk) = await (
            try store.device("phone", signedInAs: account), try store.device("desk", signedInAs: account)
        )
        let (onPhone, onDesk) = (Heard.of(phone), Heard.of(desk))
        let database = phone.container(container).privateCloudDatabase
        let zone = try await database.save(CKRecordZone(zoneName: "Notes"))
        try await database.save(CKDatabaseSubscription(subscriptionID: "all"))
        try await database.save(note("a", in: "Notes"))
        await store.settle()
        #expect(onPhone.all.isEmpty)
        #expect(onDesk.all == ["all database private"])
        try await desk.container(container).privateCloudDatabase.save(note("b", in: "Notes"))
        await store.settle()
        #expect(onPhone.all == ["all database private"])
        #expect(onDesk.all.count == 1)
        // A container without a device notifies them all.
        try await store.container(container, signedInAs: account).privateCloudDatabase.save(note("c", in: "Notes"))
        await store.settle()
        #expect(onPhone.all.count == 2)
        #expect(onDesk.all.count == 2)
        _ = zone
    }

    @Test("[N-05] containers for the signed-in account act on the local device, which gets only the others' changes")
    func local() async throws {
        let (store, account) = try Stratus.tested()
        #expect(try store.localDevice == nil)
        try await store.signIn(account)
        let local = try #require(try store.localDevice)
        #expect(local.name == "local")
        #expect(local.accountID == account.id)
        #expect(try await store.device("local", signedInAs: account) == local)
        let heard = Heard.of(local)
        let database = store.container(container).privateCloudDatabase
        try await database.save(CKRecordZone(zoneName: "Notes"))
        try await database.save(CKDatabaseSubscription(subscriptionID: "all"))
        try await database.save(note("a", in: "Notes"))
        await store.settle()
        #expect(heard.all.isEmpty)
        let phone = try await store.device("phone", signedInAs: account)
        try await phone.container(container).privateCloudDatabase.save(note("b", in: "Notes"))
        await store.settle()
        #expect(heard.all == ["all database private"])
        try await local.container(container).privateCloudDatabase.save(note("c", in: "Notes"))
        await store.settle()
        #expect(heard.all.count == 1)
    }

    @Test("[N-05] notifications without a listener wait, coalesced, and a sequence returns them one at a time")
    func sequence() async throws {
        let (store, account) = try Stratus.tested()
        let phone = try await store.device("phone", signedInAs: account)
        let database = store.container(container, signedInAs: account).privateCloudDatabase
        for name in ["A", "B"] {
            let zone = try await database.save(CKRecordZone(zoneName: name))
            try await database.save(CKRecordZoneSubscription(zoneID: zone.zoneID, subscriptionID: "in \(name)"))
        }
        try await database.save(note("a", in: "A"))
        try await database.save(note("b", in: "B"))
        await store.settle()
        var iterator = phone.notifications.makeAsyncIterator()
        let (first, second) = (await iterator.next(), await iterator.next())
        let told = [first, second].map { $0?.notification as? CKRecordZoneNotification }
        #expect(told.map { $0?.recordZoneID?.zoneName } == ["A", "B"])
        #expect(told.map { $0?.subscriptionID } == ["in A", "in B"])

        let loop = Task {
            var count = 0
            for await received in phone.notifications {
                count += 1
                if (received.notification as? CKRecordZoneNotification)?.recordZoneID?.zoneName == "B" { break }
            }
            return count
        }
        try await database.save(note("c", in: "A"))
        await store.settle()
        try await database.save(note("d", in: "B"))
        #expect(await loop.value == 2)
    }

    @Test("a sequence ends with its task, its device, its account, or its store")
    func ends() async throws {
        let (store, account) = try Stratus.tested()
        let other = try await store.createAccount(.init(), externalID: "other")
        let devices = await [
            try store.device("cancelled", signedInAs: account), try store.device("removed", signedInAs: account),
            try store.device("deleted", signedInAs: other), try store.device("closed", signedInAs: account),
        ]
        let started = Gate("the sequences to begin")
        let tasks = devices.map { device in
            Task {
                started.open()
                for await _ in device.notifications {}
                return device.name
            }
        }
        try await TestThreads.offPool { for _ in 0..<4 { try started.wait() } }
        tasks[0].cancel()
        try await devices[1].remove()
        try await store.deleteAccountWithAllData(other)
        #expect(await tasks[0].value == "cancelled")
        // A listener that starts after its device was removed is ended by the end of the store.
        try await TestThreads.offPool { store.close() }
        for (task, device) in zip(tasks, devices) { #expect(await task.value == device.name) }
    }

    @Test("a device has one handler, which can be replaced, and is kept until the store ends")
    func handlers() async throws {
        let (store, account) = try Stratus.tested()
        let phone = try await store.device("phone", signedInAs: account)
        let database = store.container(container, signedInAs: account).privateCloudDatabase
        try await database.save(CKRecordZone(zoneName: "Notes"))
        try await database.save(CKDatabaseSubscription(subscriptionID: "all"))
        let first = Heard.of(phone)
        let second = await Heard.of(try store.device("phone", signedInAs: account))
        try await database.save(note("a", in: "Notes"))
        await store.settle()
        #expect(first.all.isEmpty)
        #expect(second.all.count == 1)
        #expect(phone.onNotification != nil)
        phone.onNotification = nil
        try await database.save(note("b", in: "Notes"))
        await store.settle()
        #expect(second.all.count == 1)
        #expect(phone.onNotification == nil)
        let third = Heard.of(phone)
        await store.settle()
        #expect(third.all.count == 1)
        try await store.reset()
        #expect(phone.onNotification == nil)
    }

    @Test("[N-05] a handler may write on its own device, and settle waits for that too")
    func writing() async throws {
        let (store, account) = try Stratus.tested()
        let (phone, desk) = await (
            try store.device("phone", signedInAs: account), try store.device("desk", signedInAs: account)
        )
        let database = phone.container(container).privateCloudDatabase
        try await database.save(CKRecordZone(zoneName: "Notes"))
        try await database.save(CKDatabaseSubscription(subscriptionID: "all"))
        let onDesk = Heard.of(desk)
        phone.onNotification = { _ in
            database.save(note("answer", in: "Notes")) { _, _ in }
        }
        try await desk.container(container).privateCloudDatabase.save(note("question", in: "Notes"))
        await store.settle()
        #expect(onDesk.all == ["all database private"])
        try await TestThreads.offPool { store.close() }
    }

    @Test("waiting notifications survive reopening the store, and are delivered before settle returns")
    func reopening() async throws {
        let directory = try HostDirectory()
        do {
            let store = try await Stratus.open(at: directory.store, options: .tested())
            let account = try await store.account(externalID: "a", createIfMissing: .init())
            _ = try await store.device("phone", signedInAs: account)
            let database = store.container(container, signedInAs: account).privateCloudDatabase
            try await database.save(CKRecordZone(zoneName: "Notes"))
            try await database.save(CKDatabaseSubscription(subscriptionID: "all"))
            try await database.save(note("a", in: "Notes"))
            try await TestThreads.offPool { store.close() }
        }
        let store = try await Stratus.open(at: directory.store, options: .tested())
        let account = try #require(try await store.account(externalID: "a"))
        let phone = try #require(try await store.devices(of: account).first)
        let heard = Heard.of(phone)
        await store.settle()
        #expect(heard.all == ["all database private"])
        try await TestThreads.offPool { store.close() }
    }
}
