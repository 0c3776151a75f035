// Many users in one store at the same time: no one is blocked forever, and no one sees another's data.

import Foundation
import StratusCloud
import StratusKit
import StratusModel
import StratusStore
import StratusTestSupport
import Testing

@Suite struct ManyCallersTests {
    private static let accountCount = 16
    private static let callerCount = 64
    private static let roundCount = 8

    /// One caller's rounds: save, change, fetch, delete; by operations, handlers and awaited calls.
    private static func work(_ index: Int, _ database: CKDatabase, zoneID: CKRecordZone.ID, owner: String) async throws
    {
        for round in 0..<roundCount {
            let records = (0..<3).map { makeRecord("c\(index)-\(round)-\($0)", in: zoneID, text: owner) }
            let operation = CKModifyRecordsOperation(recordsToSave: records)
            let saved = Locked(0)
            operation.perRecordSaveBlock = { _, result in
                if (try? result.get()) != nil { saved.withLock { $0 += 1 } }
            }
            await withCheckedContinuation { continuation in
                operation.completionBlock = { continuation.resume() }
                database.add(operation)
            }
            #expect(saved.value == 3)
            records[0]["text"] = owner + "!"
            try await database.save(records[0])
            let answers = try await database.records(for: records.map(\.recordID))
            let texts = try records.map { try answers[$0.recordID]?.get()["text"] as? String }
            #expect(texts == [owner + "!", owner, owner])
            let deleted: CKRecord.ID? = await withCheckedContinuation { continuation in
                database.delete(withRecordID: records[2].recordID) { id, _ in continuation.resume(returning: id) }
            }
            #expect(deleted == records[2].recordID)
        }
    }

    @Test("64 callers of 16 accounts: each account has its own records and no others", arguments: BenchStore.allCases)
    func manyCallers(store: BenchStore) async throws {
        let bench = try OperationBench(store)
        let databases = try (0..<Self.accountCount).map { index in
            let account = try bench.service.createAccount(AccountDraft(externalID: "user-\(index)"))
            return CKContainer(
                session: bench.session, identifier: OperationBench.containerIdentifier, account: account.id
            ).privateCloudDatabase
        }
        let zoneID = CKRecordZone.ID(zoneName: "Notes")
        for database in databases { try await database.save(CKRecordZone(zoneID: zoneID)) }
        try await withThrowingTaskGroup { group in
            for index in 0..<Self.callerCount {
                let number = index % Self.accountCount
                group.addTask {
                    try await Self.work(index, databases[number], zoneID: zoneID, owner: "user-\(number)")
                }
            }
            try await group.waitForAll()
        }
        await bench.session.activity.untilIdle()
        for (number, database) in databases.enumerated() {
            var found = 0
            for caller in 0..<Self.callerCount {
                let ids = (0..<Self.roundCount).flatMap { round in
                    (0..<3).map { CKRecord.ID(recordName: "c\(caller)-\(round)-\($0)", zoneID: zoneID) }
                }
                let answers = try await database.records(for: ids)
                let records = answers.values.compactMap { try? $0.get() }
                #expect(records.count == (caller % Self.accountCount == number ? 2 * Self.roundCount : 0))
                #expect(records.allSatisfy { ($0["text"] as? String)?.hasPrefix("user-\(number)") == true })
                found += records.count
            }
            #expect(found == Self.callerCount / Self.accountCount * 2 * Self.roundCount)
        }
    }

    @Test("blocks that wait for other operations do not block those")
    func waitingBlocks() async throws {
        let bench = try OperationBench(threadCount: 2)
        let count = 40
        let done = Gate("an operation to end")
        for index in 0..<count {
            let operation = CKModifyRecordsOperation(recordsToSave: [makeRecord("outer-\(index)")])
            operation.modifyRecordsResultBlock = { _ in
                let inner = Gate("the inner operation to end")
                bench.database.save(makeRecord("inner-\(index)")) { _, _ in inner.open() }
                try? inner.wait()
                done.open()
            }
            bench.database.add(operation)
        }
        try await TestThreads.offPool { for _ in 0..<count { try done.wait() } }
        let names = (0..<count).map { "inner-\($0)" }
        #expect(try await bench.stored(names) == names.sorted())
    }
}
