// The ordered store in memory: for tests, for hosts that want no disk, and as the model that other stores are compared
// with.
//
// How it works: the newest commit is a tree with O(1) copies (`ByteTree`). A reader takes a copy. A transaction works
// on its own copy, which replaces the published one when the body returns.
//
// Invariants:
//   1. One lane: bodies of transactions run one after another, so they are serialisable and never conflict.
//   2. The published tree and its version change together under the publication lock. It is held for moments only and
//      never while a body runs: readers never wait for writers.
//   3. While a transaction runs, the published tree holds every node it began with, so the transaction changes only new
//      nodes in place. Nodes that a reader sees never change.
//   4. A transaction that returned is visible to every reader that starts afterwards, and survives `reopened()`.
//      Durable means only that: there is no disk, so `StoreStatistics.syncs` stays zero.
// The lane's lock is not recursive: starting a transaction, closing or resetting inside a body stops the process.

import Synchronization

/// An ordered store in memory with O(1) snapshots and O(log n) updates.
package final class MemoryStore: OrderedStore {
    struct Published: Sendable {
        var tree = ByteTree()
        var version: StoreVersion = 0
        var statistics = StoreStatistics()
        var isClosed = false
    }

    private let runsBodiesTwice: Bool
    let lane = Locked<Void>(())
    let published: Locked<Published>
    private let watchers = WatchList()

    /// Creates an empty store.
    ///
    /// With `runsBodiesTwice` it runs the body of every transaction, undoes it, and runs it again; the second run
    /// counts. This reveals bodies that are not pure. `statistics` counts only the second run, so costs stay the same.
    package convenience init(runsBodiesTwice: Bool = false) {
        self.init(runsBodiesTwice: runsBodiesTwice, tree: ByteTree())
    }

    private init(runsBodiesTwice: Bool, tree: ByteTree) {
        self.runsBodiesTwice = runsBodiesTwice
        published = Locked(Published(tree: tree))
    }

    package func read<Result>(_ scope: ReadScope, _ body: (any StoreReader) throws -> Result) throws -> Result {
        let (tree, version) = try snapshot()
        let reader = MemoryReader(tree: tree, version: version)
        defer { finish(reader) }
        return try body(reader)
    }

    /// All transactions share one lane, whatever they name.
    package func transact<Result>(
        lane: StoreLane?, _ body: (any StoreTransaction) throws -> Result
    ) throws -> Result {
        var result: Result?
        var writtenKeys: Set<[UInt8]> = []
        try self.lane.withLock { _ in
            if runsBodiesTwice {
                // The first run is discarded with any error it threw: the second decides.
                let rehearsal = try begin()
                _ = try? body(rehearsal)
                _ = rehearsal.end()
            }
            let transaction = try begin()
            defer { finish(transaction) }
            result = try body(transaction)
            publish(transaction)
            writtenKeys = transaction.writtenKeys
        }
        watchers.note { range in writtenKeys.contains { range.contains($0) } }
        guard let result else { preconditionFailure("A body that did not throw has returned.") }
        return result
    }

    package func watch(_ range: KeyRange, _ onChange: @escaping @Sendable () -> Void) -> StoreWatch {
        watchers.add(range, onChange)
    }

    package var statistics: StoreStatistics { published.withLock { $0.statistics } }

    /// Always false: there is no background work.
    package var isUnderWritePressure: Bool { false }

    /// Waits for the running transaction. Later calls throw `.closed`; readers that have started continue. Closing
    /// again does nothing.
    package func close() {
        lane.withLock { _ in published.withLock { $0.isClosed = true } }
    }

    /// The number of keys.
    package var entryCount: Int { published.withLock { $0.tree.count } }
}

extension MemoryStore {
    /// Closes this store and opens its contents again, as if they were on a disk. Returns a new store with the same
    /// entries, whose versions and statistics begin at zero.
    package func reopened() -> MemoryStore {
        close()
        return MemoryStore(runsBodiesTwice: runsBodiesTwice, tree: published.withLock { $0.tree })
    }

    /// Removes all entries in one commit. Readers that have started keep their snapshots.
    ///
    /// For tests. It calls no `onPublish` action, so drop the caches above the store too. Throws `.closed` if the store
    /// was closed.
    package func reset() throws {
        try lane.withLock { _ in
            _ = try snapshot()
            // Free the entries after the publication lock is released, because that takes longer than a moment.
            let forgotten = published.withLock { state in
                let tree = state.tree
                state.tree = ByteTree()
                state.version += 1
                return tree
            }
            _ = forgotten
        }
        watchers.note { _ in true }
    }

    /// A reader of the newest commit that lasts as long as it is retained. Its costs are not counted. For stores that
    /// pretend to be elsewhere, in tests.
    package func makeSnapshot() throws -> any StoreReader {
        let (tree, version) = try snapshot()
        return MemoryReader(tree: tree, version: version)
    }

