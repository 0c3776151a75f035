// Stores with one fault each, planted to show that the conformance suite finds it.

@testable import StratusStore
import StratusTestSupport

/// Creates in-memory stores that `plant` makes faulty.
struct PlantedFixture: StoreFixture {
    let name: String
    var reopen: @Sendable (MemoryStore) -> MemoryStore = { $0.reopened() }
    /// Called where a check wants the next read to fail with a conflict.
    var failNextRead: @Sendable () -> Void = {}
    let plant: @Sendable (MemoryStore) -> any OrderedStore

    func makePlace() -> any StorePlace { PlantedPlace(self) }
}

private final class PlantedPlace: StorePlace {
    private let fixture: PlantedFixture
    private let newest = Locked<MemoryStore?>(nil)

    init(_ fixture: PlantedFixture) {
        self.fixture = fixture
    }

    func open() -> any OrderedStore {
        newest.withLock { newest in
            let store = newest.map(fixture.reopen) ?? MemoryStore()
            newest = store
            return fixture.plant(store)
        }
    }

    func failNextRead() { fixture.failNextRead() }

    func remove() {
        newest.withLock { $0 = nil }
    }
}

/// The replacement behaviour of a hooked reader or transaction. A hook that is nil changes nothing.
struct Hooks {
    typealias ValueVisitor = (Span<UInt8>) throws -> Void
    typealias EntryVisitor = (Span<UInt8>, Span<UInt8>) throws -> ScanStep
    typealias PublishAction = @Sendable (StoreVersion) -> Void

    var version: ((any StoreReader) -> StoreVersion)?
    var visitValue: ((any StoreReader, [UInt8], ValueVisitor) throws -> Bool)?
    var scan: ((any StoreReader, KeyRange, ScanDirection, Int, EntryVisitor) throws -> Void)?
    var values: ((any StoreReader, [[UInt8]]) throws -> [[UInt8]?])?
    var prefetch: ((any StoreReader, [[UInt8]]) -> Void)?
    var countedByteCount: ((any StoreTransaction) -> Int)?
    var cost: ((any StoreReader) -> StoreCost)?
    var keptObject: (([UInt8]) -> (any AnyObject & Sendable)?)?
    var keep: (([UInt8], any AnyObject & Sendable) -> Void)?
    var set: ((any StoreTransaction, [UInt8], [UInt8]) throws -> Void)?
    var delete: ((any StoreTransaction, [UInt8]) throws -> Void)?
    var hasUnpublishedWrite: ((any StoreTransaction, [UInt8]) -> Bool)?
    var hasUnpublishedWriteInRange: ((any StoreTransaction, KeyRange) -> Bool)?
    var expectWrites: ((KeyRange) -> Void)?
    var onPublish: ((any StoreTransaction, @escaping PublishAction) -> Void)?
    var watch: ((any OrderedStore, KeyRange, @escaping @Sendable () -> Void) -> StoreWatch)?
    /// Runs after `transact` of the wrapped store has returned.
    var afterCommit: (() -> Void)?
    /// Whether the writes of a failing body are committed.
    var keepsFailedWrites = false
}

/// A store whose readers and transactions get hooks, created for each of them.
final class HookedStore: StoreWrapper {
    let wrapped: any OrderedStore
    private let makeHooks: @Sendable () -> Hooks
    private let ignoresClose: Bool

    init(_ wrapped: any OrderedStore, ignoresClose: Bool = false, _ makeHooks: @escaping @Sendable () -> Hooks) {
        self.wrapped = wrapped
        self.ignoresClose = ignoresClose
        self.makeHooks = makeHooks
    }

    func read<Result>(_ scope: ReadScope, _ body: (any StoreReader) throws -> Result) throws -> Result {
        try wrapped.read(scope) { try body(HookedReader($0, makeHooks())) }
    }

    func transact<Result>(lane: StoreLane?, _ body: (any StoreTransaction) throws -> Result) throws -> Result {
        let hooks = makeHooks()
        let result: Swift.Result<Result, any Error> = try wrapped.transact(lane: lane) { transaction in
            let result = Swift.Result { try body(HookedTransaction(transaction, hooks)) }
            if !hooks.keepsFailedWrites { _ = try result.get() }
            return result
        }
        hooks.afterCommit?()
        return try result.get()
    }

    func watch(_ range: KeyRange, _ onChange: @escaping @Sendable () -> Void) -> StoreWatch {
        guard let hook = makeHooks().watch else { return wrapped.watch(range, onChange) }
        return hook(wrapped, range, onChange)
    }

