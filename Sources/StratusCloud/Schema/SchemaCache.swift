// Record types in memory. The rule is that of all caches here: an entry carries the version since which it holds, a
// reader uses it only if its snapshot is not older, and fills only where nothing newer has been published.
//
// Inside a transaction the version does not cover commits in flight: the cache is asked only for a type of which
// `hasUnpublishedWrite` is false.

import StratusModel
import StratusStore

/// Remembers the record types of containers.
package final class SchemaCache: Sendable {
    struct Key: Hashable, Sendable {
        let container: ContainerName
        let type: RecordType
    }

    private struct State {
        var types: [Key: (schema: RecordTypeSchema, validSince: StoreVersion)] = [:]
        var lastPublished: StoreVersion = 0
    }

    /// Beyond this many types the cache starts anew.
    private static let maximumCount = 10_000
    private let state = Locked(State())

    func schema(of key: Key, at version: StoreVersion) -> RecordTypeSchema? {
        state.withLock { state in
            guard let found = state.types[key], found.validSince <= version else { return nil }
            return found.schema
        }
    }

    func fill(_ key: Key, _ schema: RecordTypeSchema, at version: StoreVersion) {
        state.withLock { state in
            guard state.lastPublished <= version, state.types[key] == nil else { return }
            if state.types.count >= Self.maximumCount { state.types.removeAll() }
            state.types[key] = (schema, version)
        }
    }

    /// Takes over a change that becomes visible with `version`; nil when the type is gone.
    func publish(_ key: Key, _ schema: RecordTypeSchema?, version: StoreVersion) {
        state.withLock { state in
            state.types[key] = schema.map { ($0, version) }
            state.lastPublished = max(state.lastPublished, version)
        }
    }
}
