// Records that threads share.

import Foundation
import StratusKit
import Testing

@Suite struct RecordThreadTests {
    @Test("a record stays consistent while eight threads read, write, copy and archive it")
    func shared() async throws {
        let record = CKRecord(recordType: "Note")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for round in 0..<200 {
                        record["key\(task)"] = round
                        record.encryptedValues["secret\(task)"] = "\(round)"
                        record["shared"] = [task, round]
                        _ = record.changedKeys()
                        for (_, value) in record { _ = value }
                        let copy = try #require(record.copy() as? CKRecord)
                        #expect(copy["key\(task)"] as? Int == round)
                        if round % 50 == 0 { _ = try ArchiveSamples.archive(record) }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(record.allKeys().count == 9)
        #expect((0..<8).allSatisfy { record["key\($0)"] as? Int == 199 })
        #expect((record["shared"] as? [Int])?.count == 2)
    }
}
