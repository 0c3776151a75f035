// The mark of a zone whose indexes are being rebuilt: an entry in the store, so it survives a crash.
//
// Invariant: between the commit that sets the mark and the one that removes it, the indexes of the zone may lack
// entries and counts, so a request that must be refused could be accepted. The zone takes no requests. The engine keeps
// the marked zones in memory and changes them when a commit is published, so a request needs no read.

import FoundationEssentials
import StratusLayout
import StratusModel
import StratusStore
import Synchronization

enum RebuildMark {
    /// The zones that are marked.
    static func zones(in store: any StoreReader) throws -> Set<CacheZone> {
        Set(
            try store.collect(GlobalKeys.keyspace(.rebuilds)) { key, _ in
                let (database, zone) = try GlobalKeys.readZoneKey(key, in: .rebuilds)
                return CacheZone(database: database.rawValue, zone: zone.rawValue)
            })
    }
}

extension RecordReader {
    /// Throws `rebuilding` if the indexes of the zone are incomplete in this snapshot. One read.
    package func requireReliableIndexes(of zone: ZoneReader) throws {
        guard try store.contains(zone.keys.listed(in: .rebuilds)) else { return }
        throw StoreError(.rebuilding, "Indexes are being rebuilt: try again when that is done.")
    }
}

extension RecordTransaction {
    func markRebuilding(_ zone: ZoneReader, identity: UUID) throws {
        try set(zone.keys.listed(in: .rebuilds), to: ZoneIdentityEntry(identity: identity).encoded())
        let (rebuilding, cacheZone) = (engine.rebuilding, zone.cacheZone)
        onPublish { _ in rebuilding.withLock { _ = $0.insert(cacheZone) } }
    }

    func unmarkRebuilding(_ zone: ZoneReader) throws {
        try delete(zone.keys.listed(in: .rebuilds))
        let (rebuilding, cacheZone) = (engine.rebuilding, zone.cacheZone)
        onPublish { _ in rebuilding.withLock { _ = $0.remove(cacheZone) } }
    }

    /// Removes the mark of a zone that is deleted. A mark that is not published yet belongs to a running rebuild.
    func forgetRebuild(of zone: ZoneReader) throws {
        guard engine.isRebuilding.load(ordering: .acquiring) || isMarked(zone) else { return }
        try unmarkRebuilding(zone)
    }

    /// Throws `rebuilding` if the indexes of the zone are incomplete.
    func requireWholeIndexes(of zone: ZoneReader) throws {
        guard isMarked(zone) else { return }
        guard engine.isRebuilding.load(ordering: .acquiring) else {
            throw StoreError(
                .rebuilding, "A rebuild of the zone's indexes was interrupted: rebuild them again.",
                ["zone": zone.id.name.text])
        }
        throw StoreError(.rebuilding, "Indexes are being rebuilt: try again when that is done.")
    }

    private func isMarked(_ zone: ZoneReader) -> Bool {
        let cacheZone = zone.cacheZone
        return engine.rebuilding.withLock { $0.contains(cacheZone) }
    }
}
