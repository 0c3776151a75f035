// The work that nobody waits for: what deleted accounts and zones left on the disk, history that is too old, assets
// that no record holds. Each step is resumable: what is left undone at a crash or a close is done the next time.

import FoundationEssentials
import StratusLayout
import StratusModel
package import StratusRecords
import StratusStore

/// How a round of upkeep gives way to others.
package struct UpkeepPace {
    /// Called while the store is behind with its own work; should sleep a little.
    package var pause: () -> Void
    /// Called after each batch with the seconds that should be slept where others write meanwhile.
    package var rest: (_ seconds: Double) -> Void
    /// Asked before each step.
    package var shouldContinue: () -> Bool

    package init(
        pause: @escaping () -> Void, rest: @escaping (_ seconds: Double) -> Void = { _ in },
        shouldContinue: @escaping () -> Bool = { true }
    ) {
        self.pause = pause
        self.rest = rest
        self.shouldContinue = shouldContinue
    }

    /// The rest of work that somebody may wait for.
    func restShortly() { rest(BackgroundRest.shortSeconds) }
}

extension CloudService {
    /// Does one round of upkeep: it finishes indexes, and frees what deleted zones, deleted accounts, expired history
    /// and orphaned assets take.
    ///
    /// Deletions older than `historySeconds` of the wall clock leave the change feeds; tokens from before expire
    /// (T-09). Long trails of shares are cut to `shareEventCount` then. Nil leaves the history alone: looking for what
    /// has expired costs some reads for each zone of the store.
    ///
    /// Throws the store's errors, and `corruption` where the assets of a deleted zone are counted wrongly, with
    /// everything else done.
    package func performUpkeep(historySeconds: Double?, _ pace: UpkeepPace) throws {
        defer { tellOfDeliveries() }
        let release = Result { try releaseAssets(pace) }
        try buildIndexes(pace)
        try free(historySeconds: historySeconds, pace)
        _ = try release.get()
    }

    /// Lets go of the assets of deleted zones. Until it has, their files and their keys stay.
    @discardableResult
    package func releaseAssets(
        _ pace: UpkeepPace, progress: WorkMeter.Listener? = nil, _ counter: WorkCounter? = nil
    ) throws -> AssetReleaseProgress {
        try AssetReleaser(engine: engine, ledger: assetLedger, deliver: { try self.deliverBetween() })
            .releaseAll(
                pause: pace.pause, rest: pace.restShortly, shouldContinue: pace.shouldContinue, progress: progress,
                counter)
    }

    /// Removes what deleted zones and accounts have left behind. What is left undone is done the next time.
    ///
    /// `progress` is told between commits how far each part has come. Throws the store's errors, and `corruption` where
    /// the assets of a deleted zone are counted wrongly.
    package func purge(
        _ pace: UpkeepPace, progress tell: @escaping FreeingProgress.Listener = { _ in }
    ) throws -> PurgeProgress {
        let counter = WorkCounter(tell, shouldContinue: pace.shouldContinue)
        try releaseAssets(pace, progress: FreeingProgress.Part.holders.telling(tell), counter)
        let total = try engine.read { try $0.purgeableEntryCount(counter) }
        let zones = try engine.purgeDeletedZones(pause: pace.pause, rest: pace.rest) {
            tell(FreeingProgress(part: .entries, doneCount: $0.entriesDeleted, totalCount: total))
            return pace.shouldContinue()
        }
        var all = zones
        guard pace.shouldContinue() else { return all }
        try finishDepartures(
            pause: pace.pause, rest: pace.rest,
            shouldContinue: { progress in
                all.zonesFinished = zones.zonesFinished + progress.zonesFinished
                all.entriesDeleted = zones.entriesDeleted + progress.entriesDeleted
                all.commits = zones.commits + progress.commits
                return pace.shouldContinue()
            }, progress: tell, purgedCount: zones.entriesDeleted)
        return all
    }

    private func free(historySeconds: Double?, _ pace: UpkeepPace) throws {
        guard pace.shouldContinue() else { return }
        _ = try engine.purgeDeletedZones(
            pause: pace.pause, rest: pace.rest, shouldContinue: { _ in pace.shouldContinue() })
        guard pace.shouldContinue() else { return }
        try finishDepartures(pause: pace.pause, rest: pace.rest, shouldContinue: { _ in pace.shouldContinue() })
        guard pace.shouldContinue() else { return }
        try collectAssets(shouldContinue: pace.shouldContinue)
        guard let historySeconds else { return }
        try purgeHistory(before: environment.clock.now.addingTimeInterval(-historySeconds), pace)
    }

    /// Removes what earlier processes have left half way. To be called once, before the first request.
    package func removeLeftovers() throws {
        if let assets { try AssetCollector(engine: engine, store: assets).removeLeftovers() }
    }

    private func purgeHistory(before limit: Date, _ pace: UpkeepPace) throws {
        var last: ZoneID?
        repeat {
            guard pace.shouldContinue() else { return }
            let page = try engine.read { try $0.zones(after: last, limit: Self.purgedZoneCount) }
            for zone in page where pace.shouldContinue() {
                if zone.database.scope == .private { try trimShareTrail(of: zone, shouldContinue: pace.shouldContinue) }
                guard let sequence = try newestExpiredSequence(of: zone, before: limit) else { continue }
                do {
                    _ = try engine.purgeHistory(of: zone, upTo: sequence) { _ in pace.shouldContinue() }
                } catch let error as RecordsError where error.code == .unknownZone {
                    // It was deleted meanwhile, history and all.
                    continue
                }
                pace.restShortly()
            }
            last = page.last
        } while last != nil
    }

    /// Zones whose names are in memory at a time.
    private static let purgedZoneCount = 1_000

    /// The newest sequence of a zone that was written before `limit` and is not behind the purge horizon yet. Sequences
    /// grow with time, so it is found by halving.
    private func newestExpiredSequence(of id: ZoneID, before limit: Date) throws -> UInt64? {
        try engine.read { reader in
            guard let zone = try reader.zone(id) else { return nil }
            let header = try zone.header()
            // Everything up to `low` is expired; nothing after `high` is.
            var low = header.horizon
            var high = header.sequence
            while low < high {
                let middle = low + (high - low) / 2
                let next = try zone.changes(after: middle, limit: 1).first
                if let next, next.sequence <= high, try zone.date(of: next) < limit {
                    low = next.sequence
                } else {
                    high = middle
                }
            }
            return low > header.horizon ? low : nil
        }
    }
}

extension ZoneReader {
    /// When the record's latest write happened.
    fileprivate func date(of change: RecordChange) throws -> Date {
        switch try state(of: change.name) {
        case .live(let record): record.header.system.modified.date
        case .deleted(let tombstone): tombstone.deleted.date
        case .absent: .distantPast
        }
    }
}
