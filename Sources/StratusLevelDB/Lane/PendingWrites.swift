// The writes of one group: keys in order, newest entry wins, undo to a mark.
//
// Invariants:
//   1. Keys and values are in arena blocks that never move, so bytes that a look-up returns stay valid while a body
//      writes.
//   2. `entries` is the history in the order of writing. An entry knows the one it replaced.
//   3. `chunks` hold the newest entry of each key, sorted by key, at most `chunkCapacity` in each and at least one:
//      small sorted arrays, searched by two binary searches, with short moves on insertion. Each slot also has the
//      key's first bytes, which decide nearly every comparison without reading the arena.
//   4. Undoing entries from the end restores exactly the state at the mark.
//
// Unsafe: the arena and the chunks are owned by this value and freed once, in `deinit`; positions are checked against
// the counts they index. This is the hot path of every commit (five entries a record), so memory is managed by hand.

internal import Glibc

/// One write of the history.
@unsafe struct PendingEntry {
    /// The key's first byte; the value follows the key.
    let base: UnsafePointer<UInt8>
    let keyCount: UInt32
    /// `PendingEntry.deletion` for a deleted key.
    let valueCountOrDeletion: UInt32
    /// The entry of the same key that this one replaced, or `PendingEntry.none`.
    let replaced: UInt32

    static let deletion = UInt32.max
    static let none = UInt32.max

    var key: EngineBytes { unsafe EngineBytes(base, count: Int(keyCount)) }
    /// Nil for a deletion.
    var value: EngineBytes? {
        guard unsafe valueCountOrDeletion != Self.deletion else { return nil }
        return unsafe EngineBytes(base + Int(keyCount), count: Int(valueCountOrDeletion))
    }
}

/// The state before a body writes.
struct PendingMark {
    let entryCount: Int
    fileprivate let block: Int
    fileprivate let blockUsed: Int
}

/// A key's position in the order, valid until the next `undo` or the next `set` or `delete` of a new key.
struct PendingPosition: Equatable {
    fileprivate(set) var chunk: Int
    fileprivate(set) var slot: Int
}

/// An ordered, undoable map of bytes to bytes or deletions.
@safe struct PendingWrites: ~Copyable {
    private static let chunkCapacity = 256
    private static let blockByteCount = 256 << 10

    @safe private struct Block {
        let start: UnsafeMutablePointer<UInt8>
        let capacity: Int
    }

    @safe private struct Chunk {
        let slots: UnsafeMutablePointer<PendingSlot>
        var count: Int
    }

    private var blocks: [Block] = []
    private var block = 0
    private var blockUsed = 0
    private var entries: [PendingEntry] = unsafe []
    private var chunks: [Chunk] = []
    private var spareChunks: [UnsafeMutablePointer<PendingSlot>] = unsafe []

    /// Bytes of all keys and values written, replaced ones included.
    private(set) var byteCount = 0
    /// Incremented whenever positions become invalid.
    private(set) var structureVersion = 0

    init() {}

    deinit {
        for block in blocks { unsafe block.start.deallocate() }
        for chunk in chunks { unsafe chunk.slots.deallocate() }
        for index in unsafe spareChunks.indices { unsafe spareChunks[index].deallocate() }
    }

    var isEmpty: Bool { unsafe entries.isEmpty }
    /// The number of writes in the history. A scan ignores entries numbered from here on.
    var entryCount: Int { unsafe entries.count }

    var mark: PendingMark {
        PendingMark(entryCount: entryCount, block: block, blockUsed: blockUsed)
    }

    /// Removes everything, and keeps some memory for the next group.
    mutating func clear() {
        unsafe entries.removeAll(keepingCapacity: true)
        for chunk in chunks { unsafe spareChunks.append(chunk.slots) }
        chunks.removeAll(keepingCapacity: true)
        while blocks.count > 16, let last = blocks.popLast() { unsafe last.start.deallocate() }
        while unsafe spareChunks.count > 256, let last = unsafe spareChunks.popLast() { unsafe last.deallocate() }
        block = 0
        blockUsed = 0
        byteCount = 0
        structureVersion &+= 1
    }

