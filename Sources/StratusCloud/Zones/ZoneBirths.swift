// Creating and deleting zones inside a transaction, with all that goes with them.

import FoundationEssentials
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

extension CloudService {
    /// What a new zone is given from outside; drawn before the transaction.
    func makeBirth(by user: UserName) -> ZoneBirth {
        ZoneBirth(
            identity: environment.identifiers.makeUUID(), incarnation: environment.identifiers.makeUUID(),
            stamp: Stamp(date: environment.clock.now, user: user),
            databaseIdentity: environment.identifiers.makeUUID())
    }

    /// Creates a zone that is not there. What was remembered of an earlier one is forgotten.
    ///
    /// Throws `internalError` where a zone of its owner is known to have the identity, and the store's errors.
    func makeZone(
        _ zone: ResolvedZone, _ scope: ZoneEncryptionScope, _ birth: ZoneBirth, _ journal: CommitJournal,
        in transaction: RecordTransaction
    ) throws {
        try requireUnused(birth.identity, for: zone.id, in: transaction)
        try transaction.createZone(zone.id, birth)
        guard let database = try transaction.databaseEntry(zone.id.database) else { return }
        let keys = DatabaseKeys(database.number)
        if try transaction.store.contains(keys.zoneMarker(zone.id.name)) {
            try transaction.delete(keys.zoneMarker(zone.id.name))
        }
        if scope != .perRecord {
            let entry = ZoneSettingsEntry(encryptionScope: scope.rawValue)
            try transaction.set(keys.zoneSettings(zone.id.name), to: entry.encoded())
        }
        try journal.noteCreation(of: zone.id, in: transaction)
    }

    /// Throws `internalError` where a zone of the owner, in any container, holds something under this identity: what the
    /// one may do would hold for the other.
    func requireUnused(_ identity: UUID, for zone: ZoneID, in transaction: RecordTransaction) throws {
        let owner = Self.assetOwner(of: zone.database)
        if try transaction.store.contains(GlobalKeys.zoneUsage(of: owner, zone: identity)) {
            throw CloudError.repeatedIdentity
        }
    }

    /// Deletes a zone with its settings, and gives back what it takes of its owner's quota (Z-04). The assets that its
    /// records hold are let go of in the background, by `AssetReleaser`.
    ///
    /// Costs the same whatever the zone holds. Returns whether there was such a zone.
    func removeZone(_ id: ZoneID, _ journal: CommitJournal, in transaction: RecordTransaction) throws -> Bool {
        guard let listing = try transaction.listing(of: id) else { return false }
        let keys = DatabaseKeys(listing.database)
        if let owner = id.database.owner {
            // First, because it alone can refuse: nothing of the zone's may then have been written.
            try QuotaLedger.release(zone: listing.entry.identity, of: owner, in: transaction)
        }
        let holdsAssets = try ZoneFacts.assetCount(of: id.name, keys, in: transaction) > 0
        if holdsAssets { try transaction.delete(keys.zoneAssets(id.name)) }
        if try transaction.store.contains(keys.zoneSettings(id.name)) {
            try transaction.delete(keys.zoneSettings(id.name))
        }
        let holdsShares = try transaction.zone(id).map { try ShareReleaser.holdsShares($0) } ?? false
        return try journal.deleteZone(
            id, holdsShares: holdsShares,
            releasingAssetsOf: holdsAssets || holdsShares ? Self.assetOwner(of: id.database) : nil, in: transaction)
    }
}
