// A cache that is exact for every reader's snapshot, in front of a store with concurrent writers, and what it is made
// of: a bounded dictionary and a lock.
//
// The rule: an entry has the version since which it is valid. A reader uses it only if its snapshot is not older, and
// fills the cache only if nothing newer was published. A change enters when it is published, before any reader can see
// its version, so an entry is always the newest published value.
//
// Inside a transaction the version does not cover commits in flight: ask the cache only for keys whose
// `hasUnpublishedWrite` is false.
//
// Where other processes write to the store, nothing announces their changes, so no version says what is still valid.
// There the same caches only guess (`CacheRole`).
//
// What is generic here is public and inlinable, so that other modules compile it for their own types. The compiler does
// this for no other access level; without it every call looks up the types at run time. It is no interface for users.

public import Synchronization

/// What a cache in front of a store may do.
///
/// A guess may choose what to read together, and may let a request go on to its transaction. It never refuses, is never
/// an answer and is never written.
public enum CacheRole: Sendable {
    /// Answers reads. For stores that only this process writes.
    case answers
    /// Never answers. It only guesses which entries a request will read.
    case guesses
}

extension OrderedStore {
    /// What caches in front of this store may do.
    package var cacheRole: CacheRole { isShared ? .guesses : .answers }
}

/// Remembers values that were read from a store.
public final class PublishedCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    @usableFromInline struct Entry: Sendable {
        @usableFromInline let value: Value
        @usableFromInline let validSince: StoreVersion

        @inlinable init(value: Value, validSince: StoreVersion) {
            self.value = value
            self.validSince = validSince
        }
    }

    @usableFromInline struct State {
        @usableFromInline var entries: RecentEntries<Key, Entry>
        @usableFromInline var lastPublished: StoreVersion = 0

        @inlinable init(room: Int) { entries = RecentEntries(room: room) }
    }

    @usableFromInline let state: Locked<State>
    /// Whether it answers or only guesses.
    public let role: CacheRole

    /// Remembers at most `maximumCount` values, and drops the least recently used ones.
    @inlinable public init(maximumCount: Int, role: CacheRole = .answers) {
        self.role = role
        state = Locked(State(room: maximumCount))
    }

    /// The value that a snapshot of this version sees; nil if it is not known, or if the cache only guesses.
    @inlinable public func value(for key: Key, at version: StoreVersion) -> Value? {
        guard role == .answers else { return nil }
        return state.withLock { state in
            guard let found = state.entries.find(key), found.validSince <= version else { return nil }
            return found.value
        }
    }

    /// The value that was published last; nil if it is not known, or if the cache only guesses.
    @inlinable public func newest(for key: Key) -> Value? { role == .answers ? remembered(key) : nil }

    /// The value that was read or published last, if the cache guesses: it may be an old one. Nil if the cache answers,
    /// so that the two cannot be confused.
    @inlinable public func guess(for key: Key) -> Value? { role == .guesses ? remembered(key) : nil }

    @inlinable func remembered(_ key: Key) -> Value? { state.withLock { $0.entries.find(key)?.value } }

    /// Remembers a value that a snapshot of this version has read. A guess replaces the one before.
    @inlinable public func fill(_ key: Key, _ value: Value, at version: StoreVersion) {
        state.withLock { state in
            let mayReplace = role == .guesses
            guard mayReplace || state.lastPublished <= version && state.entries.find(key) == nil else { return }
            state.entries.insert(key, Entry(value: value, validSince: version))
        }
    }

    /// Applies a change that becomes visible with `version`. Nil removes the key.
    @inlinable public func publish(_ key: Key, _ value: Value?, version: StoreVersion) {
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

/// A dictionary of bounded size that drops entries nothing looks up. The unit of `room` is the owner's: entries, or
/// bytes.
///
/// Entries are in two generations. When the young one fills half of the room, it becomes the old one, and the entries
/// of the previous old one that were not looked up are dropped. So no list of ages is needed, and an entry that is
/// looked up often stays.
public struct RecentEntries<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    @usableFromInline struct Entry: Sendable {
        @usableFromInline let value: Value
        @usableFromInline let size: Int

        @inlinable init(value: Value, size: Int) {
            self.value = value
            self.size = size
        }
    }

    @usableFromInline let generationSize: Int
    @usableFromInline var young: [Key: Entry] = [:]
    @usableFromInline var old: [Key: Entry] = [:]
    @usableFromInline var youngSize = 0

    /// Keeps entries of this total size at most.
    @inlinable public init(room: Int) { generationSize = room / 2 }

    /// The number of entries.
    @inlinable public var count: Int { young.count + old.count }

    /// The value of a key, which then counts as used.
    @inlinable public mutating func find(_ key: Key) -> Value? {
        if let entry = young[key] { return entry.value }
        guard let entry = old.removeValue(forKey: key) else { return nil }
        insert(key, entry)
        return entry.value
    }

    /// Sets the value of a key. A value larger than half of the room is not kept.
    @inlinable public mutating func insert(_ key: Key, _ value: Value, size: Int = 1) {
        remove(key)
        guard size <= generationSize else { return }
        insert(key, Entry(value: value, size: size))
    }

    /// Removes a key, if it is there.
    @inlinable public mutating func remove(_ key: Key) {
        old[key] = nil
        if let entry = young.removeValue(forKey: key) { youngSize -= entry.size }
    }

    @inlinable mutating func insert(_ key: Key, _ entry: Entry) {
        if youngSize + entry.size > generationSize {
            old = young
            young = [:]
            youngSize = 0
        }
        young[key] = entry
        youngSize += entry.size
    }
}

/// A value that threads share under a mutex.
public final class Locked<Value>: Sendable {
    @usableFromInline let mutex: Mutex<Value>
    /// Repeats the mutex's ordering of memory in code that the thread sanitizer sees. On Linux it does not see into
    /// `Mutex`, and would report every use as a race.
    @usableFromInline let handover: Atomic<UInt8> = Atomic(0)

    /// Protects a value.
    @inlinable public init(_ value: sending Value) {
        mutex = Mutex(value)
    }

    /// Runs `body` with the value, while no other thread has it.
    @inlinable public func withLock<Result>(
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
    /// A copy of the value.
    @inlinable public var value: Value { withLock { $0 } }
}
