// Verifies everything outside single zones: the directory, the headers, the ranges of keys, and identities. Every zone
// that has keys is listed or waits to be purged, numbers in use are below the next ones, and every zone is once in its
// database's feed.

import FoundationEssentials
import StratusLayout
import StratusModel
import StratusStore

struct DirectoryVerifier {
    let reader: RecordReader
    /// Counts each database and each zone.
    let meter: WorkMeter

    func verify(_ report: inout IndexReport) throws {
        // Only numbers: there may be as many databases as people.
        var known: Set<DatabaseNumber> = []
        let work = try UnfinishedZones(reader, &report)
        try reader.visitDatabases { id, entry in
            known.insert(entry.number)
            meter.add()
            var zones = try verify(entry, id, &report)
            verify(work, in: entry.number, &zones, &report)
            try verifyRanges(of: entry.number, zones, &report)
            return .next
        }
        work.noteStrays(known, &report)
        try verifyDatabases(known, &report)
    }

    /// Adds deleted zones, which have keys until they are purged, to the listed zones of a database.
    private func verify(
        _ work: UnfinishedZones, in database: DatabaseNumber, _ zones: inout Set<ZoneNumber>,
        _ report: inout IndexReport
    ) {
        for zone in work.rebuilds[database] ?? [] {
            let key = GlobalKeys.rebuild(database, zone)
            if zones.contains(zone) {
                // The zone takes no requests, so the report must say so.
                report.note(
                    .wrong, key: key, "a rebuild of the zone's indexes runs or was interrupted: rebuild them again")
            } else {
                report.note(.dangling, key: key, "a rebuild of a zone that does not exist")
            }
        }
        for zone in work.purges[database] ?? [] where !zones.insert(zone).inserted {
            report.note(.wrong, "\(database) / \(zone)", "is listed and waits to be purged")
        }
        for zone in work.releases[database] ?? [] where !zones.insert(zone).inserted {
            report.note(.wrong, "\(database) / \(zone)", "is listed or purged and waits to be released")
        }
    }

    /// Reads one key of every database that has keys, and the counter of their numbers.
    private func verifyDatabases(_ known: Set<DatabaseNumber>, _ report: inout IndexReport) throws {
        let header = try reader.store.withValue(forKey: GlobalKeys.header()) { try GlobalHeader(decoding: $0) }
        if header == nil { report.note(.missing, key: GlobalKeys.header(), "the store has no counter of databases") }
        for number in known where number.rawValue >= header?.nextDatabaseNumber ?? .max {
            report.note(.wrong, key: GlobalKeys.header(), "\(number) is in use, but not yet given out")
        }
        var rest = KeyRange(from: GlobalKeys.all.upper, upTo: KeyRange.everything.upper)
        while let first = try reader.store.keys(in: rest, limit: 1).first {
            guard let found = try? ZoneKeys.databaseNumber(of: first.span) else {
                return report.note(.dangling, key: first, "no key of this store begins like it")
            }
            if !known.contains(found) { report.note(.dangling, key: first, "a key of no known database") }
            tellOfSeek()
            rest.lower = DatabaseKeys(found).all.upper
        }
    }

    private func verify(
        _ entry: DatabaseEntry, _ id: DatabaseID, _ report: inout IndexReport
    ) throws -> Set<ZoneNumber> {
        let keys = DatabaseKeys(entry.number)
        let header = try reader.store.withValue(forKey: keys.header()) { try DatabaseHeader(decoding: $0) }
        if header == nil { report.note(.missing, key: keys.header(), "the database has no header") }
        var numbers: Set<ZoneNumber> = []
        try reader.visitZones(in: id) { listing in
            meter.add()
            numbers.insert(listing.entry.number)
            if listing.entry.number.rawValue >= header?.nextZoneNumber ?? .max {
                report.note(.wrong, key: keys.zone(listing.name), "its number is not yet given out")
            }
            let zoneID = ZoneID(database: id, name: listing.name)
            try verifyFeedEntry(of: reader.existingZone(zoneID), listing, keys, &report)
            return .next
        }
        return numbers
    }

    private func verifyFeedEntry(
        of zone: ZoneReader, _ listing: ZoneListing, _ keys: DatabaseKeys, _ report: inout IndexReport
    ) throws {
        // The zone's own verification reports a header that cannot be read.
        guard let header = try StoreError.unlessDamaged({ try zone.header() }) else { return }
        let key = keys.change(header.databaseCounter)
        let entry = try reader.store.withValue(forKey: key) { try DatabaseChangeEntry(decoding: $0) }
        guard let entry else { return report.note(.missing, key: key, "the zone is not in its database's feed") }
        if entry.zone != listing.name || entry.identity != listing.entry.identity {
            report.note(.wrong, key: key, "the feed names another zone")
        }
    }

    /// Reports progress without counting: this was counted before.
    private func tellOfSeek() { meter.add(0) }

    /// Reads one key of every zone that has keys: one seek for each.
    private func verifyRanges(
        of database: DatabaseNumber, _ zones: Set<ZoneNumber>, _ report: inout IndexReport
    ) throws {
        var rest = DatabaseKeys(database).zoneContents
        while let found = try reader.store.first(in: rest, { key, _ in try ZoneKeys.zoneNumber(of: key) }) {
            tellOfSeek()
            if !zones.contains(found) {
                report.note(.dangling, "\(database) / \(found)", "keys of a zone that is neither listed nor purged")
            }
            rest.lower = ZoneKeys(database: database, zone: found).all.upper
        }
    }
}

