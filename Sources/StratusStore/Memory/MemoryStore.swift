// The seam in memory: what tests and hosts that want no disk stand on, and the model the other stores are compared with.
//
// How it works: the newest commit is a tree whose copies cost nothing (`ByteTree`). A reader takes a copy. A transaction
// works on a copy of its own and, when its body returns, puts that in the place of the published one.
//
// Invariants:
//   1. One lane: bodies of transactions run one after another, so they are serialisable and never conflict.
//   2. The published tree and its version change together under the publication lock, which is held for moments only
//      and never while a body runs: readers never wait for writers.
//   3. While a transaction runs, the published tree holds every node it began with, so all it changes in place is new.
//      Nodes that a reader can see are never changed.
//   4. What `transact` returned is there for every reader that starts afterwards, and survives `reopened()`. Durable
//      means that and no more: there is no disk, so `StoreStatistics.syncs` stays zero.
// The lane's lock is not recursive: starting a transaction, closing or resetting inside a body stops the process.

import Synchronization

/// An ordered store in memory with O(1) snapshots and O(log n) updates.
package final class MemoryStore: OrderedStore {
    package struct Options: Sendable {
        /// Runs the body of every transaction once, undoes it, and runs it again; the second run counts. It shows
        /// bodies that are not pure. `statistics` counts the second run only, so costs are the same either way.
        package var runsBodiesTwice = false

        package init(runsBodiesTwice: Bool = false) {
            self.runsBodiesTwice = runsBodiesTwice
        }
    }

    struct Published: Sendable {
        var tree = ByteTree()
        var version: StoreVersion = 0
        var statistics = StoreStatistics()
        var isClosed = false
    }

    package let options: Options
    let lane = Mutex<Void>(())
    let published: Mutex<Published>

    /// An empty store.
    package init(options: Options = Options()) {
        self.options = options
        published = Mutex(Published())
    }

    private init(options: Options, tree: ByteTree) {
        self.options = options
        published = Mutex(Published(tree: tree))
    }

    package func read<Result>(_ body: (any StoreReader) throws -> Result) throws -> Result {
        let (tree, version) = try snapshot()
        let reader = MemoryReader(tree: tree, version: version)
        defer { finish(reader) }
        return try body(reader)
    }

    package func transact<Result>(_ body: (any StoreTransaction) throws -> Result) throws -> Result {
        var result: Result?
        try lane.withLock { _ in
            if options.runsBodiesTwice {
                // The first run is thrown away with what it threw: the second decides.
                let rehearsal = try begin()
                _ = try? body(rehearsal)
                _ = rehearsal.end()
            }
            let transaction = try begin()
            defer { finish(transaction) }
            result = try body(transaction)
            publish(transaction)
        }
        guard let result else { preconditionFailure("A body that did not throw has returned.") }
        return result
    }

    package var statistics: StoreStatistics { published.withLock { $0.statistics } }

    /// Always false: nothing is done in the background.
    package var isUnderWritePressure: Bool { false }

    /// Waits for the running transaction and refuses what comes later with `.closed`. Readers that have started go on.
    /// Closing again does nothing.
    package func close() {
        lane.withLock { _ in published.withLock { $0.isClosed = true } }
    }

    /// The number of keys.
    package var entryCount: Int { published.withLock { $0.tree.count } }
}

extension MemoryStore {
    /// Closes this store and opens its contents again, as if they had been on a disk: a new store with the same entries,
    /// whose versions and statistics begin at zero.
    package func reopened() -> MemoryStore {
        close()
        return MemoryStore(options: options, tree: published.withLock { $0.tree })
    }

    /// Forgets all entries as one commit: readers that have started keep what they see.
    ///
    /// It is meant for tests. No `onPublish` action hears of it, so caches above the store must be dropped as well.
    /// Throws `.closed` when the store was closed.
    package func reset() throws {
        try lane.withLock { _ in
            _ = try snapshot()
            // The entries are freed after the publication lock is given back, because that takes longer than a moment.
            let forgotten = published.withLock { state in
                let tree = state.tree
                state.tree = ByteTree()
                state.version += 1
                return tree
            }
            _ = forgotten
        }
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
