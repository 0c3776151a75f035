// The memory of a store: what the options change, and what they do not.

import Foundation
import StratusCloud
import StratusLevelDB
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@testable import StratusKit

@Suite("Memory of a store")
struct MemoryOptionTests {
    /// Saves a chain of records under a share, reads its end, and returns the number of tables in the directory and the
    /// cost of reading the end again.
    private static func run(
        _ change: @escaping @Sendable (inout Stratus.Options) -> Void
    ) async throws -> (tableCount: Int, reads: Int) {
        let directory = try HostDirectory()
        let store = try await Stratus.open(at: directory.store, options: .tested(change))
        let account = try await store.createAccount(.init(emails: ["owner@example.com"]), externalID: "owner")
        let guest = try await store.createAccount(.init(emails: ["guest@example.com"]), externalID: "guest")
        let database = store.container("iCloud.com.example", signedInAs: account).privateCloudDatabase
        let zone = try await database.save(CKRecordZone(zoneName: "Notes")).zoneID
        let root = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "r0", zoneID: zone))
        let share = CKShare(rootRecord: root)
        share.publicPermission = .readOnly
        _ = try await database.modifyRecords(saving: [root, share], deleting: [])
        for index in 1..<40 {
            let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "r\(index)", zoneID: zone))
            record.setParent(CKRecord.ID(recordName: "r\(index - 1)", zoneID: zone))
            record["text"] = String(repeating: "abcdefghij \(index)", count: 1_000)
            _ = try await database.save(record)
        }
        let url = try #require(share.url)
        let shared = store.container("iCloud.com.example", signedInAs: guest)
        _ = try await shared.accept(try await shared.shareMetadata(for: url))
        let theirs = CKRecordZone.ID(zoneName: zone.zoneName, ownerName: account.userRecordName)
        let last = CKRecord.ID(recordName: "r39", zoneID: theirs)
        _ = try await shared.sharedCloudDatabase.record(for: last)
        let service = try store.service
        let before = service.engine.store.statistics.cost
        #expect(try await shared.sharedCloudDatabase.record(for: last)["text"] != nil)
        let reads = (service.engine.store.statistics.cost - before).reads
        let tables = try FileManager.default.contentsOfDirectory(atPath: directory.store.path)
            .filter { $0.hasSuffix(".ldb") }
        try await onThread { store.close() }
        return (tables.count, reads)
    }

    @Test(
        "hierarchyCacheByteCount avoids repeated reads of the path to a share; without it the answer is the same")
    func hierarchyCache() async throws {
        let usual = try await Self.run { _ in }
        let without = try await Self.run { $0.hierarchyCacheByteCount = 0 }
        #expect(without.reads >= usual.reads + 38, "\(usual), \(without)")
    }

    @Test("writeBufferByteCount decides how much is buffered before it becomes a table")
    func writeBuffer() async throws {
        #expect(try await Self.run { _ in }.tableCount == 0)
        #expect(try await Self.run { $0.writeBufferByteCount = 64 << 10 }.tableCount > 0)
    }

    @Test("invalid options are replaced by the nearest valid ones")
    func bounds() {
        var options = Stratus.Options()
        options.cacheByteCount = -1
        options.hierarchyCacheByteCount = -1
        options.writeBufferByteCount = -1
        #expect(options.storeOptions.blockCacheByteCount == 0)
        #expect(options.storeOptions.keptByteCount == 0)
        #expect(options.storeOptions.writeBufferByteCount == 64 << 10)
        // As much again for the names of new zones.
        #expect(options.storeOptions.freshByteCount == 64 << 10)
        #expect(options.engineOptions.ancestorCacheByteCount == 0)
        options.writeBufferByteCount = .max
        #expect(options.storeOptions.writeBufferByteCount == 1 << 30)
    }
}
