// What was read from ranges of a store and asked for lately, up to a number of bytes.
//
// Entries lie in two generations. When the young one has taken half of what there is room for it becomes the old one, and
// what nobody asked for meanwhile goes: an entry is kept until half of the room has been asked for besides it.

import StratusStore

/// What was read from a range of the store.
struct RangeReading<Value: Sendable>: Sendable {
    var value: Value
    let range: KeyRange
    /// The version since which it holds.
    var validSince: StoreVersion
}

struct RecentReadings<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    typealias Reading = RangeReading<Value>

    private struct Entry: Sendable {
        let reading: Reading
        let byteCount: Int
    }

    private let generationByteCount: Int
    private var young: [Key: Entry] = [:]
    private var old: [Key: Entry] = [:]
    private var youngByteCount = 0

    init(byteCount: Int) { generationByteCount = byteCount / 2 }

    var count: Int { young.count + old.count }

    mutating func find(_ key: Key) -> Reading? {
        if let entry = young[key] { return entry.reading }
        guard let entry = old.removeValue(forKey: key) else { return nil }
        insert(key, entry)
        return entry.reading
    }

    /// Keeps what takes so many bytes; nothing that is more than half of the room.
    mutating func insert(_ key: Key, _ reading: Reading, byteCount: Int) {
        remove(key)
        guard byteCount <= generationByteCount else { return }
        insert(key, Entry(reading: reading, byteCount: byteCount))
    }

    mutating func remove(_ key: Key) {
        old[key] = nil
        if let entry = young.removeValue(forKey: key) { youngByteCount -= entry.byteCount }
    }

    private mutating func insert(_ key: Key, _ entry: Entry) {
        if youngByteCount + entry.byteCount > generationByteCount {
            old = young
            young = [:]
            youngByteCount = 0
        }
        young[key] = entry
        youngByteCount += entry.byteCount
    }
}
