// Entries that were asked for lately, in a bounded room.
//
// They lie in two generations. When the young one has taken half of the room it becomes the old one, and what nobody asked
// for meanwhile goes: an entry is kept until half of the room has been asked for besides it. So there is no list of ages to
// keep, and what is asked for all the time never goes.

/// A dictionary that forgets what nobody asks for. The room is in whatever unit its owner counts: entries, or bytes.
package struct RecentEntries<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct Entry: Sendable {
        let value: Value
        let size: Int
    }

    private let generationSize: Int
    private var young: [Key: Entry] = [:]
    private var old: [Key: Entry] = [:]
    private var youngSize = 0

    package init(room: Int) { generationSize = room / 2 }

    package var count: Int { young.count + old.count }

    package mutating func find(_ key: Key) -> Value? {
        if let entry = young[key] { return entry.value }
        guard let entry = old.removeValue(forKey: key) else { return nil }
        insert(key, entry)
        return entry.value
    }

    /// Keeps what takes so much room, in the place of what the key had; nothing that is more than half of the room.
    package mutating func insert(_ key: Key, _ value: Value, size: Int = 1) {
        remove(key)
        guard size <= generationSize else { return }
        insert(key, Entry(value: value, size: size))
    }

    package mutating func remove(_ key: Key) {
        old[key] = nil
        if let entry = young.removeValue(forKey: key) { youngSize -= entry.size }
    }

    private mutating func insert(_ key: Key, _ entry: Entry) {
        if youngSize + entry.size > generationSize {
            old = young
            young = [:]
            youngSize = 0
        }
        young[key] = entry
        youngSize += entry.size
    }
}