    // MARK: Writing

    mutating func set(_ key: Span<UInt8>, to value: Span<UInt8>) {
        unsafe key.withUnsafeBufferPointer { keyBuffer in
            unsafe value.withUnsafeBufferPointer { valueBuffer in
                unsafe append(
                    EngineBytes(keyBuffer), EngineBytes(valueBuffer), valueCountOrDeletion: UInt32(valueBuffer.count))
            }
        }
    }

    mutating func delete(_ key: [UInt8]) {
        unsafe key.withEngineBytes { keyBytes in
            unsafe append(
                keyBytes, EngineBytes(keyBytes.base, count: 0), valueCountOrDeletion: PendingEntry.deletion)
        }
    }

    /// Undoes every write since `mark`, newest first.
    mutating func undo(to mark: PendingMark) {
        while entryCount > mark.entryCount, let entry = unsafe entries.last {
            unsafe byteCount -= Int(entry.keyCount)
            if let value = unsafe entry.value { unsafe byteCount -= value.count }
            let (position, isFound) = unsafe find(entry.key)
            precondition(isFound, "A pending write lost its place.")
            if unsafe entry.replaced != PendingEntry.none {
                unsafe chunks[position.chunk].slots[position.slot].number = unsafe entry.replaced
            } else {
                removeSlot(position)
            }
            unsafe entries.removeLast()
        }
        block = mark.block
        blockUsed = mark.blockUsed
        structureVersion &+= 1
    }

    private mutating func append(_ key: EngineBytes, _ value: EngineBytes, valueCountOrDeletion: UInt32) {
        let beginning = unsafe KeyBeginning(key)
        let (position, isFound) = unsafe find(key, beginning)
        let start = unsafe allocate(key.count + value.count)
        unsafe memcpy(start, key.base, key.count)
        unsafe memcpy(start + key.count, value.base, value.count)
        unsafe byteCount += key.count + value.count
        let number = UInt32(entryCount)
        let replaced = unsafe isFound ? chunks[position.chunk].slots[position.slot].number : PendingEntry.none
        unsafe entries.append(
            PendingEntry(
                base: UnsafePointer(start), keyCount: UInt32(key.count), valueCountOrDeletion: valueCountOrDeletion,
                replaced: replaced))
        if isFound {
            unsafe chunks[position.chunk].slots[position.slot].number = number
        } else {
            insertSlot(PendingSlot(beginning: beginning, number: number), at: position)
            structureVersion &+= 1
        }
    }

    private mutating func allocate(_ count: Int) -> UnsafeMutablePointer<UInt8> {
        while block < blocks.count {
            if blockUsed + count <= blocks[block].capacity {
                defer { blockUsed += count }
                return unsafe blocks[block].start + blockUsed
            }
            block += 1
            blockUsed = 0
        }
        let capacity = max(Self.blockByteCount, count)
        unsafe blocks.append(Block(start: .allocate(capacity: capacity), capacity: capacity))
        blockUsed = count
        return unsafe blocks[block].start
    }

    // MARK: Order

    private mutating func insertSlot(_ slot: PendingSlot, at position: PendingPosition) {
        guard position.chunk < chunks.count else {
            let slots = unsafe makeSlots()
            unsafe slots[0] = slot
            unsafe chunks.append(Chunk(slots: slots, count: 1))
            return
        }
        var position = position
        if chunks[position.chunk].count == Self.chunkCapacity {
            position = split(at: position)
        }
        let chunk = chunks[position.chunk]
        let place = unsafe chunk.slots + position.slot
        unsafe (place + 1).update(from: place, count: chunk.count - position.slot)
        unsafe place.pointee = slot
        chunks[position.chunk].count += 1
    }

