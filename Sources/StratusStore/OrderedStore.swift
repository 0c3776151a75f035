// The seam between records and storage: an ordered map of bytes with snapshots and serialisable transactions. It is
// implemented in memory (`MemoryStore`), on LevelDB, and on PostgreSQL. Its shape is FoundationDB's, so that stores at
// the other end of a connection fit too.
//
// What every store promises, checked by one conformance suite:
//   1. A reader sees exactly one state: everything committed up to one moment between the call of `read` or `transact`
//      and the first read, and nothing later.
//   2. Transactions are serialisable, and `read(.wholeStore)` is in the same order. `read(.page)` is a snapshot whose
//      entries of one database agree with each other, because every writer of a database raises its header. Where a
//      store is shared, entries of several databases, and entries outside of databases, may show one commit and not an
//      earlier one of another database.
//   3. A body is pure: a store may run it again, and may run it without data until its first read. If an attempt has
//      failed, for example by a conflict, it is not saved by a body that swallows the error with `try?`.
//   4. When `transact` returns or throws a body's error, everything the body read and wrote is durable.
//   5. Where `isShared`, `version` never falls on one thread and promises nothing else, `keptObject` is nil, and
//      publish actions run once, after the commit and before `transact` returns, in no order between transactions.
//   6. Where not, a reader sees exactly the commits up to its version, and publish actions run in commit order, before
//      a reader can get the version. A store may keep an object made from a value: a reader sees the object only if it
//      sees that value.
//   7. The limits of a transaction count its writes and the ranges that may conflict (`StoreLimits`).
//   8. Nothing suspends inside a body. Calls block their thread, so callers never make them on the cooperative pool. A
//      body may `read`, and does not see its own writes there; `transact` inside `transact` stops the process.

/// A number that grows with every published commit of one opened store. It is not stored.
public typealias StoreVersion = UInt64

/// Keys from `lower` up to but not including `upper`, in byte order.
package struct KeyRange: Hashable, Sendable {
    /// Every key. The end is longer than any key, so it is after all of them.
    package static let everything = KeyRange(
        from: [], upTo: [UInt8](repeating: 0xFF, count: StoreLimits.maximumKeyByteCount + 1))

    package var lower: [UInt8]
    package var upper: [UInt8]

    package init(from lower: [UInt8], upTo upper: [UInt8]) {
        self.lower = lower
        self.upper = upper
    }

    package var isEmpty: Bool { !lower.lexicographicallyPrecedes(upper) }

    package func contains(_ key: [UInt8]) -> Bool {
        !key.lexicographicallyPrecedes(lower) && key.lexicographicallyPrecedes(upper)
    }
}

/// The order in which a scan visits its entries.
package enum ScanDirection: Sendable {
    case forward
    case backward
}

/// What a scan does after its visitor returns.
package enum ScanStep: Sendable {
    case next
    case stop
}

/// A consistent snapshot. It is valid only inside the `read` or `transact` call that passed it, on that thread.
package protocol StoreReader: AnyObject {
    /// The newest published commit this snapshot contains. Inside a transaction: the newest published commit, while
    /// the reader also sees commits that are still in flight.
    var version: StoreVersion { get }

    /// Calls `body` with the value in place. Returns false if the key is absent.
    /// The span is valid only during the call.
    func visitValue(forKey key: [UInt8], _ body: (Span<UInt8>) throws -> Void) throws -> Bool

    /// Visits entries of `range` in order, at most `limit` of them. Scans may be nested.
    /// The spans are valid only during the call of `visit`.
    func scan(
        _ range: KeyRange, _ direction: ScanDirection, limit: Int,
        _ visit: (_ key: Span<UInt8>, _ value: Span<UInt8>) throws -> ScanStep) throws

    /// As `scan`. Where reads are trips, `follow` is called for entries of a page before `visit` is, and what it names
    /// is fetched together. It may be called for entries that are never visited. An error of `follow` ends the scan.
    func scan(
        _ range: KeyRange, _ direction: ScanDirection, limit: Int, following follow: EntryFollower,
        _ visit: (_ key: Span<UInt8>, _ value: Span<UInt8>) throws -> ScanStep) throws

    /// The values in the order of the keys, nil where absent. One trip for those that are not known. Costs one point
    /// read a key, named twice or not.
    func values(forKeys keys: [[UInt8]]) throws -> [[UInt8]?]

    /// Whether announced reads cost less. Where false, callers skip building plans: an `if` and nothing else.
    var gainsFromPrefetching: Bool { get }

    /// Announces look-ups. Changes no result, never fails, counts as nothing, may be ignored.
    func prefetch(_ keys: [[UInt8]])

    /// Announces a scan of at most `limit` entries from the beginning of the range in its direction.
    func prefetch(_ range: KeyRange, _ direction: ScanDirection, limit: Int)

    /// Announces both.
    func prefetch(_ plan: ReadPlan)

    /// Whether everything it reads is of one moment. Only a reader of a whole store whose snapshots end early is not.
    var showsOneMoment: Bool { get }

    /// Runs `body` on a reader that shows one moment: on this one if it does, otherwise on a snapshot for one page, and
    /// again if that ends.
    func atOneMoment<Result>(_ body: (any StoreReader) throws -> Result) throws -> Result

    /// The cost of this reader so far.
    var cost: StoreCost { get }

    /// The object that `keep` stored for the key, if this reader sees the value it was made from; nil if there is none,
    /// and in a transaction if a write of the key is not published yet. An object counts as a point read.
    func keptObject(forKey key: [UInt8]) -> (any AnyObject & Sendable)?

    /// Offers an object made from the value under `key` to later readers. It takes `byteCount` bytes. A store may keep
    /// it until the key is written, or ignore it, as a transaction must if a write of the key is not published yet. It
    /// calls `make` only to keep the object.
    func keep(forKey key: [UInt8], byteCount: Int, _ make: () -> any AnyObject & Sendable)
}

