// Going over the databases and zones of a store where they lie: there may be as many as there are people, so that nobody
// keeps a list of them.

package import StratusLayout
package import StratusModel
package import StratusStore

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
