// Ranges of keys that were empty once, and the keys written to them since. Every other key in them is known to be
// absent, without asking LevelDB.
//
// A load looks up each name before it writes it, and finds nothing. LevelDB searches every level for an absent key,
// which would take a fifth of the time of a saving thread.
//
// Invariants:
//   1. A range is added only if the newest state, published or not, has no key in it.
//   2. Every key that a transaction has set is noted when its body has ended, before the next body runs, and is never
//      removed: a key that was deleted again is read from LevelDB. So a key that is neither noted nor among the writes
//      of the group has not existed since the range was added, even if commits failed.
//   3. A noted key is only a mark of 32 bits. If two keys share one, an absent key may be read from LevelDB.
//   4. Forgetting a range is always correct, which keeps the memory bounded.
//
// The lane's lock guards it: only transactions write, and only they ask.
//
// Unsafe: the bytes of a key are read only during the call that passes them.

internal import StratusStore

/// The lane's knowledge of ranges that were empty.
final class FreshRanges {
    /// The most ranges. The least recently used one is forgotten first.
    private static let rangeLimit = 64

    private struct FreshRange {
        let range: KeyRange
        /// The beginnings of its first key and of the first key behind it, which decide most comparisons.
        let first: KeyBeginning
        let end: KeyBeginning
        var written = KeyMarks()
        var lastUse: UInt64

        init(_ range: KeyRange, lastUse: UInt64) {
            self.range = range
            self.lastUse = lastUse
            (first, end) = unsafe range.withEngineBytes { unsafe (KeyBeginning($0), KeyBeginning($1)) }
        }

        @inline(__always)
        func contains(_ key: EngineBytes, _ beginning: KeyBeginning) -> Bool {
            if first.precedes(beginning), beginning.precedes(end) { return true }
            guard first == beginning || beginning == end else { return false }
            return unsafe range.withEngineBytes { unsafe $0.compare(key) <= 0 && key.compare($1) < 0 }
        }
    }

    /// The memory of all marks. While a range's table doubles, half as much is added.
    private let byteCount: Int
    /// In the order of keys; none overlaps another.
    private var ranges: [FreshRange] = []
    /// The beginnings of the first key of all ranges and of the first key behind them; equal if there are no ranges.
    private var first = KeyBeginning.zero
    private var end = KeyBeginning.zero
    /// Most keys are in the range of the last key.
    private var lastFound = 0
    private var useCount: UInt64 = 0
    /// The seed of hashes of keys in this process, derived from the one that Swift draws for its own hashes.
    private let seed = UInt64(truncatingIfNeeded: 0.hashValue)

    init(byteCount: Int) { self.byteCount = byteCount }

    var isOff: Bool { byteCount <= 0 }

    /// Adds a range without keys.
    func add(_ range: KeyRange) {
        guard !isOff, range.holdsKeys else { return }
        ranges.removeAll { $0.range.overlaps(range) }
        if ranges.count >= Self.rangeLimit { forgetLeastUsed() }
        useCount += 1
        let place = ranges.firstIndex { range.lower.lexicographicallyPrecedes($0.range.lower) } ?? ranges.count
        ranges.insert(FreshRange(range, lastUse: useCount), at: place)
        noteBounds()
    }

    private func noteBounds() {
        first = ranges.first?.first ?? .zero
        end = ranges.last?.end ?? .zero
    }

    /// Notes the keys that a transaction has set since a mark.
    func note(_ writes: borrowing PendingWrites, since mark: PendingMark) {
        guard !ranges.isEmpty else { return }
        unsafe writes.forEachSetKey(since: mark) { unsafe note($0) }
    }

    private func note(_ key: EngineBytes) {
        guard var index = unsafe find(key) else { return }
        if ranges[index].written.isFull {
            guard let place = grow(index) else { return }
            index = place
        }
        unsafe ranges[index].written.insert(key.hash(seed: seed))
    }

    /// Whether the key is known not to be in the store.
    func isAbsent(_ key: EngineBytes) -> Bool {
        guard let index = unsafe find(key) else { return false }
        return unsafe !ranges[index].written.contains(key.hash(seed: seed))
    }
}

