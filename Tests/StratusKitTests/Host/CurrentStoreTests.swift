// Which store code means that knows only CloudKit. One test at a time changes the process's store.

import Foundation
import StratusLevelDB
import StratusTesting
import Testing

@testable import StratusKit

@Suite("Current store", .serialized)
struct CurrentStoreTests {
    private let id = CKRecord.ID(recordName: "a")

    @Test("[X-28] default() and init(identifier:) mean the task's own store, also in its child tasks")
    func ofTask() async throws {
        let (first, alice) = try Stratus.tested()
        let (second, bob) = try Stratus.tested()
        try await first.signIn(alice)
        try await second.signIn(bob)
        try await first.asCurrent {
            #expect(try Stratus.current === first)
            try await CKContainer.default().privateCloudDatabase.save(note("a", text: "first"))
            try await second.asCurrent {
                let found = try await CKContainer.default().privateCloudDatabase.records(for: [id])
                #expect(throws: CKError.self) { try found[id]?.get() }
                try await CKContainer(identifier: "iCloud.test").privateCloudDatabase.save(note("b"))
            }
            async let child = CKContainer.default().privateCloudDatabase.record(for: id)["text"] as? String
            #expect(try await child == "first")
        }
        let ids = [CKRecord.ID(recordName: "b")]
        let found = try await second.container("iCloud.test").privateCloudDatabase.records(for: ids)
        #expect(try found[ids[0]]?.get() != nil)
    }

    @Test("[X-28][O-01] an operation uses the store that was current when it was created")
    func captured() async throws {
        let (store, account) = try Stratus.tested()
        try await store.signIn(account)
        let operation = store.asCurrent { CKModifyRecordsOperation(recordsToSave: [note("a")]) }
        let result: Result<Void, any Error> = await withCheckedContinuation { continuation in
            operation.modifyRecordsResultBlock = { continuation.resume(returning: $0) }
            OperationQueue().addOperation(operation)
        }
        try result.get()
        let database = store.asCurrent { CKContainer.default().privateCloudDatabase }
        #expect(try await database.record(for: id)["text"] as? String == "text")
    }

    @Test("[X-28] without a store of the task, the store of the process is used")
    func ofProcess() async throws {
        let (store, account) = try Stratus.tested()
        try await store.signIn(account)
        let before = Stratus.processWide
        defer { Stratus.processWide = before }
        Stratus.processWide = store
        try await Task.detached {
            #expect(try Stratus.current === store)
            try await CKContainer.default().privateCloudDatabase.save(note("a"))
        }.value
        let (other, _) = try Stratus.tested()
        let current = try other.asCurrent { try Stratus.current }
        #expect(current === other)
    }

    @Test("[X-28][O-19] without any setup, the default store is opened, with one account signed in")
    func defaultStore() async throws {
        let directory = try HostDirectory()
        let before = Stratus.defaultStore
        defer { Stratus.defaultStore = before }
        Stratus.defaultStore = .at(directory.url.appendingPathComponent("deep/down/store"))
        try await Task.detached {
            let container = CKContainer.default()
            #expect(try await container.accountStatus() == .available)
            try await container.privateCloudDatabase.save(note("a"))
        }.value
        let store = try Stratus.current
        #expect(store.directory?.lastPathComponent == "store")
        #expect(try await store.accounts().count == 1)
        // After someone closed it, it is reopened, with the same account and its data.
        try await onThread { store.close() }
        let record = try await CKContainer.default().privateCloudDatabase.record(for: id)
        #expect(record["text"] as? String == "text")
        let again = try Stratus.current
        #expect(again !== store)
        #expect(try await again.accounts().count == 1)
        try await onThread { again.close() }
    }

