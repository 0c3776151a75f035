// Operations that wait for operations that are never started: who waits for them, and how they end.

import Foundation
import StratusKit
import StratusStore
import StratusTestSupport
import Testing

@Suite("Operations that cannot start")
struct StuckOperationTests {
    /// An operation that saves a record and notes how it ended.
    private func saving(_ name: String, _ ends: Collected<String>) -> CKModifyRecordsOperation {
        let operation = CKModifyRecordsOperation(recordsToSave: [note(name)])
        operation.modifyRecordsResultBlock = { ends.append("\(name) \(outcome($0))") }
        return operation
    }

    /// An operation of Foundation's that has begun and ends on demand.
    private func running() throws -> (operation: Operation, end: Latch) {
        let (begun, end) = (Gate("the block to begin"), Latch("the block to be ended"))
        let operation = BlockOperation {
            begun.open()
            try? end.wait()
        }
        OperationQueue().addOperation(operation)
        try begun.wait()
        return (operation, end)
    }

    @Test("settle waits for what can run, and not for what depends on an operation that was never started")
    func settling() async throws {
        let (store, account) = try Stratus.tested()
        let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
        let ends = Collected<String>()
        let (stuck, other, missing) = (saving("stuck", ends), saving("other", ends), saving("missing", ends))
        stuck.addDependency(missing)
        database.add(stuck)
        database.add(other)
        await store.settle()
        #expect(ends.values == ["other ok"])
        try await onThread { store.settle() }
        #expect(!stuck.isReady)
        #expect(!stuck.isFinished)

        database.add(missing)
        await store.settle()
        #expect(ends.values == ["other ok", "missing ok", "stuck ok"])
        try await onThread { store.close() }
    }

    @Test("closing cancels operations that depend on an operation that was never started", arguments: [false, true])
    func closing(isInSuspendedQueue: Bool) async throws {
        let (store, account) = try Stratus.tested()
        let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
        let ends = Collected<String>()
        let (last, stuck, other, missing) = (
            saving("last", ends), saving("stuck", ends), saving("other", ends), saving("missing", ends)
        )
        last.addDependency(stuck)
        stuck.addDependency(missing)
        let queue = OperationQueue()
        queue.isSuspended = true
        if isInSuspendedQueue {
            missing.database = database
            queue.addOperation(missing)
        }
        for operation in [last, stuck, other] { database.add(operation) }
        await store.settle()
        #expect(ends.values == ["other ok"])
        try await onThread { store.close() }
        #expect(ends.values.sorted() == ["last operationCancelled", "other ok", "stuck operationCancelled"])
        #expect(last.isFinished)
        #expect(stuck.isFinished)
        #expect(stuck.isCancelled)
        #expect(!missing.isFinished)

        guard isInSuspendedQueue else { return }
        queue.isSuspended = false
        try await onThread { missing.waitUntilFinished() }
        #expect(ends.values.last == "missing serviceUnavailable")
    }

    @Test("settle does not wait for operations that wait for each other, and closing the store cancels them")
    func cycle() async throws {
        let (store, account) = try Stratus.tested()
        let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
        let ends = Collected<String>()
        let (first, second, third) = (saving("first", ends), saving("second", ends), saving("third", ends))
        first.addDependency(second)
        second.addDependency(first)
        third.addDependency(second)
        for operation in [first, second, third] { database.add(operation) }
        await store.settle()
        #expect(ends.values.isEmpty)
        try await onThread { store.close() }
        #expect(ends.values.count == 3)
        #expect(ends.values.allSatisfy { $0.hasSuffix("operationCancelled") })
        // One of the two went first, and no longer holds the other.
        #expect(first.dependencies.isEmpty || second.dependencies.isEmpty)
    }

    @Test("operations that wait for each other are cancelled, and none holds itself, whichever of them ends first")
    func cycles() async throws {
        for _ in 0..<500 {
            let (store, account) = try Stratus.tested()
            let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
            let ends = Collected<String>()
            let operations = (0..<8).map { saving("\($0)", ends) }
            // The first two wait for each other, each later one for the one before it.
            operations[0].addDependency(operations[1])
            for (before, after) in zip(operations, operations.dropFirst()) { after.addDependency(before) }
            for operation in operations { database.add(operation) }
            try await onThread { store.close() }
            #expect(ends.values.sorted() == (0..<8).map { "\($0) operationCancelled" })
            #expect(operations[..<2].contains { $0.dependencies.isEmpty })
        }
    }

