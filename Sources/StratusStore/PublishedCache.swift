// Values in memory that are exact for every reader's snapshot, beside a store that others write to.
//
// The rule: an entry carries the version since which it holds; a reader uses it only if its snapshot is not older, and
// fills only where nothing newer has been published. A change enters when it is published, before any reader can see its
// version, so an entry that is there is always the newest published value.
//
// Inside a transaction the version does not cover commits in flight: the cache is asked only for keys of which
// `hasUnpublishedWrite` is false.

/// Remembers what was read from a store.
package final class PublishedCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct State {
        var entries: [Key: (value: Value, validSince: StoreVersion)] = [:]
        var lastPublished: StoreVersion = 0
    }

    /// With one entry more than these the cache starts anew.
    private let maximumCount: Int
    private let state = Locked(State())

    package init(maximumCount: Int) { self.maximumCount = maximumCount }

    /// The value as a snapshot of this version sees it, when it is known.
    package func value(for key: Key, at version: StoreVersion) -> Value? {
        state.withLock { state in
            guard let found = state.entries[key], found.validSince <= version else { return nil }
            return found.value
        }
    }

    /// The value as it has been published last, when it is known.
    package func newest(for key: Key) -> Value? { state.withLock { $0.entries[key]?.value } }

    /// Remembers what a snapshot of this version has read.
    package func fill(_ key: Key, _ value: Value, at version: StoreVersion) {
        state.withLock { state in
            guard state.lastPublished <= version, state.entries[key] == nil else { return }
            insert(key, value, version, &state)
        }
    }

    /// Takes over a change that becomes visible with `version`; nil forgets the key.
    package func publish(_ key: Key, _ value: Value?, version: StoreVersion) {
        state.withLock { state in
            state.lastPublished = max(state.lastPublished, version)
            state.entries[key] = nil
            if let value { insert(key, value, version, &state) }
        }
    }

    private func insert(_ key: Key, _ value: Value, _ version: StoreVersion, _ state: inout State) {
        if state.entries.count >= maximumCount { state.entries.removeAll() }
        state.entries[key] = (value, version)
    }
}