    @Test(
        "[X-28][O-19] if another process holds the default store, operations fail with serviceUnavailable and its name")
    func heldDefaultStore() async throws {
        let directory = try HostDirectory()
        let before = Stratus.defaultStore
        defer { Stratus.defaultStore = before }
        Stratus.defaultStore = .at(directory.store)
        let holder = try LevelDBStore.open(at: directory.store.path)
        let container = CKContainer.default()
        let error = try await #require(throws: CKError.self) {
            try await container.privateCloudDatabase.save(note("a"))
        }
        #expect(error.code == .serviceUnavailable)
        #expect("\(error) \(error.userInfo)".contains("\(ProcessInfo.processInfo.processIdentifier)"))
        #expect(throws: StratusError.self) { try Stratus.current }
        holder.close()
        try await CKContainer.default().privateCloudDatabase.save(note("a"))
        let store = try Stratus.current
        try await onThread { store.close() }
    }

    @Test("[X-28] objects created for the default store stay with it, whatever becomes current later")
    func pinned() async throws {
        let directory = try HostDirectory()
        let (choice, process) = (Stratus.defaultStore, Stratus.processWide)
        defer { (Stratus.defaultStore, Stratus.processWide) = (choice, process) }
        Stratus.defaultStore = .at(directory.url.appendingPathComponent("first"))
        let (container, named) = (CKContainer.default(), CKContainer(identifier: "iCloud.test"))
        #expect(CKContainer.default() === container)
        let (free, queued) = (
            CKModifyRecordsOperation(recordsToSave: [note("free")]),
            CKModifyRecordsOperation(recordsToSave: [note("queued")])
        )
        let (other, account) = try Stratus.tested()
        try await other.signIn(account)
        Stratus.defaultStore = .at(directory.url.appendingPathComponent("second"))
        Stratus.processWide = other
        try await other.asCurrent {
            #expect(CKContainer.default() !== container)
            try await container.privateCloudDatabase.save(note("default"))
            try await named.privateCloudDatabase.save(note("named"))
            container.add(queued)
            OperationQueue().addOperation(free)
        }
        try await onThread { [free, queued] in
            for operation in [free, queued] { operation.waitUntilFinished() }
        }
        func names(_ store: Stratus, _ container: String) async throws -> [String] {
            let ids = ["default", "free", "named", "queued"].map { CKRecord.ID(recordName: $0) }
            let found = try await store.container(container).privateCloudDatabase.records(for: ids)
            return found.filter { (try? $0.value.get()) != nil }.map(\.key.recordName).sorted()
        }
        let store = try await Stratus.open(at: directory.url.appendingPathComponent("first"))
        #expect(try await names(store, "iCloud.default") == ["default", "free", "queued"])
        #expect(try await names(store, "iCloud.test") == ["named"])
        for container in ["iCloud.default", "iCloud.test"] { #expect(try await names(other, container) == []) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.url.path) == ["first"])
        try await onThread { store.close() }
    }

    @Test("[X-28] objects created without a store never get one, and say when it should have been set")
    func pinnedToNone() async throws {
        let (choice, process) = (Stratus.defaultStore, Stratus.processWide)
        defer { (Stratus.defaultStore, Stratus.processWide) = (choice, process) }
        Stratus.defaultStore = .off
        let container = CKContainer.default()
        let (other, account) = try Stratus.tested()
        try await other.signIn(account)
        Stratus.processWide = other
        let error = try await #require(throws: CKError.self) {
            try await other.asCurrent { try await container.privateCloudDatabase.save(note("a")) }
        }
        #expect(error.code == .serviceUnavailable)
        #expect(error.localizedDescription.contains("before containers and operations are created"))
        #expect(CKContainer.default() !== container)
        try await CKContainer.default().privateCloudDatabase.save(note("a"))
    }

    @Test("[X-28] with the default store disabled, operations fail with serviceUnavailable and a remedy")
    func off() async throws {
        let before = Stratus.defaultStore
        defer { Stratus.defaultStore = before }
        Stratus.defaultStore = .off
        let error = try await #require(throws: CKError.self) {
            try await CKContainer.default().privateCloudDatabase.record(for: id)
        }
        #expect(error.code == .serviceUnavailable)
        #expect(error.localizedDescription.contains("processWide"))
        let reason = try #require(throws: StratusError.self) { try Stratus.current }
        #expect(reason.code == .noStore)
    }

    @Test("the default store is in the user's data directory, according to the XDG specification")
    func dataDirectory() throws {
        func path(_ environment: [String: String]) throws -> String {
            try EmbeddedStore.directory(environment: environment).path
        }
        #expect(try path(["XDG_DATA_HOME": "/data", "HOME": "/house/me"]) == "/data/stratus/default")
        #expect(try path(["HOME": "/house/me"]) == "/house/me/.local/share/stratus/default")
        let usual = "/house/me/.local/share/stratus/default"
        #expect(try path(["XDG_DATA_HOME": "relative", "HOME": "/house/me"]) == usual)
        #expect(try path(["XDG_DATA_HOME": "", "HOME": "/house/me"]) == usual)
        let error = try #require(throws: StratusError.self) { try path([:]) }
        #expect(error.code == .noStore)
    }
}

@Suite("Test trait", .stratus)
struct TraitTests {
    @Test("each test has a store of its own, with one account signed in", arguments: 1...4)
    func ownStore(run: Int) async throws {
        let database = CKContainer.default().privateCloudDatabase
        let found = try await database.records(for: [CKRecord.ID(recordName: "a")])
        #expect(throws: CKError.self) { try found.values.first?.get() }
        try await database.save(note("a"))
        #expect(try await Stratus.current.accounts().count == 1)
        #expect(try Stratus.current.signedInAccount?.externalID == StratusTrait.externalID)
    }

    @Test("a test can start without a signed-in account", .stratus(signedInAs: nil))
    func nobody() async throws {
        #expect(try await CKContainer.default().accountStatus() == .noAccount)
    }

    @Test("each test has its own options", .stratus(options: { .tested { $0.requestItemCount = 2 } }))
    func options() async throws {
        let error = try await #require(throws: CKError.self) {
            try await CKContainer.default().privateCloudDatabase.modifyRecords(
                saving: [note("a"), note("b"), note("c")], deleting: [])
        }
        #expect(error.code == .limitExceeded)
    }
}
