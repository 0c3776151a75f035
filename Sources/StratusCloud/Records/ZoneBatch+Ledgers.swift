// What a zone's items change beside its records: what is counted for their owner, and who holds which content.

import FoundationEssentials
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

/// The contents that records begin and cease to hold, with how often.
struct AssetChange {
    private(set) var added: [AssetDescriptor: Int] = [:]
    private(set) var gone: [AssetDescriptor: Int] = [:]

    init(saves: [JudgedSave], removed: [RemovedRecord]) {
        for save in saves {
            added.merge(save.record.assets, uniquingKeysWith: +)
            if let old = save.old { gone.merge(old.record.assets, uniquingKeysWith: +) }
        }
        for record in removed { gone.merge(record.assets, uniquingKeysWith: +) }
    }

    var isEmpty: Bool { added.isEmpty && gone.isEmpty }
}

extension ZoneBatch {
    /// Charges what the zone then holds more or less to its owner, which for public data is the app (S-16). Returns the
    /// error when there is no room.
    func charge(saves: [JudgedSave], removed: [RemovedRecord], zone: UUID) throws -> CloudError? {
        if let error = saves.lazy.compactMap(\.quotaError).first { return error }
        var change = saves.reduce(Int64(0)) { $0.addingCapped($1.byteCountChange) }
        for record in removed { change = change.addingCapped(-record.byteCount) }
        let charged = try service.charged(for: request.zone, account, in: transaction)
        do {
            try QuotaLedger.charge(
                byteCount: change, to: charged.owner, zone: zone, limit: charged.limit, in: transaction)
            return nil
        } catch let error as CloudError where error.code == .quotaExceeded {
            return request.zone.isShared ? error.withoutFields : error
        }
    }

    /// The saves that newly hold a content that is not to be had any more.
    func contentErrors(saves: [JudgedSave], _ assets: AssetChange) throws -> [RecordName: CloudError] {
        // Contents that were not taken in have no lease, and are not written either.
        guard !assets.added.isEmpty, saves.allSatisfy({ $0.quotaError == nil }) else { return [:] }
        let unavailable = try service.assetLedger.unavailable(
            adding: assets.added, removing: assets.gone, owner: request.zone.assetOwner,
            atUptimeSeconds: outset.uptimeSeconds, in: transaction)
        guard !unavailable.isEmpty else { return [:] }
        var errors: [RecordName: CloudError] = [:]
        for save in saves {
            let before = save.old?.record.assets ?? [:]
            let missing = save.record.assets.keys.first { before[$0] == nil && unavailable.contains($0.digest) }
            if let missing { errors[save.name] = AssetLedger.unavailableError(digest: missing.digest) }
        }
        return errors
    }

    func settle(_ assets: AssetChange) throws {
        guard !assets.isEmpty else { return }
        try service.assetLedger.settle(
            adding: assets.added, removing: assets.gone, owner: request.zone.assetOwner,
            atUptimeSeconds: outset.uptimeSeconds, in: transaction)
        let change = assets.added.values.reduce(0, +) - assets.gone.values.reduce(0, +)
        try ZoneFacts.changeAssetCount(
            by: change, of: request.zone.id.name, DatabaseKeys(zone.keys.database), in: transaction)
    }

    /// The most bytes that `charge` and `settle` write.
    func ledgerByteCount(_ assets: AssetChange) -> Int {
        let entryByteCount =
            GlobalKeys.asset(owner: request.zone.assetOwner, digest: AssetIntake.unknownDigest).count + 24
        return (assets.added.count + assets.gone.count) * entryByteCount + 4 * StoreLimits.maximumKeyByteCount
    }
}
