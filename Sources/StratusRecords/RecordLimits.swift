// The limits of the record layer. Every loop, page and cache has one, with a name and an error.

package import StratusStore

/// Limits a host may set when it opens a record engine.
package struct RecordLimits: Hashable, Sendable {
    /// The deepest level at which a record may be saved. A record without a parent is at level 0. A longer walk fails
    /// with `hierarchyTooDeep`.
    package var hierarchyDepth = 10_000
    /// Records saved and deleted in one request. More than fit into the largest transaction, so that the store's limit
    /// bounds a cascade.
    package var requestItemCount = 50_000
    /// Entries deleted in one commit by a background purge.
    package var purgeBatchCount = 1_000
    /// How many times in a row a background purge waits for a store that is behind with its own work, before it tries a
    /// batch anyway.
    package var purgePauseCount = 200
    /// Records whose entries are filled or cleared in one commit, in the background.
    package var indexBatchCount = 200
    /// After how many seconds without a sign of life a process may lose its background work to another one. A process
    /// gives one after each quarter of that time.
    package var workLeaseSeconds = 10.0
    /// Entries of each index that are counted before a query chooses one.
    package var queryProbeCount = 128

    /// Fields of one record (L-06).
    package static let fieldCount = 256
    /// UTF-16 units of a record name (L-07).
    package static let nameUnitCount = 255

    package init() {}
}

/// The options of a record engine.
package struct RecordEngineOptions: Sendable {
    package var limits = RecordLimits()
    /// The memory of the ancestor cache. 0 turns it off: answers are the same, hot walks are slower. On a store that
    /// says it is shared, the cache only guesses.
    package var ancestorCacheByteCount = 128 << 20
    /// What to do with a store of an older format.
    package var olderFormat = OlderFormat.refused
    /// Whether an unfinished copy is opened, too: by the copier, to finish it.
    package var finishesCopy = false
    /// The monotonic clock that measures how long other processes have given no sign of life. It is compared only with
    /// itself.
    package var monotonicNow: @Sendable () -> MonotonicTime = { .now }

    package init() {}
}

/// What to do with a store of an older format.
package enum OlderFormat: Sendable {
    /// Opening it fails with `olderFormat`.
    case refused
    /// It keeps its format: it is only read, or it is a copy.
    case kept
    /// It gets the format of this software.
    case migrated
}
