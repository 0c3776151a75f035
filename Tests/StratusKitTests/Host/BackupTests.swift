// Backups of stores in service: records, assets and long-lived operations agree in every copy.

import Foundation
import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@testable import StratusKit

@Suite("Backups")
struct BackupTests {
    /// A store with one account.
    private struct Fixture {
        let directory: HostDirectory
        let store: Stratus
        let database: CKDatabase

        init() throws {
            directory = try HostDirectory()
            store = try Stratus.open(at: directory.store, options: .tested())
            let account = try store.createAccount(.init(), externalID: "alice")
            database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
        }

        var copy: URL { directory.url.appendingPathComponent("copy") }

        func photo(_ name: String, _ text: String) throws -> CKRecord {
            let file = directory.url.appendingPathComponent("\(UUID().uuidString).txt")
            try Data(text.utf8).write(to: file)
            let record = CKRecord(recordType: "Photo", recordID: CKRecord.ID(recordName: name))
            record["file"] = CKAsset(fileURL: file)
            return record
        }

        /// Saves and deletes on a thread that may block, and returns when it is done.
        func modify(save: [CKRecord] = [], delete: [String] = []) throws {
            let done = Gate("the records to be changed")
            let operation = CKModifyRecordsOperation(
                recordsToSave: save, recordIDsToDelete: delete.map { CKRecord.ID(recordName: $0) })
            operation.completionBlock = { done.open() }
            database.add(operation)
            try done.wait()
        }

        /// The code that a backup is refused with; it runs on a thread that may block.
        static func refusal(of backup: @escaping @Sendable () throws -> Stratus.BackupReport) async throws
            -> StratusError.Code?
        {
            try await TestThreads.offPool {
                do {
                    _ = try backup()
                    return nil
                } catch let error as StratusError { return error.code }
            }
        }

        /// The contents of a store's photos, by name.
        func photos(at url: URL, _ names: [String]) async throws -> [String: String] {
            let store = try await Stratus.open(at: url, options: .tested())
            #expect(try store.service.verifyAssets().isEmpty)
            let account = try #require(try await store.account(externalID: "alice"))
            let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
            var texts: [String: String] = [:]
            for (id, result) in try await database.records(for: names.map { CKRecord.ID(recordName: $0) }) {
                guard let asset = try? result.get()["file"] as? CKAsset else { continue }
                texts[id.recordName] = try asset.fileURL.map { try String(contentsOf: $0, encoding: .utf8) } ?? "none"
            }
            try await onThread { store.close() }
            return texts
        }
    }

    @Test("a backup of an open store has its records and assets, and keeps them whatever happens to the store")
    func whole() async throws {
        let fixture = try Fixture()
        try await fixture.database.save(try fixture.photo("a", "sunset"))
        try await fixture.database.save(try fixture.photo("b", "sunrise"))
        // A content that no record names is not copied.
        try await fixture.database.save(try fixture.photo("c", "noon"))
        try await fixture.database.deleteRecord(withID: CKRecord.ID(recordName: "c"))
        let report = try await TestThreads.offPool { try fixture.store.backup(to: fixture.copy) }
        #expect(report.assetCount == 2)
        #expect(report.attemptCount == 1)
        #expect(report.unfinishedPaths.isEmpty)
        try await TestThreads.offPool {
            try fixture.modify(delete: ["a", "b"])
            try fixture.store.performUpkeep()
            fixture.store.close()
        }
        #expect(try await fixture.photos(at: fixture.copy, ["a", "b", "c"]) == ["a": "sunset", "b": "sunrise"])
        let names = try FileManager.default.contentsOfDirectory(atPath: fixture.directory.url.path)
        #expect(!names.contains { $0.contains("incomplete") })
    }

    @Test("contents deleted during the copy are in the backup, or the copy is repeated without their records")
    func overtaken() async throws {
        let fixture = try Fixture()
        try await fixture.database.save(try fixture.photo("old", "sunset"))
        var backup = StoreBackup(source: fixture.directory.store.path, destination: fixture.copy.path)
        backup.onMoment = { moment, attempt in
            guard attempt == 1 else { return }
            switch moment {
            case .contentsTaken: try fixture.modify(save: [try fixture.photo("new", "sunrise")])
            case .engineCopied:
                try fixture.modify(delete: ["old", "new"])
                try fixture.store.performUpkeep()
            }
        }
        let report = try await TestThreads.offPool { [backup] in try backup.make() }
        #expect(report.attemptCount == 2)
        #expect(try await fixture.photos(at: fixture.copy, ["old", "new"]).isEmpty)

        // Deleted after it was copied, and after the records that name it were copied: it is there.
        try await fixture.database.save(try fixture.photo("old", "sunset"))
        backup = StoreBackup(
            source: fixture.directory.store.path, destination: fixture.copy.path + "-2",
            onMoment: { moment, _ in
                guard case .engineCopied = moment else { return }
                try fixture.modify(delete: ["old"])
                try fixture.store.performUpkeep()
            })
        let second = try await TestThreads.offPool { [backup] in try backup.make() }
        #expect(second.attemptCount == 1)
        let copy = URL(fileURLWithPath: fixture.copy.path + "-2")
        #expect(try await fixture.photos(at: copy, ["old"]) == ["old": "sunset"])
        try await TestThreads.offPool { fixture.store.close() }
    }

