// A transaction's view: the published snapshot, overlaid by the group in flight, overlaid by the forming group with its
// own writes. It writes to the forming group immediately; the lane undoes the writes if the body fails.

internal import StratusStore

final class LaneTransaction: StoreTransaction {
    private let base: SnapshotReader
    private let forming: LaneGroup
    private let inFlight: LaneGroup?
    private let fresh: FreshRanges
    private(set) var publishActions: [@Sendable (StoreVersion) -> Void] = []
    private(set) var countedByteCount = 0

    init(_ base: SnapshotReader, forming: LaneGroup, inFlight: LaneGroup?, fresh: FreshRanges) {
        self.base = base
        self.forming = forming
        self.inFlight = inFlight
        self.fresh = fresh
    }

    var version: StoreVersion { base.version }
    var cost: StoreCost { base.cost }

    /// Resets the state for another run of the body.
    func reset() {
        publishActions = []
        base.cost = StoreCost()
        countedByteCount = 0
    }

    // MARK: Writing

    func set(_ key: [UInt8], to value: [UInt8]) throws { try set(key.span, to: value.span) }

    func set(_ key: Span<UInt8>, to value: Span<UInt8>) throws {
        try admit(keyByteCount: key.count, valueByteCount: value.count)
        forming.writes.set(key, to: value)
    }

    func delete(_ key: [UInt8]) throws {
        try admit(keyByteCount: key.count, valueByteCount: 0)
        forming.writes.delete(key)
    }

    private func admit(keyByteCount: Int, valueByteCount: Int) throws {
        base.checkIsActive()
        let counted = countedByteCount + StoreLimits.countedByteCount(writingKey: keyByteCount, value: valueByteCount)
        try StoreLimits.check(
            keyByteCount: keyByteCount, valueByteCount: valueByteCount, transactionByteCount: counted)
        countedByteCount = counted
        base.cost.entriesWritten += 1
        base.cost.bytesWritten += keyByteCount + valueByteCount
    }

    func hasUnpublishedWrite(forKey key: [UInt8]) -> Bool {
        unsafe key.withEngineBytes { bytes in
            unsafe forming.writes.entry(forKey: bytes) != nil || inFlight?.writes.entry(forKey: bytes) != nil
        }
    }

    func hasUnpublishedWrite(in range: KeyRange) -> Bool {
        unsafe range.withEngineBytes { lower, upper in
            unsafe forming.writes.holdsEntry(from: lower, upTo: upper)
                || inFlight?.writes.holdsEntry(from: lower, upTo: upper) == true
        }
    }

    /// Not counted as a cost of the transaction. If the range cannot be read, it is not added; a later read of its keys
    /// throws the error.
    func expectWrites(intoEmpty range: KeyRange) {
        base.checkIsActive()
        guard !fresh.isOff, !hasUnpublishedWrite(in: range) else { return }
        var isEmpty = false
        do {
            try base.withIterator(range) { iterator in
                try iterator.place(in: range, .forward)
                isEmpty = unsafe !iterator.isValid || range.withEngineBytes { unsafe iterator.key.compare($1) >= 0 }
            }
        } catch { return }
        if isEmpty { fresh.add(range) }
    }

    func onPublish(_ action: @escaping @Sendable (StoreVersion) -> Void) {
        base.checkIsActive()
        publishActions.append(action)
    }

    // MARK: Reading

    func visitValue(forKey key: [UInt8], _ body: (Span<UInt8>) throws -> Void) throws -> Bool {
        base.checkIsActive()
        base.cost.pointReads += 1
        countedByteCount += StoreLimits.countedByteCount(readingKey: key.count)
        let pending = unsafe key.withEngineBytes { bytes in
            unsafe forming.writes.entry(forKey: bytes) ?? inFlight?.writes.entry(forKey: bytes)
        }
        guard let entry = unsafe pending else {
            if unsafe key.withEngineBytes({ unsafe fresh.isAbsent($0) }) { return false }
            return try base.engineValue(forKey: key, body)
        }
        guard let value = unsafe entry.value else { return false }
        try unsafe value.withSpan(body)
        return true
    }

    func keptObject(forKey key: [UInt8]) -> (any AnyObject & Sendable)? {
        guard let object = base.uncountedObject(forKey: key), !hasUnpublishedWrite(forKey: key) else { return nil }
        base.cost.pointReads += 1
        countedByteCount += StoreLimits.countedByteCount(readingKey: key.count)
        return object
    }

    func keep(forKey key: [UInt8], byteCount: Int, _ make: () -> any AnyObject & Sendable) {
        if !hasUnpublishedWrite(forKey: key) { base.keep(forKey: key, byteCount: byteCount, make) }
    }

