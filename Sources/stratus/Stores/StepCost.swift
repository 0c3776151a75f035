// The cost of a step, in operations of the store: except for the time, it is the same on every machine.

import StratusKit
import StratusRecords
import StratusStore
import Synchronization

/// The costs between two moments.
struct StepCost {
    let commits: Int
    let syncs: Int
    let work: StoreCost
    let duration: Duration

    /// Runs `body` and counts what it cost.
    static func measuring<Result>(
        _ session: StoreSession, _ body: () throws -> Result
    ) rethrows -> (result: Result, cost: StepCost) {
        let (before, started) = (session.engine.store.statistics, ContinuousClock.now)
        let result = try body()
        let (after, duration) = (session.engine.store.statistics, ContinuousClock.now - started)
        let cost = StepCost(
            commits: after.transactionsCommitted - before.transactionsCommitted, syncs: after.syncs - before.syncs,
            work: after.cost - before.cost, duration: duration)
        return (result, cost)
    }

    var object: JSONObject {
        [
            "commits": commits, "fsyncs": syncs, "storeReads": work.reads, "cursorSteps": work.cursorSteps,
            "entriesWritten": work.entriesWritten, "bytesWritten": work.bytesWritten,
            "milliseconds": Quantities.milliseconds(duration),
        ]
    }

    /// "3 commits, 3 fsyncs, 120 store reads, 1.2 ms".
    var summary: String {
        [
            Quantities.count(commits, "commit"), Quantities.count(syncs, "fsync"),
            Quantities.count(work.reads, "store read"), Quantities.duration(duration),
        ].joined(separator: ", ")
    }
}

/// Counts saved records while the main thread shows the progress.
final class SaveTally: Sendable {
    struct Counts {
        /// Records that were sent and answered, successfully or not.
        var sent = 0
        var created = 0
        var changed = 0
        /// The names of records that are sent as new.
        fileprivate var newNames: Set<String> = []
    }

    private let state = Mutex(Counts())

    var counts: Counts { state.withLock { $0 } }

    /// Marks a record that will be saved as new.
    func expectNew(_ name: String) {
        state.withLock { _ = $0.newNames.insert(name) }
    }

    /// Counts the answers of a request.
    func note(_ results: [CKRecord.ID: Result<CKRecord, any Error>]) {
        state.withLock { counts in
            counts.sent += results.count
            for case (let id, .success) in results {
                if counts.newNames.remove(id.recordName) == nil { counts.changed += 1 } else { counts.created += 1 }
            }
        }
    }
}
