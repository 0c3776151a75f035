// Verifies that the directory, the headers and the ranges of keys on disk agree: every zone that has keys is listed or
// waits to be purged, numbers in use lie below the next ones, and every zone stands once in its database's feed.

import StratusLayout
import StratusModel
import StratusStore

struct DirectoryVerifier {
    let reader: RecordReader
    /// Is told of each database and each zone.
    let meter: WorkMeter

    func verify(_ report: inout IndexReport) throws {
        // Numbers alone: there may be as many databases as people.
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

    /// Adds deleted zones, which have keys until they are purged, to those of a database that are listed.
    private func verify(
        _ work: UnfinishedZones, in database: DatabaseNumber, _ zones: inout Set<ZoneNumber>,
        _ report: inout IndexReport
    ) {
        for place in work.rebuilds.zones(of: database) {
            let key = GlobalKeys.rebuild(database, place.zone)
            if zones.contains(place.zone) {
                // It takes no requests, which whoever verifies must learn.
                report.note(
                    .wrong, key: key, "a rebuild of the zone's indexes runs or was interrupted: rebuild them again")
            } else {
                report.note(.dangling, key: key, "a rebuild of a zone that does not exist")
            }
        }
        for place in work.purges.zones(of: database) where !zones.insert(place.zone).inserted {
            report.note(.wrong, "\(database) / \(place.zone)", "is listed and waits to be purged")
        }
        for place in work.releases.zones(of: database) where !zones.insert(place.zone).inserted {
            report.note(.wrong, "\(database) / \(place.zone)", "is listed or purged and waits to be released")
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
            tellOfSeek()
            position = DatabaseKeys(found).all.upper
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
        // A header that cannot be read is a finding of the zone's own verification.
        guard let header = try? zone.header() else { return }
        let key = keys.change(header.databaseCounter)
        let entry = try reader.store.withValue(forKey: key) { try DatabaseChangeEntry(decoding: $0) }
        guard let entry else { return report.note(.missing, key: key, "the zone is not in its database's feed") }
        if entry.zone != listing.name || entry.identity != listing.entry.identity {
            report.note(.wrong, key: key, "the feed names another zone")
        }
    }

    /// Tells that it goes on: what was counted already is looked for once more.
    private func tellOfSeek() { meter.add(0) }

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
            tellOfSeek()
            let keys = ZoneKeys(database: database, zone: found)
            if !zones.contains(found) {
                report.note(.dangling, "\(database) / \(found)", "keys of a zone that is neither listed nor purged")
            }
            position = keys.all.upper
        }
    }
}
