// Record types in memory.

import StratusModel
import StratusStore

/// A record type of a container.
struct SchemaCacheKey: Hashable, Sendable {
    let container: ContainerName
    let type: RecordType
}

/// Remembers the record types of containers.
typealias SchemaCache = PublishedCache<SchemaCacheKey, RecordTypeSchema>
