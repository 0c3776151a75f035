// The seam: an ordered map of bytes with snapshots and serialisable transactions. LevelDB is behind it today; the shape
// is FoundationDB's, so that a remote engine fits tomorrow with no change above.
//
// Invariants every store keeps, proved by one conformance suite:
//   1. A reader sees exactly the commits up to its version, whatever is written meanwhile.
//   2. Transactions are serialisable. A body sees its own writes and is pure: a store may run it again.
//   3. When `transact` returns or throws a body's error, everything the body read and wrote is durable.
//   4. Nothing suspends inside a body. Calls block their thread, so callers never make them on the cooperative pool.
//   5. What was made of a value may be kept beside it, and is never seen where the value is not.

/// A number that grows with every published commit of one opened store. It is not stored.
package typealias StoreVersion = UInt64

/// Keys from `lower` up to but not including `upper`, in byte order.
package struct KeyRange: Hashable, Sendable {
    /// Every key: its end is longer than any, so that it is behind all of them.
    package static let everything = KeyRange(
        from: [], upTo: [UInt8](repeating: 0xFF, count: StoreLimits.maximumKeyByteCount + 1))

    package var lower: [UInt8]
    package var upper: [UInt8]

    package init(from lower: [UInt8], upTo upper: [UInt8]) {
        self.lower = lower
        self.upper = upper
    }
}

/// The order in which a scan visits its entries.
package enum ScanDirection: Sendable {
    case forward
    case backward
}

/// What a visitor of a scan wants next.
package enum ScanStep: Sendable {
    case next
    case stop
}

/// A consistent snapshot. It is valid only inside the `read` or `transact` call that handed it out, on that thread.
package protocol StoreReader: AnyObject {
    /// The newest published commit this snapshot contains. Inside a transaction: the newest published commit, while
    /// the reader also sees commits that are still in flight.
    var version: StoreVersion { get }

    /// Calls `body` with the value in place, or returns false when the key is absent.
    /// The span is valid only during the call.
    func visitValue(forKey key: [UInt8], _ body: (Span<UInt8>) throws -> Void) throws -> Bool

    /// Visits entries of `range` in order, at most `limit` of them. Scans may be nested.
    /// The spans are valid only during the call of `visit`.
    func scan(
        _ range: KeyRange, _ direction: ScanDirection, limit: Int,
        _ visit: (_ key: Span<UInt8>, _ value: Span<UInt8>) throws -> ScanStep) throws

    /// What this reader has cost so far.
    var cost: StoreCost { get }

    /// What `keep` was given for the key, if this snapshot sees the very value it was made of; nil where nothing is kept.
    /// Counts as a point read when there is something.
    func keptObject(forKey key: [UInt8]) -> (any AnyObject & Sendable)?

    /// Offers what was made of the value under `key`, for readers to come. It takes `byteCount` bytes. A store may keep it
    /// until the key is written, or nothing at all; `make` is called where it does.
    func keep(forKey key: [UInt8], byteCount: Int, _ make: () -> any AnyObject & Sendable)
}

/// A read-modify-write. Its reads see its own writes.
package protocol StoreTransaction: StoreReader {
    func set(_ key: [UInt8], to value: [UInt8]) throws
    /// The same of bytes that are valid only during the call: where very many are set, and lie side by side.
    func set(_ key: Span<UInt8>, to value: Span<UInt8>) throws
    func delete(_ key: [UInt8]) throws

    /// Whether this or another transaction has written `key` and that write is not yet part of `version`.
    func hasUnpublishedWrite(forKey key: [UInt8]) -> Bool

    /// Whether any key of `range` has such a write, a deletion of what was never there included.
    func hasUnpublishedWrite(in range: KeyRange) -> Bool

    /// Says that many keys will be written, by this transaction and others, into a range that has none yet, each after a look
    /// whether it is there. A store that sees for itself that the range is empty may remember what is written there, and know
    /// without a look that the rest is not. Changes no answer, fails never, and counts as nothing.
    func expectWrites(intoEmpty range: KeyRange)

    /// Registers what must happen in the instant this transaction's writes become visible: after the previous
    /// version's readers started and before any reader can get the new version. Called once, in commit order, and
    /// never for a transaction that fails. The action must be short and must not call the store.
    func onPublish(_ action: @escaping @Sendable (StoreVersion) -> Void)
}

