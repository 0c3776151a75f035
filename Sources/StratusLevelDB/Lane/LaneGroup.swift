// Transactions that are committed together: one batch, one sync, one outcome.

internal import StratusStore

/// A group of transactions. The lane's lock guards it; while it is in flight its writes no longer change.
final class LaneGroup {
    var writes = PendingWrites()
    var transactionCount = 0
    var publishActions: [@Sendable (StoreVersion) -> Void] = []
    /// Nil until the group is durable and published, or has failed.
    var outcome: Result<Void, StoreError>?
    /// Broadcast when there is an outcome; signalled to one waiter when it may become the flusher.
    let changed = Condition()
}