    @Test("backups under saves, deletions and collections are consistent")
    func underLoad() async throws {
        let fixture = try Fixture()
        try await TestThreads.offPool {
            let isDone = Locked(false)
            try TestThreads.run(2) { thread in
                if thread == 0 {
                    var number = 0
                    while !isDone.value {
                        number += 1
                        let photos = try (0..<4).map { try fixture.photo("\(number)-\($0)", "photo \(number) \($0)") }
                        try fixture.modify(
                            save: photos, delete: number < 4 ? [] : (0..<3).map { "\(number - 3)-\($0)" })
                        try fixture.store.performUpkeep()
                    }
                    return
                }
                defer { isDone.withLock { $0 = true } }
                for round in 0..<6 {
                    try fixture.store.backup(to: fixture.directory.url.appendingPathComponent("copy-\(round)"))
                }
            }
        }
        for round in 0..<6 {
            let copy = fixture.directory.url.appendingPathComponent("copy-\(round)")
            _ = try await fixture.photos(at: copy, [])
        }
        try await TestThreads.offPool { fixture.store.close() }
    }

    @Test(
        "a store with a missing or damaged content is not copied, and nothing is left behind", arguments: [true, false])
    func damaged(isMissing: Bool) async throws {
        let fixture = try Fixture()
        try await fixture.database.save(try fixture.photo("a", "sunset"))
        let content = fixture.directory.store.appendingPathComponent("assets/content")
        let path = try #require(
            FileManager.default.enumerator(atPath: content.path)?.compactMap { $0 as? String }
                .first { $0.split(separator: "/").count == 3 })
        let file = content.appendingPathComponent(path)
        try FileManager.default.removeItem(at: file)
        if !isMissing { try Data("SUNSET".utf8).write(to: file) }
        let code = try await Fixture.refusal { try fixture.store.backup(to: fixture.copy) }
        #expect(code == .corruption)
        let names = try FileManager.default.contentsOfDirectory(atPath: fixture.directory.url.path)
        #expect(!names.contains { $0.hasPrefix("copy") })
        try await TestThreads.offPool { fixture.store.close() }
    }

    @Test("a wrong count without data loss is reported, and does not prevent the backup")
    func miscounted() async throws {
        let fixture = try Fixture()
        try await fixture.database.save(try fixture.photo("a", "sunset"))
        try await TestThreads.offPool {
            let service = try fixture.store.service
            try service.engine.transact { transaction in
                var found: (owner: UserName, digest: [UInt8])?
                try transaction.store.scan(GlobalKeys.keyspace(.assets)) { key, _ in
                    found = try GlobalKeys.readAssetKey(key)
                    return .next
                }
                guard let found else { return }
                try service.assetLedger.settle(
                    adding: [AssetDescriptor(digest: found.digest, byteCount: 6): 1], removing: [:],
                    owner: found.owner, in: transaction)
            }
        }
        let report = try await TestThreads.offPool { try fixture.store.backup(to: fixture.copy) }
        #expect(report.assetCount == 1)
        #expect(report.findings.count == 1)
        try await TestThreads.offPool { fixture.store.close() }
    }

    @Test("[O-14] long-lived operations and the files they upload are in the backup")
    func operations() async throws {
        let fixture = try Fixture()
        let files = OperationFiles(directory: fixture.directory.store.appendingPathComponent("operations").path)
        let source = fixture.directory.url.appendingPathComponent("source")
        try Data("sunset".utf8).write(to: source)
        #expect(try files.keepFile(source.path, as: 0, of: "a") != nil)
        let entry = LongLivedEntry(id: "a", container: "c", account: nil, kind: "modifyRecords", request: Data())
        try files.save(entry)
        let report = try await TestThreads.offPool { try fixture.store.backup(to: fixture.copy) }
        #expect(report.operationCount == 1)
        try files.remove("a")
        let copied = OperationFiles(directory: fixture.copy.appendingPathComponent("operations").path)
        #expect(try copied.entries() == [entry])
        let kept = try #require(copied.keptFile(0, of: "a"))
        #expect(try String(contentsOf: URL(fileURLWithPath: kept), encoding: .utf8) == "sunset")
        try await TestThreads.offPool { fixture.store.close() }
    }

    @Test("an existing destination, a store in memory and a directory without a store are refused")
    func refusals() async throws {
        let fixture = try Fixture()
        let memory = try await Stratus.inMemory(options: .tested())
        try Data("mine".utf8).write(to: fixture.copy)
        let empty = fixture.directory.url.appendingPathComponent("empty")
        try FileManager.default.createDirectory(at: empty, withIntermediateDirectories: false)
        let free = fixture.directory.url.appendingPathComponent("free")
        #expect(try await Fixture.refusal { try fixture.store.backup(to: fixture.copy) } == .inputOutput)
        #expect(try await Fixture.refusal { try memory.backup(to: free) } == .invalidArgument)
        #expect(try await Fixture.refusal { try Stratus.backup(ofStoreAt: empty, to: free) } == .notAStore)
        #expect(try Data(contentsOf: fixture.copy) == Data("mine".utf8))
        try await TestThreads.offPool {
            fixture.store.close()
            memory.close()
        }
    }
}