// The zones with unfinished work, by their numbers, because there may be very many.

/// The zones that are being rebuilt, and the deleted ones that wait to be purged or released. Each list is read in one
/// scan: a scan for each database would pass over all deleted entries that are not compacted yet, each time.
struct UnfinishedZones {
    typealias Zones = [DatabaseNumber: [ZoneNumber]]

    private(set) var rebuilds: Zones = [:]
    private(set) var purges: Zones = [:]
    private(set) var releases: Zones = [:]

    /// Notes entries that do not agree with their keys.
    ///
    /// Throws what the store throws, and `corruption` for an entry that cannot be read.
    init(_ reader: RecordReader, _ report: inout IndexReport) throws {
        func zones(
            _ keyspace: GlobalKeyspace, _ read: (Span<UInt8>) throws -> (DatabaseNumber, ZoneNumber)?
        ) throws -> Zones {
            var zones: Zones = [:]
            try reader.store.forEach(in: GlobalKeys.keyspace(keyspace)) { key, value in
                let place = try GlobalKeys.readZoneKey(key, in: keyspace)
                zones[place.database, default: []].append(place.zone)
                if let entry = try read(value), entry != place {
                    report.note(.wrong, key: [UInt8](copying: key), "the entry names another zone than its key")
                }
            }
            return zones
        }
        rebuilds = try zones(.rebuilds) { _ in nil }
        purges = try zones(.purges) { value in
            let entry = try PurgeEntry(decoding: value)
            return (entry.database, entry.zone)
        }
        releases = try zones(.releases) { value in
            let entry = try ReleaseEntry(decoding: value)
            return (entry.database, entry.zone)
        }
    }

    /// Reports work in databases that do not exist.
    func noteStrays(_ known: Set<DatabaseNumber>, _ report: inout IndexReport) {
        func note(_ zones: Zones, _ key: (DatabaseNumber, ZoneNumber) -> [UInt8], _ detail: String) {
            for (database, zones) in zones.sorted(by: { $0.key < $1.key }) where !known.contains(database) {
                for zone in zones { report.note(.dangling, key: key(database, zone), detail) }
            }
        }
        note(rebuilds, GlobalKeys.rebuild, "a rebuild of a zone that does not exist")
        note(purges, GlobalKeys.purge, "a deleted zone of no known database")
        note(releases, GlobalKeys.release, "a deleted zone of no known database")
    }
}

// Identities: no two zones and no two databases have the same one, and none has the one that Foundation returns if it
// finds no random numbers.
//
// Data outside a zone (acceptances, quotas, change tokens) names it by its identity alone. Deleted zones count as long
// as any key of them is left. There is no index of identities: all are read once, and a second time, to name them, only
// if the first pass has found something.

struct IdentityVerifier {
    let reader: RecordReader

    /// A zone or database with its identity. A zone and a database may have the same one.
    private struct Bearer {
        let isZone: Bool
        let identity: UUID
        /// The directory key of the zone or database.
        let key: [UInt8]
    }

    func verify(_ report: inout IndexReport) throws {
        if try reader.store.format()?.incarnation == .withoutRandomness {
            report.note(
                .identity, key: GlobalKeys.format(),
                "the store's incarnation is predictable: restore the store from a backup of itself, which draws another"
            )
        }
        var (zones, databases) = (IdentityTally(), IdentityTally())
        try visitBearers { bearer in
            if bearer.isZone { zones.add(bearer.identity) } else { databases.add(bearer.identity) }
        }
        guard !zones.faults.isEmpty || !databases.faults.isEmpty else { return }
        try visitBearers { bearer in
            guard (bearer.isZone ? zones : databases).faults.contains(bearer.identity) else { return }
            let what = bearer.isZone ? "zone" : "database"
            let detail =
                bearer.identity == .withoutRandomness
                ? "its identity is predictable, and may be that of another \(what)"
                : "its identity is that of another \(what) too"
            report.note(
                .identity, key: bearer.key,
                "\(detail): export the store and import it into an empty one, which draws others")
        }
    }

    private func visitBearers(_ visit: (Bearer) -> Void) throws {
        try reader.visitDatabases { id, entry in
            visit(Bearer(isZone: false, identity: entry.identity, key: GlobalKeys.database(id)))
            return .next
        }
        try reader.visitZones { id, listing in
            let key = DatabaseKeys(listing.database).zone(id.name)
            visit(Bearer(isZone: true, identity: listing.entry.identity, key: key))
            return .next
        }
        try reader.store.forEach(in: GlobalKeys.keyspace(.purges)) { key, value in
            visit(Bearer(isZone: true, identity: try PurgeEntry(decoding: value).identity, key: [UInt8](copying: key)))
        }
        try reader.store.forEach(in: GlobalKeys.keyspace(.releases)) { key, value in
            let identity = try ReleaseEntry(decoding: value).identity
            visit(Bearer(isZone: true, identity: identity, key: [UInt8](copying: key)))
        }
    }
}

/// The identities that occur more than once or can be predicted.
private struct IdentityTally {
    private var seen: Set<UUID> = []
    private(set) var faults: Set<UUID> = []

    mutating func add(_ identity: UUID) {
        if !seen.insert(identity).inserted || identity == .withoutRandomness { faults.insert(identity) }
    }
}
