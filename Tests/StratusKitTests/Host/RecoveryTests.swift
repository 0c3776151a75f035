// A store whose disk was full accepts saves again in place: its containers, tokens and subscriptions continue.

import Foundation
import StratusCloud
import StratusStore
import StratusTestSupport
import Testing

@testable import StratusKit

@Suite("recovery of a store in place")
struct RecoveryTests {
    private static let container = "iCloud.test"
    private static let zone = "Full"

    /// A host with a store on a small volume.
    private final class Host: Sendable {
        let volume: SmallVolume
        let store: Stratus
        let database: CKDatabase
        let events = Locked<[Stratus.Event]>([])

        init(byteCount: Int, recoveryPauseSeconds: TimeInterval? = nil) async throws {
            volume = try SmallVolume(byteCount: byteCount)
            let events = events
            store = try await Stratus.open(
                at: URL(fileURLWithPath: "\(volume.path)/store"),
                options: .tested {
                    $0.writeBufferByteCount = 256 << 10
                    $0.recoveryPauseSeconds = recoveryPauseSeconds
                    $0.onEvent = { event in
                        if event.operation == .recoverStore { events.withLock { $0.append(event) } }
                    }
                })
            let alice = try await store.account(externalID: "alice", createIfMissing: .init(emails: ["a@example.com"]))
            database = store.container(RecoveryTests.container, signedInAs: alice).privateCloudDatabase
            _ = try await database.save(CKRecordZone(zoneName: RecoveryTests.zone))
        }

        /// Saves by 16 callers until each has failed. Returns the acknowledged names, and the errors.
        func fill() async -> (saved: Set<String>, errors: [CKError.Code]) {
            await withTaskGroup(of: (Set<String>, CKError.Code?).self) { group in
                for caller in 0..<16 {
                    group.addTask { [self] in
                        var saved: Set<String> = []
                        // Random, because LevelDB compresses each value.
                        let text = String(
                            (0..<20_000).map { _ in Character(UnicodeScalar(UInt8.random(in: 33...126))) })
                        for number in 0..<1_000 {
                            let record = note("\(caller)-\(number)", in: RecoveryTests.zone, text: text)
                            do {
                                try await database.save(record)
                                saved.insert(record.recordID.recordName)
                            } catch { return (saved, (error as? CKError)?.code) }
                        }
                        return (saved, nil)
                    }
                }
                return await group.reduce(into: (Set<String>(), [CKError.Code]())) { result, next in
                    result.0.formUnion(next.0)
                    result.1 += [next.1].compactMap { $0 }
                }
            }
        }

        func names(since token: CKServerChangeToken?) async throws -> (Set<String>, CKServerChangeToken) {
            let zoneID = CKRecordZone.ID(zoneName: RecoveryTests.zone)
            var (names, token) = (Set<String>(), token)
            while true {
                let changes = try await database.recordZoneChanges(inZoneWith: zoneID, since: token)
                names.formUnion(changes.modificationResultsByID.keys.map(\.recordName))
                token = changes.changeToken
                if !changes.moreComing { return (names, changes.changeToken) }
            }
        }
    }

    @Test("[S-21] on a full disk saves fail and reads work; with space and recover() nothing acknowledged is lost")
    func fullDisk() async throws {
        let host = try await Host(byteCount: 6 << 20)
        guard host.volume.isMounted else { return }
        defer { host.store.close() }
        _ = try await host.database.save(note("first", in: Self.zone))
        let (_, token) = try await host.names(since: nil)
        let (saved, errors) = await host.fill()
        #expect(errors.count == 16)
        #expect(Set(errors).isSubset(of: [.serverResponseLost, .serviceUnavailable]), "\(errors)")
        #expect(host.store.writeFailure?.fields["reason"] == "diskFull")
        let late = await #expect(throws: CKError.self) {
            try await host.database.save(note("refused", in: Self.zone))
        }
        #expect(late?.code == .serviceUnavailable, "\(String(describing: late))")
        #expect(late?.retryAfterSeconds != nil, "\(String(describing: late))")
        #expect(try await host.names(since: token).0.isSuperset(of: saved))

        // Without space nothing is closed.
        let refused = #expect(throws: StratusError.self) { try host.store.recover() }
        #expect(refused?.code == .diskFull)
        #expect(try await host.names(since: token).0.isSuperset(of: saved))

