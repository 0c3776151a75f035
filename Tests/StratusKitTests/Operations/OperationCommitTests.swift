// How many commits an operation costs, as the store counts them.

import StratusKit
import StratusStore
import Testing

@Suite struct OperationCommitTests {
    @Test(
        "[A-01] an operation with 400 records is one commit per zone, however its records are mixed",
        arguments: BenchStore.allCases)
    func commits(store: BenchStore) async throws {
        let bench = try OperationBench(store)
        let notes = try await bench.makeZone("Notes")
        let tasks = try await bench.makeZone("Tasks")
        for (round, zoneIDs) in [[notes], [notes, tasks]].enumerated() {
            let records = (0..<400).map { makeRecord("\(round)-\($0)", in: zoneIDs[$0 % zoneIDs.count]) }
            let operation = CKModifyRecordsOperation(recordsToSave: records)
            let trace = Trace()
            operation.modifyRecordsResultBlock = { trace.note(outcome($0)) }
            let commitCount = bench.store.statistics.transactionsCommitted
            await bench.run(operation)
            #expect(trace.all == ["ok"])
            #expect(records.allSatisfy { $0.recordChangeTag != nil })
            #expect(bench.store.statistics.transactionsCommitted == commitCount + zoneIDs.count)
        }
    }
}
