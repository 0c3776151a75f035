// A store whose disk was full takes saves again in place: its containers, tokens and subscriptions go on.

import Foundation
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
            store = try Stratus.open(
                at: URL(fileURLWithPath: "\(volume.path)/store"),
                options: .tested {
                    $0.writeBufferByteCount = 256 << 10
                    $0.recoveryPauseSeconds = recoveryPauseSeconds
                    $0.onEvent = { event in
                        if event.operation == .recoverStore { events.withLock { $0.append(event) } }
                    }
                })
            let alice = try store.account(externalID: "alice", createIfMissing: .init(emails: ["a@example.com"]))
            database = store.container(RecoveryTests.container, signedInAs: alice).privateCloudDatabase
            _ = try await database.save(CKRecordZone(zoneName: RecoveryTests.zone))
        }

        /// Saves by 16 callers until each has failed. Returns the names that were acknowledged, and the errors.
        func fill() async -> (saved: Set<String>, errors: [CKError.Code]) {
            await withTaskGroup(of: (Set<String>, CKError.Code?).self) { group in
                for caller in 0..<16 {
                    group.addTask { [self] in
                        var saved: Set<String> = []
                        for number in 0..<1_000 {
                            let text = String(
                                (0..<20_000).map { _ in Character(UnicodeScalar(UInt8.random(in: 33...126))) })
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

    @Test("[S-21] on a full disk saves fail and reads go on; with room and recover() nothing acknowledged is lost")
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
        await #expect(throws: CKError.self) { try await host.database.save(note("refused", in: Self.zone)) }
        #expect(try await host.names(since: token).0.isSuperset(of: saved))

        // Without room nothing is closed.
        let refused = #expect(throws: StratusError.self) { try host.store.recover() }
        #expect(refused?.code == .diskFull)
        #expect(try await host.names(since: token).0.isSuperset(of: saved))

        #expect(host.volume.resize(byteCount: 64 << 20))
        try host.store.recover()
        #expect(host.store.writeFailure == nil)
        let (found, later) = try await host.names(since: token)
        #expect(found.isSuperset(of: saved) && found.count <= saved.count + 16, "\(found.count) of \(saved.count)")
        _ = try await host.database.save(note("after", in: Self.zone))
        #expect(try await host.names(since: later).0 == ["after"])
        let codes = host.events.value.map(\.errorCode)
        #expect(codes.first == .serviceUnavailable && codes.last == .some(nil), "\(codes)")
        // Asked again, there is nothing to do.
        try host.store.recover()
        #expect(host.events.value.count == codes.count)
    }

    @Test("a store that may recover by itself does once there is room, under load")
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
        "an older copy, another store and an empty directory in the place of the store are refused; the right one is taken"
    )
    func wrongStore() async throws {
        let host = try await Host(byteCount: 32 << 20)
        guard host.volume.isMounted else { return }
        defer { host.store.close() }
        let path = "\(host.volume.path)/store"
        let copy = "\(host.volume.path)/copy"
        _ = try host.store.backup(to: URL(fileURLWithPath: copy))
        _ = try await host.database.save(note("first", in: Self.zone))
        try FileManager.default.moveItem(atPath: path, toPath: "\(host.volume.path)/moved")
        try FileManager.default.moveItem(atPath: copy, toPath: path)
        // The save that finds the store gone is in doubt.
        await #expect(throws: CKError.self) { try await host.database.save(note("second", in: Self.zone)) }
        let refused = #expect(throws: StratusError.self) { try host.store.recover() }
        #expect(refused?.code == .unavailable, "\(String(describing: refused))")
        try FileManager.default.removeItem(atPath: path)
        // Another store, with more writes than this one has had.
        let elsewhere = "\(host.volume.path)/other"
        let other = try Stratus.open(
            at: URL(fileURLWithPath: elsewhere), options: .tested { $0.identifiers = .seeded(2) })
        for number in 0..<20 { _ = try other.createAccount(.init(), externalID: "other-\(number)") }
        other.close()
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
        try host.store.recover()
        #expect(try await host.names(since: nil).0.contains("first"))
        _ = try await host.database.save(note("third", in: Self.zone))
    }

    @Test("[E-07] sync engines and subscriptions go on after recovery: what comes then reaches other devices unasked")
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

    @Test("opening a store whose last commit lost a page is an event that names the commit")
    func droppedCommit() async throws {
        let directory = try HostDirectory()
        let store = try Stratus.open(at: directory.store, options: .tested())
        let alice = try store.account(externalID: "alice", createIfMissing: .init(emails: ["a@example.com"]))
        let database = store.container(Self.container, signedInAs: alice).privateCloudDatabase
        _ = try await database.save(note("kept"))
        _ = try await database.save(note("lost", text: String(repeating: "x", count: 40_000)))
        store.close()
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.store.path)
        let log = directory.store.appendingPathComponent(try #require(names.filter { $0.hasSuffix(".log") }.max()))
        var bytes = try Data(contentsOf: log)
        let page = (bytes.count - 1) / 4_096 * 4_096
        bytes.replaceSubrange(page..., with: Data(count: bytes.count - page))
        try bytes.write(to: log)

        let events = Locked<[Stratus.Event]>([])
        let again = try Stratus.open(
            at: directory.store,
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
