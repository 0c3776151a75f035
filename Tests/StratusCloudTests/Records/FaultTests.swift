// Planned errors, the store's own, and the events for the host.

import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("faults and events")
struct FaultTests {
    @Test("planned errors occur for the request, a zone, or a record, and only there")
    func planned() throws {
        let bench = try RecordBench()
        try bench.makeNotes()
        let other = ZoneAddress(zoneName: "Other")
        try bench.makeZone(other)
        let busy = CloudError(.zoneBusy, "busy", retryAfterSeconds: 3)
        bench.faults.set { if case .record(.note("a"), _, .modifyRecords) = $0 { busy } else { nil } }
        let record = try bench.modify([.new("a"), .new("b"), .new("c", in: other)])
        #expect(record.saves.map(\.code) == [.zoneBusy, .batchRequestFailed, nil])
        #expect(record.saves[0].error?.retryAfterSeconds == 3)
        bench.faults.set { if case .zone(other, _, .modifyRecords) = $0 { busy } else { nil } }
        let zone = try bench.modify(
            [.new("a"), .new("d", in: other)], deleting: [RecordAddress(recordName: "c", zone: other)])
        #expect(zone.saves.map(\.code) == [nil, .zoneBusy])
        #expect(zone.deletes.map(\.code) == [.zoneBusy])
        bench.faults.set { if case .request(.modifyRecords, _) = $0 { busy } else { nil } }
        #expect(try thrown { _ = try bench.modify([.new("e")]) }.code == .zoneBusy)
        bench.faults.set { if case .record(.note("a"), _, .fetchRecords) = $0 { busy } else { nil } }
        #expect(try bench.fetch(.note("a")).code == .zoneBusy)
        bench.faults.set(nil)
        #expect(try !bench.exists(.note("e")))
    }

