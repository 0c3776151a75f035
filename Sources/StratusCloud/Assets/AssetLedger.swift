// Which contents are in use: a count for each content of each owner, changed in the same transaction as the records
// that hold it. What has no entry is nobody's and is collected.

package import StratusLayout
package import StratusModel
package import StratusRecords
import StratusStore

/// Counts how often each content is held.
package struct AssetLedger: Sendable {
    let leases: AssetLeases?

    /// - Parameter store: where the contents are; without one only contents that are in the ledger can be added.
    package init(store: AssetStore?) { leases = store?.leases }

    /// Counts the contents that records of an owner begin and cease to hold in this transaction, once for each field or
    /// list item. What is added and removed as often as each other does not count.
    ///
    /// `uptimeSeconds` is the time at which leases are looked at, drawn before the transaction; nil where nothing is
    /// added.
    ///
    /// Throws `assetNotAvailable` when content is neither in the ledger nor leased: it may be collected already, and
    /// must be uploaded again. Throws `RecordsError` with `corruption` when content is removed more often than counted.
    package func settle(
        adding added: [AssetDescriptor: Int], removing removed: [AssetDescriptor: Int], owner: UserName,
        atUptimeSeconds uptimeSeconds: Double? = nil, in transaction: RecordTransaction
    ) throws {
        for change in Self.changes(adding: added, removing: removed) {
            try settle(change, owner, uptimeSeconds, in: transaction)
        }
    }

    /// The contents that `settle` would refuse with `assetNotAvailable`; the leases of all others are lengthened.
    /// Nothing is written.
    package func unavailable(
        adding added: [AssetDescriptor: Int], removing removed: [AssetDescriptor: Int], owner: UserName,
        atUptimeSeconds uptimeSeconds: Double, in transaction: RecordTransaction
    ) throws -> Set<[UInt8]> {
        var digests: Set<[UInt8]> = []
        for change in Self.changes(adding: added, removing: removed) where change.count > 0 {
            let key = AssetKey(owner: owner, digest: change.digest)
            guard try Self.entry(of: key, in: transaction) == nil else { continue }
            if leases?.renew(key, atUptimeSeconds: uptimeSeconds) != true { digests.insert(change.digest) }
        }
        return digests
    }

    static func unavailableError(digest: [UInt8]) -> CloudError {
        CloudError(
            .assetNotAvailable, "The asset's content is on the server no more: save it again from its file.",
            ["digest": Hex.text(digest)])
    }

    private struct Change {
        var digest: [UInt8]
        var count: Int
        var byteCount: Int64
    }

    /// What is not added and removed as often as each other, in the order of the digests.
    private static func changes(
        adding added: [AssetDescriptor: Int], removing removed: [AssetDescriptor: Int]
    ) -> [Change] {
        var changes: [[UInt8]: Change] = [:]
        for (asset, count) in added {
            changes[asset.digest, default: Change(digest: asset.digest, count: 0, byteCount: asset.byteCount)].count +=
                count
        }
        for (asset, count) in removed {
            changes[asset.digest, default: Change(digest: asset.digest, count: 0, byteCount: asset.byteCount)].count -=
                count
        }
        return changes.values.filter { $0.count != 0 }.sorted { $0.digest.lexicographicallyPrecedes($1.digest) }
    }

    private func settle(
        _ change: Change, _ owner: UserName, _ uptimeSeconds: Double?, in transaction: RecordTransaction
    ) throws {
        let key = AssetKey(owner: owner, digest: change.digest)
        let ledgerKey = GlobalKeys.asset(owner: key.owner, digest: key.digest)
        let entry = try Self.entry(of: key, in: transaction)
        let (count, isOverflow) = Int64(clamping: entry?.count ?? 0).addingReportingOverflow(Int64(change.count))
        guard !isOverflow, count >= 0 else {
            throw RecordsError(
                .corruption, "An asset is removed more often than it is counted: verify the assets of the store.",
                ["digest": Hex.text(key.digest), "owner": key.owner.text])
        }
        if entry == nil {
            let isLeased = uptimeSeconds.map { leases?.renew(key, atUptimeSeconds: $0) == true }
            guard isLeased == true else { throw Self.unavailableError(digest: key.digest) }
        }
        guard count > 0 else {
            try transaction.delete(ledgerKey)
            transaction.onPublish { [leases] _ in leases?.noteOrphan(key) }
            return
        }
        let new = AssetEntry(count: UInt64(count), byteCount: entry?.byteCount ?? change.byteCount)
        try transaction.set(ledgerKey, to: new.encoded())
        if entry == nil { transaction.onPublish { [leases] _ in leases?.noteCommitted(key) } }
    }

    /// How often a content is held; nil when it is not.
    package static func entry(of key: AssetKey, in reader: RecordReader) throws -> AssetEntry? {
        try reader.store.withValue(forKey: GlobalKeys.asset(owner: key.owner, digest: key.digest)) {
            try AssetEntry(decoding: $0)
        }
    }
}

extension Record {
    /// The contents that the record's fields hold, with how often.
    package var assets: [AssetDescriptor: Int] {
        var assets: [AssetDescriptor: Int] = [:]
        for field in fields.values {
            switch field.value {
            case .asset(let asset): assets[asset, default: 0] += 1
            case .list(let items):
                for case .asset(let asset) in items { assets[asset, default: 0] += 1 }
            default: break
            }
        }
        return assets
    }
}
