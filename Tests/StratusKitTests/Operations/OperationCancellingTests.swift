// Cancelling, and operations that wait for one another.

import Foundation
import StratusCloud
import StratusKit
import StratusStore
import StratusTestSupport
import Testing

@Suite struct OperationCancellingTests {
    @Test("[O-08] cancelled before the start: nothing is sent, and the result is operationCancelled")
    func before() async throws {
        let bench = try OperationBench()
        let trace = Trace()
        let operation = CKModifyRecordsOperation(recordsToSave: [makeRecord("a")])
        operation.perRecordSaveBlock = { _, _ in trace.note("item") }
        operation.modifyRecordsResultBlock = { trace.note(outcome($0)) }
        operation.cancel()
        #expect(operation.isCancelled)
        #expect(!operation.isFinished)
        await bench.run(operation)
        #expect(trace.all == ["operationCancelled"])
        #expect(bench.interference.sent.isEmpty)
        #expect(operation.isFinished)
    }

    @Test(
        "[O-08] cancelled while the server works: saved records are reported and stay, the result is operationCancelled"
    )
    func during() async throws {
        let bench = try OperationBench()
        let hold = bench.hold(.modifyRecords)
        let trace = Trace()
        let record = makeRecord("a")
        let operation = CKModifyRecordsOperation(recordsToSave: [record])
        operation.perRecordSaveBlock = { trace.note("\($0.recordName) \(outcome($1))") }
        operation.modifyRecordsResultBlock = { trace.note(outcome($0)) }
        let done = Gate("the operation to end")
        operation.completionBlock = { done.open() }
        bench.database.add(operation)
        try await hold.arrived()
        operation.cancel()
        #expect(operation.isCancelled)
        #expect(operation.isExecuting)
        #expect(trace.all.isEmpty)
        hold.letGo()
        try await TestThreads.offPool { try done.wait() }
        #expect(trace.all == ["a ok", "operationCancelled"])
        #expect(record.recordChangeTag != nil)
        #expect(try await bench.stored(["a"]) == ["a"])
    }

    @Test("[O-08] cancelled by a block for an item: the other items are reported, the result is operationCancelled")
    func inItem() async throws {
        let bench = try OperationBench()
        let trace = Trace()
        let operation = CKModifyRecordsOperation(recordsToSave: [makeRecord("a"), makeRecord("b")])
        operation.perRecordSaveBlock = { [unowned operation] in
            trace.note("\($0.recordName) \(outcome($1))")
            operation.cancel()
        }
        operation.modifyRecordsResultBlock = { trace.note(outcome($0)) }
        await bench.run(operation)
        #expect(trace.all == ["a ok", "b ok", "operationCancelled"])
        #expect(try await bench.stored(["a", "b"]) == ["a", "b"])
    }

    @Test("[O-08] a query that is cancelled by a block for a match reports the page, and ends as cancelled")
    func inMatch() async throws {
        let bench = try OperationBench()
        await bench.run(CKModifyRecordsOperation(recordsToSave: [makeRecord("a"), makeRecord("b")]))
        let query = CKQuery(recordType: makeRecord("a").recordType, predicate: NSPredicate(value: true))
        let trace = Trace()
        let operation = CKQueryOperation(query: query)
        operation.recordMatchedBlock = { [unowned operation] id, result in
            trace.note("\(id.recordName) \(outcome(result))")
            operation.cancel()
        }
        operation.queryResultBlock = { trace.note(outcome($0.map { _ in })) }
        await bench.run(operation)
        #expect(trace.all.dropLast().sorted() == ["a ok", "b ok"])
        #expect(trace.all.last == "operationCancelled")
    }

    @Test("[O-08] cancelled while it waits for a thread: it ends at once, and nothing is sent")
    func queued() async throws {
        let bench = try OperationBench(threadCount: 1)
        let hold = bench.hold(.modifyRecords)
        bench.database.add(CKModifyRecordsOperation(recordsToSave: [makeRecord("a")]))
        try await hold.arrived()
        let trace = Trace()
        let operation = CKModifyRecordsOperation(recordsToSave: [makeRecord("b")])
        operation.modifyRecordsResultBlock = { trace.note(outcome($0)) }
        let done = Gate("the operation to end")
        operation.completionBlock = { done.open() }
        operation.database = bench.database
        operation.start()
        operation.cancel()
        try await TestThreads.offPool { try done.wait() }
        #expect(trace.all == ["operationCancelled"])
        hold.letGo()
        await bench.session.activity.untilIdle()
        #expect(bench.interference.sent == [.modifyRecords])
    }

