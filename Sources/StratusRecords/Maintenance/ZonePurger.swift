// Removes the keys of deleted zones in the background, batch by batch.
//
// Deleting a zone leaves a purge entry. No reader can reach the zone's keys, and its number is never used again, so the
// batches need no coordination: after a crash between two of them, the next run continues with the keys that are left.
// The purge entry is deleted last. While the store is behind with its own work, the purge waits, but not without limit:
// a store whose background work has failed stays behind, and only a commit shows why. Between two batches the purge
// rests, so that saves keep most turns of the write lane and most of LevelDB's compaction. Freeing room is not urgent.

package import StratusLayout
package import StratusModel
package import StratusStore

/// The progress of a purge.
package struct PurgeProgress: Hashable, Codable, Sendable {
    package var zonesFinished = 0
    package var entriesDeleted = 0
    package var commits = 0
    /// How many times the purge waited for the store.
    package var pauses = 0

    package init() {}
}

extension RecordEngine {
    /// Purges every deleted zone.
    ///
    /// `pause` is called while the store is under write pressure and should sleep briefly. After as many pauses in a
    /// row as the limits allow, a batch is tried anyway, and throws the error that stops the store's work. `rest` is
    /// called after each batch with the seconds to sleep if others write meanwhile: seven times as long as the batch
    /// took, because a purge that never rests takes every second turn of the write lane. When `shouldContinue` returns
    /// false, the purge ends early. Another call resumes it.
    package func purgeDeletedZones(
        pause: () -> Void, rest: (_ seconds: Double) -> Void = { _ in },
        shouldContinue: (PurgeProgress) -> Bool = { _ in true }
    ) throws -> PurgeProgress {
        var progress = PurgeProgress()
        var position: [UInt8]?
        while let purge = try next(in: GlobalKeys.keyspace(.purges), from: position, { try PurgeEntry(decoding: $1) }) {
            position = purge.keys.listed(in: .purges)
            guard try self.purge(purge, pause, rest, shouldContinue, &progress) else { return progress }
            progress.zonesFinished += 1
        }
        return progress
    }

    /// Purges a deleted zone. Returns false if it was stopped.
    private func purge(
        _ purge: PurgeEntry, _ pause: () -> Void, _ rest: (_ seconds: Double) -> Void,
        _ shouldContinue: (PurgeProgress) -> Bool, _ progress: inout PurgeProgress
    ) throws -> Bool {
        let clock = ContinuousClock()
        let limit = options.limits.purgeBatchCount
        var pausesInARow = 0
        var range = purge.keys.all
        while true {
            guard shouldContinue(progress) else { return false }
            if pausesInARow < options.limits.purgePauseCount, store.isUnderWritePressure {
                pausesInARow += 1
                progress.pauses += 1
                pause()
                continue
            }
            pausesInARow = 0
            let began = clock.now
            // No transaction writes the keys, so they need not be listed and deleted in one.
            let (keys, endsAtOnce) = try read { reader in
                reader.willRead(range, limit: limit)
                return (try reader.store.keys(in: range, limit: limit), reader.store.gainsFromPrefetching)
            }
            guard let last = keys.last else { break }
            // Where a read is a trip, the batch that has the last keys ends the purge.
            let isLast = endsAtOnce && keys.count < limit
            try transact { transaction in
                for key in keys { try transaction.delete(key) }
                if isLast { try transaction.delete(purge.keys.listed(in: .purges)) }
            }
            progress.entriesDeleted += keys.count
            progress.commits += 1
            // Continue there, so that the next scan does not pass over everything deleted before.
            range.lower = last
            rest(BackgroundRest.seconds(afterPurgingFor: (clock.now - began) / .seconds(1)))
            if isLast {
                // There is nothing left to stop: it only gets the last count.
                _ = shouldContinue(progress)
                return true
            }
        }
        try transact { try $0.delete(purge.keys.listed(in: .purges)) }
        return true
    }

    /// The first entry of a list from `position` on, so that the scan does not pass over all that were removed. If
    /// there is none, the first one of the list: others may have been added there.
    func next<Entry>(
        in list: KeyRange, from position: [UInt8]?, _ decode: (Span<UInt8>, Span<UInt8>) throws -> Entry
    ) throws -> Entry? {
        var range = list
        if let position { range.lower = position }
        let found = try read { try $0.store.first(in: range, decode) }
        return try found == nil && position != nil ? next(in: list, from: nil, decode) : found
    }
}

extension RecordReader {
    /// The number of entries that `purgeDeletedZones` would remove now, once assets and shares of deleted zones are
    /// released. Scans them, until the `counter` stops.
    package func purgeableEntryCount(_ counter: WorkCounter? = nil) throws -> Int {
        let released = try releases().map(\.keys.all)
        let purged = try store.collect(GlobalKeys.keyspace(.purges)) { try PurgeEntry(decoding: $1).keys.all }
        return try (released + purged).reduce(0) { try $0 + entryCount(in: $1, counter) }
    }
}

