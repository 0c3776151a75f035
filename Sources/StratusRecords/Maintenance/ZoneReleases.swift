// Deleted zones whose records still count as holders of assets, in a ledger of the floor above, or hold shares, because of
// which something lies outside the zone.
//
// Deleting such a zone leaves a release entry in the place of a purge entry. The floor above takes the records out of its
// ledger batch by batch, and the transaction that does so moves the entry on: what stands behind its position still
// counts, what stands before it does not. So every record is taken out once, whenever the process ends and however many
// work at it. Nobody writes the records any more, so they are read before that transaction. The last batch makes the
// entry a purge entry; only then do the keys go.

package import StratusLayout
package import StratusModel
package import StratusStore

extension RecordReader {
    /// The deleted zones whose records still count, after `position`, at most `limit` of them.
    package func releases(after position: ReleaseEntry? = nil, limit: Int = .max) throws -> [ReleaseEntry] {
        try releases(
            in: position.map { GlobalKeys.releases(after: $0.database, $0.zone) } ?? GlobalKeys.releases, limit: limit)
    }

    /// Those of one database.
    package func releases(in database: DatabaseNumber, limit: Int = .max) throws -> [ReleaseEntry] {
        try releases(in: GlobalKeys.releases(in: database), limit: limit)
    }

    /// Visits the records of a deleted zone that still count, in the order of their names, until the visitor stops or
    /// `limit` records and tombstones were looked at.
    ///
    /// Returns how many were looked at, and the last of them; nil when there are none behind it.
    package func visitRecords(
        of release: ReleaseEntry, limit: Int = .max, _ visit: (Record) throws -> ScanStep
    ) throws -> (count: Int, last: RecordName?) {
        let zone = zone(of: release)
        let range = release.last.map { zone.keys.records(after: $0) } ?? zone.keys.records
        // One more than is visited, so that it is known whether there are others.
        let names = try recordNames(in: range, zone.keys, limit: limit == .max ? limit : limit + 1)
        for (index, name) in names.enumerated() {
            if index == limit { return (limit, names[index - 1]) }
            guard let record = try zone.record(name)?.record else { continue }
            if try visit(record) == .stop { return (index + 1, index + 1 < names.count ? name : nil) }
        }
        return (names.count, nil)
    }

    /// How many records and tombstones of a deleted zone still count. It goes over their entries.
    package func recordCount(of release: ReleaseEntry, _ counter: WorkCounter? = nil) throws -> Int {
        let keys = ZoneKeys(database: release.database, zone: release.zone)
        let range = release.last.map { keys.records(after: $0) } ?? keys.records
        var count = 0
        try store.scan(range.keyRange) { key, _ in
            guard try keys.readRecordKey(key).chunkIndex == nil else { return .next }
            count += 1
            return counter?.add() ?? .next
        }
        return count
    }

    /// A reader of a zone that is deleted. Its name is not known any more: errors say its number.
    package func zone(of release: ReleaseEntry) -> ZoneReader {
        zone(of: ZoneKeys(database: release.database, zone: release.zone), owner: release.owner)
    }

    /// A reader of a zone by its numbers alone.
    func zone(of keys: ZoneKeys, owner: UserName? = nil) -> ZoneReader {
        let database = DatabaseID(container: "", owner: owner, scope: .private)
        return ZoneReader(
            id: ZoneID(database: database, name: ZoneName("\(keys.database) / \(keys.zone)")), keys: keys,
            store: store, transaction: nil, cache: engine.ancestorCache, limits: engine.options.limits)
    }

    /// The names of the first records and tombstones of a range.
    private func recordNames(in range: LayoutRange, _ keys: ZoneKeys, limit: Int) throws -> [RecordName] {
        var names: [RecordName] = []
        try store.scan(range.keyRange) { key, _ in
            let parts = try keys.readRecordKey(key)
            if parts.chunkIndex == nil { names.append(parts.name) }
            return names.count < limit ? .next : .stop
        }
        return names
    }

    private func releases(in range: LayoutRange, limit: Int) throws -> [ReleaseEntry] {
        var releases: [ReleaseEntry] = []
        try store.scan(range.keyRange, .forward, limit: limit) { _, value in
            releases.append(try ReleaseEntry(decoding: value))
            return .next
        }
        return releases
    }
}

extension RecordTransaction {
    /// Whether the zone's records still count from this position on: nobody has taken more of them out meanwhile.
    package func isPending(_ release: ReleaseEntry) throws -> Bool {
        let key = GlobalKeys.release(release.database, release.zone)
        return try store.withValue(forKey: key) { try ReleaseEntry(decoding: $0) } == release
    }

    /// Notes, in the transaction that takes them out of the ledger, that the records up to `last` do not count any more;
    /// with nil none does, and the zone's keys may be purged.
    ///
    /// The release must be pending.
    package func advance(_ release: ReleaseEntry, to last: RecordName?) throws {
        let key = GlobalKeys.release(release.database, release.zone)
        if let last {
            var moved = release
            moved.last = last
            return try set(key, to: moved.encoded())
        }
        let purge = PurgeEntry(database: release.database, zone: release.zone, identity: release.identity)
        try delete(key)
        try set(GlobalKeys.purge(release.database, release.zone), to: purge.encoded())
    }
}
