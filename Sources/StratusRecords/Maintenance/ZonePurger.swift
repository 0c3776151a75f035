// Removes the keys of deleted zones in the background, batch by batch.
//
// Deleting a zone leaves a purge entry. Nothing can reach the zone's keys any more and its number is never used again,
// so the batches need no coordination with anybody: a crash between two of them loses nothing, the next run goes on
// where keys are left. The purge entry goes last. While the store is behind with its own work the purge waits, but not
// for ever: a store whose background work has stopped stays behind, and only a commit shows why. Between two batches it
// rests for so long that those who save keep most turns of the write lane, and LevelDB's compaction most of its core for
// what they have written: nobody waits for the room.

import StratusLayout
import StratusStore

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
