// What requests read of the directory, announced before it is read. See `ZoneReads`.

package import FoundationEssentials
package import StratusLayout
package import StratusModel
import StratusStore

/// A zone as the engine last heard of it.
package struct GuessedZone {
    package let reads: ZoneReads
    package let identity: UUID
}

extension StoreReader {
    /// Announces what the beat of a process reads.
    func announceBeat(of host: UUID) { prefetch([GlobalKeys.timeline(), GlobalKeys.host(host)]) }
}

extension RecordReader {
    /// Announces the entry of a zone, and what every write reads of it. Returns the guessed zone, for further
    /// announcements. Nil where nothing is known, or nothing is gained.
    @discardableResult
    package func willRead(zone id: ZoneID) -> GuessedZone? {
        guard store.gainsFromPrefetching else { return nil }
        guard let listing = engine.directoryCache.guess(for: id) else {
            var plan = ReadPlan()
            plan.add(GlobalKeys.database(id.database), following: Self.zoneInDatabase(id.name))
            store.prefetch(plan)
            return nil
        }
        store.prefetch([GlobalKeys.database(id.database), DatabaseKeys(listing.database).zone(id.name)])
        let reads = ZoneReads(
            listing.keys, store, engine.ancestorCache, depthLimit: engine.options.limits.hierarchyDepth)
        reads.counters()
        return GuessedZone(reads: reads, identity: listing.entry.identity)
    }

    /// Announces the entry of background work, which its transactions read at their end.
    package func willRead(_ work: BackgroundWork) { store.prefetch([GlobalKeys.work(work)]) }

    /// Announces the beginning of a range.
    func willRead(_ range: KeyRange, limit: Int) { store.prefetch(range, .forward, limit: limit) }

    /// Zones of a database that are read at once when many databases are visited.
    private static let visitedZoneCount = 64

    /// What visiting zones reads because of the entry of a database: its first zones after a position.
    static func zonesInDatabase(after position: ZoneID?) -> EntryFollower {
        { key, value, reads in
            let keys = DatabaseKeys(try DatabaseEntry(decoding: value).number)
            let database = try GlobalKeys.readDatabaseKey(key)
            let rest = position.flatMap { $0.database == database ? keys.zones(after: $0.name) : nil }
            reads.add(rest ?? keys.keyspace(.zones), limit: visitedZoneCount)
        }
    }

    /// What follows from the entry of a database: the entry of a zone, and its header.
    private static func zoneInDatabase(_ name: ZoneName) -> FetchFollower {
        { _, value, reads in
            guard let database = try? DatabaseEntry(decoding: value.span).number else { return }
            reads.add(DatabaseKeys(database).zone(name)) { _, value, reads in
                guard let zone = try? ZoneEntry(decoding: value.span).number else { return }
                reads.add(ZoneKeys(database: database, zone: zone).header())
            }
        }
    }

    /// The identity in a zone's entry. Its entry is known to the reader of the zone.
    package func identity(of zone: ZoneReader) throws -> UUID? { try listing(of: zone.id)?.entry.identity }
}
