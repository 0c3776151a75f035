// A store that fails on purpose: the Nth read, scan step, write or commit, with a given error. It counts operations, so
// that a scenario is run once without faults and then once for every operation (`FaultSweep`).
//
// Operations are counted over the life of the wrapper, from all threads together. One fault is armed at a time; it may
// leave the store refusing everything, as an engine does after a failed write.

package import StratusStore

/// Where a fault strikes.
package enum FaultPoint: String, CaseIterable, Sendable {
    /// A look-up of a value.
    case read
    /// An entry about to be passed to a scan's visitor.
    case scanStep
    /// A `set` or `delete`.
    case write
    /// After the body returned and before anything is applied: the commit has no effect.
    case commitNotApplied
    /// After the commit was applied and published: it has its effect, but its caller does not know.
    case commitApplied
}

/// The failure of one operation.
package struct Fault: Sendable, CustomStringConvertible {
    package var point: FaultPoint
    /// Which operation of that kind fails, from 1.
    package var occurrence: Int
    package var error: StoreError
    /// How many operations of that kind fail, one after another.
    package var repetitions: Int
    /// Whether the store refuses everything with `.unavailable` afterwards, until a new wrapper is created.
    package var refusesAfterwards: Bool

    package init(
        _ point: FaultPoint, at occurrence: Int, _ error: StoreError, repetitions: Int = 1,
        refusesAfterwards: Bool = false
    ) {
        self.point = point
        self.occurrence = occurrence
        self.error = error
        self.repetitions = repetitions
        self.refusesAfterwards = refusesAfterwards
    }

    package var description: String { "\(point.rawValue) \(occurrence) failing with \(error.code)" }
}

/// Forwards everything to a store, except for the armed fault.
package final class FaultInjectingStore: StoreWrapper {
    private struct State {
        var counts: [FaultPoint: Int] = [:]
        var fault: Fault?
        var hasFired = false
        var isRefusing = false
        var isUnderWritePressure: Bool?
    }

    package let wrapped: any OrderedStore
    private let state = Locked(State())

    package init(_ wrapped: any OrderedStore, fault: Fault? = nil) {
        self.wrapped = wrapped
        state.withLock { $0.fault = fault }
    }

    /// Operations of a kind since the wrapper was created, including failed ones. Both points of a commit count commits
    /// that reached them.
    package func count(of point: FaultPoint) -> Int {
        state.withLock { $0.counts[point, default: 0] }
    }

    /// Whether the armed fault has struck.
    package var hasFired: Bool { state.withLock { $0.hasFired } }

    /// Arms a fault instead of the previous one; its occurrence counts from the operations after this call.
    package func arm(_ fault: Fault) {
        state.withLock { state in
            state.fault = fault
            state.fault?.occurrence += state.counts[fault.point, default: 0]
            state.hasFired = false
        }
    }

    package func disarm() {
        state.withLock { $0.fault = nil }
    }

    /// Overrides the store's report about its background work; nil forwards the store's own.
    package func setUnderWritePressure(_ isUnderPressure: Bool?) {
        state.withLock { $0.isUnderWritePressure = isUnderPressure }
    }

    package var isUnderWritePressure: Bool {
        state.withLock { $0.isUnderWritePressure } ?? wrapped.isUnderWritePressure
    }

    package func read<Result>(_ scope: ReadScope, _ body: (any StoreReader) throws -> Result) throws -> Result {
        try checkAccepts()
        return try wrapped.read(scope) { reader in try body(FaultInjectingReader(reader, self)) }
    }

    package func transact<Result>(lane: StoreLane?, _ body: (any StoreTransaction) throws -> Result) throws -> Result {
        try checkAccepts()
        let result = try wrapped.transact(lane: lane) { transaction in
            let result = try body(FaultInjectingTransaction(transaction, self))
            try pass(.commitNotApplied)
            return result
        }
        try pass(.commitApplied)
        return result
    }

    /// Counts an operation and throws if the armed fault strikes it.
    fileprivate func pass(_ point: FaultPoint) throws {
        let error: StoreError? = state.withLock { state in
            let count = state.counts[point, default: 0] + 1
            state.counts[point] = count
            guard let fault = state.fault, fault.point == point else { return nil }
            guard (fault.occurrence..<fault.occurrence + fault.repetitions).contains(count) else { return nil }
            state.hasFired = true
            state.isRefusing = fault.refusesAfterwards
            return fault.error
        }
        if let error { throw error }
    }

    private func checkAccepts() throws {
        guard !state.withLock({ $0.isRefusing }) else {
            throw StoreError(.unavailable, "The store takes no requests after a failed write: open it again.")
        }
    }
}

private final class FaultInjectingReader: ReaderWrapper {
    let wrapped: any StoreReader
    private let store: FaultInjectingStore

    init(_ wrapped: any StoreReader, _ store: FaultInjectingStore) {
        self.wrapped = wrapped
        self.store = store
    }

    func visitValue(forKey key: [UInt8], _ body: (Span<UInt8>) throws -> Void) throws -> Bool {
        try store.pass(.read)
        return try wrapped.visitValue(forKey: key, body)
    }

    func scan(
        _ range: KeyRange, _ direction: ScanDirection, limit: Int,
        _ visit: (_ key: Span<UInt8>, _ value: Span<UInt8>) throws -> ScanStep
    ) throws {
        try wrapped.scan(range, direction, limit: limit) { key, value in
            try store.pass(.scanStep)
            return try visit(key, value)
        }
    }

    func scan(
        _ range: KeyRange, _ direction: ScanDirection, limit: Int, following follow: EntryFollower,
        _ visit: (_ key: Span<UInt8>, _ value: Span<UInt8>) throws -> ScanStep
    ) throws {
        try wrapped.scan(range, direction, limit: limit, following: follow) { key, value in
            try store.pass(.scanStep)
            return try visit(key, value)
        }
    }

    func values(forKeys keys: [[UInt8]]) throws -> [[UInt8]?] {
        for _ in keys { try store.pass(.read) }
        return try wrapped.values(forKeys: keys)
    }
}

private final class FaultInjectingTransaction: TransactionWrapper {
    let wrappedTransaction: any StoreTransaction
    private let reader: FaultInjectingReader
    private let store: FaultInjectingStore

    init(_ wrapped: any StoreTransaction, _ store: FaultInjectingStore) {
        wrappedTransaction = wrapped
        reader = FaultInjectingReader(wrapped, store)
        self.store = store
    }

    func visitValue(forKey key: [UInt8], _ body: (Span<UInt8>) throws -> Void) throws -> Bool {
        try reader.visitValue(forKey: key, body)
    }

    func scan(
        _ range: KeyRange, _ direction: ScanDirection, limit: Int,
        _ visit: (_ key: Span<UInt8>, _ value: Span<UInt8>) throws -> ScanStep
    ) throws {
        try reader.scan(range, direction, limit: limit, visit)
    }

    func scan(
        _ range: KeyRange, _ direction: ScanDirection, limit: Int, following follow: EntryFollower,
        _ visit: (_ key: Span<UInt8>, _ value: Span<UInt8>) throws -> ScanStep
    ) throws {
        try reader.scan(range, direction, limit: limit, following: follow, visit)
    }

    func values(forKeys keys: [[UInt8]]) throws -> [[UInt8]?] { try reader.values(forKeys: keys) }

    func set(_ key: [UInt8], to value: [UInt8]) throws {
        try store.pass(.write)
        try wrappedTransaction.set(key, to: value)
    }

    func delete(_ key: [UInt8]) throws {
        try store.pass(.write)
        try wrappedTransaction.delete(key)
    }
}