    /// Splits a full chunk and returns the new place of `position`. When keys are appended in order, the chunk keeps
    /// most of its entries, so that rising keys leave full chunks behind.
    private mutating func split(at position: PendingPosition) -> PendingPosition {
        let full = chunks[position.chunk]
        let isLast = position.chunk == chunks.count - 1
        let isAtEnd = isLast && position.slot == Self.chunkCapacity
        let kept = isAtEnd ? Self.chunkCapacity - 1 : Self.chunkCapacity / 2
        let slots = unsafe makeSlots()
        unsafe slots.update(from: full.slots + kept, count: Self.chunkCapacity - kept)
        chunks[position.chunk].count = kept
        unsafe chunks.insert(Chunk(slots: slots, count: Self.chunkCapacity - kept), at: position.chunk + 1)
        return position.slot > kept
            ? PendingPosition(chunk: position.chunk + 1, slot: position.slot - kept) : position
    }

    private mutating func removeSlot(_ position: PendingPosition) {
        let chunk = chunks[position.chunk]
        let place = unsafe chunk.slots + position.slot
        unsafe place.update(from: place + 1, count: chunk.count - position.slot - 1)
        chunks[position.chunk].count -= 1
        if chunks[position.chunk].count == 0 {
            unsafe spareChunks.append(chunk.slots)
            chunks.remove(at: position.chunk)
        }
    }

    private mutating func makeSlots() -> UnsafeMutablePointer<PendingSlot> {
        unsafe spareChunks.popLast() ?? .allocate(capacity: Self.chunkCapacity)
    }

    /// The position of `key`, or the position to insert it, possibly behind the last slot of a chunk.
    private func find(_ key: EngineBytes) -> (position: PendingPosition, isFound: Bool) {
        unsafe find(key, KeyBeginning(key))
    }

    private func find(_ key: EngineBytes, _ beginning: KeyBeginning) -> (position: PendingPosition, isFound: Bool) {
        guard !chunks.isEmpty else { return (PendingPosition(chunk: 0, slot: 0), false) }
        // The last chunk whose first key is not above `key`, else the first chunk.
        var low = 0
        var high = chunks.count
        while high - low > 1 {
            let middle = (low + high) / 2
            let order = unsafe compare(chunks[middle].slots[0], key, beginning)
            if order == 0 { return (PendingPosition(chunk: middle, slot: 0), true) }
            if order < 0 { low = middle } else { high = middle }
        }
        let chunk = chunks[low]
        var lower = 0
        var upper = chunk.count
        while lower < upper {
            let middle = (lower + upper) / 2
            let order = unsafe compare(chunk.slots[middle], key, beginning)
            if order == 0 { return (PendingPosition(chunk: low, slot: middle), true) }
            if order < 0 { lower = middle + 1 } else { upper = middle }
        }
        return (PendingPosition(chunk: low, slot: lower), false)
    }

    /// Negative, zero or positive as the slot's key sorts before, with or after `key`.
    @inline(__always)
    private func compare(_ slot: PendingSlot, _ key: EngineBytes, _ beginning: KeyBeginning) -> Int {
        guard slot.beginning == beginning else { return slot.beginning.precedes(beginning) ? -1 : 1 }
        return unsafe entries[Int(slot.number)].key.compare(key)
    }

    // MARK: Reading

    /// The newest entry of `key`, deletions included.
    func entry(forKey key: EngineBytes) -> PendingEntry? {
        guard unsafe !entries.isEmpty else { return nil }
        let (position, isFound) = unsafe find(key)
        return unsafe isFound ? entries[Int(chunks[position.chunk].slots[position.slot].number)] : nil
    }

    /// Whether there is an entry of any key of a range, deletions included.
    func holdsEntry(from lower: EngineBytes, upTo upper: EngineBytes) -> Bool {
        guard let position = unsafe position(atOrAfter: lower), let entry = unsafe entry(at: position, before: .max)
        else { return false }
        return unsafe entry.key.compare(upper) < 0
    }