    /// The scan visits the state at its beginning, even if `visit` writes.
    func scan(
        _ range: KeyRange, _ direction: ScanDirection, limit: Int,
        _ visit: (_ key: Span<UInt8>, _ value: Span<UInt8>) throws -> ScanStep
    ) throws {
        base.checkIsActive()
        guard limit > 0, range.holdsKeys else { return }
        countedByteCount += StoreLimits.countedByteCount(scanning: range)
        try unsafe range.withEngineBytes { lower, upper in
            let newer = unsafe OverlayCursor(forming, lower, upper, direction)
            // Without a group in flight, the forming group is used twice: its entries hide themselves.
            let older = unsafe inFlight.map { unsafe OverlayCursor($0, lower, upper, direction) } ?? newer
            if unsafe newer.current == nil && older.current == nil {
                return try base.scan(range, direction, limit: limit, visit)
            }
            base.cost.seeks += 1
            try base.withIterator(range) { iterator in
                try iterator.place(in: range, direction)
                var merge = unsafe MergedScan(
                    newer: newer, older: older, iterator: iterator, lower: lower, upper: upper, direction: direction)
                var remaining = limit
                while let entry = unsafe merge.next() {
                    base.cost.cursorSteps += 1
                    let step = try unsafe entry.key.withSpan { key in
                        try unsafe entry.value.withSpan { try visit(key, $0) }
                    }
                    remaining -= 1
                    if step == .stop || remaining == 0 { break }
                }
            }
        }
    }
}

/// Merges the writes of two groups and LevelDB's entries into one order. The newer one wins. Deletions hide older
/// entries.
@unsafe private struct MergedScan {
    var newer: OverlayCursor
    var older: OverlayCursor
    let iterator: EngineIterator
    let lower: EngineBytes
    let upper: EngineBytes
    let direction: ScanDirection
    /// Whether the last entry is LevelDB's: the iterator must not move until the next one is requested.
    var mustMoveIterator = false

    mutating func next() -> (key: EngineBytes, value: EngineBytes)? {
        if unsafe mustMoveIterator {
            unsafe iterator.move(direction)
            unsafe mustMoveIterator = false
        }
        while true {
            let top = unsafe newer.current
            let middle = unsafe older.current
            let bottom = unsafe iteratorKey
            var first = unsafe top?.key
            if let key = unsafe middle?.key, unsafe isEarlier(key, first) { unsafe first = unsafe key }
            if let key = unsafe bottom, unsafe isEarlier(key, first) { unsafe first = unsafe key }
            guard let key = unsafe first else { return nil }

            let isTop = unsafe top.map { unsafe $0.key.compare(key) == 0 } ?? false
            let isMiddle = unsafe middle.map { unsafe $0.key.compare(key) == 0 } ?? false
            let isBottom = unsafe bottom.map { unsafe $0.compare(key) == 0 } ?? false
            if isTop { unsafe newer.move() }
            if isMiddle { unsafe older.move() }
            if let entry = unsafe isTop ? top : isMiddle ? middle : nil {
                // The group's key is returned, because LevelDB's equal key becomes invalid when the iterator moves.
                if isBottom { unsafe iterator.move(direction) }
                if let value = unsafe entry.value { return unsafe (entry.key, value) }
            } else {
                unsafe mustMoveIterator = true
                return unsafe (key, iterator.value)
            }
        }
    }

    private var iteratorKey: EngineBytes? {
        guard unsafe iterator.isValid else { return nil }
        let key = unsafe iterator.key
        return unsafe key.isInside(lower, upper, direction) ? key : nil
    }

    private func isEarlier(_ key: EngineBytes, _ other: EngineBytes?) -> Bool {
        guard let other = unsafe other else { return true }
        let order = unsafe key.compare(other)
        return unsafe direction == .forward ? order < 0 : order > 0
    }
}

// A cursor over the writes of one group as they were when it was created.
//
// Invariant: a body may write while it scans. The cursor skips entries that were written after its creation, and finds
// its position again if it may have moved.
//
// Unsafe: an entry's bytes are in the group's arena, which neither moves nor shrinks during a body.

@unsafe struct OverlayCursor {
    private let group: LaneGroup
    private let lower: EngineBytes
    private let upper: EngineBytes
    private let direction: ScanDirection
    private let entryCount: Int
    private var structureVersion: Int
    private var position: PendingPosition?
    /// The entry at the cursor, or nil behind the last one of the range.
    private(set) var current: PendingEntry?

    init(_ group: LaneGroup, _ lower: EngineBytes, _ upper: EngineBytes, _ direction: ScanDirection) {
        unsafe self.group = group
        unsafe self.lower = unsafe lower
        unsafe self.upper = unsafe upper
        unsafe self.direction = direction
        unsafe entryCount = group.writes.entryCount
        unsafe structureVersion = group.writes.structureVersion
        switch direction {
        case .forward: unsafe position = unsafe group.writes.position(atOrAfter: lower)
        case .backward: unsafe position = unsafe group.writes.position(before: upper)
        }
        unsafe settle()
    }

    mutating func move() {
        guard let entry = unsafe current else { return }
        if unsafe structureVersion != group.writes.structureVersion {
            unsafe position = unsafe group.writes.position(atOrAfter: entry.key)
            unsafe structureVersion = group.writes.structureVersion
        }
        unsafe step()
        unsafe settle()
    }

    private mutating func step() {
        guard let position = unsafe position else { return }
        switch unsafe direction {
        case .forward: unsafe self.position = unsafe group.writes.position(after: position)
        case .backward: unsafe self.position = unsafe group.writes.position(before: position)
        }
    }

    /// Moves to the next entry that existed when the cursor was created.
    private mutating func settle() {
        while let place = unsafe position, let newest = unsafe group.writes.entry(at: place, before: .max),
            unsafe newest.key.isInside(lower, upper, direction)
        {
            if let entry = unsafe group.writes.entry(at: place, before: entryCount) {
                unsafe current = unsafe entry
                return
            }
            unsafe step()
        }
        unsafe current = nil
    }
}
