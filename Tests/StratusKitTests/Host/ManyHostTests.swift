// Several hosts of one store: what one does, the clients of another one learn; and an operation runs once.

import Foundation
import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@testable import StratusKit

@Suite("Many hosts of one store", .timeLimit(.minutes(5)))
struct ManyHostTests {
    private static let container = "iCloud.test"

    /// Hosts with connections of their own to one store in memory. Nothing wakes one for what another does.
    private static func hosts(_ count: Int) throws -> [Stratus] {
        let memory = MemoryStore()
        return try (0..<count).map { try Stratus(on: TripStore(memory), options: options(number: $0)) }
    }

    private static func options(number: Int) -> Stratus.Options {
        var options = Stratus.Options()
        options.logger = nil
        options.identifiers = .seeded(UInt64(1 + number))
        options.upkeepIntervalSeconds = nil
        return options
    }

    private static func database(_ host: Stratus, _ account: Stratus.Account) -> CKDatabase {
        host.container(container, signedInAs: account).privateCloudDatabase
    }

    /// Waits at one host for the notification of a commit at another.
    private func hearOfEachOther(_ hosts: [Stratus]) async throws {
        let account = try await hosts[0].createAccount(.init(), externalID: "alice")
        let phone = try await hosts[0].device("phone", signedInAs: account)
        let pad = try await hosts[1].device("pad", signedInAs: account)
        let database = phone.container(Self.container).privateCloudDatabase
        let zone = try await database.save(CKRecordZone(zoneName: "Notes"))
        try await database.save(CKRecordZoneSubscription(zoneID: zone.zoneID, subscriptionID: "notes"))
        // A handler is called for news only: a task that begins to wait would look itself.
        let (heard, listener) = AsyncStream.makeStream(of: String?.self)
        pad.onNotification = { listener.yield($0.notification.subscriptionID) }
        var iterator = heard.makeAsyncIterator()
        for number in 0..<3 {
            let id = CKRecord.ID(recordName: "\(number)", zoneID: zone.zoneID)
            try await database.save(CKRecord(recordType: "Note", recordID: id))
            #expect(await iterator.next() == "notes")
        }
        for host in hosts { await host.close() }
    }

    @Test("[N-05] a device at one host hears of a commit at another, although nothing wakes its host")
    func polls() async throws {
        try await hearOfEachOther(try await TestThreads.offPool { try Self.hosts(2) })
    }

    @Test(
        "[N-05] a device at one host hears of commits at another by the server's notifications",
        .enabled(if: PostgresTestStore.isServerThere))
    func hears() async throws {
        let place = try PostgresTestStore(announcing: CloudService.announcedRanges)
        try await hearOfEachOther(
            try await TestThreads.offPool {
                try (0..<2).map { try Stratus(on: place.open(), options: Self.options(number: $0)) }
            })
        place.remove()
    }

    @Test("[X-09] what waits for a suspended account reaches its device at one host when another restores the account")
    func restored() async throws {
        let hosts = try await TestThreads.offPool { try Self.hosts(2) }
        let account = try await hosts[0].createAccount(.init(), externalID: "alice")
        let phone = try await hosts[0].device("phone", signedInAs: account)
        let pad = try await hosts[1].device("pad", signedInAs: account)
        let database = phone.container(Self.container).privateCloudDatabase
        let zone = try await database.save(CKRecordZone(zoneName: "Notes"))
        try await database.save(CKRecordZoneSubscription(zoneID: zone.zoneID, subscriptionID: "notes"))
        let id = CKRecord.ID(recordName: "a", zoneID: zone.zoneID)
        try await database.save(CKRecord(recordType: "Note", recordID: id))
        await hosts[0].settle()
        try await hosts[0].setStanding(.suspended, of: account)
        let (heard, listener) = AsyncStream.makeStream(of: String?.self)
        pad.onNotification = { listener.yield($0.notification.subscriptionID) }
        // The other host has looked, and found that the account gets nothing.
        hosts[1].session.hub.wake()
        await hosts[1].settle()
        try await hosts[0].setStanding(.good, of: account)
        var iterator = heard.makeAsyncIterator()
        #expect(await iterator.next() == "notes")
        for host in hosts { await host.close() }
    }

