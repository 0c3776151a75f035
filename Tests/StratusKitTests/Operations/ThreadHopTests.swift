// How often the work of one save passes from a thread to another. Every hop wakes a thread, which may take longer than
// the work itself.

import StratusKit
import Testing

@Suite("Hops between threads")
struct ThreadHopTests {
    /// The jobs that threads of the session have been given.
    private func hops(_ bench: OperationBench) -> Int {
        bench.session.pool.acceptedCount + bench.session.callbackPool.acceptedCount
    }

    @Test(
        "from `add` to its last block a save makes two hops: to a thread that sends, and to one for blocks",
        arguments: BenchStore.allCases)
    func operation(store: BenchStore) async throws {
        let bench = try OperationBench(store)
        let trace = Trace()
        let operation = CKModifyRecordsOperation(recordsToSave: [CKRecord(recordType: "Note")])
        operation.perRecordSaveBlock = { _, result in trace.note("record \(outcome(result))") }
        operation.modifyRecordsResultBlock = { result in trace.note("all \(outcome(result))") }
        let before = hops(bench)
        await bench.run(operation)
        #expect(hops(bench) - before == 2)
        #expect(trace.all == ["record ok", "all ok"])
    }

    @Test("an awaited save makes one hop, and the one back to its task", arguments: BenchStore.allCases)
    func awaited(store: BenchStore) async throws {
        let bench = try OperationBench(store)
        let before = hops(bench)
        _ = try await bench.database.save(CKRecord(recordType: "Note"))
        #expect(hops(bench) - before == 1)
    }

    @Test("a fetch of many records makes as many hops as one of a single record")
    func fetch() async throws {
        let bench = try OperationBench()
        let records = (0..<100).map { CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "\($0)")) }
        _ = try await bench.database.modifyRecords(saving: records, deleting: [])
        var counts: [Int] = []
        for count in [1, 100] {
            let before = hops(bench)
            _ = try await bench.database.records(for: records.prefix(count).map(\.recordID))
            counts.append(hops(bench) - before)
        }
        #expect(counts[0] == counts[1])
    }
}