    @Test("a record's planned fault is kept for a later request if its zone's fault ends this one")
    func zoneFirst() throws {
        let bench = try RecordBench()
        try bench.makeNotes()
        let asked = Locked<[StratusCloud.FaultPoint]>([])
        let busy = CloudError(.zoneBusy, "busy")
        bench.faults.set { point in
            asked.withLock { $0.append(point) }
            if case .zone(RecordBench.notes, _, _) = point { return busy }
            return nil
        }
        let answer = try bench.modify([.new("a"), .new("x", in: .defaultZone)], deleting: [.note("b")])
        #expect(answer.saves.map(\.code) == [.zoneBusy, nil])
        #expect(answer.deletes.map(\.code) == [.zoneBusy])
        let caller = bench.caller(bench.alice)
        let x = RecordAddress(recordName: "x")
        #expect(
            asked.value == [
                .request(.modifyRecords, caller), .zone(RecordBench.notes, caller, .modifyRecords),
                .zone(.defaultZone, caller, .modifyRecords), .record(x, caller, .modifyRecords),
                .response(.modifyRecords, caller),
            ])
    }

    @Test("[S-21] a lost answer is serverResponseLost although the write was committed; saving again shows it")
    func lostResponse() throws {
        let bench = try RecordBench()
        try bench.makeNotes()
        bench.faults.set {
            if case .response(.modifyRecords, _) = $0 { CloudError(.serverResponseLost, "lost") } else { nil }
        }
        #expect(try thrown { _ = try bench.modify([.new("a")]) }.code == .serverResponseLost)
        bench.faults.set(nil)
        #expect(try bench.exists(.note("a")))
        #expect(try bench.modify([.new("a")]).saves[0].code == .serverRecordChanged)
    }

    @Test(
        "[S-21][Z-09] store errors map to the client's errors",
        arguments: [
            (StoreError.Code.commitUnknown, CloudError.Code.serverResponseLost), (.conflict, .zoneBusy),
            (.unavailable, .serviceUnavailable), (.closed, .serviceUnavailable), (.diskFull, .serviceUnavailable),
            (.corruption, .internalError), (.tooLarge, .limitExceeded),
        ])
    func storeErrors(code: StoreError.Code, expected: CloudError.Code) throws {
        let failing = FailingStore(MemoryStore())
        let bench = try RecordBench(store: failing)
        try bench.makeNotes()
        failing.failure.withLock { $0 = StoreError(code, "planned") }
        let error = try thrown { _ = try bench.modify([.new("a")]) }
        #expect(error.code == expected)
        #expect(error.cause?.contains("planned") == true)
        if expected == .zoneBusy { #expect(error.retryAfterSeconds != nil) }
        failing.failure.withLock { $0 = nil }
        #expect(try bench.modify([.new("b")]).saves[0].error == nil)
    }

    @Test("[L-16] during an index rebuild a save fails with a retry time, and succeeds afterwards")
    func rebuilding() throws {
        let bench = try RecordBench()
        try bench.makeNotes()
        try bench.save(.new("a"))
        let zone = ZoneID(
            database: DatabaseID(container: RecordBench.container, owner: bench.alice.userName, scope: .private),
            name: "Notes")
        var errors: [CloudError] = []
        try bench.service.engine.rebuild(zone, incarnation: bench.service.environment.identifiers.makeUUID()) { _ in
            do {
                errors += try bench.modify([.new("b")]).saves.compactMap(\.error)
            } catch { errors.append(CloudError(answering: error)) }
        }
        #expect(!errors.isEmpty)
        #expect(errors.allSatisfy { $0.code == .serviceUnavailable && ($0.retryAfterSeconds ?? 0) > 0 })
        #expect(try bench.modify([.new("b")]).saves[0].error == nil)
    }

    @Test("a zone whose commit fails gives the store's error for each item if another zone was written")
    func oneZoneFails() throws {
        let failing = FailingStore(MemoryStore())
        let bench = try RecordBench(store: failing)
        let other = ZoneAddress(zoneName: "Other")
        try bench.makeNotes()
        try bench.makeZone(other)
        failing.skip.withLock { $0 = 1 }
        failing.failure.withLock { $0 = StoreError(.unavailable, "planned") }
        let answer = try bench.modify([.new("a"), .new("b", in: other), .new("c", in: other)])
        #expect(answer.saves.map(\.code) == [nil, .serviceUnavailable, .serviceUnavailable])
    }

    @Test("every request emits one event with its items, failures, conflicts, commits and time")
    func events() throws {
        let bench = try RecordBench()
        try bench.makeNotes()
        try bench.save(.new("a"), .new("x", in: .defaultZone))
        bench.events.withLock { $0 = [] }
        _ = try bench.modify([.new("a"), .new("b"), .new("x", in: .defaultZone), .new("y", in: .defaultZone)])
        _ = try bench.fetch(.note("nothing"))
        _ = try? bench.modify([.new("a"), .new("a")])
        let events = bench.events.value
        #expect(events.map(\.kind) == [.modifyRecords, .fetchRecords, .modifyRecords])
        #expect(events.map(\.itemCount) == [4, 1, 2])
        #expect(events.map(\.failedItemCount) == [3, 1, 0])
        #expect(events.map(\.conflictCount) == [2, 0, 0])
        #expect(events.map(\.commitCount) == [1, 0, 0])
        #expect(events.map { $0.error?.code } == [nil, nil, .invalidArguments])
    }
}

/// A store whose transactions fail on demand.
private final class FailingStore: StoreWrapper {
    let wrapped: any OrderedStore
    let failure = Locked<StoreError?>(nil)
    /// Transactions that still succeed.
    let skip = Locked(0)

    init(_ wrapped: any OrderedStore) { self.wrapped = wrapped }

    func transact<Result>(lane: StoreLane?, _ body: (any StoreTransaction) throws -> Result) throws -> Result {
        let isSkipped = skip.withLock { count in
            count -= 1
            return count >= 0
        }
        guard !isSkipped, let failure = failure.value else { return try wrapped.transact(lane: lane, body) }
        return try wrapped.transact(lane: lane) { transaction in
            _ = try body(transaction)
            throw failure
        }
    }
}
