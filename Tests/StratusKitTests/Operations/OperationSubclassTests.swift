// Operations that clients inherit from: what `main` prepares is what runs.

import Foundation
import StratusKit
import StratusStore
import Testing

/// Fetches what another operation has saved, which it learns at its turn.
private final class LateFetch: CKFetchRecordsOperation, @unchecked Sendable {
    // Because its variables are set before it starts, or on its own queue.
    var source: LateSave?
    let fetched = Locked<[String]>([])

    override func main() {
        recordIDs = source?.recordsToSave?.map(\.recordID)
        perRecordResultBlock = { [fetched] id, result in
            if case .success = result { fetched.withLock { $0.append(id.recordName) } }
        }
        super.main()
    }
}

/// Saves a record that it creates at its turn.
private final class LateSave: CKModifyRecordsOperation, @unchecked Sendable {
    // Because its variables are locked.
    let mainCount = Locked(0)
    let outcomes = Locked<[String]>([])

    override func main() {
        mainCount.withLock { $0 += 1 }
        name = "late"
        recordsToSave = [CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "late"))]
        modifyRecordsResultBlock = { [outcomes] result in
            switch result {
            case .success: outcomes.withLock { $0.append("saved") }
            case .failure(let error): outcomes.withLock { $0.append("\((error as? CKError)?.code.rawValue ?? 0)") }
            }
        }
        super.main()
    }

    override func cancel() {
        outcomes.withLock { $0.append("cancelled with \(recordsToSave?.count ?? 0)") }
        super.cancel()
    }
}

@Suite struct OperationSubclassTests {
    @Test("[O-07] inputs and blocks that a subclass sets in main are used, in a client's queue")
    func ownQueue() async throws {
        let bench = try OperationBench()
        let (save, fetch) = (LateSave(), LateFetch())
        (save.database, fetch.database) = (bench.database, bench.database)
        fetch.source = save
        fetch.addDependency(save)
        let queue = OperationQueue()
        await withCheckedContinuation { continuation in
            fetch.completionBlock = { continuation.resume() }
            queue.addOperations([fetch, save], waitUntilFinished: false)
        }
        #expect(save.mainCount.value == 1)
        #expect(save.outcomes.value == ["saved"])
        #expect(fetch.fetched.value == ["late"])
    }

    @Test("[O-01][O-07] main of a subclass that was added to a database runs once, however often it is started")
    func added() async throws {
        let bench = try OperationBench()
        let save = LateSave()
        await bench.run(save)
        save.start()
        #expect(save.mainCount.value == 1)
        #expect(save.outcomes.value == ["saved"])
        #expect(save.isFinished)
    }

    @Test("[O-08] main of an operation that was cancelled before its start is not called, and it finishes")
    func cancelled() async throws {
        let bench = try OperationBench()
        let save = LateSave()
        save.cancel()
        await bench.run(save)
        #expect(save.mainCount.value == 0)
        #expect(save.outcomes.value == ["cancelled with 0"])
        #expect(save.isFinished)
        #expect(save.isCancelled)
        #expect(bench.interference.sent.isEmpty)
    }

    @Test("[O-08] a subclass that is cancelled while it prepares sends nothing and reports the cancellation")
    func cancelledInMain() async throws {
        final class Hesitant: CKModifyRecordsOperation, @unchecked Sendable {
            // Because its variable is locked.
            let outcome = Locked<CKError.Code?>(nil)
            override func main() {
                recordsToSave = [CKRecord(recordType: "Note")]
                modifyRecordsResultBlock = { [outcome] result in
                    if case .failure(let error as CKError) = result { outcome.withLock { $0 = error.code } }
                }
                cancel()
                super.main()
            }
        }
        let bench = try OperationBench()
        let operation = Hesitant()
        await bench.run(operation)
        #expect(operation.outcome.value == .operationCancelled)
        #expect(bench.interference.sent.isEmpty)
    }
}
