// The zones of which the store says that there is something left to be done: by their numbers, because there may be very many.

import StratusLayout
import StratusModel
import StratusStore

/// The zones that are being rebuilt, and the deleted ones that wait to be purged or released. Each list is read in one scan:
/// looking into it for each database would go over all that was done and is not compacted yet, each time.
struct UnfinishedZones {
    private(set) var rebuilds = NumberedZones()
    private(set) var purges = NumberedZones()
    private(set) var releases = NumberedZones()

    /// Notes entries that do not agree with their keys.
    ///
    /// Throws what reading the store throws, and `corruption` for an entry that cannot be read.
    init(_ reader: RecordReader, _ report: inout IndexReport) throws {
        try reader.store.scan(GlobalKeys.rebuilds.keyRange) { key, _ in
            rebuilds.append(try GlobalKeys.readRebuildKey(key))
            return .next
        }
        try reader.store.scan(GlobalKeys.purges.keyRange) { key, value in
            let (place, entry) = (try GlobalKeys.readPurgeKey(key), try PurgeEntry(decoding: value))
            purges.append(place)
            Self.compare(key, place, (entry.database, entry.zone), &report)
            return .next
        }
        try reader.store.scan(GlobalKeys.releases.keyRange) { key, value in
            let (place, entry) = (try GlobalKeys.readReleaseKey(key), try ReleaseEntry(decoding: value))
            releases.append(place)
            Self.compare(key, place, (entry.database, entry.zone), &report)
            return .next
        }
    }

    private static func compare(
        _ key: Span<UInt8>, _ place: (DatabaseNumber, ZoneNumber), _ entry: (DatabaseNumber, ZoneNumber),
        _ report: inout IndexReport
    ) {
        guard place != entry else { return }
        report.note(.wrong, key: [UInt8](copying: key), "the entry names another zone than its key")
    }

    /// Notes what is to be done in databases that are not known.
    func noteStrays(_ known: Set<DatabaseNumber>, _ report: inout IndexReport) {
        for place in rebuilds.all where !known.contains(place.database) {
            let key = GlobalKeys.rebuild(place.database, place.zone)
            report.note(.dangling, key: key, "a rebuild of a zone that does not exist")
        }
        for place in purges.all where !known.contains(place.database) {
            let key = GlobalKeys.purge(place.database, place.zone)
            report.note(.dangling, key: key, "a deleted zone of no known database")
        }
        for place in releases.all where !known.contains(place.database) {
            let key = GlobalKeys.release(place.database, place.zone)
            report.note(.dangling, key: key, "a deleted zone of no known database")
        }
    }
}

/// Zones by their numbers, in the order of both.
struct NumberedZones {
    private(set) var all: [(database: DatabaseNumber, zone: ZoneNumber)] = []

    /// To be called in the order of the numbers.
    mutating func append(_ place: (DatabaseNumber, ZoneNumber)) { all.append(place) }

    /// Those of one database.
    func zones(of database: DatabaseNumber) -> ArraySlice<(database: DatabaseNumber, zone: ZoneNumber)> {
        var (low, high) = (0, all.count)
        while low < high {
            let middle = (low + high) / 2
            if all[middle].database < database { low = middle + 1 } else { high = middle }
        }
        return all[low...].prefix { $0.database == database }
    }
}