    @Test("[N-05] a task that waits for a device at one host ends when another removes the device")
    func removedDevice() async throws {
        let hosts = try await TestThreads.offPool { try Self.hosts(2) }
        let account = try await hosts[0].createAccount(.init(), externalID: "alice")
        let pad = try await hosts[1].device("pad", signedInAs: account)
        let waiting = Task {
            var iterator = pad.notifications.makeAsyncIterator()
            return await iterator.next()
        }
        await hosts[1].settle()
        hosts[1].session.hub.wake()
        await hosts[1].settle()
        try await hosts[0].device("pad", signedInAs: account).remove()
        let heard = await waiting.value
        #expect(heard == nil)
        for host in hosts { await host.close() }
    }

    @Test("[S-17] an account that is suspended at one host gets nothing more at another")
    func suspended() async throws {
        let hosts = try await TestThreads.offPool { try Self.hosts(2) }
        let account = try await hosts[0].createAccount(.init(), externalID: "alice")
        let zone = try await Self.database(hosts[1], account).save(CKRecordZone(zoneName: "Notes"))
        try await hosts[0].setStanding(.suspended, of: account)
        let error = await #expect(throws: CKError.self) {
            try await Self.database(hosts[1], account).recordZone(for: zone.zoneID)
        }
        #expect(error?.code == .notAuthenticated)
        for host in hosts { await host.close() }
    }

    @Test("[Z-04] a zone that was deleted and created again at one host is the new one at another")
    func zoneAgain() async throws {
        let hosts = try await TestThreads.offPool { try Self.hosts(2) }
        let account = try await hosts[0].createAccount(.init(), externalID: "alice")
        let (here, there) = (Self.database(hosts[0], account), Self.database(hosts[1], account))
        let zone = try await here.save(CKRecordZone(zoneName: "Notes"))
        let id = CKRecord.ID(recordName: "a", zoneID: zone.zoneID)
        try await there.save(CKRecord(recordType: "Note", recordID: id))
        try await here.deleteRecordZone(withID: zone.zoneID)
        try await here.save(CKRecordZone(zoneName: "Notes"))
        let error = await #expect(throws: CKError.self) { try await there.record(for: id) }
        #expect(error?.code == .unknownItem)
        for host in hosts { await host.close() }
    }

    @Test("work of a host that closes is done by another at once")
    func handsOver() async throws {
        let hosts = try await TestThreads.offPool { try Self.hosts(2) }
        let account = try await hosts[0].createAccount(.init(), externalID: "alice")
        let pad = try await hosts[1].device("pad", signedInAs: account)
        let phone = try await hosts[0].device("phone", signedInAs: account)
        let zone = try await phone.container(Self.container).privateCloudDatabase.save(CKRecordZone(zoneName: "Notes"))
        let desk = try await hosts[1].device("desk", signedInAs: account)
        let database = desk.container(Self.container).privateCloudDatabase
        try await database.save(CKRecordZoneSubscription(zoneID: zone.zoneID, subscriptionID: "notes"))
        var iterator = pad.notifications.makeAsyncIterator()
        let id = CKRecord.ID(recordName: "a", zoneID: zone.zoneID)
        try await phone.container(Self.container).privateCloudDatabase.save(CKRecord(recordType: "Note", recordID: id))
        #expect(await iterator.next()?.notification.subscriptionID == "notes")
        await hosts[0].close()
        let other = CKRecord.ID(recordName: "b", zoneID: zone.zoneID)
        try await database.save(CKRecord(recordType: "Note", recordID: other))
        #expect(await iterator.next()?.notification.subscriptionID == "notes")
        await hosts[1].close()
    }
}

@Suite("Long-lived operations at many hosts")
struct ManyHostOperationTests {
    private final class Object: Sendable {}

    private let memory = MemoryStore()
    private let contents = MemoryContents { 1_000 }
    private let clock = Locked(MonotonicTime(nanoseconds: 1_000_000_000))

