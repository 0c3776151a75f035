// The values that the ancestor cache stores and returns.

package import StratusLayout
package import StratusModel

/// A zone, by the numbers that its keys begin with. A zone that is created again has a new number.
package struct CacheZone: Hashable, Sendable {
    package let database: UInt64
    package let zone: UInt64
}

/// The new parent entry of one record in a commit. The node is nil if the record was deleted.
package struct HierarchyChange: Hashable, Sendable {
    package var zone: CacheZone
    package var name: RecordName
    package var node: ParentEntry?
}

/// The hierarchical share a record is in.
package struct ShareMembership: Hashable, Sendable {
    /// The share root: the record itself or the only ancestor that is one.
    package var root: RecordName
    /// The root's share.
    package var share: RecordName
}

/// The nearest share root at or above a record, as far as the cache knows. `levels` counts steps from child to parent.
package enum AncestorShareAnswer: Hashable, Sendable {
    case found(ShareMembership, levels: Int)
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
