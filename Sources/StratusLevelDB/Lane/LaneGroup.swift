// Transactions that are committed together: one batch, one sync, one outcome.

internal import StratusStore

/// A group of transactions. The lane's lock guards it; while it is in flight its writes no longer change.
final class LaneGroup {
    var writes = PendingWrites()
    var transactionCount = 0
    var publishActions: [@Sendable (StoreVersion) -> Void] = []
    /// Whether a transaction of the group will flush it.
    var hasFlusher = false
    /// How many transactions must have had their turn at the lane before the flusher goes on; nil where it waits for none.
    var awaitedTurnCount: Int?
    /// Signalled when no flush runs, when the group is no longer the forming one, or when nobody more is to be waited for.
    let flusherMayGoOn = Condition()
    /// That the group is durable and published, or has failed.
    let outcome = LaneOutcome()
}

/// What became of a group. It has a lock of its own, so that hearing it does not take the lane's.
final class LaneOutcome: @unchecked Sendable {  // because the monitor guards the value
    private let monitor = Monitor()
    private let isKnown = Condition()
    private var value: Result<Void, StoreError>?

    /// To be called once.
    func set(_ outcome: Result<Void, StoreError>) {
        monitor.withLock { value = outcome }
        isKnown.broadcast()
    }

    func wait() -> Result<Void, StoreError> {
        monitor.withLock {
            while true {
                if let value { return value }
                isKnown.wait(monitor)
            }
        }
    }
}
