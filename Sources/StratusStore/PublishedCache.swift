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