    @Test("settle waits for long chains, in other queues and other stores too, once they have begun")
    func chains() async throws {
        let ((store, account), (other, stranger)) = (try Stratus.tested(), try Stratus.tested())
        let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
        let elsewhere = other.container("iCloud.test", signedInAs: stranger).privateCloudDatabase
        let ends = Collected<String>()
        let (block, end) = try await onThread { try running() }
        let operations = (0..<200).map { saving("\($0)", ends) }
        for (before, after) in zip(operations, operations.dropFirst()) { after.addDependency(before) }
        operations[0].addDependency(block)
        for (index, operation) in operations.enumerated().reversed() {
            (index % 2 == 0 ? elsewhere : database).add(operation)
        }
        async let settled: Void = store.settle()
        end.open()
        await settled
        #expect(ends.values == (0..<200).map { "\($0) ok" })
        await other.settle()
        try await onThread { store.close() }
        try await onThread { other.close() }
    }

    @Test("a dependency that is added or removed during the wait is taken into account")
    func changing() async throws {
        let (store, account) = try Stratus.tested()
        let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
        let ends = Collected<String>()
        let (block, end) = try await onThread { try running() }
        let (operation, missing) = (saving("a", ends), saving("missing", ends))
        operation.addDependency(block)
        database.add(operation)
        async let settled: Void = store.settle()
        operation.addDependency(missing)
        await settled
        end.open()
        try await onThread { block.waitUntilFinished() }
        await store.settle()
        #expect(ends.values.isEmpty)
        operation.removeDependency(missing)
        await store.settle()
        #expect(ends.values == ["a ok"])
        #expect(operation.dependencies == [block])
        try await onThread { store.close() }
    }

    @Test("an operation that gets a dependency at the moment its queue starts it runs after the dependency")
    func lateDependency() async throws {
        let (store, account) = try Stratus.tested()
        let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
        let ends = Collected<String>()
        let queue = OperationQueue()
        queue.isSuspended = true
        let (late, before) = (saving("late", ends), saving("before", ends))
        late.database = database
        queue.addOperation(late)
        late.addDependency(before)
        // What a queue does that has found it ready, and it once.
        late.start()
        #expect(!late.isExecuting)
        #expect(!late.isFinished)
        database.add(before)
        await store.settle()
        #expect(ends.values == ["before ok", "late ok"])
        queue.isSuspended = false
        try await onThread { queue.waitUntilAllOperationsAreFinished() }
        #expect(ends.values.count == 2)
        try await onThread { store.close() }
    }

    @Test("an operation that is released while it waits leaves nothing behind in its dependencies")
    func letGo() async throws {
        let (store, account) = try Stratus.tested()
        let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
        let ends = Collected<String>()
        let (block, end) = try await onThread { try running() }
        let before = saving("before", ends)
        try await onThread {
            for _ in 0..<3 {
                let (dropped, cancelled) = (saving("dropped", ends), saving("cancelled", ends))
                for operation in [dropped, cancelled] {
                    operation.addDependency(block)
                    operation.addDependency(before)
                }
                cancelled.cancel()
                database.add(cancelled)
            }
            store.settle()
        }
        #expect(waitersCount(of: block) == 0)
        #expect(waitersCount(of: before) == 0)
        #expect(ends.values == Array(repeating: "cancelled operationCancelled", count: 3))
        database.add(before)
        end.open()
        try await onThread { block.waitUntilFinished() }
        await store.settle()
        #expect(ends.values.last == "before ok")
        try await onThread { store.close() }
    }

    /// How many operations Foundation will notify that this one has finished. It has no call for that.
    private func waitersCount(of operation: Operation) -> Int? {
        var mirror: Mirror? = Mirror(reflecting: operation)
        while let class_ = mirror, class_.subjectType != Operation.self { mirror = class_.superclassMirror }
        return mirror?.descendant("__downDependencies").map { Mirror(reflecting: $0).children.count }
    }