    /// Operations that call a test before this host asks for a run.
    private struct WatchedOperations: LongLivedStore {
        let store: StoredOperations
        let beforeTakingRuns: @Sendable () -> Void

        func save(_ entry: LongLivedEntry) throws { try store.save(entry) }
        func entry(_ id: String) throws -> LongLivedEntry? { try store.entry(id) }
        func entries() throws -> [LongLivedEntry] { try store.entries() }
        func remove(_ id: String) throws { try store.remove(id) }
        func forget() { store.forget() }
        var isShared: Bool { store.isShared }
        func takeRun(of id: String) throws -> Bool {
            beforeTakingRuns()
            return try store.takeRun(of: id)
        }
        func endRun(of id: String) { store.endRun(of: id) }
        func keepFile(_ path: String, as number: Int, of id: String) throws -> String? {
            try store.keepFile(path, as: number, of: id)
        }
        func keptFile(_ number: Int, of id: String) -> String? { store.keptFile(number, of: id) }
    }

    /// A host with connections and long-lived operations of its own.
    private func host(
        beforeTakingRuns: @escaping @Sendable () -> Void = {}
    ) throws -> (engine: RecordEngine, registry: LongLivedRegistry) {
        var options = RecordEngineOptions()
        options.monotonicNow = { [clock] in clock.value }
        let engine = try RecordEngine(
            store: ContentsStore(TripStore(memory), contents), options: options, incarnation: UUID())
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("stratus-\(UUID().uuidString)").path
        let store = StoredOperations(
            lend: { if let forms = OperationForms(engine) { try $0(forms) } },
            takeDirectory: { folder }, giveBack: { try? FileManager.default.removeItem(atPath: $0) })
        let watched = WatchedOperations(store: store, beforeTakingRuns: beforeTakingRuns)
        return (engine, LongLivedRegistry(store: watched, clock: SystemClock()))
    }

    private static let entry = LongLivedEntry(
        id: "a", container: "iCloud.test", account: "alice", kind: "CKModifyRecordsOperation", request: Data("r".utf8))

    private func join(
        _ host: (engine: RecordEngine, registry: LongLivedRegistry), _ object: Object,
        whenAnswered: @escaping @Sendable () -> Void = {}
    ) throws -> LongLivedRegistry.Step {
        try host.registry.join(Self.entry, as: ObjectIdentifier(object), whenAnswered: whenAnswered)
    }