/// A store of ordered bytes.
package protocol OrderedStore: AnyObject, Sendable {
    /// Runs `body` on a consistent snapshot of the newest published commit.
    func read<Result>(_ body: (any StoreReader) throws -> Result) throws -> Result

    /// Runs `body` as one serialisable transaction and returns when it is durable. An error thrown by `body` undoes
    /// its writes and is thrown on, once all that the body had read is durable.
    ///
    /// Throws `StoreError` with `.conflict`, `.tooLarge`, `.unavailable`, `.commitUnknown`, `.corruption`, `.closed`.
    @discardableResult
    func transact<Result>(_ body: (any StoreTransaction) throws -> Result) throws -> Result

    /// The sum of all finished readers' and transactions' costs, and of the commits made.
    var statistics: StoreStatistics { get }

    /// Whether background work (purges) should pause because the engine is behind with its own.
    var isUnderWritePressure: Bool { get }

    /// Finishes what was accepted and refuses the rest.
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

    /// What `body` makes of the value, or nil when the key is absent.
    package func withValue<Result>(
        forKey key: [UInt8], _ body: (Span<UInt8>) throws -> Result
    ) throws -> Result? {
        var result: Result?
        _ = try visitValue(forKey: key) { result = try body($0) }
        return result
    }

    /// A copy of the value, or nil when the key is absent.
    package func value(forKey key: [UInt8]) throws -> [UInt8]? {
        try withValue(forKey: key) { [UInt8](copying: $0) }
    }

    package func contains(_ key: [UInt8]) throws -> Bool {
        try visitValue(forKey: key) { _ in }
    }

    /// Reads several points at once; remote stores make one round trip of it.
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

// Counted costs. They are exact and the same on every machine, so tests hold them fixed where clock times would wander.

/// What one reader or transaction asked of the store.
package struct StoreCost: Hashable, Codable, Sendable {
    /// Keys looked up, whether they were there or not; a transaction's own writes cost like any other.
    package var pointReads = 0
    /// Scans, but for those of an empty range or a limit of zero.
    package var seeks = 0
    /// Entries given to the visitor of a scan.
    package var cursorSteps = 0
    /// Sets and deletes that were accepted; a key that is written again counts again.
    package var entriesWritten = 0
    /// Bytes of their keys and values.
    package var bytesWritten = 0

    package init() {}

    /// Point reads and seeks: the operations that may touch the disk.
    package var reads: Int { pointReads + seeks }
}

/// What a store has done since it was opened.
package struct StoreStatistics: Hashable, Codable, Sendable {
    package var cost = StoreCost()
    /// Keys that the engine was asked for: the point reads that nothing in memory has answered.
    package var engineLookups = 0
    /// Transactions that were committed, empty ones not counted.
    package var transactionsCommitted = 0
    /// Batches handed to the engine; many transactions may share one.
    package var groupsCommitted = 0
    /// Times the engine was asked to make a batch durable.
    package var syncs = 0

    package init() {}
}

extension StoreCost {
    package static func + (left: StoreCost, right: StoreCost) -> StoreCost {
        var sum = left
        sum.pointReads += right.pointReads
        sum.seeks += right.seeks
        sum.cursorSteps += right.cursorSteps
        sum.entriesWritten += right.entriesWritten
        sum.bytesWritten += right.bytesWritten
        return sum
    }

    package static func - (left: StoreCost, right: StoreCost) -> StoreCost {
        var difference = left
        difference.pointReads -= right.pointReads
        difference.seeks -= right.seeks
        difference.cursorSteps -= right.cursorSteps
        difference.entriesWritten -= right.entriesWritten
        difference.bytesWritten -= right.bytesWritten
        return difference
    }
}

// Small helpers over spans of bytes.

extension [UInt8] {
    /// A copy of the bytes of a span.
    package init(copying span: Span<UInt8>) {
        self.init(capacity: span.count) { output in
            for index in span.indices { output.append(span[index]) }
        }
    }
}
