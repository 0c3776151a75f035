// Which blocks are called, in which order, and on which thread.

import Foundation
import StratusCloud
import StratusKit
import StratusStore
import StratusTestSupport
import Testing

@Suite struct OperationBlockTests {
    @Test(
        "[O-01][O-04][O-05][C-04] progress, items, the result once, then the completion block",
        arguments: BenchStore.allCases)
    func order(store: BenchStore) async throws {
        let bench = try OperationBench(store)
        let zoneID = try await bench.makeZone()
        try await bench.database.save(makeRecord("old", in: zoneID))
        let records = [makeRecord("a", in: zoneID), makeRecord("b", in: zoneID)]
        let operation = CKModifyRecordsOperation(
            recordsToSave: records, recordIDsToDelete: [CKRecord.ID(recordName: "old", zoneID: zoneID)])
        let trace = Trace()
        operation.perRecordProgressBlock = { trace.note("\($0.recordID.recordName) \($1)") }
        operation.perRecordSaveBlock = { trace.note("\($0.recordName) \(outcome($1))") }
        operation.perRecordDeleteBlock = { trace.note("deleted \($0.recordName) \(outcome($1))") }
        operation.modifyRecordsResultBlock = { trace.note("result \(outcome($0))") }
        (operation as any LegacyModifyRecords).modifyRecordsCompletionBlock = { saved, deleted, error in
            trace.note("old result \(saved?.count ?? -1) \(deleted?.count ?? -1) \(outcome(error))")
        }
        await bench.run(operation)
        #expect(
            trace.all == [
                "a 1.0", "a ok", "b 1.0", "b ok", "deleted old ok", "result ok", "old result 2 1 ok",
            ])
        #expect(operation.isFinished)
        #expect(!operation.isExecuting)
        #expect(!operation.isCancelled)
        #expect(operation.database === bench.database)
        #expect(records.allSatisfy { $0.recordChangeTag != nil && $0.changedKeys().isEmpty && $0.creationDate != nil })
    }

    @Test(
        "[O-03] blocks run one after another on the operation's queue, never inline and never on the main thread")
    func queue() async throws {
        let bench = try OperationBench()
        let inside = Locked(0)
        let most = Locked(0)
        let threads = Locked<Set<ObjectIdentifier>>([])
        let sawMain = Locked(false)
        let meet: @Sendable () -> Void = {
            let now = inside.withLock { inside in
                inside += 1
                return inside
            }
            most.withLock { $0 = max($0, now) }
            threads.withLock { _ = $0.insert(ObjectIdentifier(Thread.current)) }
            if Thread.isMainThread { sawMain.withLock { $0 = true } }
            TestThreads.yield()
            inside.withLock { $0 -= 1 }
        }
        let operation = CKModifyRecordsOperation(recordsToSave: (0..<50).map { makeRecord("r\($0)") })
        operation.perRecordProgressBlock = { _, _ in meet() }
        operation.perRecordSaveBlock = { _, _ in meet() }
        let done = Gate("the operation to end")
        operation.modifyRecordsResultBlock = { _ in
            meet()
            done.open()
        }
        let caller = try await TestThreads.offPool {
            bench.database.add(operation)
            try done.wait()
            return ObjectIdentifier(Thread.current)
        }
        #expect(most.value == 1)
        #expect(!sawMain.value)
        #expect(!threads.value.contains(caller))
    }

    @Test("[O-06] the new block for an item replaces the old one; without it the old one is called")
    func oldAndNew() async throws {
        let bench = try OperationBench()
        for usesNew in [true, false] {
            let trace = Trace()
            let save = CKModifyRecordsOperation(recordsToSave: [makeRecord("a-\(usesNew)")])
            (save as any LegacyModifyRecords).perRecordCompletionBlock = { _, error in
                trace.note("old \(outcome(error))")
            }
            if usesNew { save.perRecordSaveBlock = { trace.note("new \(outcome($1))") } }
            await bench.run(save)
            let names = ["a-\(usesNew)", "missing"].map { CKRecord.ID(recordName: $0) }
            let fetch = CKFetchRecordsOperation(recordIDs: names)
            (fetch as any LegacyFetchRecords).perRecordCompletionBlock = { _, _, error in
                trace.note("old \(outcome(error))")
            }
            if usesNew { fetch.perRecordResultBlock = { trace.note("new \(outcome($1))") } }
            await bench.run(fetch)
            let which = usesNew ? "new" : "old"
            #expect(trace.all == ["\(which) ok", "\(which) ok", "\(which) unknownItem"])
        }
    }

    @Test("[O-04] a request that fails as a whole calls only the result blocks")
    func wholeFailure() async throws {
        let bench = try OperationBench()
        bench.interference.intervene { point in
            guard case .request(.modifyRecords, _) = point else { return nil }
            return CloudError(.zoneBusy, "planned", retryAfterSeconds: 3)
        }
        let trace = Trace()
        let operation = CKModifyRecordsOperation(recordsToSave: [makeRecord("a")])
        operation.perRecordProgressBlock = { _, _ in trace.note("progress") }
        operation.perRecordSaveBlock = { _, _ in trace.note("item") }
        operation.modifyRecordsResultBlock = { result in
            trace.note("result \(outcome(result))")
            if case .failure(let error as CKError) = result { trace.note("again in \(error.retryAfterSeconds ?? -1)") }
        }
        (operation as any LegacyModifyRecords).modifyRecordsCompletionBlock = { saved, _, error in
            trace.note("old result \(saved?.count ?? -1) \(outcome(error))")
        }
        await bench.run(operation)
        #expect(trace.all == ["result zoneBusy", "again in 3.0", "old result 0 zoneBusy"])
    }

    @Test("[O-07] blocks and inputs are fixed at the start, and an operation runs once")
    func fixed() async throws {
        let bench = try OperationBench()
        let hold = bench.hold(.modifyRecords)
        let trace = Trace()
        let operation = CKModifyRecordsOperation(recordsToSave: [makeRecord("a")])
        operation.modifyRecordsResultBlock = { trace.note("first \(outcome($0))") }
        let done = Gate("the operation to end")
        operation.completionBlock = { done.open() }
        bench.database.add(operation)
        try await hold.arrived()
        operation.modifyRecordsResultBlock = { _ in trace.note("second") }
        operation.recordsToSave = [makeRecord("b")]
        operation.configuration.container = nil
        #expect(operation.recordsToSave?.first?.recordID.recordName == "a")
        operation.start()
        bench.database.add(operation)
        hold.letGo()
        try await TestThreads.offPool { try done.wait() }
        operation.start()
        bench.database.add(operation)
        await bench.session.activity.untilIdle()
        #expect(trace.all == ["first ok"])
        #expect(bench.interference.sent == [.modifyRecords])
        #expect(operation.modifyRecordsResultBlock == nil)
        #expect(try await bench.stored(["a", "b"]) == ["a"])
    }

    @Test("[O-02] a bare operation sends nothing and finishes; a bare database operation can be created")
    func bare() async throws {
        let bench = try OperationBench()
        let operation = CKOperation()
        let done = Gate("the operation to end")
        operation.completionBlock = { done.open() }
        bench.container.add(operation)
        try await TestThreads.offPool { try done.wait() }
        await bench.run(CKDatabaseOperation())
        #expect(operation.isFinished)
        #expect(bench.interference.sent.isEmpty)
        #expect(CKOperation().operationID != operation.operationID)
    }

    @Test(
        "[A-06][A-07] failed items are a partial failure for the deprecated block and a success for the result block"
    )
    func partialFailure() async throws {
        let bench = try OperationBench()
        try await bench.database.save(makeRecord("taken"))
        let trace = Trace()
        let records = [makeRecord("new"), makeRecord("taken")]
        let save = CKModifyRecordsOperation(recordsToSave: records)
        save.isAtomic = false
        save.modifyRecordsResultBlock = { trace.note(outcome($0)) }
        let kept = Locked<CKError?>(nil)
        (save as any LegacyModifyRecords).modifyRecordsCompletionBlock = { saved, _, error in
            trace.note("\(saved?.map(\.recordID.recordName) ?? [])")
            kept.withLock { $0 = error as? CKError }
        }
        await bench.run(save)
        #expect(trace.all == ["ok", #"["new"]"#])
        let error = try #require(kept.value)
        #expect(error.code == .partialFailure)
        let byID = try #require(error.userInfo[CKPartialErrorsByItemIDKey] as? [CKRecord.ID: any Error])
        #expect(byID.mapValues { outcome($0) } == [records[1].recordID: "serverRecordChanged"])
        #expect(error.partialErrorsByItemID?.count == 1)
    }

    @Test("[A-06][A-07] fetches and zones report failed items in the same way, by their own kind of key")
    func partialFailureOfOthers() async throws {
        let bench = try OperationBench()
        let missing = CKRecord.ID(recordName: "missing")
        let missingZone = CKRecordZone.ID(zoneName: "Missing")
        let errors = Locked<[CKError?]>([])
        let results = Trace()
        let keep: @Sendable ((any Error)?) -> Void = { error in errors.withLock { $0.append(error as? CKError) } }
        let fetch = CKFetchRecordsOperation(recordIDs: [missing])
        fetch.fetchRecordsResultBlock = { results.note(outcome($0)) }
        (fetch as any LegacyFetchRecords).fetchRecordsCompletionBlock = { keep($1) }
        await bench.run(fetch)
        let zones = CKFetchRecordZonesOperation(recordZoneIDs: [missingZone])
        zones.fetchRecordZonesResultBlock = { results.note(outcome($0)) }
        (zones as any LegacyFetchZones).fetchRecordZonesCompletionBlock = { keep($1) }
        await bench.run(zones)
        let modify = CKModifyRecordZonesOperation(recordZoneIDsToDelete: [missingZone])
        modify.modifyRecordZonesResultBlock = { results.note(outcome($0)) }
        (modify as any LegacyModifyZones).modifyRecordZonesCompletionBlock = { keep($2) }
        await bench.run(modify)
        #expect(results.all == ["ok", "ok", "ok"])
        #expect(errors.value.map { $0?.code } == [.partialFailure, .partialFailure, .partialFailure])
        #expect(errors.value[0]?.partialErrorsByItemID?.keys.first == AnyHashable(missing))
        #expect(errors.value[1]?.partialErrorsByItemID?.keys.first == AnyHashable(missingZone))
        #expect(errors.value[2]?.partialErrorsByItemID?.keys.first == AnyHashable(missingZone))
        #expect((errors.value[0]?.userInfo[NSUnderlyingErrorKey] as? NSError)?.code == 1_011)
    }
}
