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
        let unfinished = try unfinishedZones(&report)
        let byDatabase = Dictionary(grouping: unfinished.indices) { unfinished[$0].database }
        try reader.visitDatabases { id, entry in
            known.insert(entry.number)
            meter.add()
            var zones = try verify(entry, id, &report)
            for index in byDatabase[entry.number] ?? [] { verify(unfinished[index], &zones, &report) }
            try verifyRanges(of: entry.number, zones, &report)
            return .next
        }
        for zone in unfinished where !known.contains(zone.database) {
            report.note(
                .dangling, key: zone.key,
                zone.list == .rebuilds
                    ? "a rebuild of a zone that does not exist" : "a deleted zone of no known database")
        }
        try verifyDatabases(known, &report)
        try verifyIdentities(unfinished, &report)
    }

    /// Reads the lists of unfinished zones, each in one scan: a scan for each database would pass over all deleted
    /// entries that are not compacted yet, each time. Notes entries that do not agree with their keys.
    ///
    /// Throws what the store throws, and `corruption` for an entry that cannot be read.
    private func unfinishedZones(_ report: inout IndexReport) throws -> [UnfinishedZone] {
        var zones: [UnfinishedZone] = []
        for list in [GlobalKeyspace.rebuilds, .purges, .releases] {
            try reader.store.forEach(in: GlobalKeys.keyspace(list)) { key, value in
                let (database, zone) = try GlobalKeys.readZoneKey(key, in: list)
                let entry: PurgeEntry? =
                    switch list {
                    case .purges: try PurgeEntry(decoding: value)
                    case .releases: try ReleaseEntry(decoding: value).purge
                    default: nil
                    }
                if let entry, entry.database != database || entry.zone != zone {
                    report.note(.wrong, key: [UInt8](copying: key), "the entry names another zone than its key")
                }
                zones.append(UnfinishedZone(list: list, database: database, zone: zone, identity: entry?.identity))
            }
        }
        return zones
    }

    /// Adds a deleted zone, which has keys until it is purged, to the listed zones of its database.
    private func verify(_ zone: UnfinishedZone, _ zones: inout Set<ZoneNumber>, _ report: inout IndexReport) {
        if zone.list != .rebuilds {
            guard !zones.insert(zone.zone).inserted else { return }
            report.note(
                .wrong, "\(zone.database) / \(zone.zone)",
                zone.list == .purges
                    ? "is listed and waits to be purged" : "is listed or purged and waits to be released")
        } else if zones.contains(zone.zone) {
            // The zone takes no requests, so the report must say so.
            report.note(
                .wrong, key: zone.key, "a rebuild of the zone's indexes runs or was interrupted: rebuild them again")
        } else {
            report.note(.dangling, key: zone.key, "a rebuild of a zone that does not exist")
        }
    }

    /// Reads one key of every database that has keys, and the counter of their numbers.
    private func verifyDatabases(_ known: Set<DatabaseNumber>, _ report: inout IndexReport) throws {
        let header = try reader.store.withValue(forKey: GlobalKeys.header()) { try GlobalHeader(decoding: $0) }
        if header == nil { report.note(.missing, key: GlobalKeys.header(), "the store has no counter of databases") }
        for number in known where number.count ?? .max >= header?.nextDatabaseNumber ?? .max {
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
            if let zone = try reader.zone(zoneID) { try verifyFeedEntry(of: zone, listing, keys, &report) }
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

/// A zone that is being rebuilt, or a deleted one that waits to be purged or released. Holds numbers and no keys,
/// because there may be very many.
private struct UnfinishedZone {
    let list: GlobalKeyspace
    let database: DatabaseNumber
    let zone: ZoneNumber
    /// The identity of a deleted zone.
    let identity: UUID?

    var key: [UInt8] { GlobalKeys.zone(database, zone, in: list) }
}

// Identities: no two zones and no two databases have the same one, and none has the one that Foundation returns if it
// finds no random numbers.
//
// Data outside a zone (acceptances, quotas, change tokens) names it by its identity alone. Deleted zones count as long
// as any key of them is left. There is no index of identities: all are read once, and a second time, to name them, only
// if the first pass has found something.

extension DirectoryVerifier {
    /// A zone and a database may have the same identity.
    private struct DrawnIdentity: Hashable {
        let isOfZone: Bool
        let identity: UUID
    }

    private func verifyIdentities(_ unfinished: [UnfinishedZone], _ report: inout IndexReport) throws {
        if try reader.store.format()?.incarnation == .withoutRandomness {
            report.note(
                .identity, key: GlobalKeys.format(),
                "the store's incarnation is predictable: restore the store from a backup of itself, which draws another"
            )
        }
        // The faults occur more than once or can be predicted.
        var (seen, faults): (Set<DrawnIdentity>, Set<DrawnIdentity>) = ([], [])
        try visitIdentities(unfinished) { drawn, _ in
            if !seen.insert(drawn).inserted || drawn.identity == .withoutRandomness { faults.insert(drawn) }
        }
        guard !faults.isEmpty else { return }
        try visitIdentities(unfinished) { drawn, key in
            guard faults.contains(drawn) else { return }
            let what = drawn.isOfZone ? "zone" : "database"
            let detail =
                drawn.identity == .withoutRandomness
                ? "its identity is predictable, and may be that of another \(what)"
                : "its identity is that of another \(what) too"
            report.note(
                .identity, key: key, "\(detail): export the store and import it into an empty one, which draws others")
        }
    }

    /// Visits the identities of all databases and zones, each with its key in the directory.
    private func visitIdentities(
        _ unfinished: [UnfinishedZone], _ visit: (_ drawn: DrawnIdentity, _ key: [UInt8]) -> Void
    ) throws {
        try reader.visitDatabases { id, entry in
            visit(DrawnIdentity(isOfZone: false, identity: entry.identity), GlobalKeys.database(id))
            return .next
        }
        try reader.visitZones { id, listing in
            let key = DatabaseKeys(listing.database).zone(id.name)
            visit(DrawnIdentity(isOfZone: true, identity: listing.entry.identity), key)
            return .next
        }
        for zone in unfinished {
            if let identity = zone.identity { visit(DrawnIdentity(isOfZone: true, identity: identity), zone.key) }
        }
    }
}
