// Values in memory that are exact for every reader's snapshot, beside a store that others write to.
//
// The rule: an entry carries the version since which it holds; a reader uses it only if its snapshot is not older, and
// fills only where nothing newer has been published. A change enters when it is published, before any reader can see its
// version, so an entry that is there is always the newest published value.
//
// Inside a transaction the version does not cover commits in flight: the cache is asked only for keys of which
// `hasUnpublishedWrite` is false.

import Synchronization

/// Remembers what was read from a store.
package final class PublishedCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct Entry: Sendable {
        let value: Value
        let validSince: StoreVersion
    }

    private struct State {
        var entries: RecentEntries<Key, Entry>
        var lastPublished: StoreVersion = 0
    }

    private let state: Locked<State>

    /// Remembers at most so many values; what nobody asks for goes first.
    package init(maximumCount: Int) { state = Locked(State(entries: RecentEntries(room: maximumCount))) }

    /// The value as a snapshot of this version sees it, when it is known.
    package func value(for key: Key, at version: StoreVersion) -> Value? {
        state.withLock { state in
            guard let found = state.entries.find(key), found.validSince <= version else { return nil }
            return found.value
        }
    }

    /// The value as it has been published last, when it is known.
    package func newest(for key: Key) -> Value? { state.withLock { $0.entries.find(key)?.value } }

    /// Remembers what a snapshot of this version has read.
    package func fill(_ key: Key, _ value: Value, at version: StoreVersion) {
        state.withLock { state in
            guard state.lastPublished <= version, state.entries.find(key) == nil else { return }
            state.entries.insert(key, Entry(value: value, validSince: version))
        }
    }

    /// Takes over a change that becomes visible with `version`; nil forgets the key.
    package func publish(_ key: Key, _ value: Value?, version: StoreVersion) {
        state.withLock { state in
            state.lastPublished = max(state.lastPublished, version)
            if let value {
                state.entries.insert(key, Entry(value: value, validSince: version))
            } else {
                state.entries.remove(key)
            }
        }
    }
}

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

// A value behind a lock, as every shared mutable value above the engine is kept.

/// A value that threads share under a mutex.
package final class Locked<Value>: Sendable {
    private let mutex: Mutex<Value>
    /// Hands over from one holder to the next what the mutex hands over already, but in code that the thread sanitizer
    /// sees: on Linux it does not see into `Mutex`, and would call every use of it a race.
    private let handover = Atomic<UInt8>(0)

    package init(_ value: sending Value) {
        mutex = Mutex(value)
    }

    package func withLock<Result>(
        _ body: (inout sending Value) throws -> sending Result
    ) rethrows -> sending Result {
        try mutex.withLock { value in
            _ = handover.load(ordering: .acquiring)
            defer { handover.store(0, ordering: .releasing) }
            return try body(&value)
        }
    }
}

extension Locked where Value: Sendable {
    package var value: Value { withLock { $0 } }
}
