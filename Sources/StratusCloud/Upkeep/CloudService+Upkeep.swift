// Background work: frees what deleted accounts and zones left on the disk, expired history, and assets that no record
// holds. Each step is resumable: after a crash or a close the next round continues.

import FoundationEssentials
import StratusLayout
import StratusModel
package import StratusRecords
import StratusStore

/// How a round of upkeep yields to other work.
package struct UpkeepPace {
    /// Called while the store is under write pressure; should sleep a little.
    package var pause: () -> Void
    /// Called after a batch beside which others may write, with the seconds to sleep.
    package var rest: (_ seconds: Double) -> Void
    /// Called before each step; returns false to stop.
    package var shouldContinue: () -> Bool

    package init(
        pause: @escaping () -> Void, rest: @escaping (_ seconds: Double) -> Void = { _ in },
        shouldContinue: @escaping () -> Bool = { true }
    ) {
        self.pause = pause
        self.rest = rest
        self.shouldContinue = shouldContinue
    }

    /// The short rest, for work that a caller may wait for.
    func restShortly() { rest(BackgroundRest.shortSeconds) }
}

extension CloudService {
    /// Runs one round of upkeep: finishes indexes, and frees the space of deleted zones, deleted accounts, expired
    /// history and orphaned assets.
    ///
    /// Removes deletions older than `historySeconds` of the wall clock from the change feeds, and expires older tokens
    /// (T-09); also cuts long trails of shares to `shareEventCount`. With nil it keeps the history: finding what has
    /// expired costs some reads for each zone of the store.
    ///
    /// Where several processes write the store, each kind of work is done by one of them at a time. This one leaves out
    /// what another one does; the result says whether the history was among that.
    ///
    /// Throws the store's errors, and, after everything else is done, `corruption` if the assets of a deleted zone are
    /// counted wrongly.
    @discardableResult
    package func performUpkeep(historySeconds: Double?, _ pace: UpkeepPace) throws -> Bool {
        // Not deliveries, which come often. A store that fails keeps it with this process.
        defer { try? engine.giveBack(BackgroundWork.allCases.filter { $0 != .deliveries }) }
        defer { tellOfDeliveries() }
        let release = Result { try engine.working(on: .purges) { try releaseAssets(pace) } }
        try engine.working(on: .indexes) { try buildIndexes(pace) }
        let hasHistory = try free(historySeconds: historySeconds, pace)
        _ = try release.get()
        return hasHistory
    }

    /// Releases the assets of deleted zones. Until then their files and keys stay.
    ///
    /// `progress` gets how many records and shares were read, and the total, which needs a walk over the zones;
    /// `counter` reports that walk.
    @discardableResult
    package func releaseAssets(
        _ pace: UpkeepPace, progress tell: WorkMeter.Listener? = nil, _ counter: WorkCounter? = nil
    ) throws -> AssetReleaseProgress {
        let meter = try tell.map { tell in
            let total = try engine.read { reader in
                try reader.releases().reduce(0) {
                    try $0 + reader.recordCount(of: $1, counter)
                        + ShareReleaser.shareCount(of: $1, in: reader, counter)
                }
            }
            return WorkMeter(total: total, tell)
        }
        var releaser = AssetReleaser(service: self, pace: pace, meter: meter)
        return try releaser.releaseAll()
    }

