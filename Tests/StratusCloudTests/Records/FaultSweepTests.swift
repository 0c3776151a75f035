// Every operation of the store fails once during a request with all kinds of items: afterwards all of it is there, or
// nothing.

import Foundation
import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("faults of the store under a request")
struct FaultSweepTests {
    private static let container = RecordBench.container

    private static func service(over store: any OrderedStore) throws -> (CloudService, Caller) {
        let identifiers = BenchIdentifiers(seed: 3)
        let environment = CloudEnvironment(clock: BenchClock(), identifiers: identifiers)
        let engine = try RecordEngine(store: store, incarnation: identifiers.makeUUID())
        let service = CloudService(engine: engine, environment: environment)
        let account = try service.account(externalID: "alice", createIfMissing: AccountDraft(externalID: "alice"))
        return (service, Caller(container: container, account: account.id))
    }

    /// A store with a zone, a tree that is deleted together, and a record to change.
    private static func populated() throws -> MemoryStore {
        let store = MemoryStore()
        let (service, caller) = try service(over: store)
        let zones = ModifyZonesRequest(saves: [ClientZone(address: RecordBench.notes)])
        _ = try service.modifyZones(zones, as: caller, in: .private)
        let saves = [
            RecordSave.new("p"), .new("c", parent: "p", ["owner": .owned(by: "p")]),
            .new("d", parent: "c", ["owner": .owned(by: "c")]), .new("k", ["n": .int64(1)]),
        ]
        let request = ModifyRecordsRequest(saves: saves)
        for result in try service.modifyRecords(request, as: caller, in: .private).saves { _ = try result.get() }
        return store
    }

    private static func request(isAtomic: Bool) -> ModifyRecordsRequest {
        ModifyRecordsRequest(
            saves: [.new("k", ["n": .int64(2), "new": .string("text")]), .new("m", parent: "k")],
            deletes: [.note("p")], policy: .changedKeys, isAtomic: isAtomic)
    }

    /// The values of every record, or nil if there is none.
    private static func state(_ service: CloudService, _ caller: Caller) throws -> [Int64?] {
        let request = FetchRecordsRequest(addresses: ["p", "c", "d", "k", "m"].map { .note($0) })
        return try service.fetchRecords(request, as: caller, in: .private).records.map { result in
            guard case .success(let record) = result else { return nil }
            if case .int64(let number) = record.fields["n"]?.value { return number }
            return 0
        }
    }

    @Test("[A-02][S-21] if anything fails, a request is applied completely or not at all", arguments: [true, false])
    func sweep(isAtomic: Bool) throws {
        let before: [Int64?] = [0, 0, 0, 1, nil]
        let after: [Int64?] = [nil, nil, nil, 2, 0]
        let report = try FaultSweep.run(makeStore: Self.populated) { store in
            let (service, caller) = try Self.service(over: store)
            let answer = try service.modifyRecords(Self.request(isAtomic: isAtomic), as: caller, in: .private)
            for result in answer.saves { _ = try result.get() }
            for result in answer.deletes { _ = try result.get() }
        } verify: { store, fault, thrown in
            let (service, caller) = try Self.service(over: store)
            let state = try Self.state(service, caller)
            let isLost = (thrown as? CloudError)?.code == .serverResponseLost
            guard state == (thrown == nil ? after : before) || isLost && state == after else {
                throw ConformanceFailure("\(fault): \(state) after \(thrown.map { "\($0)" } ?? "success")")
            }
            let account = try service.account(externalID: "alice")
            guard let account else { throw ConformanceFailure("\(fault): the account is gone") }
            let usage = try service.engine.read { try QuotaLedger.verify(account.userName, in: $0) }
            guard usage.isExact else { throw ConformanceFailure("\(fault): \(usage)") }
            guard try service.engine.verify().isClean else { throw ConformanceFailure("\(fault): indexes") }
        }
        #expect(report.runCounts.values.allSatisfy { $0 > 0 })
        #expect(report.runCounts.count == FaultPoint.allCases.count)
    }
}
