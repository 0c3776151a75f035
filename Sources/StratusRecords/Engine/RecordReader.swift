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

// Going over the databases and zones of a store where they lie: there may be as many as there are people, so that nobody
// keeps a list of them.

extension RecordReader {
    /// Visits every database of the store in the order of its key: by container, the public one first, then by owner.
    package func visitDatabases(
        _ visit: (_ id: DatabaseID, _ entry: DatabaseEntry) throws -> ScanStep
    ) throws {
        try visitDatabases(in: GlobalKeys.databases, visit)
    }

    /// Visits the zones of a database in the byte order of their names.
    package func visitZones(in database: DatabaseID, _ visit: (ZoneListing) throws -> ScanStep) throws {
        guard let entry = try databaseEntry(database) else { return }
        try visitZones(of: entry.number, in: DatabaseKeys(entry.number).zones, visit)
    }

    /// Visits every zone of every database, in the order of both.
    package func visitZones(_ visit: (_ id: ZoneID, _ listing: ZoneListing) throws -> ScanStep) throws {
        try visitDatabases { database, entry in
            var step = ScanStep.next
            try visitZones(of: entry.number, in: DatabaseKeys(entry.number).zones) { listing in
                step = try visit(ZoneID(database: database, name: listing.name), listing)
                return step
            }
            return step
        }
    }

    /// The zones of a database in the byte order of their names, at most `limit` of them.
    package func zones(in database: DatabaseID, limit: Int = .max) throws -> [ZoneListing] {
        var listings: [ZoneListing] = []
        guard limit > 0 else { return [] }
        try visitZones(in: database) { listing in
            listings.append(listing)
            return listings.count < limit ? .next : .stop
        }
        return listings
    }

    /// The zones of all databases that come after `position` in the order of `visitZones`, at most `limit` of them: for
    /// whoever writes between one page and the next. The zone of the position may be gone.
    package func zones(after position: ZoneID? = nil, limit: Int) throws -> [ZoneID] {
        var found: [ZoneID] = []
        guard limit > 0 else { return [] }
        var databases = GlobalKeys.databases
        if let position { databases.lower = GlobalKeys.database(position.database) }
        try visitDatabases(in: databases) { database, entry in
            let keys = DatabaseKeys(entry.number)
            let rest = position.flatMap { $0.database == database ? keys.zones(after: $0.name) : nil }
            try visitZones(of: entry.number, in: rest ?? keys.zones) { listing in
                found.append(ZoneID(database: database, name: listing.name))
                return found.count < limit ? .next : .stop
            }
            return found.count < limit ? .next : .stop
        }
        return found
    }

    private func visitDatabases(
        in range: LayoutRange, _ visit: (DatabaseID, DatabaseEntry) throws -> ScanStep
    ) throws {
        try store.scan(range.keyRange) { key, value in
            try visit(GlobalKeys.readDatabaseKey(key), DatabaseEntry(decoding: value))
        }
    }

    private func visitZones(
        of database: DatabaseNumber, in range: LayoutRange, _ visit: (ZoneListing) throws -> ScanStep
    ) throws {
        let keys = DatabaseKeys(database)
        try store.scan(range.keyRange) { key, value in
            let entry = try ZoneEntry(decoding: value)
            return try visit(ZoneListing(name: keys.readZoneKey(key), database: database, entry: entry))
        }
    }
}

// Names become numbers here: (container, owner, scope) → database number, and under it a zone's name → zone number.
//
// Numbers appear only in key prefixes and are never used again, so a zone that is made anew never meets old keys. The
// look-up is cached by the rule of all caches here (PublishedCache).

/// What the directory knows of a zone.
package struct ZoneListing: Hashable, Sendable {
    package var name: ZoneName
    package var database: DatabaseNumber
    package var entry: ZoneEntry

    package init(name: ZoneName, database: DatabaseNumber, entry: ZoneEntry) {
        self.name = name
        self.database = database
        self.entry = entry
    }

    package var keys: ZoneKeys { ZoneKeys(database: database, zone: entry.number) }
}

/// Remembers which number a zone's name has.
typealias ZoneDirectoryCache = PublishedCache<ZoneID, ZoneListing>