    private func begin() throws -> MemoryTransaction {
        let (tree, version) = try snapshot()
        return MemoryTransaction(tree: tree, version: version)
    }

    private func snapshot() throws -> (tree: ByteTree, version: StoreVersion) {
        try published.withLock { state in
            guard !state.isClosed else {
                throw StoreError(.closed, "The store was closed: open it again.")
            }
            return (state.tree, state.version)
        }
    }

    /// Makes the transaction visible. The caller holds the lane.
    private func publish(_ transaction: MemoryTransaction) {
        let tree = transaction.tree
        let actions = transaction.publishActions
        let isEmpty = transaction.isEmpty
        let replaced = published.withLock { state in
            let version = isEmpty ? state.version : state.version + 1
            for action in actions { action(version) }
            let replaced = state.tree
            state.tree = tree
            state.version = version
            if !isEmpty {
                state.statistics.transactionsCommitted += 1
                state.statistics.groupsCommitted += 1
            }
            return replaced
        }
        _ = replaced
    }

    private func finish(_ reader: MemoryReader) {
        let cost = reader.end()
        published.withLock { $0.statistics.cost = $0.statistics.cost + cost }
    }
}

/// A snapshot of a `MemoryStore`. `StoreCost` defines what it counts.
class MemoryReader: StoreReader {
    final fileprivate(set) var tree: ByteTree
    final let version: StoreVersion
    final fileprivate(set) var cost = StoreCost()
    /// What the reads count against the limit of a transaction.
    final fileprivate(set) var readByteCount = 0
    private final var hasEnded = false

    init(tree: ByteTree, version: StoreVersion) {
        self.tree = tree
        self.version = version
    }

    final func visitValue(forKey key: [UInt8], _ body: (Span<UInt8>) throws -> Void) throws -> Bool {
        checkIsValid()
        cost.pointReads += 1
        readByteCount += StoreLimits.countedByteCount(readingKey: key.count)
        guard let value = tree.value(forKey: key) else { return false }
        try body(value.span)
        return true
    }

    final func scan(
        _ range: KeyRange, _ direction: ScanDirection, limit: Int,
        _ visit: (_ key: Span<UInt8>, _ value: Span<UInt8>) throws -> ScanStep
    ) throws {
        checkIsValid()
        guard limit > 0, compareBytes(range.lower, range.upper).order < 0 else { return }
        cost.seeks += 1
        readByteCount += StoreLimits.countedByteCount(scanning: range)
        var remaining = limit
        // A scan sees the writes before its beginning: its visitor may write and scan.
        let snapshot = tree
        try snapshot.scan(from: range.lower, upTo: range.upper, direction) { key, value in
            cost.cursorSteps += 1
            remaining -= 1
            let step = try visit(key.span, value.span)
            return remaining > 0 ? step : .stop
        }
    }

    /// Ends the reader, releases its snapshot, and returns its cost.
    final func end() -> StoreCost {
        hasEnded = true
        tree = ByteTree()
        return cost
    }

    fileprivate final func checkIsValid() {
        precondition(!hasEnded, "A reader is valid only inside the call that passed it.")
    }
}

/// A transaction of a `MemoryStore`: a reader that may change its tree.
final class MemoryTransaction: MemoryReader, StoreTransaction {
    private(set) var publishActions: [@Sendable (StoreVersion) -> Void] = []
    private(set) var writtenKeys: Set<[UInt8]> = []
    private var writtenByteCount = 0

    var countedByteCount: Int { readByteCount + writtenByteCount }

    /// Whether nothing was written.
    var isEmpty: Bool { writtenKeys.isEmpty }

    func set(_ key: [UInt8], to value: [UInt8]) throws {
        try note(key, valueByteCount: value.count)
        tree.set(key, to: value)
    }

    func delete(_ key: [UInt8]) throws {
        try note(key, valueByteCount: 0)
        tree.remove(key)
    }

    func hasUnpublishedWrite(forKey key: [UInt8]) -> Bool {
        writtenKeys.contains(key)
    }

    func hasUnpublishedWrite(in range: KeyRange) -> Bool {
        writtenKeys.contains { range.contains($0) }
    }

    func onPublish(_ action: @escaping @Sendable (StoreVersion) -> Void) {
        checkIsValid()
        publishActions.append(action)
    }

    /// Counts a write. Throws `.tooLarge` for one beyond the limits, which then changes and costs nothing.
    private func note(_ key: [UInt8], valueByteCount: Int) throws {
        checkIsValid()
        let added = StoreLimits.countedByteCount(writingKey: key.count, value: valueByteCount)
        try StoreLimits.check(
            keyByteCount: key.count, valueByteCount: valueByteCount,
            transactionByteCount: countedByteCount + added)
        writtenByteCount += added
        cost.entriesWritten += 1
        cost.bytesWritten += key.count + valueByteCount
        writtenKeys.insert(key)
    }
}
