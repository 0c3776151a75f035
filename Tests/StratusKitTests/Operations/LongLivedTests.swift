// Operations that are stored until their last block was called.

import Foundation
import StratusCloud
import StratusKit
import StratusModel
import StratusStore
import StratusTestSupport
import Testing

@Suite struct LongLivedTests {
    private func makeOperation(_ name: String, _ trace: Trace) -> CKModifyRecordsOperation {
        let operation = CKModifyRecordsOperation(recordsToSave: [makeRecord(name)])
        operation.configuration.isLongLived = true
        follow(operation, trace, "")
        return operation
    }

    private func follow(_ operation: CKModifyRecordsOperation, _ trace: Trace, _ prefix: String) {
        operation.longLivedOperationWasPersistedBlock = { trace.note("\(prefix)persisted") }
        operation.perRecordProgressBlock = { trace.note("\(prefix)\($0.recordID.recordName) \($1)") }
        operation.perRecordSaveBlock = { trace.note("\(prefix)\($0.recordName) \(outcome($1))") }
        operation.modifyRecordsResultBlock = { trace.note("\(prefix)result \(outcome($0))") }
    }

    @Test("[O-14] a long-lived operation is stored before its request is sent, and dropped after its last block")
    func life() async throws {
        let bench = try OperationBench()
        let hold = bench.hold(.modifyRecords)
        let trace = Trace()
        let operation = makeOperation("a", trace)
        let done = Gate("the operation to end")
        operation.completionBlock = { done.open() }
        bench.database.add(operation)
        try await hold.arrived()
        #expect(try await bench.container.allLongLivedOperationIDs() == [operation.operationID])
        hold.letGo()
        try await TestThreads.offPool { try done.wait() }
        #expect(trace.all == ["persisted", "a 1.0", "a ok", "result ok"])
        #expect(try await bench.container.allLongLivedOperationIDs().isEmpty)
        #expect(try await bench.container.longLivedOperation(for: operation.operationID) == nil)
        await bench.run(CKModifyRecordsOperation(recordsToSave: [makeRecord("b")]))
        #expect(bench.interference.sent == [.modifyRecords, .modifyRecords])
    }

    @Test("[O-14] fetched while it runs, it calls all blocks of the new object too, and nothing is sent a second time")
    func joined() async throws {
        let bench = try OperationBench()
        let hold = bench.hold(.modifyRecords)
        let trace = Trace()
        let operation = makeOperation("a", trace)
        operation.savePolicy = .changedKeys
        operation.isAtomic = false
        operation.configuration.timeoutIntervalForRequest = 7
        bench.database.add(operation)
        try await hold.arrived()
        let found = try await bench.container.longLivedOperation(for: operation.operationID)
        let second = try #require(found as? CKModifyRecordsOperation)
        #expect(second !== operation)
        #expect(second.operationID == operation.operationID)
        #expect(second.savePolicy == .changedKeys)
        #expect(!second.isAtomic)
        #expect(second.configuration.isLongLived)
        #expect(second.configuration.timeoutIntervalForRequest == 7)
        #expect(second.recordsToSave?.first?["text"] as? String == "text")
        let replay = Trace()
        follow(second, replay, "2: ")
        bench.container.add(second)
        hold.letGo()
        await bench.session.activity.untilIdle()
        #expect(trace.all == ["persisted", "a 1.0", "a ok", "result ok"])
        #expect(replay.all == ["2: a 1.0", "2: a ok", "2: result ok"])
        #expect(bench.interference.sent == [.modifyRecords])
        #expect(try await bench.container.allLongLivedOperationIDs().isEmpty)
    }