extension FreshRanges {
    /// The index of the range that contains a key.
    private func find(_ key: EngineBytes) -> Int? {
        let beginning = unsafe KeyBeginning(key)
        guard !beginning.precedes(first), !end.precedes(beginning), !ranges.isEmpty else { return nil }
        if unsafe lastFound >= ranges.count || !ranges[lastFound].contains(key, beginning) {
            guard let found = unsafe search(key, beginning) else { return nil }
            lastFound = found
        }
        useCount += 1
        ranges[lastFound].lastUse = useCount
        return lastFound
    }

    private func search(_ key: EngineBytes, _ beginning: KeyBeginning) -> Int? {
        var low = 0
        var high = ranges.count
        while low < high {
            let middle = (low + high) / 2
            if beginning.precedes(ranges[middle].first) { high = middle } else { low = middle + 1 }
        }
        // Several ranges may begin alike in their first bytes.
        while low > 0 {
            low -= 1
            if unsafe ranges[low].contains(key, beginning) { return low }
            guard ranges[low].first == beginning else { return nil }
        }
        return nil
    }

    /// Makes room for one more key of a range, or forgets the range if its memory is used up. Returns its new index.
    private func grow(_ index: Int) -> Int? {
        let lower = ranges[index].range.lower
        let growth = ranges[index].written.growthByteCount
        while takenByteCount + growth > byteCount, ranges.count > 1 { forgetLeastUsed() }
        guard let place = ranges.firstIndex(where: { $0.range.lower == lower }) else { return nil }
        guard takenByteCount + growth <= byteCount else {
            ranges.remove(at: place)
            noteBounds()
            return nil
        }
        ranges[place].written.grow()
        return place
    }

    private var takenByteCount: Int { ranges.reduce(0) { $0 + $1.written.byteCount } }

    private func forgetLeastUsed() {
        guard let oldest = ranges.indices.min(by: { ranges[$0].lastUse < ranges[$1].lastUse }) else { return }
        ranges.remove(at: oldest)
        noteBounds()
    }
}

/// The marks of keys: 32 bits of their hashes, in a hash table with linear probing that is indexed by their highest
/// bits. A mark does not say which keys it represents.
struct KeyMarks {
    private static let firstCapacity = 64

    /// Its size is zero or a power of two. A free place is zero.
    private var table: [UInt32] = []
    private var count = 0

    var byteCount: Int { table.count * MemoryLayout<UInt32>.stride }
    /// Whether it must grow before the next mark. A quarter of the places stays free, so that searches are short.
    var isFull: Bool { count >= table.count / 4 * 3 }
    /// The bytes that growing adds.
    var growthByteCount: Int { max(Self.firstCapacity * MemoryLayout<UInt32>.stride, byteCount) }

    func contains(_ hash: UInt64) -> Bool {
        guard !table.isEmpty else { return false }
        let mark = Self.mark(hash)
        return table[place(of: mark)] == mark
    }

    /// Inserts a mark. Call it only while the table is not full.
    mutating func insert(_ hash: UInt64) { insert(mark: Self.mark(hash)) }

    mutating func grow() {
        let old = table
        table = [UInt32](repeating: 0, count: max(Self.firstCapacity, old.count * 2))
        count = 0
        for mark in old where mark != 0 { insert(mark: mark) }
    }

    private mutating func insert(mark: UInt32) {
        let place = place(of: mark)
        guard table[place] == 0 else { return }
        table[place] = mark
        count += 1
    }

    /// The place of the mark, or the free place for it.
    private func place(of mark: UInt32) -> Int {
        var place = Int((UInt64(mark) * UInt64(table.count)) >> 32)
        while table[place] != 0, table[place] != mark { place = (place + 1) & (table.count - 1) }
        return place
    }

    private static func mark(_ hash: UInt64) -> UInt32 { max(1, UInt32(truncatingIfNeeded: hash >> 32)) }
}

extension KeyRange {
    fileprivate func overlaps(_ other: KeyRange) -> Bool {
        lower.lexicographicallyPrecedes(other.upper) && other.lower.lexicographicallyPrecedes(upper)
    }
}
