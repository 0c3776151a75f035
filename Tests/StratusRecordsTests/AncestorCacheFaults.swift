// Ancestor caches with one planted fault each, to show that the checker of the histories can fail.

import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import Synchronization

/// A cache in which one step can be replaced.
protocol FaultyAncestorCache: AncestorAnswering {
    var cache: AncestorCache { get }
}

extension FaultyAncestorCache {
    func node(zone: CacheZone, name: RecordName, at version: StoreVersion) -> ParentEntry? {
        cache.node(zone: zone, name: name, at: version)
    }

    func nearestShareRoot(
        zone: CacheZone, of name: RecordName, at version: StoreVersion, limit: Int
    ) -> AncestorShareAnswer {
        cache.nearestShareRoot(zone: zone, of: name, at: version, limit: limit)
    }

    func fill(zone: CacheZone, name: RecordName, node: ParentEntry, at version: StoreVersion) {
        cache.fill(zone: zone, name: name, node: node, at: version)
    }

    func publish(_ changes: [HierarchyChange], version: StoreVersion) { cache.publish(changes, version: version) }

    func forget(zone: CacheZone, version: StoreVersion) { cache.forget(zone: zone, version: version) }

    var statistics: AncestorCacheStatistics { cache.statistics }
}

/// Enters a value of an old reader as if it were read now.
final class FillIgnoresPublications: FaultyAncestorCache {
    // Small, so that values are evicted and filled again.
    let cache = AncestorCache(capacityByteCount: 5_000)
    private let newest = Atomic<StoreVersion>(0)

    func fill(zone: CacheZone, name: RecordName, node: ParentEntry, at version: StoreVersion) {
        cache.fill(zone: zone, name: name, node: node, at: newest.load(ordering: .relaxed))
    }

    func publish(_ changes: [HierarchyChange], version: StoreVersion) {
        newest.store(version, ordering: .relaxed)
        cache.publish(changes, version: version)
    }
}

/// Publishes values as if they had always held.
final class PublicationReachesBack: FaultyAncestorCache {
    let cache = AncestorCache(capacityByteCount: 1_000_000)

    func publish(_ changes: [HierarchyChange], version: StoreVersion) { cache.publish(changes, version: 0) }
}

/// Continues to answer for deleted zones.
final class ZonesAreNotForgotten: FaultyAncestorCache {
    let cache = AncestorCache(capacityByteCount: 1_000_000)

    func forget(zone: CacheZone, version: StoreVersion) {}
}