/// How many seconds background work rests between two batches.
package enum BackgroundRest {
    /// About as long as a batch of work that a caller may wait for: clients get at least every other turn.
    package static let shortSeconds = 0.004

    /// A purge works one part in so many of the time: freeing room is not urgent.
    private static let purgeTurnCount = 8.0
    /// An index is built a quarter of the time beside writers, more if a batch takes longer than a twelfth of a second.
    private static let buildingTurnCount = 4.0
    /// A batch may take long because it waited for others: the rest has a limit.
    private static let longestSeconds = 0.25

    /// The rest after a batch of a purge that took `workedSeconds`.
    static func seconds(afterPurgingFor workedSeconds: Double) -> Double {
        min(workedSeconds * (purgeTurnCount - 1), longestSeconds)
    }

    /// The rest after a batch of an index that took `workedSeconds`.
    static func seconds(afterBuildingFor workedSeconds: Double) -> Double {
        min(workedSeconds * (buildingTurnCount - 1), longestSeconds)
    }
}

// Releases: deleted zones whose records still hold assets, in a ledger of the floor above, or shares with entries
// outside the zone.
//
// Deleting such a zone leaves a release entry instead of a purge entry. The floor above removes the records from its
// ledger batch by batch, and the same transaction moves the entry's position: records behind the position still count,
// records before it do not. So every record is removed once, even after a crash and with several workers. No
// transaction writes the records, so they are read before. The last batch turns the entry into a purge entry. Only then
// are the keys deleted.

extension RecordReader {
    /// The releases after `position`, at most `limit` of them.
    package func releases(after position: ReleaseEntry? = nil, limit: Int = .max) throws -> [ReleaseEntry] {
        let range = position.map { GlobalKeys.releases(after: $0.database, $0.zone) } ?? GlobalKeys.keyspace(.releases)
        return try store.collect(range, limit: limit) { try ReleaseEntry(decoding: $1) }
    }

    /// Those of one database.
    package func releases(in database: DatabaseNumber, limit: Int = .max) throws -> [ReleaseEntry] {
        let range = GlobalKeys.zones(of: database, in: .releases)
        return try store.collect(range, limit: limit) { try ReleaseEntry(decoding: $1) }
    }

    /// Visits the records of a deleted zone that still count, in the order of their names, until the visitor stops or
    /// `limit` records and tombstones were read.
    ///
    /// Returns how many were read, and the last of them; nil if there are none behind it.
    package func visitRecords(
        of release: ReleaseEntry, limit: Int = .max, _ visit: (Record) throws -> ScanStep
    ) throws -> (count: Int, last: RecordName?) {
        let zone = zone(of: release)
        let range = zone.keys.records(after: release.last)
        // Read one more than is visited, to know whether there are others.
        let lastCount = limit == .max ? limit : limit + 1
        var names: [RecordName] = []
        willRead(range, limit: min(lastCount, ZoneReads.pageCount))
        try store.scan(range) { key, _ in
            let parts = try zone.keys.readRecordKey(key)
            if parts.chunkIndex == nil { names.append(parts.name) }
            return names.count < lastCount ? .next : .stop
        }
        for (index, name) in names.enumerated() {
            if index == limit { return (limit, names[index - 1]) }
            guard let record = try zone.record(name)?.record else { continue }
            if try visit(record) == .stop { return (index + 1, index + 1 < names.count ? name : nil) }
        }
        return (names.count, nil)
    }

    /// The number of records and tombstones of a deleted zone that still count. Scans their entries.
    package func recordCount(of release: ReleaseEntry, _ counter: WorkCounter? = nil) throws -> Int {
        let keys = release.keys
        let range = keys.records(after: release.last)
        var count = 0
        try store.scan(range) { key, _ in
            guard try keys.readRecordKey(key).chunkIndex == nil else { return .next }
            count += 1
            return counter?.add() ?? .next
        }
        return count
    }

    /// A reader of a deleted zone. Its name is no longer known: errors name its number.
    package func zone(of release: ReleaseEntry) -> ZoneReader {
        zone(of: release.keys, owner: release.owner)
    }

    /// A reader of a zone by its numbers alone.
    func zone(of keys: ZoneKeys, owner: UserName? = nil) -> ZoneReader {
        let database = DatabaseID(container: "", owner: owner, scope: .private)
        return ZoneReader(
            id: ZoneID(database: database, name: ZoneName("\(keys.database) / \(keys.zone)")), keys: keys,
            store: store, transaction: nil, cache: engine.ancestorCache, limits: engine.options.limits)
    }
}

extension RecordTransaction {
    /// Whether the release is still at this position, so that no other worker has continued it.
    package func isPending(_ release: ReleaseEntry) throws -> Bool {
        try store.withValue(forKey: release.keys.listed(in: .releases)) { try ReleaseEntry(decoding: $0) } == release
    }

    /// Notes that the records up to `last` no longer count, in the transaction that removes them from the ledger. With
    /// nil no record counts, and the zone's keys may be purged.
    ///
    /// The release must be pending.
    package func advance(_ release: ReleaseEntry, to last: RecordName?) throws {
        let key = release.keys.listed(in: .releases)
        if let last {
            var moved = release
            moved.last = last
            return try set(key, to: moved.encoded())
        }
        try delete(key)
        try set(release.keys.listed(in: .purges), to: release.purge.encoded())
    }
}
