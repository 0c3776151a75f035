// What becomes of the long-lived operations of an account that is deleted with all its data.

import Foundation
import StratusCloud
import StratusTestSupport
import Testing

@testable import StratusKit

@Suite("Operations of deleted accounts")
struct DeletedAccountOperationTests {
    private func names(_ directory: HostDirectory) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: directory.store.path + "/operations")) ?? []
    }

    private func entry(_ id: String, of account: String) -> LongLivedEntry {
        LongLivedEntry(id: id, container: "iCloud.test", account: account, kind: "modifyRecords", request: Data())
    }

    private func upload(_ directory: HostDirectory) throws -> CKModifyRecordsOperation {
        let file = directory.url.appendingPathComponent("sunset.jpg")
        try Data("sunset".utf8).write(to: file)
        let record = CKRecord(recordType: "Photo", recordID: CKRecord.ID(recordName: "photo"))
        record["file"] = CKAsset(fileURL: file)
        let operation = CKModifyRecordsOperation(recordsToSave: [record])
        operation.configuration.isLongLived = true
        operation.configuration.qualityOfService = .utility
        return operation
    }

    @Test("[O-14] after an account is deleted, none of its operations is left, nor their upload files")
    func deleted() async throws {
        let directory = try HostDirectory()
        let clock = Stratus.ManualClock()
        let store = try await Stratus.open(at: directory.store, options: .tested { $0.clock = .manual(clock) })
        let alice = try await store.createAccount(.init(), externalID: "alice")
        let bob = try await store.createAccount(.init(), externalID: "bob")
        // Requests fail as if the server were unreachable, and are retried when the clock is moved.
        store.faults.fail(
            .operation(.modifyRecords), with: .networkFailure, retryAfter: 1_000, lasting: .untilCancelled)
        let uploads = try [upload(directory), upload(directory)]
        let outcomes = Collected<String>()
        for (account, operation) in zip([alice, bob], uploads) {
            operation.modifyRecordsResultBlock = { outcomes.append(outcome($0)) }
            store.container("iCloud.test", signedInAs: account).privateCloudDatabase.add(operation)
        }
        await store.settle()
        #expect(names(directory).count == 4)
        try await onThread { try store.deleteAccountWithAllData(alice) }
        let mine = FileKeeper.name(of: uploads[0].operationID)
        #expect(names(directory).count == 2)
        #expect(!names(directory).contains { $0.hasPrefix(mine) })
        // A continued operation is not stored again.
        store.faults.removeAll()
        clock.advance(by: 1_000)
        await store.settle()
        #expect(outcomes.values.sorted() == ["notAuthenticated", "ok"])
        #expect(names(directory) == [])
        try await onThread { store.close() }
    }

    @Test("[O-14] operations that a crash left of a deleted account are removed at the next opening, or by upkeep")
    func leftovers() async throws {
        let directory = try HostDirectory()
        var store = try await Stratus.open(at: directory.store, options: .tested())
        let alice = try await store.createAccount(.init(), externalID: "alice")
        let bob = try await store.createAccount(.init(), externalID: "bob")
        try await onThread { [store] in
            try store.deleteAccountWithAllData(alice)
            store.close()
        }
        let files = OperationFiles(directory: directory.store.appendingPathComponent("operations").path)
        for entry in [entry("alice's", of: alice.id), entry("bob's", of: bob.id)] { try files.save(entry) }
        store = try await Stratus.open(at: directory.store, options: .tested())
        #expect(names(directory) == [FileKeeper.name(of: "bob's") + ".operation"])

        // One that the store finds later, and that has no owner either.
        let registry = store.session.longLived
        _ = try registry.join(entry("late", of: "nobody"), as: ObjectIdentifier(files)) {}
        #expect(names(directory).count == 2)
        try await onThread { [store] in try store.performUpkeep() }
        #expect(names(directory) == [FileKeeper.name(of: "bob's") + ".operation"])
        try await onThread { [store] in store.close() }
    }
}
