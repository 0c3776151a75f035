// The mark of a zone whose indexes are being rebuilt: an entry in the store, so that whoever opens it after a crash knows.
//
// Invariant: between the commit that sets the mark and the one that removes it, indexes of the zone may lack entries and
// counts, and a request judged by them might be accepted though it must be refused. So none is judged. The engine keeps
// the marked zones in memory, changed in the instant a commit is published, and a request costs no read for it.

import FoundationEssentials
import StratusLayout
import StratusModel
import StratusStore
import Synchronization

enum RebuildMark {
    /// The zones that are marked.
    static func zones(in store: any StoreReader) throws -> Set<CacheZone> {
        var zones: Set<CacheZone> = []
        try store.scan(GlobalKeys.rebuilds.keyRange) { key, _ in
            let (database, zone) = try GlobalKeys.readRebuildKey(key)
            zones.insert(CacheZone(database: database.rawValue, zone: zone.rawValue))
            return .next
        }
        return zones
    }
}

extension RecordReader {
    /// Throws `rebuilding` where the indexes of the zone are not to be relied on in this snapshot. One read.
    package func requireReliableIndexes(of zone: ZoneReader) throws {
        guard try store.contains(GlobalKeys.rebuild(zone.keys.database, zone.keys.zone)) else { return }
        throw RecordsError(.rebuilding, "Indexes are being rebuilt: try again when that is done.")
    }
}

extension RecordTransaction {
    func markRebuilding(_ zone: ZoneReader, identity: UUID) throws {
        try set(GlobalKeys.rebuild(zone.keys.database, zone.keys.zone), to: RebuildEntry(identity: identity).encoded())
        let (rebuilding, cacheZone) = (engine.rebuilding, zone.cacheZone)
        onPublish { _ in rebuilding.withLock { _ = $0.insert(cacheZone) } }
    }

    func unmarkRebuilding(_ zone: ZoneReader) throws {
        try delete(GlobalKeys.rebuild(zone.keys.database, zone.keys.zone))
        let (rebuilding, cacheZone) = (engine.rebuilding, zone.cacheZone)
        onPublish { _ in rebuilding.withLock { _ = $0.remove(cacheZone) } }
    }

    /// A zone that is deleted takes its mark with it. A mark that is not published yet belongs to a rebuild that runs.
    func forgetRebuild(of zone: ZoneReader) throws {
        guard engine.isRebuilding.load(ordering: .acquiring) || isMarked(zone) else { return }
        try unmarkRebuilding(zone)
    }

    /// Throws `rebuilding` where the indexes of the zone are not to be relied on.
    func requireWholeIndexes(of zone: ZoneReader) throws {
        guard isMarked(zone) else { return }
        guard engine.isRebuilding.load(ordering: .acquiring) else {
            throw RecordsError(
                .rebuilding, "A rebuild of the zone's indexes was interrupted: rebuild them again.",
                ["zone": zone.id.name.text])
        }
        throw RecordsError(.rebuilding, "Indexes are being rebuilt: try again when that is done.")
    }

    private func isMarked(_ zone: ZoneReader) -> Bool {
        let cacheZone = zone.cacheZone
        return engine.rebuilding.withLock { $0.contains(cacheZone) }
    }
}
