// Errors of long-lived operations whose answer is replayed.

import Foundation
import StratusCloud
import StratusModel
import StratusStore
import Testing

@testable import StratusKit

@Suite("Replayed errors")
struct LongLivedReplayTests {
    private typealias Facts = [String: [String: String]]

    /// What an error says, by the key of the user info. Records are never equal to one another (C-01).
    private static func facts(_ error: CKError) -> [String: String] {
        error.userInfo.mapValues { value in
            switch value {
            case let record as CKRecord:
                "\(record.recordID.recordName) \(record.recordChangeTag ?? "new") \(record.changedKeys())"
                    + " \(record["text"] as? String ?? "nothing") \(record.creatorUserRecordID?.recordName ?? "nobody")"
            case let text as String: text
            case let number as NSNumber: "\(number.doubleValue)"
            case let error as NSError: "\(error.domain) \(error.code) \(error.localizedDescription)"
            default: "unexpected: \(value)"
            }
        }
    }

    private static func collect(_ operation: CKModifyRecordsOperation) -> Locked<Facts> {
        let facts = Locked<Facts>([:])
        operation.perRecordSaveBlock = { id, result in
            guard case .failure(let error as CKError) = result else { return }
            facts.withLock { $0["save \(id.recordName) \(error.code)"] = Self.facts(error) }
        }
        operation.perRecordDeleteBlock = { id, result in
            guard case .failure(let error as CKError) = result else { return }
            facts.withLock { $0["delete \(id.recordName) \(error.code)"] = Self.facts(error) }
        }
        return facts
    }

    /// An operation whose items each fail in another way.
    private func failing(_ bench: OperationBench) async throws -> CKModifyRecordsOperation {
        let database = bench.database
        try await database.save(makeRecord("taken"))
        let mine = try await database.record(for: CKRecord.ID(recordName: "taken"))
        let theirs = try await database.record(for: CKRecord.ID(recordName: "taken"))
        theirs["text"] = "theirs"
        try await database.save(theirs)
        mine["text"] = "mine"
        let zoneID = try await bench.makeZone("Reset")
        try await onThread {
            try bench.service.purgeZone(
                zoneID.address, of: bench.account.id, in: ContainerName(OperationBench.containerIdentifier),
                reason: .encryptedDataReset)
        }
        bench.interference.intervene { point in
            guard case .record(let address, _, .modifyRecords) = point, address.recordName == "busy" else { return nil }
            return CloudError(
                .zoneBusy, inner: 2_006, "planned", ["variable": "$null"], cause: "the cause", retryAfterSeconds: 2.5)
        }
        let operation = CKModifyRecordsOperation(
            recordsToSave: [mine, makeRecord("b", in: zoneID)], recordIDsToDelete: [CKRecord.ID(recordName: "busy")])
        operation.configuration.isLongLived = true
        operation.isAtomic = false
        return operation
    }

    @Test("[O-14][S-05][Z-08] a replayed error contains everything that the first one contained")
    func replayed() async throws {
        let bench = try OperationBench()
        let operation = try await failing(bench)
        let live = Self.collect(operation)
        let store = MemoryLongLivedStore()
        let first = CloudSession(
            server: bench.service, clock: bench.clock, account: bench.account.id, longLivedStore: store)
        let kept = Locked<LongLivedEntry?>(nil)
        operation.perRecordProgressBlock = { _, _ in kept.withLock { $0 = store.entries().first } }
        CKContainer(session: first, identifier: OperationBench.containerIdentifier, account: nil)
            .privateCloudDatabase.add(operation)
        await first.activity.untilIdle()
        // As if the process had ended before the last block returned.
        store.save(try #require(kept.value))
        let second = CloudSession(
            server: bench.service, clock: bench.clock, account: bench.account.id, longLivedStore: store)
        let container = CKContainer(session: second, identifier: OperationBench.containerIdentifier, account: nil)
        let found = try await container.longLivedOperation(for: operation.operationID)
        let again = try #require(found as? CKModifyRecordsOperation)
        let client = again.recordsToSave?.first
        let clients = Locked<[ObjectIdentifier?]>([])
        let replayed = Self.collect(again)
        again.modifyRecordsResultBlock = { _ in }
        let note = again.perRecordSaveBlock
        again.perRecordSaveBlock = { id, result in
            if case .failure(let error as CKError) = result {
                clients.withLock { $0.append(error.clientRecord.map { ObjectIdentifier($0) }) }
            }
            note?(id, result)
        }
        container.add(again)
        await second.activity.untilIdle()
        #expect(
            live.value.keys.sorted() == [
                "delete busy zoneBusy", "save b zoneNotFound", "save taken serverRecordChanged",
            ])
        #expect(live.value["save b zoneNotFound"]?[CKErrorUserDidResetEncryptedDataKey] == "1.0")
        #expect(live.value["delete busy zoneBusy"]?["variable"] == "$null")
        let conflict = live.value["save taken serverRecordChanged"] ?? [:]
        #expect(conflict[CKRecordChangedErrorAncestorRecordKey]?.contains(" text ") == true)
        #expect(conflict[CKRecordChangedErrorServerRecordKey]?.contains(" theirs ") == true)
        #expect(conflict[CKRecordChangedErrorClientRecordKey]?.contains(" mine ") == true)
        #expect(replayed.value == live.value)
        // The client's version is the very object that was to be saved.
        #expect(clients.value == [client.map { ObjectIdentifier($0) }, nil])
    }
}
