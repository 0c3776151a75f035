// Removes the keys of deleted zones in the background, batch by batch.
//
// Deleting a zone leaves a purge entry. Nothing can reach the zone's keys any more and its number is never used again,
// so the batches need no coordination with anybody: a crash between two of them loses nothing, the next run goes on
// where keys are left. The purge entry goes last. While the store is behind with its own work the purge waits, but not
// for ever: a store whose background work has stopped stays behind, and only a commit shows why. Between two batches it
// rests for so long that those who save keep most turns of the write lane, and LevelDB's compaction most of its core for
// what they have written: nobody waits for the room.

package import StratusLayout
package import StratusModel
package import StratusStore

/// What a purge has done.
package struct PurgeProgress: Hashable, Codable, Sendable {
    package var zonesFinished = 0
    package var entriesDeleted = 0
    package var commits = 0
    /// Times the purge waited for the store.
    package var pauses = 0

    package init() {}
}

extension RecordEngine {
    /// Purges every deleted zone.
    ///
    /// `pause` is called while the store is under write pressure and should sleep a little; after so many pauses in a row
    /// as the limits say, a batch is tried nevertheless, and throws what keeps the store from its work. `rest` is called after
    /// each batch with the seconds that it should sleep where others write meanwhile: seven times as long as the batch has
    /// taken, because a purge that never rests takes every second turn of the write lane. The purge ends early, to be
    /// resumed by another call, when `shouldContinue` answers false.
    package func purgeDeletedZones(
        pause: () -> Void, rest: (_ seconds: Double) -> Void = { _ in },
        shouldContinue: (PurgeProgress) -> Bool = { _ in true }
    ) throws -> PurgeProgress {
        let clock = ContinuousClock()
        var progress = PurgeProgress()
        var pausesInARow = 0
        var position: [UInt8]?
        while let purge = try nextPurge(from: position) {
            position = GlobalKeys.purge(purge.database, purge.zone)
            var range = ZoneKeys(database: purge.database, zone: purge.zone).all.keyRange
            while true {
                guard shouldContinue(progress) else { return progress }
                if pausesInARow < options.limits.purgePauseCount, store.isUnderWritePressure {
                    pausesInARow += 1
                    progress.pauses += 1
                    pause()
                    continue
                }
                pausesInARow = 0
                let began = clock.now
                let deleted = try deleteEntries(in: range, limit: options.limits.purgeBatchCount)
                guard let last = deleted.last else { break }
                progress.entriesDeleted += deleted.count
                progress.commits += 1
                // Going on from there spares each batch a walk over everything deleted before it.
                range.lower = last
                rest(BackgroundRest.seconds(afterPurgingFor: (clock.now - began) / .seconds(1)))
            }
            try transact { transaction in
                try transaction.removePurge(purge)
            }
            progress.zonesFinished += 1
        }
        return progress
    }

    /// Going on from the last one spares each look a walk over all that were removed before it. Others may have been put up
    /// before it meanwhile.
    private func nextPurge(from position: [UInt8]?) throws -> PurgeEntry? {
        var range = GlobalKeys.purges.keyRange
        if let position { range.lower = position }
        let found = try read { reader in
            var next: PurgeEntry?
            try reader.store.scan(range, .forward, limit: 1) { _, value in
                next = try PurgeEntry(decoding: value)
                return .stop
            }
            return next
        }
        return try found == nil && position != nil ? nextPurge(from: nil) : found
    }

    /// Deletes the first keys of a range, and returns them. Nobody writes them any more, so listing them and deleting
    /// them need not be one transaction.
    private func deleteEntries(in range: KeyRange, limit: Int) throws -> [[UInt8]] {
        let keys = try read { reader in
            var keys: [[UInt8]] = []
            try reader.store.scan(range, .forward, limit: limit) { key, _ in
                keys.append([UInt8](copying: key))
                return .next
            }
            return keys
        }
        guard !keys.isEmpty else { return [] }
        try transact { transaction in
            for key in keys { try transaction.delete(key) }
        }
        return keys
    }
}

extension RecordReader {
    /// How many entries `purgeDeletedZones` will remove, as the store is, when assets and shares of deleted zones have been let
    /// go of. It goes over them, unless the `counter` stops.
    package func purgeableEntryCount(_ counter: WorkCounter? = nil) throws -> Int {
        var ranges = try releases().map { ZoneKeys(database: $0.database, zone: $0.zone).all }
        try store.scan(GlobalKeys.purges.keyRange) { _, value in
            let purge = try PurgeEntry(decoding: value)
            ranges.append(ZoneKeys(database: purge.database, zone: purge.zone).all)
            return .next
        }
        return try ranges.reduce(0) { try $0 + entryCount(in: $1, counter) }
    }
}

extension RecordTransaction {
    fileprivate func removePurge(_ purge: PurgeEntry) throws {
        try delete(GlobalKeys.purge(purge.database, purge.zone))
    }
}

// How long work in the background rests between two batches.

/// Seconds for which others have the store to themselves.
package enum BackgroundRest {
    /// About as long as a batch takes of work that somebody may wait for: clients get every other turn at least.
    package static let shortSeconds = 0.004

    /// A purge takes one part in so many of the time: nobody waits for the room that it makes.
    private static let purgeTurnCount = 8.0
    /// A batch that took long, because others stood in front of it, is no reason to rest for ever.
    private static let longestSeconds = 0.25

    /// The rest behind a batch of a purge that has taken `workedSeconds`.
    static func seconds(afterPurgingFor workedSeconds: Double) -> Double {
        min(workedSeconds * (purgeTurnCount - 1), longestSeconds)
    }
}

// Deleted zones whose records still count as holders of assets, in a ledger of the floor above, or hold shares, because of
// which something lies outside the zone.
//
// Deleting such a zone leaves a release entry in the place of a purge entry. The floor above takes the records out of its
// ledger batch by batch, and the transaction that does so moves the entry on: what stands behind its position still
// counts, what stands before it does not. So every record is taken out once, whenever the process ends and however many
// work at it. Nobody writes the records any more, so they are read before that transaction. The last batch makes the
// entry a purge entry; only then do the keys go.

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
