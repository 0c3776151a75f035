// Imports data from another store: writes accounts, zones and records as they are there, with their dates and authors,
// without the checks for clients, and with everything that follows from them. It sends no notifications and adds
// nothing to the schema.
//
// Invariant: existing data does not change, so an interrupted transfer can simply run again. Change tags and the places
// of records in feeds are those of this store, because they are positions in its history.

import FoundationEssentials
package import StratusLayout
package import StratusModel
package import StratusRecords
import StratusStore

extension CloudService {
    /// Imports an account with its identifier and user name. Returns whether it is new.
    ///
    /// Throws like `createAccount`.
    package func adoptAccount(_ account: StoredAccount) throws(CloudError) -> Bool {
        try writing { try accountDirectory.adopt(account, in: $0) }
    }

    /// Imports an empty zone. Returns whether it is new.
    package func adoptZone(
        _ id: ZoneID, created: Stamp, encryptionScope: ZoneEncryptionScope
    ) throws(CloudError) -> Bool {
        var birth = makeBirth(by: created.user)
        birth.stamp = created
        let drawn = birth
        return try writing(in: id.database) { transaction in
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

    /// Imports records of a zone in one commit, parents before their children. The contents of their assets must be
    /// stored before. Returns how many are new.
    ///
    /// Throws the refusal of a record, and `assetNotAvailable` for a missing content.
    package func adoptRecords(_ records: [StoredRecord], in id: ZoneID) throws(CloudError) -> Int {
        guard let first = records.first else { return 0 }
        let (salt, uptime) = (environment.identifiers.makeSalt(), environment.clock.uptimeSeconds)
        return try writing(in: id.database) { transaction in
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
            let writer = ShareWriter(acceptances: acceptanceDirectory, zone: zone, transaction: transaction)
            var settlements: [ShareSettlement] = []
            var byteCount: Int64 = 0
            var assets: [AssetDescriptor: Int] = [:]
            for stored in new {
                byteCount = byteCount.addingCapped(QuotaLedger.byteCount(of: stored.record))
                assets.merge(stored.record.assets, uniquingKeysWith: +)
                guard let content = try stored.record.shareContent() else { continue }
                let change = ShareTransition(share: stored.record.name, old: nil, new: content)
                settlements.append(try writer.settlement(of: [change], with: plan, stamp: stored.system.modified))
            }
            try QuotaLedger.charge(
                byteCount: byteCount, to: Self.assetOwner(of: id.database), zone: plan.header.identity, limit: nil,
                in: transaction)
            try assetLedger.settle(adding: assets, removing: [:], in: zone, atUptimeSeconds: uptime, transaction)
            try transaction.apply(plan, in: id)
            subscriptionDirectory.noteShares(of: plan, in: transaction)
            for settlement in settlements { try writer.write(settlement) }
            return new.count
        }
    }

    /// Imports a subscription from its stored bytes.
    ///
    /// Throws `internalError` if they cannot be decoded.
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

    /// The encryption scope of a zone.
    package func encryptionScope(of id: ZoneID, in reader: RecordReader) throws -> ZoneEncryptionScope {
        guard let database = try reader.databaseEntry(id.database) else { return .perRecord }
        return try ZoneFacts.encryptionScope(of: id.name, DatabaseKeys(database.number), in: reader)
    }

    /// The file with a content of an owner; nil if the store has no assets, or has their contents in itself.
    package func contentPath(of asset: AssetDescriptor, owner: UserName) -> String? {
        guard let assets, assets.stored == nil else { return nil }
        return assets.directory.file(of: AssetKey(owner: owner, digest: asset.digest))
    }
}
