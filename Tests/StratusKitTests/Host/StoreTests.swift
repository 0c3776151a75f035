// Opening, emptying and closing stores.

import Foundation
import StratusKit
import StratusLevelDB
import StratusTestSupport
import Testing

@Suite("Stores")
struct HostStoreTests {
    @Test("saved data is there when the store is reopened")
    func reopening() async throws {
        let directory = try HostDirectory()
        do {
            let store = try await Stratus.open(at: directory.store, options: .tested())
            let alice = try await store.account(
                externalID: "alice", createIfMissing: .init(emails: ["alice@example.com"]))
            try await store.container("iCloud.test", signedInAs: alice).privateCloudDatabase.save(note("a"))
            await store.close()
        }
        let store = try await Stratus.open(at: directory.store, options: .tested())
        defer { store.close() }
        let alice = try #require(try await store.account(email: "ALICE@example.com"))
        #expect(alice.externalID == "alice")
        let database = store.container("iCloud.test", signedInAs: alice).privateCloudDatabase
        let record = try await database.record(for: CKRecord.ID(recordName: "a"))
        #expect(record["text"] as? String == "text")
    }

    @Test("[X-28] one directory opened twice, by any path, is one store until it is closed")
    func shared() throws {
        let directory = try HostDirectory()
        let first = try Stratus.open(at: directory.store, options: .tested())
        let link = directory.url.appendingPathComponent("link")
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: directory.store)
        let detour = directory.url.appendingPathComponent("x/../store")
        #expect(try Stratus.open(at: directory.store) === first)
        #expect(try Stratus.open(at: link) === first)
        #expect(try Stratus.open(at: detour) === first)
        first.close()
        let second = try Stratus.open(at: directory.store, options: .tested())
        #expect(second !== first)
        first.close()
        #expect(try Stratus.open(at: directory.store) === second)
        second.close()
    }

    @Test("many threads that open one directory get the same store")
    func openedAtOnce() async throws {
        let directory = try HostDirectory()
        let stores = try await withThrowingTaskGroup(of: Stratus.self) { group in
            for _ in 0..<8 { group.addTask { try Stratus.open(at: directory.store, options: .tested()) } }
            return try await group.reduce(into: [Stratus]()) { $0.append($1) }
        }
        #expect(stores.allSatisfy { $0 === stores[0] })
        await stores[0].close()
    }

    @Test("threads that close and reopen a store never leave it open but unregistered")
    func closedAndOpenedAtOnce() async throws {
        let directory = try HostDirectory()
        try await TestThreads.offPool {
            for _ in 0..<40 {
                let store = try Stratus.open(at: directory.store, options: .tested())
                let opened = Collected<Stratus>()
                try TestThreads.run(8) { index in
                    if index % 2 == 0 {
                        store.close()
                    } else {
                        opened.append(try Stratus.open(at: directory.store, options: .tested()))
                    }
                }
                // The last opener has the open store; the others had one that was closed meanwhile.
                let now = try Stratus.open(at: directory.store, options: .tested())
                guard opened.values.contains(where: { $0 === now }) || opened.values.allSatisfy({ $0 === store }) else {
                    throw StrayStore()
                }
                now.close()
            }
        }
        try await Stratus.open(at: directory.store, options: .tested()).close()
    }

    /// A store that is open although another one is.
    private struct StrayStore: Error {}

    @Test("a directory with other contents is refused, unchanged, with a remedy")
    func foreign() throws {
        let directory = try HostDirectory()
        let file = directory.url.appendingPathComponent("letter.txt")
        try Data("Dear".utf8).write(to: file)
        let error = try #require(throws: StratusError.self) { try Stratus.open(at: directory.url) }
        #expect(error.code == .notAStore)
        #expect(!error.message.isEmpty)
        #expect(error.fields["path"] == directory.url.resolvingSymlinksInPath().path)
        #expect(try Data(contentsOf: file) == Data("Dear".utf8))
    }

    @Test("a directory that another process holds is refused with the holder's name")
    func held() throws {
        let directory = try HostDirectory()
        let holder = try LevelDBStore.open(at: directory.store.path)
        let error = try #require(throws: StratusError.self) { try Stratus.open(at: directory.store) }
        #expect(error.code == .held)
        #expect(error.fields["holderProcessID"] == "\(ProcessInfo.processInfo.processIdentifier)")
        #expect(error.description.contains("held: "))
        holder.close()
        // The refusal has left nothing behind.
        try Stratus.open(at: directory.store, options: .tested()).close()
    }

    @Test("after closing, requests fail with serviceUnavailable, and host calls with closed or unavailable")
    func closing() async throws {
        let (store, account) = try Stratus.tested()
        let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
        try await database.save(note("a"))
        try await onThread { store.close() }
        try await onThread { store.close() }
        await #expect {
            try await database.save(note("b"))
        } throws: { error in
            (error as? CKError)?.code == .serviceUnavailable
        }
        let error = try #require(throws: StratusError.self) { try store.accounts() }
        #expect(error.code == .unavailable)
        #expect(throws: StratusError.self) { try store.reset() }
    }

    @Test("closing finishes accepted work: every operation's last block has been called, every save is durable")
    func closingFinishes() async throws {
        let directory = try HostDirectory()
        let store = try await Stratus.open(at: directory.store, options: .tested())
        let account = try await store.createAccount(.init(), externalID: "alice")
        let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
        let results = Collected<Bool>()
        for index in 0..<40 {
            let operation = CKModifyRecordsOperation(recordsToSave: [note("n\(index)")])
            operation.modifyRecordsResultBlock = { results.append((try? $0.get()) != nil) }
            database.add(operation)
        }
        try await onThread { store.close() }
        #expect(results.values == [Bool](repeating: true, count: 40))

        let again = try await Stratus.open(at: directory.store, options: .tested())
        let ids = (0..<40).map { CKRecord.ID(recordName: "n\($0)") }
        let found = try await again.container("iCloud.test", signedInAs: account).privateCloudDatabase.records(for: ids)
        #expect(found.values.count { (try? $0.get()) != nil } == 40)
        try await onThread { again.close() }
    }

    @Test("emptying a store removes accounts, records, faults and the signed-in account", arguments: [false, true])
    func reset(isOnDisk: Bool) async throws {
        let directory = try HostDirectory()
        let store =
            await isOnDisk
            ? try Stratus.open(at: directory.store, options: .tested()) : try Stratus.inMemory(options: .tested())
        let alice = try await store.createAccount(.init(), externalID: "alice")
        try await store.signIn(alice)
        let container = store.container("iCloud.test", signedInAs: alice)
        try await container.privateCloudDatabase.save(note("a"))
        store.faults.fail(.everything, with: .zoneBusy, lasting: .untilCancelled)
        try await onThread { try store.reset() }
        #expect(try await store.accounts() == [])
        #expect(try store.signedInAccount == nil)
        #expect(store.faults.count == 0)
        #expect(try await container.accountStatus() == .noAccount)

        let again = try await store.createAccount(.init(), externalID: "alice")
        #expect(again.id != alice.id)
        let database = store.container("iCloud.test", signedInAs: again).privateCloudDatabase
        await #expect {
            try await database.record(for: CKRecord.ID(recordName: "a"))
        } throws: { error in
            (error as? CKError)?.code == .unknownItem
        }
        try await database.save(note("a"))
        try await onThread { store.close() }
    }

    @Test("a closed store is deallocated after its last reference, whatever requests it served")
    func letGo() async throws {
        let isGone = Gate("the store to be let go of")
        do {
            let mark = Mark { isGone.open() }
            let (store, account) = try Stratus.tested { $0.onEvent = { _ in withExtendedLifetime(mark) {} } }
            let container = store.container("iCloud.test", signedInAs: account)
            #expect(try await container.accountStatus() == .available)
            _ = try await container.userRecordID()
            try await container.privateCloudDatabase.save(note("a"))
            try await onThread { store.close() }
        }
        try await onThread { try isGone.wait() }
    }

    /// Reports its end.
    private final class Mark: Sendable {
        private let onEnd: @Sendable () -> Void
        init(onEnd: @escaping @Sendable () -> Void) { self.onEnd = onEnd }
        deinit { onEnd() }
    }

    @Test("settle waits for the last block of every operation and for every notification")
    func settling() async throws {
        let (store, account) = try Stratus.tested()
        let container = store.container("iCloud.test")
        let blocks = Collected<Int>()
        try await store.signIn(account)
        for index in 0..<20 {
            let operation = CKModifyRecordsOperation(recordsToSave: [note("n\(index)")])
            operation.modifyRecordsResultBlock = { _ in blocks.append(index) }
            container.privateCloudDatabase.add(operation)
        }
        await store.settle()
        #expect(blocks.values.sorted() == Array(0..<20))
        let last = CKFetchRecordsOperation(recordIDs: [CKRecord.ID(recordName: "n0")])
        last.completionBlock = {
            for _ in 0..<1_000 { TestThreads.yield() }
            blocks.append(20)
        }
        container.privateCloudDatabase.add(last)
        await store.settle()
        #expect(blocks.values.last == 20)
        #expect(last.completionBlock == nil)
    }

    @Test("[X-05] a manual clock stamps records, and the same seed gives the same tags")
    func determinism() async throws {
        func run() async throws -> [String] {
            let clock = Stratus.ManualClock(now: Date(timeIntervalSince1970: 1_800_000_000))
            let (store, account) = try Stratus.tested {
                $0.clock = .manual(clock)
                $0.identifiers = .seeded(42)
            }
            let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
            let record = try await database.save(note("a"))
            #expect(record.creationDate == Date(timeIntervalSince1970: 1_800_000_000))
            let first = record.modificationDate
            record["text"] = "more"
            let second = try await database.save(record)
            #expect(try #require(second.modificationDate) > #require(first))
            clock.advance(by: 3_600)
            record["text"] = "still more"
            let third = try await database.save(record)
            #expect(third.modificationDate == Date(timeIntervalSince1970: 1_800_003_600))
            return [account.id, account.userRecordName, third.recordChangeTag ?? ""]
        }
        let first = try await run()
        #expect(try await run() == first)
        #expect(first[2] != "")
    }
}

/// Runs blocking code on a thread that may wait.
func onThread<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await TestThreads.offPool(body)
}

/// Values that blocks append from any thread.
final class Collected<Value: Sendable>: @unchecked Sendable {
    // Because the lock guards the array.
    private let lock = NSLock()
    private var collected: [Value] = []

    func append(_ value: Value) {
        lock.lock()
        collected.append(value)
        lock.unlock()
    }

    var values: [Value] {
        lock.lock()
        defer { lock.unlock() }
        return collected
    }
}