    /// Answers an operation whose last block is never called: what the next session finds.
    private func leaveAnswered(
        _ bench: OperationBench, _ operation: CKModifyRecordsOperation, in store: MemoryLongLivedStore
    ) async throws -> CloudSession {
        let first = CloudSession(
            server: bench.service, clock: bench.clock, account: bench.account.id, longLivedStore: store)
        let kept = Locked<LongLivedEntry?>(nil)
        let database = CKContainer(session: first, identifier: OperationBench.containerIdentifier, account: nil)
            .privateCloudDatabase
        operation.perRecordProgressBlock = { _, _ in
            kept.withLock { $0 = store.entries().first }
        }
        database.add(operation)
        await first.activity.untilIdle()
        // As if the process had ended before the last block returned.
        store.save(try #require(kept.value))
        return CloudSession(server: bench.service, clock: bench.clock, account: bench.account.id, longLivedStore: store)
    }

    @Test("[O-14] fetched in another session after its request was answered, it replays all blocks without sending")
    func replayed() async throws {
        let bench = try OperationBench()
        try await bench.database.save(makeRecord("taken"))
        let operation = CKModifyRecordsOperation(
            recordsToSave: [makeRecord("a"), makeRecord("taken")],
            recordIDsToDelete: [CKRecord.ID(recordName: "gone")])
        operation.configuration.isLongLived = true
        operation.isAtomic = false
        let store = MemoryLongLivedStore()
        let session = try await leaveAnswered(bench, operation, in: store)
        let sent = bench.interference.sent.count
        let container = CKContainer(session: session, identifier: OperationBench.containerIdentifier, account: nil)
        #expect(try await container.allLongLivedOperationIDs() == [operation.operationID])
        let elsewhere = CKContainer(session: session, identifier: "iCloud.other", account: nil)
        #expect(try await elsewhere.longLivedOperation(for: operation.operationID) == nil)
        let found = try await container.longLivedOperation(for: operation.operationID)
        let second = try #require(found as? CKModifyRecordsOperation)
        let trace = Trace()
        follow(second, trace, "")
        second.perRecordDeleteBlock = { trace.note("deleted \($0.recordName) \(outcome($1))") }
        let tags = Locked<[String?]>([])
        second.perRecordSaveBlock = { id, result in
            trace.note("\(id.recordName) \(outcome(result))")
            tags.withLock { $0.append((try? result.get())?.recordChangeTag) }
        }
        container.add(second)
        await session.activity.untilIdle()
        #expect(
            trace.all == [
                "a 1.0", "a ok", "taken 1.0", "taken serverRecordChanged", "deleted gone ok", "result ok",
            ])
        #expect(
            tags.value.first == (try await bench.database.record(for: CKRecord.ID(recordName: "a"))).recordChangeTag)
        #expect(bench.interference.sent.dropFirst(sent).filter { $0 == .modifyRecords }.isEmpty)
        #expect(try await container.allLongLivedOperationIDs().isEmpty)
    }

    @Test("[O-14] an unclaimed answer is dropped after a day")
    func collected() async throws {
        let bench = try OperationBench()
        let store = MemoryLongLivedStore()
        let session = try await leaveAnswered(bench, makeOperation("a", Trace()), in: store)
        let container = CKContainer(session: session, identifier: OperationBench.containerIdentifier, account: nil)
        bench.clock.advance(bySeconds: 86_399)
        #expect(try await container.allLongLivedOperationIDs().count == 1)
        bench.clock.advance(bySeconds: 1)
        #expect(try await container.allLongLivedOperationIDs().isEmpty)
        #expect(store.entries().isEmpty)
    }

    @Test("[O-14] cancelling drops it; a request that failed as a whole is replayed as that failure")
    func cancelledAndFailed() async throws {
        let bench = try OperationBench()
        let trace = Trace()
        let cancelled = makeOperation("a", trace)
        cancelled.cancel()
        await bench.run(cancelled)
        #expect(trace.all == ["result operationCancelled"])
        #expect(try await bench.container.allLongLivedOperationIDs().isEmpty)

        let hold = Hold()
        bench.interference.intervene { point in
            guard case .request(.modifyRecords, _) = point else { return nil }
            hold.pass()
            return CloudError(.zoneBusy, "planned", retryAfterSeconds: 2)
        }
        let failing = makeOperation("b", trace)
        bench.database.add(failing)
        try await hold.arrived()
        let found = try await bench.container.longLivedOperation(for: failing.operationID)
        let second = try #require(found as? CKModifyRecordsOperation)
        let retryAfter = Locked<Double?>(nil)
        second.modifyRecordsResultBlock = { result in
            guard case .failure(let error as CKError) = result, error.code == .zoneBusy else { return }
            retryAfter.withLock { $0 = error.retryAfterSeconds }
        }
        bench.container.add(second)
        hold.letGo()
        await bench.session.activity.untilIdle()
        #expect(trace.all.suffix(2) == ["persisted", "result zoneBusy"])
        #expect(retryAfter.value == 2)
        #expect(bench.interference.sent == [.modifyRecords])
    }

    @Test("[O-14] completion handlers find long-lived operations too; fetches and zones can be long-lived")
    func others() async throws {
        let bench = try OperationBench()
        let hold = bench.hold(.fetchRecords)
        let operation = CKFetchRecordsOperation(recordIDs: [CKRecord.ID(recordName: "a")])
        operation.configuration.isLongLived = true
        operation.desiredKeys = ["text"]
        bench.database.add(operation)
        try await hold.arrived()
        let ids: [String]? = await withCheckedContinuation { continuation in
            bench.container.fetchAllLongLivedOperationIDs { ids, _ in continuation.resume(returning: ids) }
        }
        #expect(ids == [operation.operationID])
        // Fetched and not run: it is released with the object.
        let found: String = await withCheckedContinuation { continuation in
            bench.container.fetchLongLivedOperation(withID: operation.operationID) { found, _ in
                let second = found as? CKFetchRecordsOperation
                continuation.resume(
                    returning: "\(second?.recordIDs == operation.recordIDs) \(second?.desiredKeys ?? [])")
            }
        }
        #expect(found == #"true ["text"]"#)
        hold.letGo()
        await bench.session.activity.untilIdle()
        let zones = CKModifyRecordZonesOperation(recordZonesToSave: [CKRecordZone(zoneName: "Notes")])
        zones.configuration.isLongLived = true
        await bench.run(zones)
        let all = CKFetchRecordZonesOperation.fetchAllRecordZonesOperation()
        all.configuration.isLongLived = true
        let trace = Trace()
        all.perRecordZoneResultBlock = { trace.note("\($0.zoneName) \(outcome($1))") }
        await bench.run(all)
        #expect(trace.all.sorted() == ["Notes ok", "_defaultZone ok"])
        #expect(try await bench.container.allLongLivedOperationIDs().isEmpty)
    }
}