/// A read-modify-write. Its reads see its own writes.
package protocol StoreTransaction: StoreReader {
    func set(_ key: [UInt8], to value: [UInt8]) throws
    /// The same for bytes that are valid only during the call, for callers that set very many adjacent ones.
    func set(_ key: Span<UInt8>, to value: Span<UInt8>) throws
    /// The same for a key that is absent unless the store is damaged. The result is that of `set` in any case; a store
    /// may need less work for it.
    func insert(_ key: Span<UInt8>, _ value: Span<UInt8>) throws
    func delete(_ key: [UInt8]) throws

    /// The bytes that count against the limit: `StoreLimits` says how many each read and write counts. A write that
    /// would raise it above the limit throws `.tooLarge` and counts as nothing. A read never does, so after many reads
    /// the next write may.
    var countedByteCount: Int { get }

    /// Whether this or another transaction has written `key` and `version` does not include that write yet.
    func hasUnpublishedWrite(forKey key: [UInt8]) -> Bool

    /// Whether any key of `range` has such a write, including deletions of absent keys.
    func hasUnpublishedWrite(in range: KeyRange) -> Bool

    /// Announces that this transaction and others will write many keys into a range that is still empty, and will look
    /// each key up first. A store that finds the range empty may remember the writes there, and then knows without a
    /// look-up that other keys are absent. It changes no result, never fails, and counts as nothing.
    func expectWrites(intoEmpty range: KeyRange)

    /// Says, with the writes of this transaction, whether entries from `bound` on have other writers than those below
    /// it. A store that finds conflicts by pages may leave room there, so that no page has entries of both. It changes
    /// no result, never fails, and counts as nothing. No key begins with `bound` and a zero byte.
    func divide(at bound: [UInt8], _ isDivided: Bool)

    /// Registers an action for the moment at which this transaction's writes become visible. The store calls it once,
    /// and never for a transaction that fails. The action must be short and must not call the store.
    ///
    /// Where the store is not shared, the moment is after the last reader of the previous version has started, and
    /// before any reader can get the new version, in commit order. Where it is shared, it is after the commit and
    /// before `transact` returns.
    func onPublish(_ action: @escaping @Sendable (StoreVersion) -> Void)
}

/// A line of a server's history. Each promotion of a standby, and each restored backup, begins a new one, with a higher
/// number.
package struct ServerTimeline: Hashable, Sendable {
    /// The identity of the database system, which its standbys have, too. A timeline of another one says nothing.
    package var system: Int64
    package var number: Int64

    package init(system: Int64, number: Int64) {
        self.system = system
        self.number = number
    }
}

/// A store of ordered bytes.
package protocol OrderedStore: AnyObject, Sendable {
    /// Whether other processes may write to the store.
    var isShared: Bool { get }

    /// The newest timeline of the store's server that a connection has found: what is read and written after this call
    /// has it, or a newer one. Nil where there is no server, or none that says.
    var timeline: ServerTimeline? { get }

    /// Whether a standby has each commit before it is acknowledged, as far as the store knows.
    var isReplicated: Bool { get }

    /// Whether a snapshot can be read for hours. Where it cannot, reads of an old one throw `.snapshotEnded`, and
    /// `read(.wholeStore)` gives a `PagedReader`.
    var snapshotsLast: Bool { get }

    /// Runs `body` on a consistent snapshot of the newest published commit. Where snapshots do not last, a reader of
    /// the whole store reads page by page, over several of them.
    func read<Result>(_ scope: ReadScope, _ body: (any StoreReader) throws -> Result) throws -> Result

    /// Runs `body` as one serialisable transaction and returns when it is durable. If `body` throws, its writes are
    /// undone and the error is rethrown once everything the body read is durable.
    ///
    /// Transactions that usually change the same keys should name the same lane.
    ///
    /// Throws `StoreError` with `.conflict`, `.tooLarge`, `.unavailable`, `.commitUnknown`, `.corruption`, `.closed`.
    @discardableResult
    func transact<Result>(lane: StoreLane?, _ body: (any StoreTransaction) throws -> Result) throws -> Result

    /// Calls `onChange` after a commit that may have changed the range, on any thread, soon, at least once for any
    /// number of commits. It must be short and must not call the store. A caller reads once after it began to watch.
    func watch(_ range: KeyRange, _ onChange: @escaping @Sendable () -> Void) -> StoreWatch

    /// The same for commits of other processes, as far as the store hears of them: it may miss some, and stores that
    /// only this process writes hear of none.
    func watchOthers(_ range: KeyRange, _ onChange: @escaping @Sendable () -> Void) -> StoreWatch

    /// Large contents in the store; nil where they are files beside it.
    var contents: (any StoreContents)? { get }

    /// The costs of all finished readers and transactions, and the number of commits.
    var statistics: StoreStatistics { get }

    /// Whether background work such as purges should pause because the engine has not caught up with its own.
    var isUnderWritePressure: Bool { get }

    /// Finishes accepted requests and refuses later ones.
    func close()
}

