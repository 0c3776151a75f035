// Takes the records of deleted zones out of the ledger of assets, batch by batch (Z-04, R-14).
//
// Deleting a zone costs the same whatever it holds, so its records go on counting as holders of their assets until this
// has come to them. A batch is one transaction: the ledger counts its records no more, and the release entry of the zone
// has moved behind them, or neither. Each is therefore taken out once, whatever happens in between; a zone that was made
// anew under the same name has records of its own and is not concerned.
//
// What lies outside the zone because of its shares goes before (`ShareReleaser`), so that nothing does when its keys go.

import StratusLayout
import StratusModel
package import StratusRecords
import StratusStore

/// What a release has done.
package struct AssetReleaseProgress: Hashable, Sendable {
    package var zonesFinished = 0
    /// Fields and list items that count no more.
    package var assetsReleased = 0
    /// Entries outside the zones that existed because of their shares, and are gone.
    package var shareEntriesDeleted = 0
    package var commits = 0
    /// Times the release waited for the store.
    package var pauses = 0

    package init() {}
}

/// Lets go of the assets of deleted zones.
package struct AssetReleaser: Sendable {
    private let engine: RecordEngine
    private let ledger: AssetLedger
    private let deliver: @Sendable () throws -> Void

    /// A `ledger` without a store leaves the files to the next sweep. `deliver` is asked to tell those who have subscribed of
    /// what commits left behind, while it is still known who had accepted the shares of a zone.
    package init(
        engine: RecordEngine, ledger: AssetLedger, deliver: @escaping @Sendable () throws -> Void = {}
    ) {
        self.engine = engine
        self.ledger = ledger
        self.deliver = deliver
    }

    /// Releases the assets of every deleted zone; the zones' keys may be purged then. `pause`, `rest` and
    /// `shouldContinue` are those of `RecordEngine.purgeDeletedZones`; what is left is done by another call. `progress` is
    /// told how many records and shares were looked at, and of how many, which it takes a walk over the zones to know; the
    /// `counter` tells of that walk.
    ///
    /// Throws the store's errors, and `RecordsError` with `corruption` where the ledger counts less than a zone's records
    /// hold: that zone stays as it is, and the others are released all the same.
    @discardableResult
    package func releaseAll(
        pause: () -> Void, rest: () -> Void = {}, shouldContinue: () -> Bool = { true },
        progress tell: WorkMeter.Listener? = nil, _ counter: WorkCounter? = nil
    ) throws -> AssetReleaseProgress {
        let meter = try tell.map { WorkMeter(total: try lookCount(counter), $0) }
        var progress = AssetReleaseProgress()
        var damage: RecordsError?
        var position: ReleaseEntry?
        while let release = try engine.read({ try $0.releases(after: position, limit: 1).first }) {
            do {
                guard try finish(release, &progress, pause, rest, shouldContinue, meter) else { return progress }
            } catch let error as RecordsError {
                guard error.code == .corruption else { throw error }
                damage = damage ?? error
            }
            position = release
        }
        if let damage { throw damage }
        return progress
    }

    /// How many records and shares there are to be looked at.
    private func lookCount(_ counter: WorkCounter?) throws -> Int {
        try engine.read { reader in
            try reader.releases().reduce(0) {
                try $0 + reader.recordCount(of: $1, counter) + ShareReleaser.shareCount(of: $1, in: reader, counter)
            }
        }
    }

    /// Releases one zone. Returns false when it was told to stop.
    private func finish(
        _ release: ReleaseEntry, _ progress: inout AssetReleaseProgress, _ pause: () -> Void, _ rest: () -> Void,
        _ shouldContinue: () -> Bool, _ meter: WorkMeter?
    ) throws -> Bool {
        // The zone's deletion was committed before this release was found, so that it is told now at the latest.
        if release.last == nil { try deliver() }
        let isShareless = try ShareReleaser(engine: engine).releaseShares(
            of: release, mayCommit: { mayGoOn(&progress, pause, shouldContinue) },
            didCommit: { count in
                progress.commits += 1
                progress.shareEntriesDeleted += count
                rest()
            }, didLook: { meter?.add($0) })
        guard isShareless else { return false }
        var stored = release
        // Ahead of what is stored where records without assets were passed over.
        var cursor = release
        while mayGoOn(&progress, pause, shouldContinue) {
            let batch = try nextBatch(of: cursor)
            if batch.assets.isEmpty, let last = batch.last {
                cursor.last = last
                meter?.add(batch.count)
                continue
            }
            // Where it is not pending somebody else is at work, and goes on.
            guard try settle(batch, of: stored) else { return true }
            meter?.add(batch.count)
            progress.commits += 1
            progress.assetsReleased += batch.assets.values.reduce(0, +)
            guard let last = batch.last else {
                progress.zonesFinished += 1
                return true
            }
            stored.last = last
            cursor.last = last
            rest()
        }
        return false
    }

    /// Waits while the store is behind with its own work, but not for ever. Returns false when it was told to stop.
    private func mayGoOn(
        _ progress: inout AssetReleaseProgress, _ pause: () -> Void, _ shouldContinue: () -> Bool
    ) -> Bool {
        var pausesInARow = 0
        while shouldContinue() {
            guard pausesInARow < engine.options.limits.purgePauseCount, engine.store.isUnderWritePressure else {
                return true
            }
            pausesInARow += 1
            progress.pauses += 1
            pause()
        }
        return false
    }

    private struct Batch {
        var assets: [AssetDescriptor: Int] = [:]
        /// Records and tombstones looked at.
        var count = 0
        var last: RecordName?
    }

    private func nextBatch(of release: ReleaseEntry) throws -> Batch {
        let limit = engine.options.limits.purgeBatchCount
        return try engine.read { reader in
            var batch = Batch()
            var assetCount = 0
            (batch.count, batch.last) = try reader.visitRecords(of: release, limit: limit) { record in
                for (asset, number) in record.assets {
                    batch.assets[asset, default: 0] += number
                    assetCount += number
                }
                return assetCount < limit ? .next : .stop
            }
            return batch
        }
    }

    private func settle(_ batch: Batch, of release: ReleaseEntry) throws -> Bool {
        try engine.transact { transaction in
            guard try transaction.isPending(release) else { return false }
            try ledger.settle(adding: [:], removing: batch.assets, owner: release.owner, in: transaction)
            try transaction.advance(release, to: batch.last)
            return true
        }
    }
}
