// Records and assets of one database that are saved to another.

import Foundation
import StratusKit
import Testing

@Suite("Record origins")
struct RecordOriginTests {
    private let id = CKRecord.ID(recordName: "photo")

    private func outcome(_ body: () async throws -> Void) async -> CKError.Code? {
        do {
            try await body()
            return nil
        } catch { return (error as? CKError)?.code ?? .internalError }
    }

    @Test(
        "[X-23] a record of another container or database is refused under every policy, and nothing is written",
        arguments: [CKModifyRecordsOperation.RecordSavePolicy.ifServerRecordUnchanged, .changedKeys, .allKeys])
    func foreignRecord(policy: CKModifyRecordsOperation.RecordSavePolicy) async throws {
        let (store, account) = try Stratus.tested()
        let here = store.container("iCloud.here", signedInAs: account)
        let there = store.container("iCloud.there", signedInAs: account)
        let home = here.privateCloudDatabase
        let (taken, free) = (CKRecord.ID(recordName: "taken"), CKRecord.ID(recordName: "free"))
        for target in [there.privateCloudDatabase, here.publicCloudDatabase] {
            try await target.save(note("taken", text: "theirs"))
        }
        let saved = [note("taken", text: "mine"), note("free", text: "mine")]
        _ = try await home.modifyRecords(saving: saved, deleting: [])
        let fetched = [try await home.record(for: taken), try await home.record(for: free)]
        for target in [there.privateCloudDatabase, here.publicCloudDatabase] {
            for records in [saved, fetched] {
                for record in records { record["text"] = "changed" }
                let results = try await target.modifyRecords(
                    saving: records, deleting: [], savePolicy: policy, atomically: false
                ).saveResults
                for record in records {
                    #expect(await outcome { _ = try results[record.recordID]?.get() } == .invalidArguments)
                }
            }
            #expect(try await target.record(for: taken)["text"] as? String == "theirs")
            #expect(await outcome { _ = try await target.record(for: free) } == .unknownItem)
        }
        // Where it belongs it is saved.
        _ = try await home.modifyRecords(saving: fetched, deleting: [], savePolicy: .changedKeys)
        #expect(try await home.record(for: taken)["text"] as? String == "changed")
    }

    @Test("[X-22][X-23] an archived record is refused elsewhere too; a copy without the mark is treated like any claim")
    func archived() async throws {
        let (store, alice) = try Stratus.tested()
        let bob = try await store.createAccount(.init(), externalID: "bob")
        let here = store.container("iCloud.here", signedInAs: alice)
        let home = here.privateCloudDatabase
        let saved = try await home.save(note("a"))
        func archives() throws -> [CKRecord] {
            let archiver = NSKeyedArchiver(requiringSecureCoding: true)
            saved.encodeSystemFields(with: archiver)
            archiver.finishEncoding()
            let whole = try NSKeyedArchiver.archivedData(withRootObject: saved, requiringSecureCoding: true)
            #expect(!String(decoding: whole, as: UTF8.self).contains(alice.id))
            let first = try StratusArchive.decode(CKRecord.self, from: whole)
            // Also through a second archive.
            let again = try NSKeyedArchiver.archivedData(withRootObject: first, requiringSecureCoding: true)
            return try [archiver.encodedData, whole, again].map { try StratusArchive.decode(CKRecord.self, from: $0) }
        }
        for target in [
            here.publicCloudDatabase, store.container("iCloud.there", signedInAs: alice).privateCloudDatabase,
            store.container("iCloud.here", signedInAs: bob).privateCloudDatabase,
        ] {
            for record in try archives() {
                record["text"] = "changed"
                let results = try await target.modifyRecords(saving: [record], deleting: [], savePolicy: .allKeys)
                    .saveResults
                #expect(await outcome { _ = try results[record.recordID]?.get() } == .invalidArguments)
            }
            #expect(await outcome { _ = try await target.record(for: saved.recordID) } == .unknownItem)
        }
        for (index, record) in try archives().enumerated() {
            record["text"] = "changed \(index)"
            _ = try await home.modifyRecords(saving: [record], deleting: [], savePolicy: .changedKeys)
            #expect(try await home.record(for: saved.recordID)["text"] as? String == "changed \(index)")
        }
    }

    @Test("[R-14] a fetched asset is uploaded to a record of the same name in another database")
    func published() async throws {
        let directory = try HostDirectory()
        let file = directory.url.appendingPathComponent("sunset.txt")
        try Data("sunset".utf8).write(to: file)
        let (store, alice) = try Stratus.tested()
        let bob = try await store.createAccount(.init(), externalID: "bob")
        let container = store.container("iCloud.test", signedInAs: alice)
        let original = CKRecord(recordType: "Photo", recordID: id)
        original["file"] = CKAsset(fileURL: file)
        try await container.privateCloudDatabase.save(original)
        for target in [
            container.publicCloudDatabase,
            store.container("iCloud.other", signedInAs: alice).privateCloudDatabase,
            store.container("iCloud.test", signedInAs: bob).privateCloudDatabase,
        ] {
            let fetched = try await container.privateCloudDatabase.record(for: id)
            let copy = CKRecord(recordType: "Photo", recordID: id)
            copy["file"] = fetched["file"] as? CKAsset
            try await target.save(copy)
            let asset = try #require(try await target.record(for: id)["file"] as? CKAsset)
            #expect(try Data(contentsOf: try #require(asset.fileURL)) == Data("sunset".utf8))
        }
    }

    @Test("a public asset is stored in a container with the longest name")
    func longContainer() async throws {
        let directory = try HostDirectory()
        let file = directory.url.appendingPathComponent("sunset.txt")
        try Data("sunset".utf8).write(to: file)
        let (store, account) = try Stratus.tested()
        let container = store.container(String(repeating: "a.", count: 127), signedInAs: account)
        let record = CKRecord(recordType: "Photo", recordID: id)
        record["file"] = CKAsset(fileURL: file)
        try await container.publicCloudDatabase.save(record)
        let asset = try #require(try await container.publicCloudDatabase.record(for: id)["file"] as? CKAsset)
        #expect(try Data(contentsOf: try #require(asset.fileURL)) == Data("sunset".utf8))
    }
}
