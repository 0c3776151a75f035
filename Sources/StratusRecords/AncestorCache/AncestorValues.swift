// The values that the ancestor cache stores and returns.

package import StratusModel

/// A zone, by the numbers that its keys begin with. A zone that is created again has a new number.
package struct CacheZone: Hashable, Sendable {
    package let database: UInt64
    package let zone: UInt64
}

/// A record's place in the hierarchy, as its parent entry stores it, and since which feed counters.
package struct HierarchyNode: Hashable, Sendable {
    /// The record's parent, or nil at the top.
    package var parent: RecordName?
    /// The feed counter at which the record was placed under that parent.
    package var parentSince: UInt64
    /// The share record whose hierarchical root is this record, or nil. It is in the same zone.
    package var share: RecordName?
    /// The feed counter at which the share mark was set.
    package var shareSince: UInt64 = 0
    /// Whether any record names this one as its parent.
    package var hasChildren = false
}

/// The new parent entry of one record in a commit. The node is nil if the record was deleted.
package struct HierarchyChange: Hashable, Sendable {
    package var zone: CacheZone
    package var name: RecordName
    package var node: HierarchyNode?
}

/// The nearest share root at or above a record, as far as the cache knows. `levels` counts steps from child to parent.
package enum AncestorShareAnswer: Hashable, Sendable {
    case found(root: RecordName, share: RecordName, levels: Int)
    /// The top was reached, and no record on the way is a share root.
    case none(levels: Int)
    /// Continue in the store at `at`. No record below it on the way is a share root.
    case unknown(at: RecordName, levels: Int)
}

/// Counters of an ancestor cache since it was created, and its present size.
package struct AncestorCacheStatistics: Hashable, Sendable {
    /// Look-ups answered without the store.
    package var hits = 0
    /// Look-ups that ended at a record the cache did not know.
    package var misses = 0
    /// Records that have a value in the cache.
    package var entryCount = 0
    /// Bytes the cache has allocated. It never frees any and never exceeds its capacity.
    package var byteCount = 0
    /// All slots that were examined to make room.
    package var evictionStepCount = 0
}