    func close() {
        if !ignoresClose { wrapped.close() }
    }
}

private final class HookedReader: ReaderWrapper {
    let wrapped: any StoreReader
    private let hooks: Hooks

    init(_ wrapped: any StoreReader, _ hooks: Hooks) {
        self.wrapped = wrapped
        self.hooks = hooks
    }

    var version: StoreVersion { hooks.version?(wrapped) ?? wrapped.version }

    var cost: StoreCost { hooks.cost?(wrapped) ?? wrapped.cost }

    func visitValue(forKey key: [UInt8], _ body: (Span<UInt8>) throws -> Void) throws -> Bool {
        guard let hook = hooks.visitValue else { return try wrapped.visitValue(forKey: key, body) }
        return try hook(wrapped, key, body)
    }

    func scan(
        _ range: KeyRange, _ direction: ScanDirection, limit: Int,
        _ visit: (_ key: Span<UInt8>, _ value: Span<UInt8>) throws -> ScanStep
    ) throws {
        guard let hook = hooks.scan else { return try wrapped.scan(range, direction, limit: limit, visit) }
        try hook(wrapped, range, direction, limit, visit)
    }

    func scan(
        _ range: KeyRange, _ direction: ScanDirection, limit: Int, following follow: EntryFollower,
        _ visit: (_ key: Span<UInt8>, _ value: Span<UInt8>) throws -> ScanStep
    ) throws {
        guard let hook = hooks.scan else {
            return try wrapped.scan(range, direction, limit: limit, following: follow, visit)
        }
        try hook(wrapped, range, direction, limit, visit)
    }

    func values(forKeys keys: [[UInt8]]) throws -> [[UInt8]?] {
        if let hook = hooks.values { return try hook(wrapped, keys) }
        guard hooks.visitValue == nil else { return try keys.map { try value(forKey: $0) } }
        return try wrapped.values(forKeys: keys)
    }

    func prefetch(_ keys: [[UInt8]]) {
        if let hook = hooks.prefetch { hook(wrapped, keys) } else { wrapped.prefetch(keys) }
    }

    func keptObject(forKey key: [UInt8]) -> (any AnyObject & Sendable)? { hooks.keptObject?(key) }

    func keep(forKey key: [UInt8], byteCount: Int, _ make: () -> any AnyObject & Sendable) {
        hooks.keep?(key, make())
    }
}

private final class HookedTransaction: TransactionWrapper {
    let wrappedTransaction: any StoreTransaction
    private let hooks: Hooks
    private let reader: HookedReader

    init(_ wrapped: any StoreTransaction, _ hooks: Hooks) {
        wrappedTransaction = wrapped
        self.hooks = hooks
        reader = HookedReader(wrapped, hooks)
    }

    var version: StoreVersion { reader.version }

    var cost: StoreCost { reader.cost }

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

    func prefetch(_ keys: [[UInt8]]) { reader.prefetch(keys) }

    var countedByteCount: Int {
        hooks.countedByteCount?(wrappedTransaction) ?? wrappedTransaction.countedByteCount
    }

    func set(_ key: [UInt8], to value: [UInt8]) throws {
        guard let hook = hooks.set else { return try wrappedTransaction.set(key, to: value) }
        try hook(wrappedTransaction, key, value)
    }

    func delete(_ key: [UInt8]) throws {
        guard let hook = hooks.delete else { return try wrappedTransaction.delete(key) }
        try hook(wrappedTransaction, key)
    }

    func hasUnpublishedWrite(forKey key: [UInt8]) -> Bool {
        hooks.hasUnpublishedWrite?(wrappedTransaction, key) ?? wrappedTransaction.hasUnpublishedWrite(forKey: key)
    }

    func hasUnpublishedWrite(in range: KeyRange) -> Bool {
        hooks.hasUnpublishedWriteInRange?(wrappedTransaction, range)
            ?? wrappedTransaction.hasUnpublishedWrite(in: range)
    }

    func expectWrites(intoEmpty range: KeyRange) {
        guard let hook = hooks.expectWrites else { return wrappedTransaction.expectWrites(intoEmpty: range) }
        hook(range)
    }

    func onPublish(_ action: @escaping @Sendable (StoreVersion) -> Void) {
        guard let hook = hooks.onPublish else { return wrappedTransaction.onPublish(action) }
        hook(wrappedTransaction, action)
    }
}
