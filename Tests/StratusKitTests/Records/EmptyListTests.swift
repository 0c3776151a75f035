// Empty lists in fields without a type.

import Foundation
import StratusTestSupport
import Testing

@testable import StratusKit

@Suite("empty lists")
struct EmptyListTests {
    private let database: CKDatabase
    private let zoneID = CKRecordZone.ID(zoneName: "Lists")

    init() async throws {
        let (store, account) = try Stratus.tested()
        database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
        _ = try await database.save(CKRecordZone(zoneID: zoneID))
    }

    private func record(_ name: String, _ tags: [String]?, parent: String? = nil) -> CKRecord {
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
        record["tags"] = tags
        if let parent { record.setParent(CKRecord.ID(recordName: parent, zoneID: zoneID)) }
        return record
    }

    private func code(_ results: [CKRecord.ID: Result<CKRecord, any Error>], _ name: String) -> CKError.Code? {
        let result = results.first { $0.key.recordName == name }?.value
        guard case .failure(let error)? = result else { return nil }
        return (error as? CKError)?.code
    }

    @Test("[S-14][A-02] an empty list cannot create a field; in an atomic batch the other records fail with it")
    func refused() async throws {
        let error = await #expect(throws: CKError.self) { try await database.save(record("a", [])) }
        #expect(error?.code == .invalidArguments)
        #expect(error?.localizedDescription == "cannot use an empty list to initialize a new field")
        #expect((error?.userInfo[NSUnderlyingErrorKey] as? NSError)?.code == 2006)
        let hidden = record("b", nil)
        hidden.encryptedValues["tags"] = [String]()
        let ofHidden = await #expect(throws: CKError.self) { try await database.save(hidden) }
        #expect(ofHidden?.code == .invalidArguments)
        let batch = [record("a", []), record("c", nil)]
        let results = try await database.modifyRecords(saving: batch, deleting: []).saveResults
        #expect(code(results, "a") == .invalidArguments)
        #expect(code(results, "c") == .batchRequestFailed)
        let alone = try await database.modifyRecords(saving: batch, deleting: [], atomically: false).saveResults
        #expect(code(alone, "a") == .invalidArguments)
        #expect(code(alone, "c") == nil)
    }

    @Test(
        "[S-14] it can if another record of the batch gives the type, in any order, together or each alone",
        arguments: [true, false], [true, false])
    func typedByAnother(isFirst: Bool, isAtomic: Bool) async throws {
        var batch = [record("empty", []), record("full", ["x"])]
        if isFirst { batch.reverse() }
        // Each can be saved alone if one of the batch fails.
        if !isAtomic { batch.append(record("wrong", nil)) }
        if !isAtomic {
            batch[2].parent = CKRecord.Reference(recordID: .init(recordName: "none", zoneID: zoneID), action: .none)
        }
        let results = try await database.modifyRecords(saving: batch, deleting: [], atomically: isAtomic).saveResults
        #expect(code(results, "empty") == nil)
        #expect(code(results, "full") == nil)
        #expect((code(results, "wrong") != nil) == !isAtomic)
        _ = try await database.save(record("later", []))
    }

    @Test("[S-14] if each is saved alone, a record may depend on one that depends on another")
    func chain() async throws {
        let (a, b, c) = (record("a", nil), record("b", ["x"]), record("c", nil))
        a["y"] = [String]()
        b["tags"] = [String]()
        b["y"] = ["t"]
        c["tags"] = ["t"]
        let failing = record("failing", nil)
        failing["never"] = [String]()
        let results = try await database.modifyRecords(saving: [a, b, c, failing], deleting: [], atomically: false)
            .saveResults
        #expect(["a", "b", "c", "failing"].map { code(results, $0) } == [nil, nil, nil, .invalidArguments])

        // Two that give each other's field its type.
        let (one, other) = (record("one", nil), record("other", nil))
        one["p"] = [String]()
        one["q"] = ["t"]
        other["p"] = ["t"]
        other["q"] = [String]()
        let mutual = try await database.modifyRecords(
            saving: [one, other, record("none", nil, parent: "nowhere")], deleting: [], atomically: false
        ).saveResults
        #expect(code(mutual, "one") == nil)
        #expect(code(mutual, "other") == nil)
        #expect(code(mutual, "none") != nil)
    }

    @Test("[S-14] an empty list for an existing list field can be saved again")
    func heldBefore() async throws {
        _ = try await database.save(record("full", ["x"]))
        let empty = try await database.save(record("empty", []))
        empty["title"] = "new"
        _ = try await database.save(empty)
        #expect(try await database.record(for: empty.recordID)["tags"] as? [String] == [])
    }
}
