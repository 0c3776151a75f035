// Reads from one published snapshot: the reader of `read`, and the base of a transaction's reads.
//
// Invariants:
//   1. A reader is used by one thread, inside the call that created it.
//   2. An iterator that met an error is destroyed, not used again: LevelDB's iterators remember their first error.
//   3. Every scan ends by checking its iterator for errors, because LevelDB skips blocks that it cannot read.
//
// Unsafe: keys and values in LevelDB's memory are used only while the iterator is not moved.

internal import StratusStore
internal import Synchronization

/// A consistent snapshot of one version.
final class SnapshotReader: StoreReader {
    let published: PublishedSnapshot
    private let gate: ReadGate
    /// The reader's cost. A transaction adds its writes.
    var cost = StoreCost()
    /// Look-ups in LevelDB, in all runs of a body.
    private(set) var engineLookups = 0
    /// Iterators of this reader that no scan is using.
    private var idleIterators: [EngineIterator]
    private var isEnded = false

    init(_ published: PublishedSnapshot, _ gate: ReadGate, idleIterators: [EngineIterator]) {
        self.published = published
        self.gate = gate
        self.idleIterators = idleIterators
    }

    var version: StoreVersion { published.version }

    /// Ends the reader and returns its iterators.
    func end() -> [EngineIterator] {
        isEnded = true
        defer { idleIterators = [] }
        return idleIterators
    }

    /// Throws an error if the store no longer waits for its readers.
    @inline(__always)
    func checkIsWanted() throws {
        if gate.hasAbandonedReaders.load(ordering: .relaxed) { throw ReadGate.reopeningError }
    }

    func checkIsActive() {
        precondition(!isEnded, "A reader was used outside the call that passed it.")
    }

    func visitValue(forKey key: [UInt8], _ body: (Span<UInt8>) throws -> Void) throws -> Bool {
        checkIsActive()
        cost.pointReads += 1
        return try engineValue(forKey: key, body)
    }

    func keptObject(forKey key: [UInt8]) -> (any AnyObject & Sendable)? {
        let object = uncountedObject(forKey: key)
        if object != nil { cost.pointReads += 1 }
        return object
    }

    /// `keptObject` without counting it.
    func uncountedObject(forKey key: [UInt8]) -> (any AnyObject & Sendable)? {
        checkIsActive()
        return gate.kept.object(forKey: key, at: version)
    }

    func keep(forKey key: [UInt8], byteCount: Int, _ make: () -> any AnyObject & Sendable) {
        gate.kept.keep(forKey: key, byteCount: byteCount, at: version, make)
    }

    /// `visitValue` without counting it.
    func engineValue(forKey key: [UInt8], _ body: (Span<UInt8>) throws -> Void) throws -> Bool {
        engineLookups += 1
        try checkIsWanted()
        do {
            return try published.engine.visitValue(forKey: key, body)
        } catch let error as EngineError {
            throw CorruptionCandidates.error(error, in: published.engine.database.path, forKey: key)
        }
    }

    func scan(
        _ range: KeyRange, _ direction: ScanDirection, limit: Int,
        _ visit: (_ key: Span<UInt8>, _ value: Span<UInt8>) throws -> ScanStep
    ) throws {
        checkIsActive()
        guard limit > 0, range.holdsKeys else { return }
        cost.seeks += 1
        try withIterator(range) { iterator in
            try unsafe range.withEngineBytes { lower, upper in
                try iterator.place(in: range, direction)
                var remaining = limit
                defer { cost.cursorSteps += limit - remaining }
                while iterator.isValid {
                    try checkIsWanted()
                    let key = unsafe iterator.key
                    guard unsafe key.isInside(lower, upper, direction) else { break }
                    remaining -= 1
                    let value = unsafe iterator.value
                    let step = try unsafe key.withSpan { keySpan in
                        try unsafe value.withSpan { try visit(keySpan, $0) }
                    }
                    if step == .stop || remaining == 0 { break }
                    iterator.move(direction)
                }
            }
        }
    }

    /// Runs `body` with an iterator, checks it afterwards, and names `range` in its errors. The iterator's error takes
    /// precedence over the one of `body`, which may be a consequence of skipped entries.
    func withIterator(_ range: KeyRange, _ body: (EngineIterator) throws -> Void) throws {
        let iterator = idleIterators.popLast() ?? published.engine.makeIterator()
        let result = Result { try body(iterator) }
        do {
            try iterator.check()
        } catch {
            iterator.destroy()
            throw CorruptionCandidates.error(error, in: published.engine.database.path, range)
        }
        idleIterators.append(iterator)
        try result.get()
    }
}

extension EngineIterator {
    /// Moves to the first entry of a scan. It is outside `range` if the range is empty.
    func place(in range: KeyRange, _ direction: ScanDirection) throws(EngineError) {
        switch direction {
        case .forward: seek(range.lower)
        case .backward: try seek(before: range.upper)
        }
    }

    func move(_ direction: ScanDirection) {
        switch direction {
        case .forward: moveForward()
        case .backward: moveBackward()
        }
    }
}

extension EngineBytes {
    /// Whether a scan that reached this key is still inside its range. Checks only the bound ahead.
    @inline(__always)
    func isInside(_ lower: EngineBytes, _ upper: EngineBytes, _ direction: ScanDirection) -> Bool {
        switch direction {
        case .forward: unsafe compare(upper) < 0
        case .backward: unsafe compare(lower) >= 0
        }
    }
}
