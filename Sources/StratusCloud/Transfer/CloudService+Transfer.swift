// What is carried over from another store: accounts, zones and records are written as they were there, with their dates
// and authors, past what clients may do and with everything that hangs on them. Nobody is told of it, and no schema is
// learnt.
//
// Invariant: what is there already is left as it is, so that a transfer that was interrupted is taken up by beginning
// anew. Change tags and the places of records in feeds are those of this store: they are moments of its history.

import FoundationEssentials
package import StratusLayout
package import StratusModel
package import StratusRecords
import StratusStore

extension CloudService {
    /// Takes over an account with its identifier and user name. Returns whether it was not there.
    ///
    /// Throws as `createAccount`.
    package func adoptAccount(_ account: Account) throws(CloudError) -> Bool {
        try answering { try engine.transact { try accountDirectory.adopt(account, in: $0) } }
    }

    /// Takes over an empty zone. Returns whether it was not there.
    package func adoptZone(
        _ id: ZoneID, created: Stamp, encryptionScope: ZoneEncryptionScope
    ) throws(CloudError) -> Bool {
        var birth = makeBirth(by: created.user)
        birth.stamp = created
        let drawn = birth
        return try answering {
            try engine.transact { transaction in
                guard try transaction.listing(of: id) == nil else { return false }
                try requireUnused(drawn.identity, for: id, in: transaction)
                try transaction.createZone(id, drawn)
                guard encryptionScope != .perRecord, let database = try transaction.databaseEntry(id.database) else {
                    return true
                }
                let entry = ZoneSettingsEntry(encryptionScope: encryptionScope.rawValue)
                try transaction.set(DatabaseKeys(database.number).zoneSettings(id.name), to: entry.encoded())
                return true
            }
        }
    }

    /// Takes over records of a zone as one commit, parents before their children. The contents of their assets have
    /// been taken in. Returns how many were not there.
    ///
    /// Throws `CloudError`: what stands against a record, and `assetNotAvailable` for a content that is not here.
    package func adoptRecords(_ records: [StoredRecord], in id: ZoneID) throws(CloudError) -> Int {
        guard let first = records.first else { return 0 }
        let (salt, uptime) = (environment.identifiers.makeSalt(), environment.clock.uptimeSeconds)
        return try answering {
            try engine.transact { transaction in
                let zone = try transaction.existingZone(id)
                let new = try records.filter { try zone.node($0.record.name) == nil }
                guard !new.isEmpty else { return 0 }
                var request = MutationRequest(
                    new.map { .save($0.record) }, stamp: first.system.modified, tagSalt: salt)
                for stored in new {
                    request.creations[stored.record.name] = stored.system.created
                    request.modifications[stored.record.name] = stored.system.modified
                }
                for type in Set(new.map(\.record.type)) {
                    let schema = try schemaKeeper.schema(of: type, container: id.database.container, in: transaction)
                    request.queryIndexes[type] = schema?.queryIndexes ?? [:]
                }
                let plan = try transaction.plan(request, in: id)
                let writer = ShareWriter(acceptanceDirectory, to: zone, in: transaction)
                let settlements = try settlements(of: new, with: plan, writer)
                try settleLedgers(of: new, plan.header.identity, zone, atUptimeSeconds: uptime, in: transaction)
                try transaction.carryOut(plan, in: id)
                subscriptionDirectory.noteShares(of: plan, in: transaction)
                for settlement in settlements { try writer.write(settlement) }
                return new.count
            }
        }
    }

    private func settlements(
        of records: [StoredRecord], with plan: MutationPlan, _ writer: ShareWriter
    ) throws -> [ShareSettlement] {
        try records.compactMap { stored in
            guard let content = try stored.record.shareContent() else { return nil }
            let change = ShareTransition(share: stored.record.name, old: nil, new: content)
            return try writer.settlement(of: [change], with: plan, stamp: stored.system.modified)
        }
    }

    /// Counts what the records take, and the contents that they hold.
    private func settleLedgers(
        of records: [StoredRecord], _ identity: UUID, _ zone: ZoneReader, atUptimeSeconds uptime: Double,
        in transaction: RecordTransaction
    ) throws {
        let owner = Self.assetOwner(of: zone.id.database)
        let byteCount = records.reduce(Int64(0)) { $0.addingCapped(QuotaLedger.byteCount(of: $1.record)) }
        try QuotaLedger.charge(byteCount: byteCount, to: owner, zone: identity, limit: nil, in: transaction)
        var assets: [AssetDescriptor: Int] = [:]
        for stored in records { assets.merge(stored.record.assets, uniquingKeysWith: +) }
        guard !assets.isEmpty else { return }
        try assetLedger.settle(
            adding: assets, removing: [:], owner: owner, atUptimeSeconds: uptime, in: transaction)
        try ZoneFacts.changeAssetCount(
            by: assets.values.reduce(0, +), of: zone.id.name, DatabaseKeys(zone.keys.database), in: transaction)
    }

    /// Takes over a subscription, as the bytes in which it is stored say it.
    ///
    /// Throws `internalError` where they say none.
    package func adoptSubscription(_ parts: SubscriptionKeyParts, _ bytes: [UInt8]) throws(CloudError) {
        try answering {
            let entry = try SubscriptionEntry(decoding: bytes.span)
            let known = try KnownSubscription(parts, entry)
            try engine.transact { transaction in
                try transaction.set(GlobalKeys.subscription(parts), to: entry.encoded())
                subscriptionDirectory.note([(parts, known)], in: transaction)
            }
        }
    }

    /// Drawn for a share whose secret was not carried over.
    package func makeShareToken() -> ShareToken? {
        ShareToken(bytes: environment.identifiers.makeSecret(byteCount: ShareToken.byteCount))
    }

    /// How a zone encrypts.
    package func encryptionScope(of id: ZoneID, in reader: RecordReader) throws -> ZoneEncryptionScope {
        guard let database = try reader.databaseEntry(id.database) else { return .perRecord }
        return try ZoneFacts.encryptionScope(of: id.name, DatabaseKeys(database.number), in: reader)
    }

    /// The file with a content that an owner's records hold; nil where there are no assets.
    package func contentPath(of asset: AssetDescriptor, owner: UserName) -> String? {
        assets?.directory.file(of: AssetKey(owner: owner, digest: asset.digest))
    }
}