    @Test("[O-14] an operation that one host runs waits at another, and gets the answer there")
    func answered() throws {
        let (one, other) = (try host(), try host())
        let (first, second) = (Object(), Object())
        let wakeCount = Locked(0)
        guard case .send = try join(one, first) else { return #expect(Bool(false), "the first one sends") }
        guard case .wait = try join(other, second, whenAnswered: { wakeCount.withLock { $0 += 1 } }) else {
            return #expect(Bool(false), "the second one waits")
        }
        other.registry.lookAgain()
        #expect(wakeCount.value == 1)
        guard case .wait = try join(other, second, whenAnswered: { wakeCount.withLock { $0 += 1 } }) else {
            return #expect(Bool(false), "it still waits")
        }
        try one.registry.answer(Self.entry, with: Data("done".utf8))
        // Its last object has called its last block before the other host looks.
        try one.registry.leave("a", as: ObjectIdentifier(first))
        other.registry.lookAgain()
        #expect(wakeCount.value == 2)
        guard case .replay(let answer) = try join(other, second) else { return #expect(Bool(false), "it is answered") }
        #expect(answer == Data("done".utf8))
    }

    @Test("[O-14] an operation whose host is gone is sent by another, and a late answer of that host is not stored")
    func takenOver() throws {
        let (one, other) = (try host(), try host())
        let (first, second) = (Object(), Object())
        guard case .send = try join(one, first) else { return #expect(Bool(false), "the first one sends") }
        for _ in 0..<3 {
            guard case .wait = try join(other, second) else { return #expect(Bool(false), "the second one waits") }
            clock.withLock { $0 = $0 + 3.4 }
            try other.engine.beat()
        }
        guard case .send = try join(other, second) else { return #expect(Bool(false), "the second one sends") }
        try one.registry.answer(Self.entry, with: Data("late".utf8))
        #expect(try other.registry.kept("a")?.answer == nil)
        try other.registry.answer(Self.entry, with: Data("done".utf8))
        try one.registry.answer(Self.entry, with: Data("later".utf8))
        #expect(try one.registry.kept("a")?.answer == Data("done".utf8))
    }

    @Test("[O-14] an object that waits for another host and stops does not drop the operation")
    func stopsWaiting() throws {
        let (one, other) = (try host(), try host())
        let (first, second) = (Object(), Object())
        guard case .send = try join(one, first) else { return #expect(Bool(false), "the first one sends") }
        guard case .wait = try join(other, second) else { return #expect(Bool(false), "the second one waits") }
        try other.registry.leave("a", as: ObjectIdentifier(second))
        #expect(try one.registry.kept("a") != nil)
        try one.registry.answer(Self.entry, with: Data("done".utf8))
        #expect(try other.registry.kept("a")?.answer == Data("done".utf8))
    }

    @Test("[O-14] an operation that the last object at one host leaves unanswered is sent by another host")
    func left() throws {
        let (one, other) = (try host(), try host())
        let (first, second) = (Object(), Object())
        guard case .send = try join(one, first) else { return #expect(Bool(false), "the first one sends") }
        try one.registry.release("a", by: ObjectIdentifier(first))
        guard case .send = try join(other, second) else { return #expect(Bool(false), "the second one sends") }
    }

    @Test("[O-14] an operation that another host answers while one is about to send it is not sent again")
    func answeredMeanwhile() throws {
        let (first, second) = (Object(), Object())
        let one = try host()
        let interfere = Locked<(@Sendable () -> Void)?>(nil)
        let other = try host(beforeTakingRuns: { interfere.withLock { $0.take() }?() })
        guard case .send = try join(one, first) else { return #expect(Bool(false), "the first one sends") }
        interfere.withLock { action in
            action = { try? one.registry.answer(Self.entry, with: Data("done".utf8)) }
        }
        guard case .wait = try join(other, second) else { return #expect(Bool(false), "the second one waits") }
        guard case .replay(let answer) = try join(other, second) else { return #expect(Bool(false), "it is answered") }
        #expect(answer == Data("done".utf8))
    }

    @Test("[O-14] storing a large file delays no other operation of its host")
    func largeFile() async throws {
        let source = FileManager.default.temporaryDirectory.appendingPathComponent("stratus-\(UUID().uuidString)")
        try Data("sunset".utf8).write(to: source)
        defer { try? FileManager.default.removeItem(at: source) }
        let (isStoring, mayEnd) = (Latch("the file to be stored"), Latch("another operation to be joined"))
        let one = try host()
        contents.onNextAppend {
            isStoring.open()
            try? mayEnd.wait()
        }
        let object = Object()
        try await TestThreads.offPool {
            try TestThreads.run(2) { thread in
                guard thread == 0 else {
                    try isStoring.wait()
                    guard case .send = try join(one, object) else { return #expect(Bool(false), "it is joined") }
                    _ = try one.registry.entries(of: Caller(container: "iCloud.test", account: "alice"))
                    return mayEnd.open()
                }
                let kept = try one.registry.keepFile(source.path, as: 1, of: "large")
                #expect(kept != nil)
            }
        }
    }

    @Test("[O-14] opening a store leaves what another host is about to store")
    func sparesIncoming() throws {
        let (one, other) = (try host(), try host())
        try one.engine.beat()
        let forms = try #require(OperationForms(one.engine))
        let source = FileManager.default.temporaryDirectory.appendingPathComponent("stratus-\(UUID().uuidString)")
        try Data("sunset".utf8).write(to: source)
        defer { try? FileManager.default.removeItem(at: source) }
        #expect(try forms.keepFile(source.path, as: 0, of: "coming", files: SystemAssetFiles()))
        #expect(try other.registry.kept("coming") == nil)
        #expect(contents.count == 1)
        one.engine.leave()
        other.engine.leave()
        #expect(try host().registry.kept("coming") == nil)
        #expect(contents.count == 0)
    }
}
