// Readers and transactions of the in-memory store. A transaction is a reader whose tree it may change.
// What they count is defined by `StoreCost`.

/// A snapshot of a `MemoryStore`.
class MemoryReader: StoreReader {
    final fileprivate(set) var tree: ByteTree
    final let version: StoreVersion
    final fileprivate(set) var cost = StoreCost()
    private final var hasEnded = false

    init(tree: ByteTree, version: StoreVersion) {
        self.tree = tree
        self.version = version
    }

    final func visitValue(forKey key: [UInt8], _ body: (Span<UInt8>) throws -> Void) throws -> Bool {
        checkIsValid()
        cost.pointReads += 1
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
        var remaining = limit
        // A scan sees what had been written when it began: its visitor may write and scan.
        let snapshot = tree
        try snapshot.scan(from: range.lower, upTo: range.upper, direction) { key, value in
            cost.cursorSteps += 1
            remaining -= 1
            let step = try visit(key.span, value.span)
            return remaining > 0 ? step : .stop
        }
    }

    /// Ends the reader, lets its snapshot go, and returns what it has cost.
    final func end() -> StoreCost {
        hasEnded = true
        tree = ByteTree()
        return cost
    }

    fileprivate final func checkIsValid() {
        precondition(!hasEnded, "A reader is valid only inside the call that handed it out.")
    }
}

/// A transaction of a `MemoryStore`.
final class MemoryTransaction: MemoryReader, StoreTransaction {
    private(set) var publishActions: [@Sendable (StoreVersion) -> Void] = []
    private var writtenKeys: Set<[UInt8]> = []

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
        writtenKeys.contains {
            !$0.lexicographicallyPrecedes(range.lower) && $0.lexicographicallyPrecedes(range.upper)
        }
    }

    func onPublish(_ action: @escaping @Sendable (StoreVersion) -> Void) {
        checkIsValid()
        publishActions.append(action)
    }

    /// Accepts a write or throws `.tooLarge`; a refused write changes and costs nothing.
    private func note(_ key: [UInt8], valueByteCount: Int) throws {
        checkIsValid()
        let byteCount = key.count + valueByteCount
        try StoreLimits.check(
            keyByteCount: key.count, valueByteCount: valueByteCount,
            transactionByteCount: cost.bytesWritten + byteCount)
        cost.entriesWritten += 1
        cost.bytesWritten += byteCount
        writtenKeys.insert(key)
    }
}
