// Long-lived operations of a store whose contents are in the store itself.

import Foundation
import StratusCloud
import StratusLayout
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@testable import StratusKit

@Suite("Stored operations")
struct StoredOperationsTests {
    private let directory: HostDirectory
    private let memory = MemoryContents { 1_000 }
    private let engine: RecordEngine
    private let folderCount = Locked(0)

    init() throws {
        directory = try HostDirectory()
        engine = try RecordEngine(
            store: ContentsStore(TwiceRunningStore(MemoryStore()), memory), incarnation: UUID())
    }

    /// Those of the next process.
    private func operations() -> StoredOperations {
        let (engine, url, folderCount) = (engine, directory.url, folderCount)
        return StoredOperations(
            lend: { if let forms = OperationForms(engine) { try $0(forms) } },
            takeDirectory: {
                let number = folderCount.withLock { count in
                    count += 1
                    return count
                }
                return url.appendingPathComponent("copies-\(number)").path
            }, giveBack: { try? FileManager.default.removeItem(atPath: $0) })
    }

    private func entry(_ id: String, answer: String? = nil, byteCount: Int = 7) -> LongLivedEntry {
        LongLivedEntry(
            id: id, container: "iCloud.test", account: "alice", kind: "CKModifyRecordsOperation",
            request: Data(repeating: 0x41, count: byteCount), answer: answer.map { Data($0.utf8) },
            answered: answer.map { _ in Date(timeIntervalSince1970: 1_800_000_000) })
    }

    private func keys() throws -> [[UInt8]] {
        try engine.read { try $0.store.keys(in: GlobalKeys.keyspace(.operations)) }
    }

    private func source(_ text: String) throws -> String {
        let file = directory.url.appendingPathComponent("source")
        try Data(text.utf8).write(to: file)
        return file.path
    }

    @Test("[O-14] the next process finds the stored operation, in its newest form, until it is removed")
    func keeping() throws {
        let first = operations()
        #expect(try first.entries() == [])
        try first.save(entry("a"))
        try first.save(entry("../b / ü"))
        try first.save(entry("a", answer: "done"))
        try first.save(entry("c"))
        try first.remove("c")
        try first.remove("never there")
        let next = operations()
        #expect(try next.entry("a") == entry("a", answer: "done"))
        #expect(try next.entry("../b / ü") == entry("../b / ü"))
        #expect(try next.entry("c") == nil)
        #expect(try next.entries().count == 2)
        #expect(try keys().count == 4)
    }

    @Test("[O-14] an operation that is larger than a transaction is stored, replaced and removed")
    func large() throws {
        let large = entry("large", byteCount: 12_000_000)
        try operations().save(large)
        #expect(try operations().entry("large") == large)
        let next = operations()
        try next.save(entry("large", answer: "done"))
        #expect(try keys().count == 2)
        #expect(try operations().entry("large") == entry("large", answer: "done"))
        try next.save(large)
        try next.remove("large")
        #expect(try keys() == [])
    }

    @Test("[O-14] a stored file belongs to its operation, outlives its process, and is removed with it")
    func keptFiles() throws {
        let first = operations()
        let kept = try #require(try first.keepFile(try source("sunset"), as: 0, of: "a"))
        #expect(FileManager.default.contents(atPath: kept) == Data("sunset".utf8))
        #expect(try first.keepFile(directory.url.path + "/none", as: 1, of: "a") == nil)
        #expect(try first.keepFile(directory.url.path, as: 1, of: "a") == nil)
        try first.save(entry("a"))
        let next = operations()
        #expect(try next.entries().count == 1)
        let again = try #require(next.keptFile(0, of: "a"))
        #expect(FileManager.default.contents(atPath: again) == Data("sunset".utf8))
        #expect(next.keptFile(1, of: "a") == nil)
        try next.remove("a")
        #expect(next.keptFile(0, of: "a") == nil)
        #expect(!FileManager.default.fileExists(atPath: again))
        #expect(memory.count == 0)
    }

    @Test("[O-14] parts and files that a crash has left without an operation are removed by the next process")
    func leftovers() throws {
        let first = operations()
        _ = try first.keepFile(try source("sunset"), as: 0, of: "lost")
        try engine.transact { transaction in
            let part = OperationPart(first: 1, count: 2, bytes: [1])
            try transaction.set(GlobalKeys.operation("lost", 1), to: part.encoded())
        }
        #expect(memory.count == 1)
        #expect(try operations().entries() == [])
        #expect(memory.count == 0)
        #expect(try keys() == [])
    }

    @Test("[O-14] a damaged operation fails alone, and can be removed or saved again")
    func damage() throws {
        let first = operations()
        for id in ["a", "b", "c"] { try first.save(entry(id)) }
        try engine.transact { transaction in
            try transaction.delete(GlobalKeys.operation("a", 1))
            let other = try #require(try transaction.store.value(forKey: GlobalKeys.operation("c", 1)))
            try transaction.set(GlobalKeys.operation("b", 1), to: other)
        }
        let next = operations()
        #expect(try next.entries().map(\.id) == ["c"])
        for id in ["a", "b"] {
            let error = #expect(throws: CloudError.self) { try next.entry(id) }
            #expect(error?.code == .internalError)
        }
        try next.save(entry("a"))
        try next.remove("b")
        #expect(Set(try operations().entries().map(\.id)) == ["a", "c"])
    }

    @Test("a store whose contents are in itself keeps operations there, and their files with the contents of assets")
    func chosen() async throws {
        let store = ContentsStore(MemoryStore(), memory)
        let clock = Stratus.ManualClock()
        let host = try Stratus(on: store, options: .tested { $0.clock = .manual(clock) })
        #expect(host.directory == nil)
        let account = try await host.createAccount(.init(), externalID: "alice")
        host.faults.fail(
            .operation(.modifyRecords), with: .networkFailure, retryAfter: 1_000, lasting: .untilCancelled)
        let record = CKRecord(recordType: "Photo", recordID: CKRecord.ID(recordName: "photo"))
        record["file"] = CKAsset(fileURL: URL(fileURLWithPath: try source("sunset")))
        let operation = CKModifyRecordsOperation(recordsToSave: [record])
        operation.configuration.isLongLived = true
        operation.configuration.qualityOfService = .utility
        await withCheckedContinuation { continuation in
            operation.longLivedOperationWasPersistedBlock = { continuation.resume() }
            host.container("iCloud.test", signedInAs: account).privateCloudDatabase.add(operation)
        }
        #expect(memory.count == 1)
        // The process ends here, and another one has the store.
        let next = try Stratus(on: store, options: .tested())
        let container = await next.container(
            "iCloud.test", signedInAs: try #require(try next.account(externalID: "alice")))
        let found = try #require(
            try await container.longLivedOperation(for: operation.operationID) as? CKModifyRecordsOperation)
        await withCheckedContinuation { continuation in
            found.completionBlock = { continuation.resume() }
            container.privateCloudDatabase.add(found)
        }
        let saved = try await container.privateCloudDatabase.record(for: record.recordID)
        let file = try #require((saved["file"] as? CKAsset)?.fileURL)
        #expect(try Data(contentsOf: file) == Data("sunset".utf8))
        // The content of the asset, and nothing of the operation.
        #expect(memory.count == 1)
        operation.cancel()
        try await onThread {
            next.close()
            host.close()
        }
    }
}
