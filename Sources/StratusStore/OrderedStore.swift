// The seam: an ordered map of bytes with snapshots and serialisable transactions, and its counted costs. LevelDB
// implements it today; the shape is FoundationDB's, so that a remote engine would fit without a change above.
//
// Invariants of every store, checked by one conformance suite:
//   1. A reader sees exactly the commits up to its version, and no later ones.
//   2. Transactions are serialisable. A body sees its own writes and is pure: a store may run it again.
//   3. When `transact` returns or throws a body's error, everything the body read and wrote is durable.
//   4. Nothing suspends inside a body. Calls block their thread, so callers never make them on the cooperative pool.
//   5. A store may keep an object made from a value. A reader sees the object only if it sees that value.
//
// Costs are exact and the same on every machine, so tests compare them, unlike clock times, with fixed numbers.

/// A number that grows with every published commit of one opened store. It is not stored.
package typealias StoreVersion = UInt64

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

    /// The cost of this reader so far.
    var cost: StoreCost { get }

    /// The object that `keep` stored for the key, if this snapshot sees the value it was made from; nil if there is
    /// none. An object counts as a point read.
    func keptObject(forKey key: [UInt8]) -> (any AnyObject & Sendable)?

    /// Offers an object made from the value under `key` to later readers. It takes `byteCount` bytes. A store may keep
    /// it until the key is written, or ignore it; it calls `make` only to keep the object.
    func keep(forKey key: [UInt8], byteCount: Int, _ make: () -> any AnyObject & Sendable)
}

/// A read-modify-write. Its reads see its own writes.
package protocol StoreTransaction: StoreReader {
    func set(_ key: [UInt8], to value: [UInt8]) throws
    /// The same for bytes that are valid only during the call, for callers that set very many adjacent ones.
    func set(_ key: Span<UInt8>, to value: Span<UInt8>) throws
    func delete(_ key: [UInt8]) throws

    /// Whether this or another transaction has written `key` and `version` does not include that write yet.
    func hasUnpublishedWrite(forKey key: [UInt8]) -> Bool

    /// Whether any key of `range` has such a write, including deletions of absent keys.
    func hasUnpublishedWrite(in range: KeyRange) -> Bool

    /// Announces that this transaction and others will write many keys into a range that is still empty, and will look
    /// each key up first. A store that finds the range empty may remember the writes there, and then knows without a
    /// look-up that other keys are absent. It changes no result, never fails, and counts as nothing.
    func expectWrites(intoEmpty range: KeyRange)

    /// Registers an action for the moment at which this transaction's writes become visible: after the last reader of
    /// the previous version has started, and before any reader can get the new version. The store calls it once, in
    /// commit order, and never for a transaction that fails. The action must be short and must not call the store.
    func onPublish(_ action: @escaping @Sendable (StoreVersion) -> Void)
}

/// A store of ordered bytes.
package protocol OrderedStore: AnyObject, Sendable {
    /// Runs `body` on a consistent snapshot of the newest published commit.
    func read<Result>(_ body: (any StoreReader) throws -> Result) throws -> Result

    /// Runs `body` as one serialisable transaction and returns when it is durable. If `body` throws, its writes are
    /// undone and the error is rethrown once everything the body read is durable.
    ///
    /// Throws `StoreError` with `.conflict`, `.tooLarge`, `.unavailable`, `.commitUnknown`, `.corruption`, `.closed`.
    @discardableResult
    func transact<Result>(_ body: (any StoreTransaction) throws -> Result) throws -> Result

    /// The costs of all finished readers and transactions, and the number of commits.
    var statistics: StoreStatistics { get }

    /// Whether background work such as purges should pause because the engine has not caught up with its own.
    var isUnderWritePressure: Bool { get }

    /// Finishes accepted requests and refuses later ones.
    func close()
}

extension StoreTransaction {
    package func expectWrites(intoEmpty range: KeyRange) {}

