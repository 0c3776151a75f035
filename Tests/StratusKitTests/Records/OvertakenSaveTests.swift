// Records that are edited while a save of them is under way.

import Foundation
import StratusCloud
import StratusKit
import StratusModel
import StratusStore
import Testing

@Suite struct OvertakenSaveTests {
    private let id = CKRecord.ID(recordName: "a")

    /// Saves a record, and edits it while the request is held.
    private func save(
        _ record: CKRecord, in bench: OperationBench, meanwhile edit: @Sendable (CKRecord) -> Void
    ) async throws {
        let hold = bench.hold(.modifyRecords)
        bench.database.add(CKModifyRecordsOperation(recordsToSave: [record]))
        try await hold.arrived()
        bench.interference.intervene(nil)
        edit(record)
        hold.letGo()
        await bench.session.activity.untilIdle()
    }

    /// Lets another client save the record, so that the next save of it conflicts.
    private func overtake(_ bench: OperationBench) async throws {
        let other = try await bench.database.record(for: id)
        other["other"] = "theirs"
        try await bench.database.save(other)
    }

    @Test("[C-03][C-04][S-01] a field that is set during a save is changed afterwards, and the next save sends it")
    func edits() async throws {
        let bench = try OperationBench()
        let record = makeRecord("a", text: "1")
        record["gone"] = "here"
        record["kept"] = "here"
        try await save(record, in: bench) { record in
            record["text"] = "2"
            record["gone"] = nil
            record["new"] = 5
        }
        #expect(record.recordChangeTag != nil)
        #expect(record.changedKeys() == ["gone", "new", "text"])
        #expect(try await bench.database.record(for: id)["text"] as? String == "1")
        try await bench.database.save(record)
        #expect(record.changedKeys().isEmpty)
        let stored = try await bench.database.record(for: id)
        #expect(stored["text"] as? String == "2")
        #expect(stored["new"] as? Int == 5)
        #expect(stored.allKeys() == ["kept", "new", "text"])
    }

    @Test("[S-05] the ancestor of a conflict has the values of the last save, also for a key that was set meanwhile")
    func ancestor() async throws {
        let bench = try OperationBench()
        let record = makeRecord("a", text: "1")
        record["gone"] = "here"
        try await save(record, in: bench) { record in
            record["text"] = "2"
            record["gone"] = nil
            record["new"] = 5
        }
        try await overtake(bench)
        let error = try await #require(throws: CKError.self) { try await bench.database.save(record) }
        #expect(error.code == .serverRecordChanged)
        let ancestor = try #require(error.ancestorRecord)
        #expect(ancestor["text"] as? String == "1")
        #expect(ancestor["gone"] as? String == "here")
        #expect(ancestor.allKeys() == ["gone", "text"])
        #expect(error.clientRecord?["text"] as? String == "2")
    }

    @Test("[S-05] a failed save leaves the ancestor as it was")
    func failure() async throws {
        let bench = try OperationBench()
        try await bench.database.save(makeRecord("a", text: "1"))
        let record = try await bench.database.record(for: id)
        try await overtake(bench)
        record["text"] = "2"
        try await save(record, in: bench) { $0["text"] = "3" }
        #expect(record.changedKeys() == ["text"])
        let error = try await #require(throws: CKError.self) { try await bench.database.save(record) }
        #expect(error.ancestorRecord?["text"] as? String == "1")
        #expect(error.ancestorRecord?.recordChangeTag == record.recordChangeTag)
    }
}