    /// An operation whose subclass does not call it ready until the end of the test, so that its queue releases it.
    // Unchecked because it inherits from CKOperation, and its own variable has a lock.
    private final class HeldBack: CKModifyRecordsOperation, @unchecked Sendable {
        private let isAllowed = Locked(false)
        override var isReady: Bool { isAllowed.value && super.isReady }

        func allow() {
            isAllowed.withLock { $0 = true }
            didChangeValue(for: \.isReady)
        }
    }

    @Test("an operation whose subclass is never ready does not block others")
    func neverReady() async throws {
        let (store, account) = try Stratus.tested()
        let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
        let operation = HeldBack(recordsToSave: [note("a")])
        database.add(operation)
        await store.settle()
        try await onThread { store.close() }
        #expect(operation.isCancelled)
        #expect(!operation.isFinished)
        operation.allow()
        try await onThread { operation.waitUntilFinished() }
    }

    @Test(
        "[X-25][O-01] an operation in a client's queue that is added to a database, or vice versa, fails",
        arguments: [false, true])
    func addedToAnotherQueue(asOperation: Bool) async throws {
        let (store, account) = try Stratus.tested()
        let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
        let ends = Collected<String>()
        let queue = OperationQueue()
        let before = saving("before", ends)
        let (first, second) = (saving("first", ends), saving("second", ends))
        for operation in [first, second] { operation.addDependency(before) }
        first.database = database
        if asOperation { queue.addOperation(first as Operation) } else { queue.addOperation(first) }
        database.add(first)
        database.add(second)
        queue.addOperation(second)
        queue.addOperations([first, second], waitUntilFinished: false)
        database.add(before)
        await store.settle()
        try await onThread { queue.waitUntilAllOperationsAreFinished() }
        await store.settle()
        // A finished one cannot be put into a queue again either.
        queue.addOperation(before)
        queue.addOperations([first, second], waitUntilFinished: true)
        database.add(first)
        #expect(Set(ends.values) == ["before ok", "first invalidArguments", "second invalidArguments"])
        #expect(ends.values.count == 3)
        try await onThread { store.close() }
    }

    @Test("[O-01][O-09] operations in a client's queue run, all of one kind or mixed with others")
    func ownQueue() async throws {
        let (store, account) = try Stratus.tested()
        let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
        let ends = Collected<String>()
        let operations = ["a", "b", "c"].map { saving($0, ends) }
        for operation in operations { operation.database = database }
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        try await onThread {
            queue.addOperation(operations[0])
            queue.addOperations([operations[1]], waitUntilFinished: true)
            queue.addOperations([BlockOperation { ends.append("block") }, operations[2]], waitUntilFinished: true)
        }
        await store.settle()
        #expect(ends.values == ["a ok", "b ok", "block", "c ok"])
        try await onThread { store.close() }
    }

    @Test("[X-25][O-07] an operation that waits and is added to a second database fails, and runs in neither")
    func addedTwice() async throws {
        let (store, account) = try Stratus.tested()
        let container = store.container("iCloud.test", signedInAs: account)
        let ends = Collected<String>()
        let texts = Collected<String>()
        let (operation, before) = (CKModifyRecordsOperation(recordsToSave: [note("a")]), saving("before", ends))
        operation.modifyRecordsResultBlock = { result in
            ends.append(outcome(result))
            if case .failure(let error) = result { texts.append(error.localizedDescription) }
        }
        operation.addDependency(before)
        container.privateCloudDatabase.add(operation)
        container.publicCloudDatabase.add(operation)
        store.container("iCloud.other", signedInAs: account).add(operation)
        #expect(operation.database === container.privateCloudDatabase)
        container.privateCloudDatabase.add(before)
        await store.settle()
        #expect(ends.values == ["before ok", "invalidArguments"])
        #expect(texts.values.allSatisfy { $0.contains("in a queue already") })
        #expect(texts.values.count == 1)
        for database in [container.privateCloudDatabase, container.publicCloudDatabase] {
            let found = try await database.records(for: [CKRecord.ID(recordName: "a")])
            #expect(throws: CKError.self) { try found.values.first?.get() }
        }
        try await onThread { store.close() }
    }
}
