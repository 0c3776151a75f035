// A snapshot of the whole store, by names: databases, zones, and a reader for each zone.

import FoundationEssentials
package import StratusLayout
package import StratusModel
package import StratusStore

/// Reads any zone of any database in one snapshot. Valid only inside the `read` or `transact` call that made it.
package class RecordReader {
    private static let rememberedZoneCount = 1_024

    package let store: any StoreReader
    let engine: RecordEngine
    let transaction: (any StoreTransaction)?
    private var zoneReaders: [ZoneID: ZoneReader] = [:]

    init(store: any StoreReader, transaction: (any StoreTransaction)?, engine: RecordEngine) {
        self.store = store
        self.transaction = transaction
        self.engine = engine
    }

    /// A reader of the zone, or nil when the zone does not exist.
    package func zone(_ id: ZoneID) throws -> ZoneReader? {
        if let known = zoneReaders[id] { return known }
        guard let listing = try listing(of: id) else { return nil }
        let reader = ZoneReader(
            id: id, keys: listing.keys, store: store, transaction: transaction, cache: engine.ancestorCache,
            limits: engine.options.limits)
        // A store may have a million zones. A transaction's readers stay: they know what it has written.
        if transaction == nil, zoneReaders.count >= Self.rememberedZoneCount { zoneReaders.removeAll() }
        zoneReaders[id] = reader
        return reader
    }

    /// A reader of the zone.
    ///
    /// Throws `unknownZone` when the zone does not exist.
    package func existingZone(_ id: ZoneID) throws -> ZoneReader {
        guard let reader = try zone(id) else {
            throw RecordsError(.unknownZone, "No such zone: create it first.", ["zone": id.name.text])
        }
        return reader
    }

    /// A reader of the zone with this identity: one that was made anew under the same name is another zone.
    ///
    /// Throws `unknownZone` when the zone does not exist any more.
    func existingZone(_ id: ZoneID, identity: UUID) throws -> ZoneReader {
        guard try listing(of: id)?.entry.identity == identity else {
            throw RecordsError(
                .unknownZone, "The zone was deleted meanwhile: nothing more is to be done for it.",
                ["zone": id.name.text])
        }
        return try existingZone(id)
    }

    package func databaseEntry(_ database: DatabaseID) throws -> DatabaseEntry? {
        try store.withValue(forKey: GlobalKeys.database(database)) { try DatabaseEntry(decoding: $0) }
    }

    /// What the directory knows of a zone, or nil when it does not exist.
    package func listing(of id: ZoneID) throws -> ZoneListing? {
        // A transaction may be creating or deleting the zone, so it asks the store.
        let mayUseCache = transaction == nil
        if mayUseCache, let listing = engine.directoryCache.value(for: id, at: store.version) { return listing }
        guard let database = try databaseEntry(id.database) else { return nil }
        let key = DatabaseKeys(database.number).zone(id.name)
        guard let entry = try store.withValue(forKey: key, { try ZoneEntry(decoding: $0) }) else { return nil }
        let listing = ZoneListing(name: id.name, database: database.number, entry: entry)
        if mayUseCache { engine.directoryCache.fill(id, listing, at: store.version) }
        return listing
    }

    func forgetZoneReader(_ id: ZoneID) { zoneReaders[id] = nil }
}