extension OrderedStore {
    package var isShared: Bool { false }
    package var timeline: ServerTimeline? { nil }
    package var isReplicated: Bool { false }
    package var snapshotsLast: Bool { true }
    package var contents: (any StoreContents)? { nil }
    package func watchOthers(_ range: KeyRange, _ onChange: @escaping @Sendable () -> Void) -> StoreWatch {
        StoreWatch {}
    }

    /// Runs `body` on a snapshot for one page.
    package func read<Result>(_ body: (any StoreReader) throws -> Result) throws -> Result {
        try read(.page, body)
    }

    /// Runs `body` as a transaction without a lane.
    @discardableResult
    package func transact<Result>(_ body: (any StoreTransaction) throws -> Result) throws -> Result {
        try transact(lane: nil, body)
    }
}

extension StoreTransaction {
    package func expectWrites(intoEmpty range: KeyRange) {}
    package func divide(at bound: [UInt8], _ isDivided: Bool) {}

    package func set(_ key: Span<UInt8>, to value: Span<UInt8>) throws {
        try set([UInt8](copying: key), to: [UInt8](copying: value))
    }

    package func insert(_ key: Span<UInt8>, _ value: Span<UInt8>) throws { try set(key, to: value) }
}

extension StoreReader {
    package var showsOneMoment: Bool { true }
    package func atOneMoment<Result>(_ body: (any StoreReader) throws -> Result) throws -> Result { try body(self) }

    package func keptObject(forKey key: [UInt8]) -> (any AnyObject & Sendable)? { nil }
    package func keep(forKey key: [UInt8], byteCount: Int, _ make: () -> any AnyObject & Sendable) {}

    /// The result of `body` for the value; nil if the key is absent.
    package func withValue<Result>(
        forKey key: [UInt8], _ body: (Span<UInt8>) throws -> Result
    ) throws -> Result? {
        var result: Result?
        _ = try visitValue(forKey: key) { result = try body($0) }
        return result
    }

    /// A copy of the value; nil if the key is absent.
    package func value(forKey key: [UInt8]) throws -> [UInt8]? {
        try withValue(forKey: key) { [UInt8](copying: $0) }
    }

    package func contains(_ key: [UInt8]) throws -> Bool {
        try visitValue(forKey: key) { _ in }
    }

    package func values(forKeys keys: [[UInt8]]) throws -> [[UInt8]?] {
        try keys.map { try value(forKey: $0) }
    }

    package var gainsFromPrefetching: Bool { false }
    package func prefetch(_ keys: [[UInt8]]) {}
    package func prefetch(_ range: KeyRange, _ direction: ScanDirection, limit: Int) {}
    package func prefetch(_ plan: ReadPlan) {}

    package func scan(
        _ range: KeyRange, _ direction: ScanDirection, limit: Int, following follow: EntryFollower,
        _ visit: (_ key: Span<UInt8>, _ value: Span<UInt8>) throws -> ScanStep
    ) throws {
        try scan(range, direction, limit: limit, visit)
    }

    package func scan(
        _ range: KeyRange, _ direction: ScanDirection = .forward,
        _ visit: (_ key: Span<UInt8>, _ value: Span<UInt8>) throws -> ScanStep
    ) throws {
        try scan(range, direction, limit: .max, visit)
    }
}

extension [UInt8] {
    /// A copy of the bytes of a span.
    package init(copying span: Span<UInt8>) {
        self.init(capacity: span.count) { output in
            for index in span.indices { output.append(span[index]) }
        }
    }

    /// Appends a copy of the bytes of a span.
    package mutating func append(copying span: Span<UInt8>) {
        append(addingCapacity: span.count) { output in
            for index in span.indices { output.append(span[index]) }
        }
    }
}