    @Test("[O-08] cancelled after the end: nothing changes")
    func after() async throws {
        let bench = try OperationBench()
        let trace = Trace()
        let operation = CKModifyRecordsOperation(recordsToSave: [makeRecord("a")])
        operation.modifyRecordsResultBlock = { trace.note(outcome($0)) }
        await bench.run(operation)
        operation.cancel()
        #expect(!operation.isCancelled)
        #expect(operation.isFinished)
        #expect(trace.all == ["ok"])
    }

    @Test("[O-08] cancelling a task cancels its call, also before it begins")
    func task() async throws {
        let bench = try OperationBench()
        let hold = bench.hold(.modifyRecords)
        let task = Task { try await bench.database.save(makeRecord("a")) }
        try await hold.arrived()
        task.cancel()
        hold.letGo()
        #expect(outcome(await task.result) == "operationCancelled")
        let late = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await bench.database.save(makeRecord("b"))
        }
        late.cancel()
        #expect(outcome(await late.result) == "operationCancelled")
        #expect(try await bench.stored(["a", "b"]) == ["a"])
    }

    @Test("[O-09] an operation waits for others in other queues to finish, whether they succeed, fail or are cancelled")
    func dependencies() async throws {
        let bench = try OperationBench()
        let hold = bench.hold(.modifyRecords)
        let trace = Trace()
        func make(_ name: String, failing: Bool = false) -> CKModifyRecordsOperation {
            let record = makeRecord(name, in: failing ? CKRecordZone.ID(zoneName: "Missing") : .default)
            let operation = CKModifyRecordsOperation(recordsToSave: [record])
            operation.database = bench.database
            operation.perRecordSaveBlock = { trace.note("\($0.recordName) \(outcome($1))") }
            operation.modifyRecordsResultBlock = { trace.note("\(name) \(outcome($0))") }
            return operation
        }
        let (first, failing, cancelled, last) = (make("first"), make("failing", failing: true), make("x"), make("last"))
        failing.addDependency(first)
        last.addDependency(failing)
        last.addDependency(cancelled)
        let queues = [OperationQueue(), OperationQueue()]
        queues[1].maxConcurrentOperationCount = 1
        let done = Gate("the last operation to end")
        last.completionBlock = { done.open() }
        queues[0].addOperation(last)
        queues[1].addOperation(failing)
        #expect(!last.isReady)
        #expect(!failing.isReady)
        bench.database.add(first)
        try await hold.arrived()
        cancelled.cancel()
        queues[0].addOperation(cancelled)
        hold.letGo()
        try await TestThreads.offPool { try done.wait() }
        let notes = trace.all.filter { $0 != "x operationCancelled" }
        #expect(trace.all.count == notes.count + 1)
        #expect(
            notes == ["first ok", "first ok", "failing zoneNotFound", "failing ok", "last ok", "last ok"])
    }

    @Test("[O-09] a queue runs as many operations at a time as it may, and those of a higher priority first")
    func concurrency() async throws {
        let bench = try OperationBench()
        let running = Locked((now: 0, most: 0))
        bench.interference.intervene { point in
            guard case .request(.fetchRecords, _) = point else { return nil }
            running.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
            TestThreads.yield()
            running.withLock { $0.now -= 1 }
            return nil
        }
        let trace = Trace()
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        queue.isSuspended = true
        let done = Gate("an operation to end")
        for (name, priority) in [("low", Operation.QueuePriority.low), ("high", .high), ("normal", .normal)] {
            let operation = CKFetchRecordsOperation(recordIDs: [CKRecord.ID(recordName: name)])
            operation.database = bench.database
            operation.queuePriority = priority
            operation.perRecordResultBlock = { id, _ in trace.note(id.recordName) }
            operation.completionBlock = { done.open() }
            queue.addOperation(operation)
        }
        queue.isSuspended = false
        try await TestThreads.offPool { for _ in 0..<3 { try done.wait() } }
        #expect(trace.all == ["high", "normal", "low"])
        #expect(running.value.most == 1)
    }
}
