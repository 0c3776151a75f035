// What the ancestor cache says about one record, and the words its callers use. Plain values.

package import StratusModel

/// The zone a cached record lies in, by the numbers its keys begin with. A re-created zone has a new number.
package struct CacheZone: Hashable, Sendable {
    package let database: UInt64
    package let zone: UInt64
}

/// What a record's parent entry says: where it hangs in the hierarchy, and since which feed counters.
package struct HierarchyNode: Hashable, Sendable {
    /// The record's parent, or nil at the top.
    package var parent: RecordName?
    /// The feed counter at which the record came under that parent.
    package var parentSince: UInt64
    /// The share record of which this record is the hierarchical root, or nil. It lies in the same zone.
    package var share: RecordName?
    /// The feed counter at which the share mark was made.
    package var shareSince: UInt64 = 0
    /// Whether any record names this one as its parent.
    package var hasChildren = false
}

/// What a commit made of one record's parent entry; a nil node says that the record is gone.
package struct HierarchyChange: Hashable, Sendable {
    package var zone: CacheZone
    package var name: RecordName
    package var node: HierarchyNode?
}

/// What the visitor of an upward walk wants next.
package enum AncestorWalkStep: Sendable {
    case next
    case stop
}

/// Where an upward walk ended.
package enum AncestorWalkEnd: Hashable, Sendable {
    /// The last visited record has no parent.
    case top
    /// The visitor asked to stop.
    case stopped
    /// The cache does not know this record at this version, or the limit was reached: go on in the store from here.
    case unknown(at: RecordName)
}

/// The nearest share root at or above a record, as far as the cache knows. `levels` counts steps from child to parent.
package enum AncestorShareAnswer: Hashable, Sendable {
    case found(root: RecordName, share: RecordName, levels: Int)
    /// The top was reached, and no record on the way is a share root.
    case none(levels: Int)
    /// Go on in the store from `at`; no record below it on the way is a share root.
    case unknown(at: RecordName, levels: Int)
}

/// Counters of an ancestor cache since it was made, and its present size.
package struct AncestorCacheStatistics: Hashable, Sendable {
    /// Questions answered without the store.
    package var hits = 0
    /// Questions that ended at a record the cache did not know.
    package var misses = 0
    /// Records the cache knows something about.
    package var entryCount = 0
    /// Bytes the cache has taken; it never gives any back and never takes more than its capacity.
    package var byteCount = 0
    /// Places that were looked at to make room, ever.
    package var evictionStepCount = 0
}
