// Gives readers the newest published snapshot, and replaces it.
//
// Invariants:
//   1. The lock is held for a few instructions: readers never wait for writers, nor for the disk.
//   2. A snapshot is destroyed when it has been replaced and its last reader has ended.
//   3. `close` returns when no reader is left. The database is closed only then, so that no reader outlives it.

internal import StratusStore
internal import Synchronization

/// A published version of the store.
final class PublishedSnapshot: @unchecked Sendable {  // because the gate's lock guards everything that changes
    let version: StoreVersion
    let engine: EngineSnapshot
    fileprivate var readerCount = 0
    fileprivate var isReplaced = false
    fileprivate var idleIterators: [EngineIterator] = []

    init(version: StoreVersion, engine: EngineSnapshot) {
        self.version = version
        self.engine = engine
    }

    /// Destroys the snapshot and the iterators on it. Called once, with no reader left.
    fileprivate func destroy() {
        for iterator in idleIterators { iterator.destroy() }
        idleIterators = []
        engine.destroy()
    }
}

/// Creates readers, and adds up their costs.
final class ReadGate: @unchecked Sendable {  // because the monitor guards all state
    /// The most idle iterators that are kept: each retains memory tables and files of its version.
    private static let maximumIdleIterators = 8

    /// The objects that readers have decoded from values.
    let kept: KeptObjects
    private let monitor = Monitor()
    private let readersLeft = Condition()
    private var published: PublishedSnapshot?
    private var readerCount = 0
    private var isClosing = false
    /// Why new readers are refused although the store is open.
    private var refusal: StoreError?
    private var isAwaitingReaders = false
    /// Set when the store no longer waits for its readers.
    let hasAbandonedReaders = Atomic(false)
    private var totals = StoreStatistics()

    init(_ first: PublishedSnapshot, keptByteCount: Int) {
        published = first
        kept = KeptObjects(byteCount: keptByteCount)
    }

    deinit {
        published?.destroy()
    }

    /// Creates a reader of the newest version. Pair it with `leave`.
    func enter() throws -> SnapshotReader {
        try monitor.withLock {
            if let refusal { throw refusal }
            guard !isClosing, let published else { throw Self.closedError }
            published.readerCount += 1
            readerCount += 1
            let iterator = published.idleIterators.popLast()
            return SnapshotReader(published, self, idleIterators: iterator.map { [$0] } ?? [])
        }
    }

    /// Ends a reader.
    func leave(_ reader: SnapshotReader) {
        let iterators = reader.end()
        let snapshot = reader.published
        monitor.lock()
        totals.cost = totals.cost + reader.cost
        totals.engineLookups += reader.engineLookups
        snapshot.readerCount -= 1
        let isLast = snapshot.isReplaced && snapshot.readerCount == 0
        if snapshot.isReplaced || isClosing {
            monitor.unlock()
            for iterator in iterators { iterator.destroy() }
            if isLast { snapshot.destroy() }
            monitor.lock()
        } else {
            for iterator in iterators {
                if snapshot.idleIterators.count < Self.maximumIdleIterators {
                    snapshot.idleIterators.append(iterator)
                } else {
                    iterator.destroy()
                }
            }
        }
        readerCount -= 1
        if readerCount == 0 && (isClosing || isAwaitingReaders) { readersLeft.broadcast() }
        monitor.unlock()
    }

    /// Destroys idle iterators: each retains the tables of its version, though a compaction replaces them.
    func dropIdleIterators() {
        monitor.withLock {
            for iterator in published?.idleIterators ?? [] { iterator.destroy() }
            published?.idleIterators = []
        }
    }

    /// Runs `actions` and replaces the newest version with `next`, as one step for readers.
    func publish(
        _ next: PublishedSnapshot, transactionCount: Int, isSynced: Bool,
        actions: [@Sendable (StoreVersion) -> Void]
    ) {
        monitor.lock()
        for action in actions { action(next.version) }
        totals.transactionsCommitted += transactionCount
        totals.groupsCommitted += 1
        totals.syncs += isSynced ? 1 : 0
        let previous = published
        published = next
        previous?.isReplaced = true
        let isUnused = previous?.readerCount == 0
        monitor.unlock()
        if isUnused { previous?.destroy() }
    }

    /// Runs the actions of a transaction that wrote nothing and read nothing unpublished.
    func run(_ actions: [@Sendable (StoreVersion) -> Void], at version: StoreVersion) {
        monitor.withLock {
            for action in actions { action(version) }
        }
    }

    /// Refuses new readers from now on. Current ones continue.
    func refuse(_ error: StoreError) {
        monitor.withLock { refusal = error }
    }

    /// Refuses new readers immediately, and the reads of current ones after `seconds`.
    func abandonReaders(afterSeconds seconds: Double) {
        refuse(Self.reopeningError)
        var end = MonotonicTime.now
        end.nanoseconds += UInt64(max(0, seconds) * Double(MonotonicTime.nanosecondsPerSecond))
        monitor.withLock {
            isAwaitingReaders = true
            while readerCount > 0, readersLeft.wait(monitor, until: end) {}
        }
        hasAbandonedReaders.store(true, ordering: .relaxed)
    }

    /// Refuses new readers, waits until the current ones have ended, and destroys the newest snapshot.
    func close() {
        monitor.lock()
        isClosing = true
        while readerCount > 0 { readersLeft.wait(monitor) }
        let last = published
        published = nil
        monitor.unlock()
        last?.destroy()
    }

    var statistics: StoreStatistics {
        monitor.withLock { totals }
    }

    /// The error of requests after closing.
    var closingError: StoreError { monitor.withLock { refusal ?? Self.closedError } }

    static var reopeningError: StoreError {
        StoreError(.reopening, "The store is opened again after a failed write: try again.")
    }

    static var closedError: StoreError {
        StoreError(.closed, "The store was closed: open it again.")
    }
}