    package func set(_ key: Span<UInt8>, to value: Span<UInt8>) throws {
        try set([UInt8](copying: key), to: [UInt8](copying: value))
    }
}

extension StoreReader {
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

    /// Reads several keys at once. A remote store would do it in one round trip.
    package func values(forKeys keys: [[UInt8]]) throws -> [[UInt8]?] {
        try keys.map { try value(forKey: $0) }
    }

    package func scan(
        _ range: KeyRange, _ direction: ScanDirection = .forward,
        _ visit: (_ key: Span<UInt8>, _ value: Span<UInt8>) throws -> ScanStep
    ) throws {
        try scan(range, direction, limit: .max, visit)
    }
}

/// The requests of one reader or transaction.
package struct StoreCost: Hashable, Codable, Sendable {
    /// Keys looked up, present or absent. Looking up a transaction's own writes counts too.
    package var pointReads = 0
    /// Scans, except those of an empty range or with a limit of zero.
    package var seeks = 0
    /// Entries passed to the visitor of a scan.
    package var cursorSteps = 0
    /// Accepted sets and deletes. Writing a key again counts again.
    package var entriesWritten = 0
    /// Bytes of their keys and values.
    package var bytesWritten = 0

    package init() {}

    /// Point reads and seeks: the operations that may touch the disk.
    package var reads: Int { pointReads + seeks }

    package static func + (left: StoreCost, right: StoreCost) -> StoreCost { left.combined(with: right, by: +) }
    package static func - (left: StoreCost, right: StoreCost) -> StoreCost { left.combined(with: right, by: -) }

    private func combined(with other: StoreCost, by operation: (Int, Int) -> Int) -> StoreCost {
        var result = StoreCost()
        result.pointReads = operation(pointReads, other.pointReads)
        result.seeks = operation(seeks, other.seeks)
        result.cursorSteps = operation(cursorSteps, other.cursorSteps)
        result.entriesWritten = operation(entriesWritten, other.entriesWritten)
        result.bytesWritten = operation(bytesWritten, other.bytesWritten)
        return result
    }
}

/// The work of a store since it was opened.
package struct StoreStatistics: Hashable, Codable, Sendable {
    package var cost = StoreCost()
    /// Keys looked up in the engine: the point reads that no cache answered.
    package var engineLookups = 0
    /// Committed transactions, without empty ones.
    package var transactionsCommitted = 0
    /// Batches written to the engine. Many transactions may share one.
    package var groupsCommitted = 0
    /// Batches that the engine synced.
    package var syncs = 0

    package init() {}
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

/// The largest key, value and transaction a store accepts, in bytes. They hold on every store, so that data can always
/// move from one to another.
package enum StoreLimits {
    package static let maximumKeyByteCount = 2_048
    package static let maximumValueByteCount = 100_000
    /// Keys and values of one transaction together.
    package static let maximumTransactionByteCount = 10_000_000

    /// Throws `.tooLarge` if a write of this key and value does not fit.
    package static func check(keyByteCount: Int, valueByteCount: Int, transactionByteCount: Int) throws {
        if keyByteCount > maximumKeyByteCount {
            throw StoreError(
                .tooLarge, "The key is longer than a store takes: use shorter names.",
                ["keyByteCount": "\(keyByteCount)", "limit": "\(maximumKeyByteCount)"])
        }
        if valueByteCount > maximumValueByteCount {
            throw StoreError(
                .tooLarge, "The value is longer than a store takes: split it over several keys.",
                ["valueByteCount": "\(valueByteCount)", "limit": "\(maximumValueByteCount)"])
        }
        if transactionByteCount > maximumTransactionByteCount {
            throw StoreError(
                .tooLarge, "The transaction is larger than a store takes: split it into several.",
                ["transactionByteCount": "\(transactionByteCount)", "limit": "\(maximumTransactionByteCount)"])
        }
    }
}
