// Verifies that the directory, the headers and the ranges of keys on disk agree: every zone that has keys is listed or
// waits to be purged, numbers in use lie below the next ones, and every zone stands once in its database's feed.

import StratusLayout
import StratusModel
import StratusStore

struct DirectoryVerifier {
    let reader: RecordReader

    func verify(_ report: inout IndexReport) throws {
        var known: [DatabaseNumber: Set<ZoneNumber>] = [:]
        for database in try reader.databases() {
            known[database.entry.number] = try verify(database.entry, database.id, &report)
        }
        try verifyRebuilds(of: known, &report)
        try reader.store.scan(GlobalKeys.purges.keyRange) { _, value in
            let purge = try PurgeEntry(decoding: value)
            if known[purge.database]?.insert(purge.zone).inserted == false {
                report.note(.wrong, "\(purge.database) / \(purge.zone)", "is listed and waits to be purged")
            }
            return .next
        }
        try reader.store.scan(GlobalKeys.releases.keyRange) { _, value in
            let release = try ReleaseEntry(decoding: value)
            if known[release.database]?.insert(release.zone).inserted == false {
                report.note(
                    .wrong, "\(release.database) / \(release.zone)", "is listed or purged and waits to be released")
            }
            return .next
        }
        for (database, zones) in known { try verifyRanges(of: database, zones, &report) }
        try verifyDatabases(Set(known.keys), &report)
    }

    /// A zone whose indexes are being rebuilt takes no requests, which whoever verifies must learn.
    private func verifyRebuilds(
        of known: [DatabaseNumber: Set<ZoneNumber>], _ report: inout IndexReport
    ) throws {
        try reader.store.scan(GlobalKeys.rebuilds.keyRange) { key, _ in
            let (database, zone) = try GlobalKeys.readRebuildKey(key)
            if known[database]?.contains(zone) == true {
                report.note(
                    .wrong, key: [UInt8](copying: key),
                    "a rebuild of the zone's indexes runs or was interrupted: rebuild them again")
            } else {
                report.note(.dangling, key: [UInt8](copying: key), "a rebuild of a zone that does not exist")
            }
            return .next
        }
    }

    /// Looks once into the range of every database that has keys, and at the counter that numbers them.
    private func verifyDatabases(_ known: Set<DatabaseNumber>, _ report: inout IndexReport) throws {
        let header = try reader.store.withValue(forKey: GlobalKeys.header()) { try GlobalHeader(decoding: $0) }
        if header == nil { report.note(.missing, key: GlobalKeys.header(), "the store has no counter of databases") }
        for number in known where number.rawValue >= header?.nextDatabaseNumber ?? .max {
            report.note(.wrong, key: GlobalKeys.header(), "\(number) is in use, but not yet given out")
        }
        var position = GlobalKeys.all.upper
        let end = [UInt8](repeating: 0xFF, count: 32)
        while position.lexicographicallyPrecedes(end) {
            var found: DatabaseNumber?
            var first: [UInt8] = []
            try reader.store.scan(KeyRange(from: position, upTo: end), .forward, limit: 1) { key, _ in
                first = [UInt8](copying: key)
                found = try? ZoneKeys.databaseNumber(of: key)
                return .stop
            }
            guard !first.isEmpty else { return }
            guard let found else { return report.note(.dangling, key: first, "no key of this store begins like it") }
            if !known.contains(found) { report.note(.dangling, key: first, "a key of no known database") }
            position = DatabaseKeys(found).all.upper
        }
    }

    private func verify(
        _ entry: DatabaseEntry, _ id: DatabaseID, _ report: inout IndexReport
    ) throws -> Set<ZoneNumber> {
        let keys = DatabaseKeys(entry.number)
        guard let header = try reader.store.withValue(forKey: keys.header(), { try DatabaseHeader(decoding: $0) })
        else {
            report.note(.missing, key: keys.header(), "the database has no header")
            return []
        }
        var numbers: Set<ZoneNumber> = []
        for listing in try reader.zones(in: id) {
            numbers.insert(listing.entry.number)
            if listing.entry.number.rawValue >= header.nextZoneNumber {
                report.note(.wrong, key: keys.zone(listing.name), "its number is not yet given out")
            }
            let zoneID = ZoneID(database: id, name: listing.name)
            try verifyFeedEntry(of: reader.existingZone(zoneID), listing, keys, &report)
        }
        return numbers
    }

    private func verifyFeedEntry(
        of zone: ZoneReader, _ listing: ZoneListing, _ keys: DatabaseKeys, _ report: inout IndexReport
    ) throws {
        // A header that cannot be read is a finding of the zone's own verification.
        guard let header = try? zone.header() else { return }
        let key = keys.change(header.databaseCounter)
        let entry = try reader.store.withValue(forKey: key) { try DatabaseChangeEntry(decoding: $0) }
        guard let entry else { return report.note(.missing, key: key, "the zone is not in its database's feed") }
        if entry.zone != listing.name || entry.identity != listing.entry.identity {
            report.note(.wrong, key: key, "the feed names another zone")
        }
    }

    /// Looks once into the range of every zone that has keys: one seek a zone.
    private func verifyRanges(
        of database: DatabaseNumber, _ zones: Set<ZoneNumber>, _ report: inout IndexReport
    ) throws {
        let all = DatabaseKeys(database).zoneContents.keyRange
        var position = all.lower
        while position.lexicographicallyPrecedes(all.upper) {
            var found: ZoneNumber?
            try reader.store.scan(KeyRange(from: position, upTo: all.upper), .forward, limit: 1) { key, _ in
                found = try ZoneKeys.zoneNumber(of: key)
                return .stop
            }
            guard let found else { return }
            let keys = ZoneKeys(database: database, zone: found)
            if !zones.contains(found) {
                report.note(.dangling, "\(database) / \(found)", "keys of a zone that is neither listed nor purged")
            }
            position = keys.all.upper
        }
    }
}