    /// The entry at a position as it was when the history had `entryCount` writes, or nil if its key did not exist
    /// then.
    func entry(at position: PendingPosition, before entryCount: Int) -> PendingEntry? {
        var number = unsafe chunks[position.chunk].slots[position.slot].number
        while Int(number) >= entryCount {
            number = unsafe entries[Int(number)].replaced
            if unsafe number == PendingEntry.none { return nil }
        }
        return unsafe entries[Int(number)]
    }

    /// The first key that is not below `key`.
    func position(atOrAfter key: EngineBytes) -> PendingPosition? {
        guard !chunks.isEmpty else { return nil }
        let position = unsafe find(key).position
        if position.slot < chunks[position.chunk].count { return position }
        return position.chunk + 1 < chunks.count ? PendingPosition(chunk: position.chunk + 1, slot: 0) : nil
    }

    /// The last key below `key`.
    func position(before key: EngineBytes) -> PendingPosition? {
        guard !chunks.isEmpty else { return nil }
        return unsafe self.position(before: find(key).position)
    }

    func position(after position: PendingPosition) -> PendingPosition? {
        if position.slot + 1 < chunks[position.chunk].count {
            return PendingPosition(chunk: position.chunk, slot: position.slot + 1)
        }
        return position.chunk + 1 < chunks.count ? PendingPosition(chunk: position.chunk + 1, slot: 0) : nil
    }

    func position(before position: PendingPosition) -> PendingPosition? {
        if position.slot > 0 { return PendingPosition(chunk: position.chunk, slot: position.slot - 1) }
        guard position.chunk > 0 else { return nil }
        return PendingPosition(chunk: position.chunk - 1, slot: chunks[position.chunk - 1].count - 1)
    }

    /// Visits every key that was set since a mark, in the order of writing.
    func forEachSetKey(since mark: PendingMark, _ body: (EngineBytes) -> Void) {
        for number in mark.entryCount..<entryCount where unsafe entries[number].value != nil {
            unsafe body(entries[number].key)
        }
    }

    /// Visits the newest entry of every key, in order.
    func forEachNewest(_ body: (PendingEntry) -> Void) {
        for chunk in chunks {
            for slot in 0..<chunk.count {
                unsafe body(entries[Int(chunk.slots[slot].number)])
            }
        }
    }
}

extension EngineWriteBatch {
    /// Replaces the batch with the newest entry of every key, in order.
    mutating func fill(with writes: borrowing PendingWrites) {
        clear()
        unsafe writes.forEachNewest { entry in
            if let value = unsafe entry.value {
                unsafe put(entry.key, value)
            } else {
                unsafe delete(entry.key)
            }
        }
    }
}

// A key's bytes are read only while they are valid, and never more than it has.

/// The newest entry of a key, in the order of keys.
struct PendingSlot {
    var beginning: KeyBeginning
    /// Its number in the history.
    var number: UInt32
}

/// The first 16 bytes of a key as numbers that sort like them: zone, keyspace, and a part of a name. Shorter keys are
/// padded with zeros, so equal beginnings do not mean equal keys.
struct KeyBeginning: Equatable {
    let high: UInt64
    let low: UInt64

    /// The beginning of the empty key.
    static let zero = KeyBeginning(high: 0, low: 0)

    private init(high: UInt64, low: UInt64) { (self.high, self.low) = (high, low) }

    @inline(__always)
    init(_ key: EngineBytes) {
        guard unsafe key.count >= 16 else {
            var numbers: (UInt64, UInt64) = (0, 0)
            unsafe withUnsafeMutableBytes(of: &numbers) { room in
                for index in unsafe 0..<key.count { unsafe room[index] = unsafe key.base[index] }
            }
            (high, low) = (numbers.0.bigEndian, numbers.1.bigEndian)
            return
        }
        let bytes = unsafe UnsafeRawPointer(key.base)
        high = unsafe bytes.loadUnaligned(as: UInt64.self).bigEndian
        low = unsafe bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self).bigEndian
    }

    @inline(__always)
    func precedes(_ other: KeyBeginning) -> Bool { high != other.high ? high < other.high : low < other.low }
}
