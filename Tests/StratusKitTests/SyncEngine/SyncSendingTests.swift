// Sending: order, pending changes, batches and their limits.

import Foundation
import StratusKit
import StratusStore
import StratusTestSupport
import Testing

@Suite("Sending with a sync engine") struct SyncSendingTests {
    @Test("[E-01] zones go before records, batch after batch until the delegate has none, between will and did")
    func order() async throws {
        try await withSyncStage { stage in
            let phone = try await stage.replica("phone")
            await phone.write((1...300).map { "n\($0)" }, "a")
            await phone.createZone()
            try await phone.send()
            #expect(
                await phone.trace == [
                    "account signIn", "will send manual", "sent zones +1 -0 failed 0", "sent +250 -0 failed 0",
                    "sent +50 -0 failed 0", "did send manual",
                ])
            #expect(try await stage.serverTexts().count == 300)
            let state = await phone.engine.state
            #expect(state.pendingRecordZoneChanges.isEmpty)
            #expect(state.pendingDatabaseChanges.isEmpty)
        }
    }

    @Test("[E-01] a zone that is added while records are sent goes before the next batch")
    func zonesInBetween() async throws {
        try await withSyncStage { stage in
            let phone = try await stage.replica("phone")
            await phone.createZone()
            await phone.write((1...251).map { "n\($0)" }, "a")
            let added = Locked(false)
            await phone.change { habits in
                habits.onEvent = { event, engine in
                    guard case .sentRecordZoneChanges = event, !added.exchange(true) else { return }
                    engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneName: "Other"))])
                }
            }
            try await phone.send()
            #expect(
                await phone.trace.suffix(5) == [
                    "sent zones +1 -0 failed 0", "sent +250 -0 failed 0", "sent zones +1 -0 failed 0",
                    "sent +1 -0 failed 0", "did send manual",
                ])
        }
    }

    @Test("[E-05] each item is pending once, in its first position; a deletion and a save replace each other")
    func pendingList() async throws {
        try await withSyncStage { stage in
            let state = try await stage.replica("phone").engine.state
            let (a, b) = (Replica.recordID("a"), Replica.recordID("b"))
            state.add(pendingRecordZoneChanges: [.saveRecord(a), .saveRecord(b), .saveRecord(a)])
            #expect(state.pendingRecordZoneChanges == [.saveRecord(a), .saveRecord(b)])
            state.add(pendingRecordZoneChanges: [.deleteRecord(a)])
            #expect(state.pendingRecordZoneChanges == [.saveRecord(b), .deleteRecord(a)])
            state.add(pendingRecordZoneChanges: [.saveRecord(a)])
            #expect(state.pendingRecordZoneChanges == [.saveRecord(b), .saveRecord(a)])
            // Only the change that is named is removed.
            state.remove(pendingRecordZoneChanges: [.deleteRecord(b), .saveRecord(a)])
            #expect(state.pendingRecordZoneChanges == [.saveRecord(b)])

            let zone = CKRecordZone(zoneName: "Z")
            state.add(pendingDatabaseChanges: [.saveZone(zone), .saveZone(CKRecordZone(zoneName: "Z"))])
            #expect(state.pendingDatabaseChanges == [.saveZone(zone)])
            state.add(pendingDatabaseChanges: [.deleteZone(zone.zoneID)])
            #expect(state.pendingDatabaseChanges == [.deleteZone(zone.zoneID)])
            state.remove(pendingDatabaseChanges: [.deleteZone(zone.zoneID)])
            #expect(state.pendingDatabaseChanges.isEmpty)
        }
    }

    @Test("[E-05] a long pending list keeps its order while items are removed from its front")
    func longList() async throws {
        try await withSyncStage { stage in
            let state = try await stage.replica("phone").engine.state
            let all = (0..<1_000).map { CKSyncEngine.PendingRecordZoneChange.saveRecord(Replica.recordID("\($0)")) }
            state.add(pendingRecordZoneChanges: all)
            for start in stride(from: 0, to: 750, by: 250) {
                state.remove(pendingRecordZoneChanges: Array(all[start..<start + 250]))
            }
            #expect(state.pendingRecordZoneChanges == Array(all[750...]))
            state.add(pendingRecordZoneChanges: [all[0], all[800]])
            #expect(state.pendingRecordZoneChanges == Array(all[750...]) + [all[0]])
        }
    }

    private static let codes: [CKError.Code] = [
        .networkUnavailable, .networkFailure, .serviceUnavailable, .requestRateLimited, .notAuthenticated, .zoneBusy,
        .accountTemporarilyUnavailable, .badContainer, .missingEntitlement, .permissionFailure, .unknownItem,
        .invalidArguments, .serverRecordChanged, .serverRejectedRequest, .assetFileNotFound, .incompatibleVersion,
        .constraintViolation, .badDatabase, .quotaExceeded, .zoneNotFound, .limitExceeded, .userDeletedZone,
        .referenceViolation, .managedAccountRestricted, .serverResponseLost, .internalError, .batchRequestFailed,
    ]

    @Test(
        "[E-06][E-07] a record stays pending after temporary errors, and leaves the list after all others",
        arguments: codes)
    func retriedErrors(_ code: CKError.Code) async throws {
        let isTransient = [
            CKError.Code.notAuthenticated, .accountTemporarilyUnavailable, .networkFailure, .networkUnavailable,
            .requestRateLimited, .serviceUnavailable, .zoneBusy,
        ].contains(code)
        try await withSyncStage { stage in
            let phone = try await stage.replica("phone")
            await phone.change { $0.repairs = false }
            await phone.createZone()
            try await phone.send()
            await phone.write(["a", "b"], "1")
            stage.cloud.faults.fail(.operation(.modifyRecords), with: code)
            #expect(await thrownCode { try await phone.send() } == code)
            #expect(await phone.failures.map(\.code) == [code, code])
            let pending = await phone.engine.state.pendingRecordZoneChanges
            #expect(pending.count == (isTransient ? 2 : 0))

            // The same of a zone.
            await phone.engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneName: "Other"))])
            stage.cloud.faults.fail(.operation(.modifyZones), with: code)
            #expect(await thrownCode { try await phone.send() } == code)
            #expect(await phone.engine.state.pendingDatabaseChanges.count == (isTransient ? 1 : 0))
        }
    }

    @Test(
        "[E-06] of a batch only failed records are reported as failed, and a record edited while it is sent stays pending"
    )
    func editedMeanwhile() async throws {
        try await withSyncStage { stage in
            let phone = try await stage.replica("phone")
            await phone.createZone()
            await phone.write(["a", "b", "c"], "1")
            stage.cloud.faults.fail(.record(Replica.recordID("b")), with: .quotaExceeded)
            let (saved, failed) = (Locked<[[String]]>([]), Locked<[[String]]>([]))
            await phone.change { habits in
                habits.repairs = false
                habits.onEvent = { event, engine in
                    guard case .sentRecordZoneChanges(let sent) = event else { return }
                    saved.withLock { $0.append(sent.savedRecords.map(\.recordID.recordName)) }
                    failed.withLock { $0.append(sent.failedRecordSaves.map(\.record.recordID.recordName)) }
                }
            }
            #expect(await thrownCode { try await phone.send() } == .partialFailure)
            #expect(saved.value == [["a", "c"]])
            #expect(failed.value == [["b"]])
            #expect(await phone.engine.state.pendingRecordZoneChanges.isEmpty)

            // While the batch is created, the user writes again: that is not in it.
            let id = Replica.recordID("a")
            await phone.change { habits in
                habits.onEvent = nil
                habits.batch = { engine in
                    guard engine.state.pendingRecordZoneChanges == [.saveRecord(id)] else { return nil }
                    let record = CKRecord(recordType: "Note", recordID: Replica.recordID("new"))
                    engine.state.add(pendingRecordZoneChanges: [.saveRecord(record.recordID)])
                    return .init(recordsToSave: [record])
                }
            }
            await phone.write("a", "2")
            try await phone.send()
            let left = await phone.engine.state.pendingRecordZoneChanges
            #expect(left == [.saveRecord(id), .saveRecord(Replica.recordID("new"))])
        }
    }

    @Test("[E-08] a batch follows the pending list, skips items without a record, and is nil if it would be empty")
    func batches() async throws {
        let (a, b, c) = (Replica.recordID("a"), Replica.recordID("b"), Replica.recordID("c"))
        let asked = Locked<[String]>([])
        let changes: [CKSyncEngine.PendingRecordZoneChange] = [
            .saveRecord(a), .deleteRecord(c), .saveRecord(b), .saveRecord(a),
        ]
        let batch = await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { id in
            asked.append(id.recordName)
            return id == a ? nil : CKRecord(recordType: "Note", recordID: id)
        }
        #expect(asked.value == ["a", "b"])
        #expect(batch?.recordsToSave.map(\.recordID) == [b])
        #expect(batch?.recordIDsToDelete == [c])
        #expect(batch?.atomicByZone == false)
        #expect(CKSyncEngine.RecordZoneChangeBatch(recordIDsToDelete: [a]).atomicByZone == false)
        #expect(await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: []) { _ in nil } == nil)
        #expect(await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: [.saveRecord(a)]) { _ in nil } == nil)
    }

    @Test("[L-15] a batch of pending changes has at most 250, saves and deletions together")
    func batchCount() async throws {
        let saves = (0..<200).map { CKSyncEngine.PendingRecordZoneChange.saveRecord(Replica.recordID("s\($0)")) }
        let deletions = (0..<200).map { CKSyncEngine.PendingRecordZoneChange.deleteRecord(Replica.recordID("d\($0)")) }
        let asked = Locked<[String]>([])
        let batch = await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: deletions + saves) { id in
            asked.append(id.recordName)
            return CKRecord(recordType: "Note", recordID: id)
        }
        #expect(batch?.recordIDsToDelete.count == 200)
        #expect(batch?.recordsToSave.count == 50)
        #expect(asked.value.count == 50)
    }

    @Test("[L-15][L-01] batches stay below the bytes of a request, and an oversized record goes alone")
    func batchBytes() async throws {
        try await withSyncStage { stage in
            let phone = try await stage.replica("phone")
            await phone.createZone()
            let large = String(repeating: "x", count: 700_000)
            await phone.write((1...5).map { "large\($0)" }, large)
            try await phone.send()
            #expect(await phone.batchSizes == [2, 2, 1])
            #expect(try await stage.serverTexts().values.filter { $0 == large }.count == 5)

            await phone.change { $0.repairs = false }
            await phone.write("huge", String(repeating: "x", count: 1_700_000))
            await phone.write("small", "1")
            #expect(await thrownCode { try await phone.send() } == .partialFailure)
            #expect(await phone.failures.map(\.code) == [.limitExceeded])
            try await phone.send()
            #expect(await phone.batchSizes.suffix(2) == [1, 1])
            #expect(try await stage.serverTexts()["small"] == "1")
            #expect(await phone.engine.state.pendingRecordZoneChanges.isEmpty)
        }
    }

    @Test(
        "[L-15][L-01] if a host allows less per request, batches of pending changes and zone requests are smaller"
    )
    func hostsLimits() async throws {
        func allow(_ options: inout Stratus.Options) {
            options.requestItemCount = 4
            options.requestByteCount = 100_000
        }
        try await withSyncStage(allow) { stage in
            let phone = try await stage.replica("phone")
            await phone.createZone()
            await phone.write((1...10).map { "n\($0)" }, "1")
            try await phone.send()
            #expect(await phone.batchSizes == [4, 4, 2])
            // Two of them have more than three quarters of the bytes.
            await phone.write((1...3).map { "large\($0)" }, String(repeating: "x", count: 40_000))
            try await phone.send()
            #expect(await phone.batchSizes == [4, 4, 2, 1, 1, 1])
            let zones = (1...9).map { CKRecordZone(zoneName: "Zone\($0)") }
            await phone.engine.state.add(pendingDatabaseChanges: zones.map { .saveZone($0) })
            try await phone.send()
            #expect(try await stage.database("observer").allRecordZones().count == 11)
            #expect(await phone.failures.isEmpty)
            #expect(await phone.engine.state.pendingDatabaseChanges.isEmpty)
        }
        // Outside of an engine the default limits count.
        let deletions = (0..<10).map { CKSyncEngine.PendingRecordZoneChange.deleteRecord(Replica.recordID("d\($0)")) }
        let batch = await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: deletions) { _ in nil }
        #expect(batch?.recordIDsToDelete.count == 10)
    }

    @Test("[E-08][L-01] a program's own batch over the limit of requests fails as a whole with limitExceeded")
    func tooLargeBatch() async throws {
        try await withSyncStage { stage in
            let phone = try await stage.replica("phone")
            await phone.change { $0.repairs = false }
            await phone.createZone()
            try await phone.send()
            let records = (1...401).map { CKRecord(recordType: "Note", recordID: Replica.recordID("n\($0)")) }
            let isGiven = Locked(false)
            await phone.change { habits in
                habits.batch = { _ in isGiven.exchange(true) ? nil : .init(recordsToSave: records) }
            }
            await phone.engine.state.add(pendingRecordZoneChanges: records.map { .saveRecord($0.recordID) })
            #expect(await thrownCode { try await phone.send() } == .limitExceeded)
            #expect(await phone.failures.count == 401)
            #expect(await phone.engine.state.pendingRecordZoneChanges.isEmpty)
        }
    }

    @Test("[E-16] a program with its own list is asked for batches until it has none")
    func untracked() async throws {
        try await withSyncStage { stage in
            let phone = try await stage.replica("phone", isAutomatic: true)
            await phone.createZone()
            await stage.cloud.settle()
            let waiting = Locked(["a", "b"])
            await phone.change { habits in
                habits.batch = { _ in
                    guard let name = waiting.popFirst() else { return nil }
                    let record = CKRecord(recordType: "Note", recordID: Replica.recordID(name))
                    record["text"] = "untracked"
                    return .init(recordsToSave: [record])
                }
            }
            let state = await phone.engine.state
            state.hasPendingUntrackedChanges = true
            #expect(state.hasPendingUntrackedChanges)
            await stage.cloud.settle()
            #expect(try await stage.serverTexts() == ["a": "untracked", "b": "untracked"])
            #expect(!state.hasPendingUntrackedChanges)
            #expect(state.pendingRecordZoneChanges.isEmpty)
        }
    }

    @Test("[E-16] a change that is announced while the program says that it has no more is asked for again")
    func untrackedMeanwhile() async throws {
        try await withSyncStage { stage in
            let phone = try await stage.replica("phone", isAutomatic: true)
            await phone.createZone()
            await stage.cloud.settle()
            let state = await phone.engine.state
            let waiting = Locked<[String]>([])
            let isLate = Locked(false)
            await phone.change { habits in
                habits.batch = { _ in
                    guard let name = waiting.popFirst() else {
                        // The program finds nothing, and another task then writes something.
                        if !isLate.exchange(true) {
                            waiting.withLock { $0 = ["late"] }
                            state.hasPendingUntrackedChanges = true
                        }
                        return nil
                    }
                    return .init(recordsToSave: [CKRecord(recordType: "Note", recordID: Replica.recordID(name))])
                }
            }
            state.hasPendingUntrackedChanges = true
            await stage.cloud.settle()
            #expect(waiting.value.isEmpty)
            #expect(!state.hasPendingUntrackedChanges)
        }
    }

    @Test("[E-15][E-16] an answer about some zones does not end the changes of others")
    func untrackedScope() async throws {
        try await withSyncStage { stage in
            let phone = try await stage.replica("phone")
            await phone.createZone()
            try await phone.send()
            await phone.change { $0.batch = { _ in nil } }
            let state = await phone.engine.state
            state.hasPendingUntrackedChanges = true
            try await phone.send(.zoneIDs([Replica.zoneID]))
            #expect(state.hasPendingUntrackedChanges)
            try await phone.send()
            #expect(!state.hasPendingUntrackedChanges)
        }
    }

    @Test("[E-15] sending stays in its scope; the zones of the selected records are saved with them")
    func scopes() async throws {
        try await withSyncStage { stage in
            let phone = try await stage.replica("phone")
            let state = await phone.engine.state
            let other = CKRecordZone(zoneName: "Other")
            state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: Replica.zoneID)), .saveZone(other)])
            await phone.write(["a", "b"], "1")
            try await phone.send(.recordIDs([Replica.recordID("a")]))
            #expect(try await stage.serverTexts() == ["a": "1"])
            #expect(state.pendingRecordZoneChanges == [.saveRecord(Replica.recordID("b"))])
            #expect(state.pendingDatabaseChanges == [.saveZone(other)])
            try await phone.send(.allExcluding([Replica.zoneID]))
            #expect(state.pendingDatabaseChanges.isEmpty)
            #expect(state.pendingRecordZoneChanges.count == 1)
            try await phone.send(.zoneIDs([other.zoneID]))
            #expect(state.pendingRecordZoneChanges.count == 1)
            try await phone.send(.zoneIDs([Replica.zoneID]))
            #expect(state.pendingRecordZoneChanges.isEmpty)
        }
    }

    @Test("[E-08][A-02] an atomic batch fails as a whole for one record; otherwise only that record fails")
    func atomicBatches() async throws {
        try await withSyncStage { stage in
            let phone = try await stage.replica("phone")
            await phone.createZone()
            try await phone.send()
            await phone.change { habits in
                habits.isAtomic = true
                habits.repairs = false
            }
            await phone.write(["a", "b", "c"], "1")
            stage.cloud.faults.fail(.record(Replica.recordID("b")), with: .quotaExceeded)
            #expect(await thrownCode { try await phone.send() } == .partialFailure)
            #expect(try await stage.serverTexts().isEmpty)
            let codes = await phone.failures.map(\.code)
            #expect(codes == [.batchRequestFailed, .quotaExceeded, .batchRequestFailed])
            #expect(await phone.engine.state.pendingRecordZoneChanges.isEmpty)
            await phone.change { $0.isAtomic = false }
            await phone.write(["a", "b", "c"], "2")
            stage.cloud.faults.fail(.record(Replica.recordID("b")), with: .quotaExceeded)
            #expect(await thrownCode { try await phone.send() } == .partialFailure)
            #expect(try await stage.serverTexts() == ["a": "2", "c": "2"])
        }
    }
}
