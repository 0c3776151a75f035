// What requests read of the directory, announced before it is read. See `ZoneReads`.

package import FoundationEssentials
import StratusLayout
package import StratusModel
import StratusStore

/// A zone as the engine last heard of it.
package struct GuessedZone {
    package let reads: ZoneReads
    package let identity: UUID
}

extension RecordReader {
    /// Announces the entry of a zone, and what every write reads of it. Returns the guessed zone, for further
    /// announcements. Nil where nothing is known, or nothing is gained.
    @discardableResult
    package func willRead(zone id: ZoneID) -> GuessedZone? {
        guard store.gainsFromPrefetching else { return nil }
        store.prefetch([GlobalKeys.database(id.database)])
        guard let listing = engine.directoryCache.guess(for: id) else { return nil }
        store.prefetch([DatabaseKeys(listing.database).zone(id.name)])
        let reads = ZoneReads(
            listing.keys, store, engine.ancestorCache, depthLimit: engine.options.limits.hierarchyDepth)
        reads.counters()
        return GuessedZone(reads: reads, identity: listing.entry.identity)
    }

    /// The identity in a zone's entry. Its entry is known to the reader of the zone.
    package func identity(of zone: ZoneReader) throws -> UUID? { try listing(of: zone.id)?.entry.identity }
}
