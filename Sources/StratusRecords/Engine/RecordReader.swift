// A snapshot of the whole store, by names: its databases, its zones, and a reader for each zone.
//
// The directory turns names into numbers: (container, owner, scope) → database number, and below it the name of a zone
// → zone number. Keys begin with these numbers. A number is never used again, so a zone that is created again under its
// old name does not find old keys. A store may have as many databases as people, so readers scan the directory where it
// is stored and keep no list. Single look-ups are cached, by the rule of `PublishedCache`.

import FoundationEssentials
package import StratusLayout
package import StratusModel
package import StratusStore

/// A zone's entry in the directory.
package struct ZoneListing: Hashable, Sendable {
    package var name: ZoneName
    package var database: DatabaseNumber
    package var entry: ZoneEntry

    package var keys: ZoneKeys { ZoneKeys(database: database, zone: entry.number) }
}

/// Reads any zone of any database in one snapshot. Valid only inside the `read` or `transact` call that created it.
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

    // MARK: One zone

    /// A reader of the zone, or nil if the zone does not exist.
    package func zone(_ id: ZoneID) throws -> ZoneReader? {
        if let known = zoneReaders[id] { return known }
        guard let listing = try listing(of: id) else { return nil }
        let reader = ZoneReader(
            id: id, keys: listing.keys, store: store, transaction: transaction, cache: engine.ancestorCache,
            limits: engine.options.limits)
        // A snapshot may visit a million zones, so it drops their readers. A transaction uses few, and keeps them.
        if transaction == nil, zoneReaders.count >= Self.rememberedZoneCount { zoneReaders.removeAll() }
        zoneReaders[id] = reader
        return reader
    }

    /// A reader of the zone.
    ///
    /// Throws `unknownZone` when the zone does not exist.
    package func existingZone(_ id: ZoneID) throws -> ZoneReader {
        guard let reader = try zone(id) else {
            throw StoreError(.unknownZone, "No such zone: create it first.", ["zone": id.name.text])
        }
        return reader
    }

    /// A reader of the zone with this identity. A zone that was created again under the same name is another zone.
    ///
    /// Throws `unknownZone` when the zone no longer exists.
    func existingZone(_ id: ZoneID, identity: UUID) throws -> ZoneReader {
        guard try listing(of: id)?.entry.identity == identity else {
            throw StoreError(
                .unknownZone, "The zone was deleted meanwhile: no further action is needed.",
                ["zone": id.name.text])
        }
        return try existingZone(id)
    }

    func forgetZoneReader(_ id: ZoneID) { zoneReaders[id] = nil }

    // MARK: The directory

    package func databaseEntry(_ database: DatabaseID) throws -> DatabaseEntry? {
        try store.withValue(forKey: GlobalKeys.database(database)) { try DatabaseEntry(decoding: $0) }
    }

    /// A zone's entry in the directory, or nil if the zone does not exist.
    package func listing(of id: ZoneID) throws -> ZoneListing? {
        let cache = engine.directoryCache
        if let known = cache.value(for: id, at: store.version), !isChanging(known) { return known }
        willRead(zone: id)
        guard let database = try databaseEntry(id.database) else { return nil }
        let key = DatabaseKeys(database.number).zone(id.name)
        guard let entry = try store.withValue(forKey: key, { try ZoneEntry(decoding: $0) }) else { return nil }
        let listing = ZoneListing(name: id.name, database: database.number, entry: entry)
        if cache.role == .guesses || !isChanging(listing) { cache.fill(id, listing, at: store.version) }
        return listing
    }

    /// Whether the zone is being created or deleted by a commit in flight or by this transaction. Its database
    /// keeps its number as long as it has zones.
    private func isChanging(_ listing: ZoneListing) -> Bool {
        transaction?.hasUnpublishedWrite(forKey: DatabaseKeys(listing.database).zone(listing.name)) == true
    }

    /// Visits every database of the store in the order of its key: by container, the public one first, then by owner.
    /// With a range of their keys, visits only those in it.
    package func visitDatabases(
        in range: KeyRange = GlobalKeys.keyspace(.databases), following follow: EntryFollower = { _, _, _ in },
        _ visit: (_ id: DatabaseID, _ entry: DatabaseEntry) throws -> ScanStep
    ) throws {
        try store.scan(range, .forward, limit: .max, following: follow) { key, value in
            try visit(GlobalKeys.readDatabaseKey(key), DatabaseEntry(decoding: value))
        }
    }

    /// Visits the zones of a database in the byte order of their names.
    package func visitZones(in database: DatabaseID, _ visit: (ZoneListing) throws -> ScanStep) throws {
        guard let entry = try databaseEntry(database) else { return }
        let keys = DatabaseKeys(entry.number)
        try store.scan(keys.keyspace(.zones)) { try visit(listing($0, $1, keys)) }
    }

    /// Visits every zone of every database after `position`, in the order of both. The zone of the position may no
    /// longer exist.
    package func visitZones(
        after position: ZoneID? = nil, _ visit: (_ id: ZoneID, _ listing: ZoneListing) throws -> ScanStep
    ) throws {
        var databases = GlobalKeys.keyspace(.databases)
        if let position { databases.lower = GlobalKeys.database(position.database) }
        try visitDatabases(in: databases, following: Self.zonesInDatabase(after: position)) { database, entry in
            var step = ScanStep.next
            let keys = DatabaseKeys(entry.number)
            let rest = position.flatMap { $0.database == database ? keys.zones(after: $0.name) : nil }
            try store.scan(rest ?? keys.keyspace(.zones)) { key, value in
                let listing = try listing(key, value, keys)
                step = try visit(ZoneID(database: database, name: listing.name), listing)
                return step
            }
            return step
        }
    }

    /// The zones of a database in the byte order of their names, at most `limit` of them.
    package func zones(in database: DatabaseID, limit: Int = .max) throws -> [ZoneListing] {
        guard let entry = try databaseEntry(database) else { return [] }
        let keys = DatabaseKeys(entry.number)
        return try store.collect(keys.keyspace(.zones), limit: limit) { try listing($0, $1, keys) }
    }

    /// The zones of all databases after `position` in the order of `visitZones`, at most `limit` of them. Use it to
    /// write between one page and the next.
    package func zones(after position: ZoneID? = nil, limit: Int) throws -> [ZoneID] {
        var found: [ZoneID] = []
        guard limit > 0 else { return [] }
        try visitZones(after: position) { id, _ in
            found.append(id)
            return found.count < limit ? .next : .stop
        }
        return found
    }

    /// The containers that have a database, in the byte order of their names. One seek for each.
    package func containers() throws -> [ContainerName] {
        var containers: [ContainerName] = []
        var range = GlobalKeys.keyspace(.databases)
        while true {
            let found = try store.first(in: range) { key, _ in try GlobalKeys.readDatabaseKey(key).container }
            guard let found else { return containers }
            containers.append(found)
            range.lower = GlobalKeys.databases(of: found).upper
        }
    }

    /// Whether keys of deleted zones of a database are being purged or wait for it.
    package func isPurging(_ database: DatabaseNumber) throws -> Bool {
        try store.hasEntries(in: GlobalKeys.zones(of: database, in: .purges))
            || store.hasEntries(in: GlobalKeys.zones(of: database, in: .releases))
    }

    private func listing(_ key: Span<UInt8>, _ value: Span<UInt8>, _ keys: DatabaseKeys) throws -> ZoneListing {
        ZoneListing(name: try keys.readZoneKey(key), database: keys.number, entry: try ZoneEntry(decoding: value))
    }
}
