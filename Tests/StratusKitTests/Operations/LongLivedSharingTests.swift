// Several objects that run one long-lived operation: which one sends it, and what the others get.

import Foundation
import StratusCloud
import StratusKit
import StratusModel
import StratusStore
import StratusTestSupport
import Testing

/// Stores long-lived operations in memory, counts reads, and refuses answers on demand.
private final class WatchedStore: LongLivedStore {
    private let memory = MemoryLongLivedStore()
    private let lookCount = Locked(0)
    private let refusesAnswers: Bool
    private let onSave = Locked<(@Sendable () -> Void)?>(nil)

    init(refusesAnswers: Bool = false) { self.refusesAnswers = refusesAnswers }

    /// Other events while an operation is stored.
    func whenSaving(_ body: @escaping @Sendable () -> Void) { onSave.withLock { $0 = body } }

    func save(_ entry: LongLivedEntry) throws {
        onSave.value?()
        if refusesAnswers, entry.answer != nil { throw CloudError(.serviceUnavailable, "planned") }
        memory.save(entry)
    }
    func entry(_ id: String) -> LongLivedEntry? {
        lookCount.withLock { $0 += 1 }
        return memory.entry(id)
    }
    func entries() -> [LongLivedEntry] { memory.entries() }
    func remove(_ id: String) { memory.remove(id) }
    func forget() { memory.forget() }
    func keepFile(_ path: String, as number: Int, of id: String) throws -> String? {
        try memory.keepFile(path, as: number, of: id)
    }
    func keptFile(_ number: Int, of id: String) -> String? { memory.keptFile(number, of: id) }

    var looks: Int { lookCount.value }
}

@Suite struct LongLivedSharingTests {
    /// A session of its own, whose operations are stored in `store`.
    private func session(_ bench: OperationBench, _ store: WatchedStore) -> (CloudSession, CKContainer) {
        let session = CloudSession(
            server: bench.service, clock: bench.clock, account: bench.account.id, longLivedStore: store)
        return (session, CKContainer(session: session, identifier: OperationBench.containerIdentifier, account: nil))
    }

    private func makeOperation(_ trace: Trace) -> CKModifyRecordsOperation {
        let operation = CKModifyRecordsOperation(recordsToSave: [makeRecord("a")])
        operation.configuration.isLongLived = true
        operation.modifyRecordsResultBlock = { trace.note(outcome($0)) }
        return operation
    }

    /// Runs another object of the same operation, and returns when it waits for the answer.
    private func join(
        _ operation: CKModifyRecordsOperation, _ container: CKContainer, _ store: WatchedStore, _ trace: Trace
    ) async throws {
        let found = try await container.longLivedOperation(for: operation.operationID)
        let other = try #require(found as? CKModifyRecordsOperation)
        other.configuration.qualityOfService = .default
        other.modifyRecordsResultBlock = { trace.note("other \(outcome($0))") }
        let looks = store.looks
        container.add(other)
        // It looks for a stored operation, and then joins.
        while store.looks < looks + 2 { await Task.yield() }
        // The second look happens under the registry's lock: the next holder of the lock finds that the object has
        // joined.
        #expect(try await container.allLongLivedOperationIDs() == [operation.operationID])
    }

    @Test("[O-10][O-14] an object that takes over the request has the full time-out for it, and leaves no timer behind")
    func takenOver() async throws {
        let bench = try OperationBench()
        let store = WatchedStore()
        let (session, container) = session(bench, store)
        let (hold, requestCount) = (Hold(), Locked(0))
        bench.interference.intervene { point in
            guard case .request(.modifyRecords, _) = point else { return nil }
            let isFirst = requestCount.withLock { count in
                count += 1
                return count == 1
            }
            if isFirst { return CloudError(.networkUnavailable, "planned", retryAfterSeconds: 1_000) }
            hold.pass()
            return nil
        }
        let trace = Trace()
        let operation = makeOperation(trace)
        operation.qualityOfService = .utility
        container.privateCloudDatabase.add(operation)
        await session.activity.untilIdle()
        try await join(operation, container, store, trace)
        bench.clock.advance(bySeconds: 50)
        operation.cancel()
        try await hold.arrived()
        bench.clock.advance(bySeconds: 50)
        hold.letGo()
        await session.activity.untilIdle()
        #expect(trace.all == ["operationCancelled", "other ok"])
        #expect(session.timers.count == 0)
        #expect(try await bench.stored(["a"]) == ["a"])
    }

    @Test("[O-08] an operation that is cancelled after it was stored and before it is sent is not sent")
    func cancelledBeforeSending() async throws {
        let bench = try OperationBench()
        let store = WatchedStore()
        let (session, container) = session(bench, store)
        let trace = Trace()
        let operation = makeOperation(trace)
        // Weak, because the session holds the store, and the operation holds the session.
        store.whenSaving { [weak operation] in operation?.cancel() }
        container.privateCloudDatabase.add(operation)
        await session.activity.untilIdle()
        #expect(trace.all == ["operationCancelled"])
        #expect(bench.interference.sent.isEmpty)
        #expect(try await container.allLongLivedOperationIDs().isEmpty)
    }

    @Test("[O-14] an answer that cannot be stored is still delivered, to all objects, and nothing is sent again")
    func unkeptAnswer() async throws {
        let bench = try OperationBench()
        let store = WatchedStore(refusesAnswers: true)
        let (session, container) = session(bench, store)
        let hold = bench.hold(.modifyRecords)
        let trace = Trace()
        let operation = makeOperation(trace)
        container.privateCloudDatabase.add(operation)
        try await hold.arrived()
        try await join(operation, container, store, trace)
        hold.letGo()
        await session.activity.untilIdle()
        #expect(trace.all.sorted() == ["ok", "other ok"])
        #expect(bench.interference.sent == [.modifyRecords])
        #expect(try await container.allLongLivedOperationIDs().isEmpty)
        #expect(try await bench.stored(["a"]) == ["a"])
    }
}
