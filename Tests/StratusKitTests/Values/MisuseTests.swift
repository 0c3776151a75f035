// The option for development: a mistake ends the process where it happens.

import StratusKit
import Testing

@Suite struct MisuseTests {
    @Test("[X-25] a mistake traps at once if the host requests it, and not otherwise")
    func trap() async {
        #expect(!StratusMisuse.trapsAtOnce)
        await #expect(processExitsWith: .failure) {
            StratusMisuse.trapsAtOnce = true
            CKRecord(recordType: "Note")["a b"] = 1
        }
        await #expect(processExitsWith: .success) {
            CKRecord(recordType: "Note")["a b"] = 1
        }
    }

    @Test("[O-02][X-25] running a bare operation is a mistake, and running one of a concrete class is not")
    func bareOperation() async {
        await #expect(processExitsWith: .failure) {
            let bench = try OperationBench()
            let operation = CKOperation()
            operation.configuration.container = bench.container
            StratusMisuse.trapsAtOnce = true
            operation.start()
        }
        await #expect(processExitsWith: .success) {
            let bench = try OperationBench()
            StratusMisuse.trapsAtOnce = true
            await bench.run(CKFetchRecordsOperation(recordIDs: []))
        }
    }
}