    /// Removes the remaining data of deleted zones and accounts. After a stop, the next call continues.
    ///
    /// `progress` gets the progress of each part between commits. Throws the store's errors, and `corruption` if the
    /// assets of a deleted zone are counted wrongly.
    package func purge(
        _ pace: UpkeepPace, progress tell: @escaping FreeingProgress.Listener = { _ in }
    ) throws -> PurgeProgress {
        let counter = WorkCounter(FreeingPart.counting, tell, shouldContinue: pace.shouldContinue)
        try releaseAssets(pace, progress: FreeingPart.holders.telling(tell), counter)
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

    /// Returns whether it has looked at the history.
    private func free(historySeconds: Double?, _ pace: UpkeepPace) throws -> Bool {
        guard pace.shouldContinue() else { return false }
        try engine.working(on: .purges) {
            try engine.purgeDeletedZones(
                pause: pace.pause, rest: pace.rest, shouldContinue: { _ in pace.shouldContinue() })
        }
        guard pace.shouldContinue() else { return false }
        try engine.working(on: .departures) {
            try finishDepartures(pause: pace.pause, rest: pace.rest, shouldContinue: { _ in pace.shouldContinue() })
        }
        guard pace.shouldContinue() else { return false }
        // Files of this process.
        if let assets { AssetCollector(engine: engine, store: assets).removeReleasedCopies() }
        try engine.working(on: .assets) { try collectAssets(shouldContinue: pace.shouldContinue) }
        guard let historySeconds, pace.shouldContinue() else { return false }
        return try engine.working(on: .history) {
            try purgeHistory(before: environment.clock.now.addingTimeInterval(-historySeconds), pace)
        } != nil
    }

    /// Removes what earlier processes have left. Call it once, before the first request.
    package func removeLeftovers() throws {
        if let assets { try AssetCollector(engine: engine, store: assets).removeLeftovers() }
    }

    private func purgeHistory(before limit: Date, _ pace: UpkeepPace) throws {
        var last: ZoneID?
        repeat {
            guard pace.shouldContinue() else { return }
            let page = try engine.read { try $0.zones(after: last, limit: Self.purgedZoneCount) }
            for start in stride(from: 0, to: page.count, by: Self.comparedZoneCount) where pace.shouldContinue() {
                let zones = page[start...].prefix(Self.comparedZoneCount)
                for (zone, history) in zip(zones, try expiredHistories(of: zones, before: limit)) {
                    try purge(history, of: zone, pace)
                }
            }
            last = page.last
        } while last != nil
    }

    private func purge(_ history: ExpiredHistory, of zone: ZoneID, _ pace: UpkeepPace) throws {
        guard pace.shouldContinue() else { return }
        if let event = history.newestEvent {
            try trimShareTrail(of: zone, upTo: event, shouldContinue: pace.shouldContinue)
        }
        guard let sequence = history.newestSequence else { return }
        do {
            _ = try engine.purgeHistory(of: zone, upTo: sequence) { _ in pace.shouldContinue() }
        } catch let error as StoreError where error.code == .unknownZone {
            // It was deleted meanwhile, history and all.
            return
        }
        pace.restShortly()
    }

    /// Zones whose names are in memory at a time.
    private static let purgedZoneCount = 1_000
    /// Zones whose history is looked at in one snapshot.
    private static let comparedZoneCount = 64

    /// What has expired in a zone.
    private struct ExpiredHistory {
        /// The key of the newest event of the trail of shares to remove.
        var newestEvent: [UInt8]?
        /// The newest sequence to remove from the feed.
        var newestSequence: UInt64?
    }

    private func expiredHistories(
        of zones: some Collection<ZoneID>, before limit: Date
    ) throws -> [ExpiredHistory] {
        try engine.read { reader in
            announceHistories(of: zones, in: reader)
            return try zones.map { id in
                guard let zone = try reader.zone(id) else { return ExpiredHistory() }
                return ExpiredHistory(
                    newestEvent: try id.database.scope == .private ? newestDispensableEvent(of: zone) : nil,
                    newestSequence: try newestExpiredSequence(of: zone, before: limit))
            }
        }
    }

    /// The newest sequence of a zone that was written before `limit` and is after the purge horizon. Sequences grow
    /// with time, so this is a binary search.
    private func newestExpiredSequence(of zone: ZoneReader, before limit: Date) throws -> UInt64? {
        let header = try zone.header()
        // Everything up to `low` is expired; nothing after `high` is.
        var low = header.horizon
        var high = header.sequence
        var reads = ExpiryReads(in: zone)
        while low < high {
            let middle = low + (high - low) / 2
            reads?.willLook(between: low, and: high)
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

extension ZoneReader {
    /// The date of the record's latest write.
    fileprivate func date(of change: LatestWrite) throws -> Date {
        switch try state(of: change.name) {
        case .live(let record): record.header.system.modified.date
        case .deleted(let tombstone): tombstone.deleted.date
        case .absent: .distantPast
        }
    }
}
