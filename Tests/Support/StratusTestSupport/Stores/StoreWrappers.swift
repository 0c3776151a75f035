// Stores around stores. A wrapper conforms to one of these protocols, inherits forwarding for everything, and writes
// only what it changes.
//
// The defaults of the store's own protocols do not forward, so everything with a default is written out here, except
// for kept objects: a wrapper that changes reads must see every read. A wrapper that changes `visitValue` changes
// `values(forKeys:)` too, and one that changes `scan` changes the scan with a follower.

package import StratusStore

/// A reader that passes everything on to another.
package protocol ReaderWrapper: StoreReader {
    var wrapped: any StoreReader { get }
}

/// A transaction that passes everything on to another.
package protocol TransactionWrapper: ReaderWrapper, StoreTransaction {
    var wrappedTransaction: any StoreTransaction { get }
}

/// A store that passes everything on to another.
package protocol StoreWrapper: OrderedStore {
    var wrapped: any OrderedStore { get }
}

extension ReaderWrapper {
    package var version: StoreVersion { wrapped.version }

    package func visitValue(forKey key: [UInt8], _ body: (Span<UInt8>) throws -> Void) throws -> Bool {
        try wrapped.visitValue(forKey: key, body)
    }

    package func scan(
        _ range: KeyRange, _ direction: ScanDirection, limit: Int,
        _ visit: (_ key: Span<UInt8>, _ value: Span<UInt8>) throws -> ScanStep
    ) throws {
        try wrapped.scan(range, direction, limit: limit, visit)
    }

    package func scan(
        _ range: KeyRange, _ direction: ScanDirection, limit: Int, following follow: EntryFollower,
        _ visit: (_ key: Span<UInt8>, _ value: Span<UInt8>) throws -> ScanStep
    ) throws {
        try wrapped.scan(range, direction, limit: limit, following: follow, visit)
    }

    package func values(forKeys keys: [[UInt8]]) throws -> [[UInt8]?] { try wrapped.values(forKeys: keys) }

    package var gainsFromPrefetching: Bool { wrapped.gainsFromPrefetching }

    package func prefetch(_ keys: [[UInt8]]) { wrapped.prefetch(keys) }

    package func prefetch(_ range: KeyRange, _ direction: ScanDirection, limit: Int) {
        wrapped.prefetch(range, direction, limit: limit)
    }

    package func prefetch(_ plan: ReadPlan) { wrapped.prefetch(plan) }

    package var showsOneMoment: Bool { wrapped.showsOneMoment }

    package func atOneMoment<Result>(_ body: (any StoreReader) throws -> Result) throws -> Result {
        // This wrapper, and not what it wraps, shows the moment.
        guard !wrapped.showsOneMoment else { return try body(self) }
        return try wrapped.atOneMoment(body)
    }

    package var cost: StoreCost { wrapped.cost }
}

extension TransactionWrapper {
    package var wrapped: any StoreReader { wrappedTransaction }

    package func set(_ key: [UInt8], to value: [UInt8]) throws {
        try wrappedTransaction.set(key, to: value)
    }

    package func delete(_ key: [UInt8]) throws {
        try wrappedTransaction.delete(key)
    }

    package var countedByteCount: Int { wrappedTransaction.countedByteCount }

    package func hasUnpublishedWrite(forKey key: [UInt8]) -> Bool {
        wrappedTransaction.hasUnpublishedWrite(forKey: key)
    }

    package func hasUnpublishedWrite(in range: KeyRange) -> Bool {
        wrappedTransaction.hasUnpublishedWrite(in: range)
    }

    package func expectWrites(intoEmpty range: KeyRange) {
        wrappedTransaction.expectWrites(intoEmpty: range)
    }

    package func onPublish(_ action: @escaping @Sendable (StoreVersion) -> Void) {
        wrappedTransaction.onPublish(action)
    }
}

extension StoreWrapper {
    package var isShared: Bool { wrapped.isShared }
    package var timeline: ServerTimeline? { wrapped.timeline }
    package var isReplicated: Bool { wrapped.isReplicated }

    package var snapshotsLast: Bool { wrapped.snapshotsLast }

    package var contents: (any StoreContents)? { wrapped.contents }

    package func read<Result>(_ scope: ReadScope, _ body: (any StoreReader) throws -> Result) throws -> Result {
        try wrapped.read(scope, body)
    }

    package func transact<Result>(lane: StoreLane?, _ body: (any StoreTransaction) throws -> Result) throws -> Result {
        try wrapped.transact(lane: lane, body)
    }

    package func watch(_ range: KeyRange, _ onChange: @escaping @Sendable () -> Void) -> StoreWatch {
        wrapped.watch(range, onChange)
    }

    package func watchOthers(_ range: KeyRange, _ onChange: @escaping @Sendable () -> Void) -> StoreWatch {
        wrapped.watchOthers(range, onChange)
    }

    package var statistics: StoreStatistics { wrapped.statistics }

    package var isUnderWritePressure: Bool { wrapped.isUnderWritePressure }

    package func close() {
        wrapped.close()
    }
}
