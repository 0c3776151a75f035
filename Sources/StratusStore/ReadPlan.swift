// What callers announce to a store so that it can work faster: reads to fetch together, how long a snapshot must last,
// which transactions to commit together, and which changes they want to hear of.
//
// Invariant: none of it changes a result. A store may ignore a plan, a scope and a lane, and a watch only says that
// reading again may be worth it.

import Synchronization

/// Reads to fetch together.
package struct ReadPlan: Sendable {
    package private(set) var keys: [[UInt8]] = []
    package private(set) var scans: [PlannedScan] = []
    /// What follows from the entries of some of them, with their places among the keys and the scans.
    private(set) var keyFollowers: [(index: Int, follow: FetchFollower)] = []
    private(set) var scanFollowers: [(index: Int, follow: FetchFollower)] = []

    package init() {}

    package var isEmpty: Bool { keys.isEmpty && scans.isEmpty }

    /// Adds a look-up.
    package mutating func add(_ key: [UInt8]) { keys.append(key) }

    /// Adds a look-up. When its entry was fetched, what follows from it is announced too.
    package mutating func add(_ key: [UInt8], following follow: @escaping FetchFollower) {
        keyFollowers.append((keys.count, follow))
        keys.append(key)
    }

    /// Adds a scan of at most `limit` entries from the beginning of the range in its direction.
    package mutating func add(_ range: KeyRange, _ direction: ScanDirection = .forward, limit: Int) {
        scans.append(PlannedScan(range: range, direction: direction, limit: limit))
    }

    /// The same. When its entries were fetched, what follows from each is announced too.
    package mutating func add(
        _ range: KeyRange, _ direction: ScanDirection = .forward, limit: Int, following follow: @escaping FetchFollower
    ) {
        scanFollowers.append((scans.count, follow))
        add(range, direction, limit: limit)
    }

    /// Adds a scan that reads so many bytes. A store may fetch large ones one after the other.
    package mutating func add(_ range: KeyRange, limit: Int, byteCount: Int) {
        scans.append(PlannedScan(range: range, direction: .forward, limit: limit, byteCount: byteCount))
    }
}

/// A scan of a `ReadPlan`: at most `limit` entries from the beginning of the range in its direction.
package struct PlannedScan: Hashable, Sendable {
    package var range: KeyRange
    package var direction: ScanDirection
    package var limit: Int
    /// How many bytes it reads, where that is known and much; otherwise 0.
    package var byteCount = 0

    package init(range: KeyRange, direction: ScanDirection, limit: Int, byteCount: Int = 0) {
        self.range = range
        self.direction = direction
        self.limit = limit
        self.byteCount = byteCount
    }
}

/// Adds what will be read because of a fetched entry. It must not read itself, and depends only on the entry. An entry
/// that cannot be decoded adds nothing: its reader reports it.
package typealias FetchFollower = @Sendable (_ key: [UInt8], _ value: [UInt8], _ reads: inout ReadPlan) -> Void

/// Adds what a visitor will read because of an entry. It must not read itself, and depends only on the entry.
package typealias EntryFollower =
    (_ key: Span<UInt8>, _ value: Span<UInt8>, _ reads: inout ReadPlan) throws -> Void

/// What a reader reads.
package enum ReadScope: Sendable {
    /// Pages of one database, and entries outside databases. The default.
    case page
    /// Everything, in one moment where snapshots last. Elsewhere the reader is a `PagedReader`.
    case wholeStore
}

/// Transactions that usually change the same keys, such as those of one database. A store may commit them together.
/// A lane saves conflicts and decides nothing: transactions of different lanes are serialisable too.
package struct StoreLane: Hashable, Sendable {
    /// At most `StoreLimits.maximumKeyByteCount` bytes.
    package let name: [UInt8]

    package init(name: [UInt8]) { self.name = name }
}

// MARK: Watches

/// Keeps a watch. The watch ends when this is released, or earlier by `end()`.
package final class StoreWatch: Sendable {
    private let onEnd: Locked<(@Sendable () -> Void)?>

    /// For stores: `onEnd` is called once.
    package init(_ onEnd: @escaping @Sendable () -> Void) { self.onEnd = Locked(onEnd) }

    /// Ends the watch. No call begins afterwards; one that has begun on another thread may still run.
    package func end() {
        let action = onEnd.withLock { action in
            defer { action = nil }
            return action
        }
        action?()
    }

    deinit { end() }
}

/// The watches of a store. Stores note their commits here.
///
/// Invariant: no lock is held while a watcher is called, so it may begin and end watches.
package final class WatchList: Sendable {
    private struct Entry: Sendable {
        let range: KeyRange
        let onChange: @Sendable () -> Void
    }

    private struct State {
        var entries: [UInt64: Entry] = [:]
        var nextID: UInt64 = 0
    }

    private let state = Locked(State())
    /// The number of entries. A store that has none reads only this.
    private let count = Atomic<Int>(0)

    package init() {}

    /// Begins a watch.
    package func add(_ range: KeyRange, _ onChange: @escaping @Sendable () -> Void) -> StoreWatch {
        let id = state.withLock { state in
            state.nextID += 1
            state.entries[state.nextID] = Entry(range: range, onChange: onChange)
            count.store(state.entries.count, ordering: .relaxed)
            return state.nextID
        }
        return StoreWatch { [self] in remove(id) }
    }

    /// Whether nothing is watched. Ask after the commit was published, which its readers' lock orders: then a watcher
    /// that was missed reads the commit.
    package var isEmpty: Bool { count.load(ordering: .relaxed) == 0 }

    /// Calls the watchers of the ranges for which `isChanged` is true. Call it after the commit can be read.
    package func note(_ isChanged: (KeyRange) -> Bool) {
        guard !isEmpty else { return }
        let changed = state.withLock { state in
            state.entries.filter { isChanged($0.value.range) }.map { ($0.key, $0.value.onChange) }
        }
        // An earlier call may have ended a later watch.
        for (id, onChange) in changed where state.withLock({ $0.entries[id] != nil }) { onChange() }
    }

    private func remove(_ id: UInt64) {
        // What the watcher holds is released after the lock.
        let removed = state.withLock { state in
            let removed = state.entries.removeValue(forKey: id)
            count.store(state.entries.count, ordering: .relaxed)
            return removed
        }
        _ = removed
    }
}