        #expect(host.volume.resize(byteCount: 64 << 20))
        try await host.store.recover()
        #expect(host.store.writeFailure == nil)
        let (found, later) = try await host.names(since: token)
        #expect(found.isSuperset(of: saved), "\(found.count) of \(saved.count)")
        #expect(found.count <= saved.count + 16, "\(found.count) of \(saved.count)")
        _ = try await host.database.save(note("after", in: Self.zone))
        #expect(try await host.names(since: later).0 == ["after"])
        let codes = host.events.value.map(\.errorCode)
        #expect(codes.first == .serviceUnavailable, "\(codes)")
        #expect(codes.last == .some(nil), "\(codes)")
        // Asked again, there is nothing to do.
        try await host.store.recover()
        #expect(host.events.value.count == codes.count)
    }

    @Test("a store with automatic recovery recovers once there is space, under load")
    func byItself() async throws {
        let host = try await Host(byteCount: 6 << 20, recoveryPauseSeconds: 0.05)
        guard host.volume.isMounted else { return }
        defer { host.store.close() }
        let (saved, errors) = await host.fill()
        #expect(errors.count == 16)
        #expect(host.volume.resize(byteCount: 64 << 20))
        var attempts = 0
        while (try? await host.database.save(note("after", in: Self.zone))) == nil {
            attempts += 1
            try #require(attempts < 600, "the store did not recover: \(String(describing: host.store.writeFailure))")
            try await Task.sleep(nanoseconds: 50_000_000)
        }
        #expect(try await host.names(since: nil).0.isSuperset(of: saved.union(["after"])))
    }

    @Test(
        "an older copy, another store and an empty directory are refused as the store; the right one is accepted"
    )
    func wrongStore() async throws {
        let host = try await Host(byteCount: 32 << 20)
        guard host.volume.isMounted else { return }
        defer { host.store.close() }
        let path = "\(host.volume.path)/store"
        let copy = "\(host.volume.path)/copy"
        _ = try await host.store.backup(to: URL(fileURLWithPath: copy))
        _ = try await host.database.save(note("first", in: Self.zone))
        try FileManager.default.moveItem(atPath: path, toPath: "\(host.volume.path)/moved")
        try FileManager.default.moveItem(atPath: copy, toPath: path)
        // The outcome of the save that finds the store gone is unknown.
        await #expect(throws: CKError.self) { try await host.database.save(note("second", in: Self.zone)) }
        let refused = #expect(throws: StratusError.self) { try host.store.recover() }
        #expect(refused?.code == .unavailable, "\(String(describing: refused))")
        try FileManager.default.removeItem(atPath: path)
        // Another store, with more writes than this one.
        let elsewhere = "\(host.volume.path)/other"
        let other = try await Stratus.open(
            at: URL(fileURLWithPath: elsewhere), options: .tested { $0.identifiers = .seeded(2) })
        for number in 0..<20 { _ = try await other.createAccount(.init(), externalID: "other-\(number)") }
        await other.close()
        try FileManager.default.moveItem(atPath: elsewhere, toPath: path)
        let foreign = #expect(throws: StratusError.self) { try host.store.recover() }
        #expect(foreign?.code == .unavailable, "\(String(describing: foreign))")
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        #expect(throws: StratusError.self) { try host.store.recover() }
        #expect(try FileManager.default.contentsOfDirectory(atPath: path).isEmpty)
        await #expect(throws: CKError.self) { try await host.names(since: nil) }

        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.moveItem(atPath: "\(host.volume.path)/moved", toPath: path)
        try await host.store.recover()
        #expect(try await host.names(since: nil).0.contains("first"))
        _ = try await host.database.save(note("third", in: Self.zone))
    }

    /// A store whose writes fail while it is not at its path.
    private struct MovingStore {
        let directory: HostDirectory
        let store: Stratus
        let database: CKDatabase
        let events = Locked<[CKError.Code?]>([])

        init(_ change: (inout Stratus.Options) -> Void = { _ in }) throws {
            directory = try HostDirectory()
            let events = events
            store = try Stratus.open(
                at: directory.store,
                options: .tested {
                    change(&$0)
                    let hook = $0.onEvent
                    $0.onEvent = { event in
                        if event.operation == .recoverStore { events.withLock { $0.append(event.errorCode) } }
                        hook?(event)
                    }
                })
            let alice = try store.account(externalID: "alice", createIfMissing: .init(emails: ["a@example.com"]))
            database = store.container(RecoveryTests.container, signedInAs: alice).privateCloudDatabase
        }

        var moved: URL { directory.url.appendingPathComponent("moved") }

        func move() throws { try FileManager.default.moveItem(at: directory.store, to: moved) }
        func moveBack() throws { try FileManager.default.moveItem(at: moved, to: directory.store) }

        /// Has a save fail.
        func failWrite(_ name: String = "lost") async throws {
            try move()
            let error = await #expect(throws: CKError.self) { try await database.save(note(name)) }
            #expect(error?.code == .serverResponseLost)
            try moveBack()
        }
    }

    private func expectRefusal(_ body: () throws -> Void) throws {
        let error = try #require(throws: CloudError.self) { try body() }
        #expect(error.code == .serviceUnavailable, "\(error)")
        #expect(error.retryAfterSeconds != nil, "\(error)")
    }

    @Test(
        "[L-16] requests during or after a failed reopening fail with serviceUnavailable and a retry time"
    )
    func retryTime() async throws {
        let host = try MovingStore()
        defer { host.store.close() }
        try await host.failWrite()
        let (isIn, mayEnd) = (Latch("a request runs"), Latch("the request may end"))
        let server = host.store.server
        try await TestThreads.offPool {
            try TestThreads.run(3) { thread in
                switch thread {
                case 0:
                    try server.withService { _ in
                        isIn.open()
                        try mayEnd.wait()
                    }
                case 1:
                    try isIn.wait()
                    try host.store.recover()
                default:
                    try isIn.wait()
                    defer { mayEnd.open() }
                    // The running request delays recovery; requests after its beginning are refused.
                    try expectRefusal { while true { try server.withService { _ in TestThreads.yield() } } }
                }
            }
        }
        _ = try await host.database.save(note("after"))

        try await host.failWrite("lost too")
        try host.move()
        #expect(throws: StratusError.self) { try host.store.recover() }
        try expectRefusal { try server.withService { _ in } }
        try host.moveBack()
        try await host.store.recover()
        #expect(host.store.writeFailure == nil)
    }

    @Test("the host gets each failed write at once and in order, also while the store waits for automatic recovery")
    func secondFailure() async throws {
        let host = try MovingStore { $0.recoveryPauseSeconds = 3_600 }
        defer { host.store.close() }
        for number in 1...3 {
            try await host.failWrite("lost \(number)")
            let end = Date().addingTimeInterval(TestThreads.deadlineSeconds)
            while host.events.value.count < 2 * number - 1 {
                try #require(Date() < end, "the failed write \(number) was not reported: \(host.events.value)")
                try await Task.sleep(nanoseconds: 5_000_000)
            }
            try await host.store.recover()
            #expect(host.events.value == (0..<number).flatMap { _ in [.serviceUnavailable, nil] })
        }
    }

    @Test("the hook of an event cannot recover the store itself; another thread that it starts can")
    func fromEvent() async throws {
        let (store, refusals) = (Locked<Stratus?>(nil), Locked<[StratusError.Code?]>([]))
        let host = try MovingStore {
            $0.onEvent = { event in
                guard event.operation == .recoverStore, event.errorCode != nil else { return }
                // Each attempt that fails is an event, too.
                guard refusals.value.isEmpty, let store = store.withLock({ $0 }) else { return }
                do { try store.recover() } catch {
                    refusals.withLock { $0.append((error as? StratusError)?.code) }
                }
                Thread.detachNewThread {
                    for _ in 0..<1_000 where (try? store.recover()) == nil { Thread.sleep(forTimeInterval: 0.01) }
                }
            }
        }
        defer { host.store.close() }
        store.withLock { $0 = host.store }
        try await host.failWrite()
        let end = Date().addingTimeInterval(TestThreads.deadlineSeconds)
        while host.store.writeFailure != nil {
            try #require(Date() < end, "the store was not recovered")
            try await Task.sleep(nanoseconds: 5_000_000)
        }
        #expect(refusals.value == [.notAllowed])
        _ = try await host.database.save(note("after"))
        store.withLock { $0 = nil }
    }

    @Test("a request whose hook recovers the store does not deadlock")
    func fromRequest() async throws {
        let (store, hasTried) = (Locked<Stratus?>(nil), Locked(false))
        let host = try MovingStore {
            $0.onEvent = { event in
                guard event.operation == .modifyRecords, event.errorCode != nil else { return }
                hasTried.withLock { $0 = true }
                try? store.withLock { $0 }?.recover()
            }
        }
        defer { host.store.close() }
        store.withLock { $0 = host.store }
        try host.move()
        await #expect(throws: CKError.self) { try await host.database.save(note("lost")) }
        #expect(hasTried.value)
        try host.moveBack()
        store.withLock { $0 = nil }
        try await host.store.recover()
        _ = try await host.database.save(note("after"))
    }

    @Test("a tool that reads or pauses over the socket is disconnected when the store is reopened")
    func remoteReaders() async throws {
        let host = try MovingStore { $0.servesTool = true }
        defer { host.store.close() }
        let path = host.directory.store.path
        let (idle, busy) = (
            try #require(try LocalClient(directory: path)), try #require(try LocalClient(directory: path))
        )
        let (areIn, mayEnd) = (Latch("both to read"), Latch("the store to be recovered"))
        let readingCount = Locked(0)
        async let reading: () = TestThreads.offPool {
            try TestThreads.run(2) { thread in
                #expect(throws: LocalSocketError.self) {
                    try (thread == 0 ? idle : busy).reading { channel in
                        let count = readingCount.withLock { count in
                            count += 1
                            return count
                        }
                        if count == 2 { areIn.open() }
                        if thread == 0 { return try mayEnd.wait() }
                        while true {
                            let _: ReadValue = try LocalClient.ask(.read(.value(key: Data([1]))), over: channel)
                            Thread.sleep(forTimeInterval: 0.01)
                        }
                    }
                }
            }
        }
        try await TestThreads.offPool { try areIn.wait() }
        try await host.failWrite()
        try await TestThreads.offPool { [store = host.store] in
            defer { mayEnd.open() }
            try store.recover()
        }
        try await reading
        _ = try await host.database.save(note("after"))
    }

    @Test("[O-14] a long-lived operation that waits for a retry continues after recovery")
    func longLivedOperation() async throws {
        let clock = Stratus.ManualClock()
        let host = try MovingStore { $0.clock = .manual(clock) }
        defer { host.store.close() }
        let fault = host.store.faults.fail(
            .operation(.modifyRecords), with: .networkFailure, retryAfter: 1_000, lasting: .untilCancelled)
        let operation = CKModifyRecordsOperation(recordsToSave: [note("waiting")])
        operation.configuration.isLongLived = true
        // Such operations are retried after network errors.
        operation.configuration.qualityOfService = .utility
        let hasEnded = Latch("the operation to end")
        let outcomes = Locked<[String]>([])
        operation.modifyRecordsResultBlock = { result in
            outcomes.withLock { $0.append(outcome(result)) }
            hasEnded.open()
        }
        await withCheckedContinuation { continuation in
            operation.longLivedOperationWasPersistedBlock = { continuation.resume() }
            host.database.add(operation)
        }
        await host.store.settle()
        fault.cancel()
        try await host.failWrite()
        try await TestThreads.offPool { try host.store.recover() }
        clock.advance(by: 1_000)
        try await TestThreads.offPool { try hasEnded.wait() }
        #expect(outcomes.value == ["ok"])
        #expect(try await host.database.record(for: CKRecord.ID(recordName: "waiting"))["text"] as? String == "text")
    }

    @Test(
        "a store with new inodes, as on a remounted volume, is recovered and serves the tool"
    )
    func otherInodes() async throws {
        let host = try MovingStore { $0.servesTool = true }
        defer { host.store.close() }
        let path = host.directory.store.path
        _ = try await host.database.save(note("first"))
        try host.move()
        await #expect(throws: CKError.self) { try await host.database.save(note("lost")) }
        #expect(try ChildProcess("/bin/cp", ["-a", host.moved.path, path]).wait().isSuccess)
        #expect(try !ServedStore.writeFailure(ofStoreAt: path).isServed, "no process listens at the copied socket")
        try await host.store.recover()
        _ = try await host.database.save(note("second"))
        #expect(try await host.database.record(for: CKRecord.ID(recordName: "first"))["text"] as? String == "text")
        let served = try #require(try ServedStore(directory: path))
        #expect(try served.account(externalID: "alice", createIfMissing: .init()).externalID == "alice")
        served.close()
    }

    @Test(
        "[E-07] sync engines and subscriptions continue after recovery: later changes reach other devices automatically"
    )
    func engines() async throws {
        try await withSyncStage { stage in
            let (phone, other) = (
                try await stage.replica("phone", isAutomatic: true), try await stage.replica("other", isAutomatic: true)
            )
            await phone.createZone()
            await phone.write("a", "1")
            await stage.cloud.settle()
            #expect(await other.texts == ["a": "1"])

            let database = try stage.database("third")
            // A store that has left its path fails the next save, and nothing is read.
            let (path, moved) = (stage.directory.store.path, stage.directory.store.path + "-moved")
            try FileManager.default.moveItem(atPath: path, toPath: moved)
            await #expect(throws: CKError.self) {
                try await database.save(CKRecord(recordType: "Note", recordID: Replica.recordID("lost")))
            }
            try FileManager.default.moveItem(atPath: moved, toPath: path)
            try await TestThreads.offPool { try stage.cloud.recover() }
            await phone.write("b", "2")
            // An engine that met the failure waits before it tries again.
            stage.clock.advance(by: 600)
            await stage.cloud.settle()
            #expect(await other.texts["b"] == "2")
            #expect(try await stage.serverTexts()["b"] == "2")
        }
    }

    @Test("[C-10] an asset that does not fit on the disk fails only its own request")
    func assetTooLarge() async throws {
        let host = try await Host(byteCount: 6 << 20)
        guard host.volume.isMounted else { return }
        defer { host.store.close() }
        let directory = try HostDirectory()
        let file = directory.url.appendingPathComponent("large")
        try Data(repeating: 7, count: 12 << 20).write(to: file)
        let record = note("large", in: Self.zone)
        record["file"] = CKAsset(fileURL: file)
        await #expect(throws: CKError.self) { try await host.database.save(record) }
        #expect(host.store.writeFailure == nil)
        _ = try await host.database.save(note("small", in: Self.zone))
        #expect(try await host.names(since: nil).0 == ["small"])
    }

    @Test("opening a store whose last commit lost a page emits an event that names the commit")
    func droppedCommit() async throws {
        let directory = try HostDirectory()
        let store = try await Stratus.open(at: directory.store, options: .tested())
        let alice = try await store.account(externalID: "alice", createIfMissing: .init(emails: ["a@example.com"]))
        let database = store.container(Self.container, signedInAs: alice).privateCloudDatabase
        _ = try await database.save(note("kept"))
        _ = try await database.save(note("lost", text: String(repeating: "x", count: 40_000)))
        // As a crash leaves it: closing would empty the log.
        let crashed = try HostDirectory()
        try FileManager.default.copyItem(at: directory.store, to: crashed.store)
        await store.close()
        let names = try FileManager.default.contentsOfDirectory(atPath: crashed.store.path)
        let log = crashed.store.appendingPathComponent(try #require(names.filter { $0.hasSuffix(".log") }.max()))
        var bytes = try Data(contentsOf: log)
        let page = (bytes.count - 1) / 4_096 * 4_096
        bytes.replaceSubrange(page..., with: Data(count: bytes.count - page))
        try bytes.write(to: log)

        let events = Locked<[Stratus.Event]>([])
        let again = try await Stratus.open(
            at: crashed.store,
            options: .tested { $0.onEvent = { event in events.withLock { $0.append(event) } } })
        defer { again.close() }
        let event = try #require(events.value.first { $0.operation == .openStore })
        #expect(event.errorCode == .serverResponseLost)
        for part in ["byteCount=", "firstSequence=", "lastSequence=", log.lastPathComponent] {
            #expect(event.errorDescription?.contains(part) == true, "\(String(describing: event.errorDescription))")
        }
        let reopened = again.container(Self.container, signedInAs: alice).privateCloudDatabase
        #expect(try await reopened.record(for: CKRecord.ID(recordName: "kept"))["text"] as? String == "text")
        await #expect(throws: CKError.self) { try await reopened.record(for: CKRecord.ID(recordName: "lost")) }
    }
}
