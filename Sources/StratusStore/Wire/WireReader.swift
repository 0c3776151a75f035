// Readers of a snapshot at the other end of a connection, inside a transaction and outside.
//
// Invariants:
//   1. A transaction's reads show its own writes and those of earlier callers of its group over the snapshot.
//   2. Costs are counted when a caller reads, exactly as in memory: fetching counts as nothing.
//   3. A value that a visitor gets is the reader's own, whatever the visitor reads meanwhile.

/// A snapshot at the other end of a connection.
class WireReader: StoreReader {
    final let version: StoreVersion
    fileprivate final let snapshot: WireSnapshot
    private final let options: WireOptions
    final fileprivate(set) var cost = StoreCost()
    private final var hasEnded = false

    init(_ snapshot: WireSnapshot, version: StoreVersion, _ options: WireOptions) {
        self.snapshot = snapshot
        self.version = version
        self.options = options
    }

    /// Ends the reader and returns its cost.
    final func end() -> StoreCost {
        hasEnded = true
        return cost
    }

    final var gainsFromPrefetching: Bool { true }

    final func prefetch(_ keys: [[UInt8]]) {
        checkIsValid()
        for key in keys where ownWrite(key) == nil { snapshot.announce(key) }
    }

    final func prefetch(_ range: KeyRange, _ direction: ScanDirection, limit: Int) {
        checkIsValid()
        snapshot.announce(PlannedScan(range: range, direction: direction, limit: limit))
    }

    final func prefetch(_ plan: ReadPlan) {
        checkIsValid()
        snapshot.announce(plan) { ownWrite($0) == nil }
    }

    final func visitValue(forKey key: [UInt8], _ body: (Span<UInt8>) throws -> Void) throws -> Bool {
        checkIsValid()
        note(read: key)
        let value: [UInt8]?
        if let write = ownWrite(key) { value = write.value } else { value = try snapshot.value(forKey: key) }
        guard let value else { return false }
        try body(value.span)
        return true
    }

    final func values(forKeys keys: [[UInt8]]) throws -> [[UInt8]?] {
        checkIsValid()
        for key in keys { note(read: key) }
        var values: [[UInt8]?] = []
        values.reserveCapacity(keys.count)
        for (index, key) in keys.enumerated() {
            if let write = ownWrite(key) {
                values.append(write.value)
                continue
            }
            let others = keys[index...].lazy.filter { self.ownWrite($0) == nil }
            if case .value(let value) = try snapshot.answer(key, orFetch: others) {
                values.append(value)
            } else {
                values.append(nil)
            }
        }
        return values
    }

    final func scan(
        _ range: KeyRange, _ direction: ScanDirection, limit: Int,
        _ visit: (_ key: Span<UInt8>, _ value: Span<UInt8>) throws -> ScanStep
    ) throws {
        guard var scan = begin(range, direction, limit: limit) else { return }
        try scan.run(willVisit: { cost.cursorSteps += 1 }, visit)
    }

    final func scan(
        _ range: KeyRange, _ direction: ScanDirection, limit: Int, following follow: EntryFollower,
        _ visit: (_ key: Span<UInt8>, _ value: Span<UInt8>) throws -> ScanStep
    ) throws {
        guard var scan = begin(range, direction, limit: limit) else { return }
        try scan.run(
            following: follow, atMost: options.pageEntryCount, willVisit: { cost.cursorSteps += 1 }, visit)
    }

    private final func begin(_ range: KeyRange, _ direction: ScanDirection, limit: Int) -> WireScan? {
        checkIsValid()
        guard limit > 0, !range.isEmpty else { return nil }
        cost.seeks += 1
        note(scan: range)
        return WireScan(range, direction, limit: limit, snapshot, ownWrites)
    }

    fileprivate final func checkIsValid() {
        precondition(!hasEnded, "A reader is valid only inside the call that passed it.")
    }

    private final func note(read key: [UInt8]) {
        cost.pointReads += 1
        count(StoreLimits.countedByteCount(readingKey: key.count))
    }

    private final func note(scan range: KeyRange) {
        count(StoreLimits.countedByteCount(scanning: range))
    }

    // MARK: What only a transaction has

    /// The writes of its transaction.
    fileprivate var ownWrites: ByteTree { ByteTree() }
    fileprivate func ownWrite(_ key: [UInt8]) -> OverlayWrite? { nil }
    /// Counts bytes against the limit.
    fileprivate func count(_ byteCount: Int) {}
}

/// A transaction: the reader of a group's snapshot under the group's writes.
final class WireTransaction: WireReader, StoreTransaction {
    private let overlay: WireOverlay
    private(set) var countedByteCount = 0
    private(set) var publishActions: [@Sendable (StoreVersion) -> Void] = []

    init(_ snapshot: WireSnapshot, _ overlay: WireOverlay, version: StoreVersion, _ options: WireOptions) {
        self.overlay = overlay
        super.init(snapshot, version: version, options)
    }

    func set(_ key: [UInt8], to value: [UInt8]) throws {
        try admit(key, valueByteCount: value.count)
        overlay.write(key, value)
    }

    func insert(_ key: Span<UInt8>, _ value: Span<UInt8>) throws {
        let key = [UInt8](copying: key)
        try admit(key, valueByteCount: value.count)
        overlay.write(key, [UInt8](copying: value), isNew: true)
    }

    func delete(_ key: [UInt8]) throws {
        try admit(key, valueByteCount: 0)
        overlay.write(key, nil)
    }

    /// Counts a write. Throws `.tooLarge` for one beyond the limits, which then changes and costs nothing.
    private func admit(_ key: [UInt8], valueByteCount: Int) throws {
        checkIsValid()
        let counted = StoreLimits.countedByteCount(writingKey: key.count, value: valueByteCount)
        try StoreLimits.check(
            keyByteCount: key.count, valueByteCount: valueByteCount, transactionByteCount: countedByteCount + counted)
        countedByteCount += counted
        cost.entriesWritten += 1
        cost.bytesWritten += key.count + valueByteCount
    }

    func hasUnpublishedWrite(forKey key: [UInt8]) -> Bool { overlay.write(to: key) != nil }

    func hasUnpublishedWrite(in range: KeyRange) -> Bool { overlay.holdsWrite(in: range) }

    /// Announces a scan of one entry: if the range is empty, its answer shows that all keys of the range are absent.
    func expectWrites(intoEmpty range: KeyRange) { prefetch(range, .forward, limit: 1) }

    func divide(at bound: [UInt8], _ isDivided: Bool) { overlay.divisions[bound] = isDivided }

    func onPublish(_ action: @escaping @Sendable (StoreVersion) -> Void) {
        checkIsValid()
        publishActions.append(action)
    }

    override fileprivate var ownWrites: ByteTree { overlay.writes }
    override fileprivate func ownWrite(_ key: [UInt8]) -> OverlayWrite? { overlay.write(to: key) }
    override fileprivate func count(_ byteCount: Int) { countedByteCount += byteCount }
}
