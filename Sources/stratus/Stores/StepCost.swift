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
        return (result, StepCost(from: before, to: session.engine.store.statistics, .now - started))
    }

    private init(from before: StoreStatistics, to after: StoreStatistics, _ duration: Duration) {
        commits = after.transactionsCommitted - before.transactionsCommitted
        syncs = after.syncs - before.syncs
        work = after.cost - before.cost
        self.duration = duration
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
    }

    private struct State {
        var counts = Counts()
        /// The names of new records.
        var newNames: Set<String> = []
    }

    private let state = Mutex(State())

    var counts: Counts { state.withLock { $0.counts } }

    /// Marks a record that will be saved as new.
    func expectNew(_ name: String) {
        state.withLock { _ = $0.newNames.insert(name) }
    }

    /// Counts the answers of a request.
    func note(_ results: [CKRecord.ID: Result<CKRecord, any Error>]) {
        state.withLock { state in
            state.counts.sent += results.count
            for case (let id, .success) in results {
                if state.newNames.remove(id.recordName) == nil {
                    state.counts.changed += 1
                } else {
                    state.counts.created += 1
                }
            }
        }
    }
}
