// Removes the records of deleted zones from the ledger of assets, batch by batch (Z-04, R-14).
//
// Deleting a zone is O(1), so its records still count as holders of their assets until they are released here. A batch
// is one transaction: it removes its records from the ledger and moves the zone's release entry past them, or neither.
// So each record is removed exactly once, even after a crash. A new zone of the same name has its own records and is
// not affected.
//
// Before that, `ShareReleaser` removes the entries outside the zone that exist because of its shares, so that none is
// left when its keys are purged.

import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

/// The result of a release.
package struct AssetReleaseProgress: Hashable, Sendable {
    package var zonesFinished = 0
    /// Fields and list items that no longer count.
    package var assetsReleased = 0
    /// Deleted entries outside the zones that existed because of their shares.
    package var shareEntriesDeleted = 0
    package var commits = 0
    /// Times the release waited for the store.
    package var pauses = 0

    package init() {}
}

/// Releases the assets of deleted zones.
struct AssetReleaser {
    let service: CloudService
    let pace: UpkeepPace
    /// Gets how many records and shares were read.
    let meter: WorkMeter?
    private(set) var progress = AssetReleaseProgress()

    private var engine: RecordEngine { service.engine }

    /// Releases the assets of every deleted zone; then the zones' keys may be purged. After a stop, another releaser
    /// does the rest.
    ///
    /// Throws the store's errors, and `StoreError` with `corruption` if the ledger counts less than a zone's records
    /// hold: that zone stays as it is, and the others are still released.
    mutating func releaseAll() throws -> AssetReleaseProgress {
        var damage: StoreError?
        var position: ReleaseEntry?
        while let release = try engine.read({ try $0.releases(after: position, limit: 1).first }) {
            do {
                guard try finish(release) else { return progress }
            } catch let error as StoreError {
                guard error.code == .corruption else { throw error }
                damage = damage ?? error
            }
            position = release
        }
        if let damage { throw damage }
        return progress
    }

    /// Releases one zone. Returns false if it was stopped.
    private mutating func finish(_ release: ReleaseEntry) throws -> Bool {
        // The zone's deletion is committed, so this delivers its news at the latest, while it is still known who had
        // accepted the shares of the zone.
        if release.last == nil { try service.deliverBetween() }
        let isShareless = try ShareReleaser(engine: engine).releaseShares(
            of: release, mayCommit: { mayGoOn() },
            didCommit: { count in
                progress.commits += 1
                progress.shareEntriesDeleted += count
                pace.restShortly()
            }, didLook: { [meter] in meter?.add($0) })
        guard isShareless else { return false }
        var stored = release
        // Ahead of the stored position after records without assets.
        var cursor = release
        while mayGoOn() {
            let batch = try nextBatch(of: cursor)
            if batch.assets.isEmpty, let last = batch.last {
                cursor.last = last
                meter?.add(batch.count)
                continue
            }
            // If it is not pending, another thread is releasing it.
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
            pace.restShortly()
        }
        return false
    }

    /// Waits while the store is under write pressure, up to a limit. Returns false if it was stopped.
    private mutating func mayGoOn() -> Bool {
        var pausesInARow = 0
        while pace.shouldContinue() {
            guard pausesInARow < engine.options.limits.purgePauseCount, engine.store.isUnderWritePressure else {
                return true
            }
            pausesInARow += 1
            progress.pauses += 1
            pace.pause()
        }
        return false
    }

    private struct Batch {
        var assets: [AssetDescriptor: Int] = [:]
        /// The number of records and tombstones read.
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
            RequestReads(transaction)?.announce(
                [release.keys.listed(in: .releases)]
                    + batch.assets.keys.map { GlobalKeys.asset(owner: release.owner, digest: $0.digest) })
            guard try transaction.isPending(release) else { return false }
            try service.assetLedger.settle(
                adding: [:], removing: batch.assets, owner: release.owner, in: transaction)
            try transaction.advance(release, to: batch.last)
            return true
        }
    }
}
