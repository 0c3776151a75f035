// Saves, deletes and fetches zones. All items of a request are one commit; each succeeds or fails alone.

import StratusLayout
package import StratusModel
import StratusRecords
import StratusStore

extension CloudService {
    /// Saves and deletes zones. Saving an existing zone succeeds and changes nothing (Z-03).
    ///
    /// Throws for the request as a whole: `limitExceeded` (L-01), `notAuthenticated` and similar errors (S-17),
    /// `badDatabase` in the public database and for saves in the shared database (Z-01), `invalidArguments` for a zone
    /// named twice, a planned fault, and the store's failures.
    package func modifyZones(
        _ request: ModifyZonesRequest, as caller: Caller, in database: DatabaseSelector
    ) throws(CloudError) -> ModifyZonesResponse {
        let itemCount = request.saves.count + request.deletes.count
        return try reporting(.modifyZones, caller, itemCount: itemCount) { event in
            guard itemCount > 0 else { return ModifyZonesResponse(saves: [], deletes: []) }
            try requestLimits().check(itemCount: itemCount)
            let account = try claimedAccount(of: caller)
            guard database != .public, database == .private || request.saves.isEmpty else {
                throw CloudError(
                    .badDatabase, "Custom zones are only supported in private databases. Use the private database.")
            }
            try checkDuplicates(request, account)
            var changes = ZoneChanges(service: self, caller: caller, user: account.userName, database: database)
            changes.prepare(request)
            let prepared = changes
            // The zones of other people that a person leaves are in several databases.
            let own =
                database == .private
                ? DatabaseID(container: caller.container, owner: account.userName, scope: .private) : nil
            let (response, hasWritten) = try engine.transact(in: own) { transaction in
                _ = try accountDirectory.requireAccount(of: caller, in: transaction)
                var changes = prepared
                return (try changes.apply(request, in: transaction), changes.hasWritten)
            }
            event.commitCount = hasWritten ? 1 : 0
            event.count(response.saves)
            event.count(response.deletes)
            return response
        }
    }

    /// Fetches zones: the named ones, each in its place, or all of the database. The default zone is among them; the
    /// shared database has only zones of other people (Z-05).
    ///
    /// Throws for the request as a whole: `limitExceeded`; `notAuthenticated` and similar errors, unless the database
    /// is the public one; a planned fault; the store's failures.
    package func fetchZones(
        _ request: FetchZonesRequest, as caller: Caller, in database: DatabaseSelector
    ) throws(CloudError) -> [(ZoneAddress, Result<ClientZone, CloudError>)] {
        var named: [ZoneAddress]?
        if case .named(let addresses) = request { named = addresses }
        return try reporting(.fetchZones, caller, itemCount: named?.count ?? 0) { event in
            if let named { try requestLimits().check(itemCount: named.count) }
            if database != .public { try claimedAccount(of: caller) }
            let faults = (named ?? []).map { environment.faults?.error(at: .zone($0, caller, .fetchZones)) }
            let zones = try engine.read { reader in
                // Again, because the account may have been deleted since. Every caller may read public zones (S-17).
                let user =
                    try database == .public
                    ? caller.account.flatMap { try accountDirectory.account($0, in: reader) }?.userName
                    : accountDirectory.requireAccount(of: caller, in: reader).userName
                let lookUp = ZoneLookUp(
                    service: self, caller: caller, user: user, database: database, reader: reader)
                guard let named else { return try lookUp.all() }
                return try zip(named, faults).map { address, fault in
                    (address, try fault.map { .failure($0) } ?? lookUp.zone(address))
                }
            }
            event.count(zones.map(\.1))
            if named == nil { event.itemCount = zones.count }
            return zones
        }
    }

    /// Deletes a zone of an account for the host, and stores the reason: then requests to it fail with
    /// `userDeletedZone`, or with `zoneNotFound` marked as lost keys, until it is created again (Z-07, Z-08).
    ///
    /// Throws `unknownItem` if there is no such account, `zoneNotFound` if there is no such zone, and the store's
    /// failures.
    package func purgeZone(
        _ zone: ZoneAddress, of account: AccountID, in container: ContainerName, reason: HostPurgeReason
    ) throws(CloudError) {
        let now = environment.clock.now
        try writing { transaction in
            guard let owner = try accountDirectory.account(account, in: transaction) else {
                throw CloudError(.unknownItem, "The account does not exist.", ["account": account.text])
            }
            let zone = try ScopeVerdict.zone(zone, in: .private, container: container, caller: owner.userName)
            guard let listing = try transaction.listing(of: zone.id),
                try removeZone(zone.id, journal(), in: transaction)
            else { throw ScopeVerdict.zoneNotFound(zone.address) }
            guard !zone.isDefault else { return }
            try transaction.set(
                DatabaseKeys(listing.database).zoneMarker(zone.id.name),
                to: ZoneMarkerEntry(reason: reason.rawValue, deleted: now).encoded())
        }
    }

    private func checkDuplicates(_ request: ModifyZonesRequest, _ account: StoredAccount) throws(CloudError) {
        var seen: Set<ZoneAddress> = []
        for address in request.saves.map(\.address) + request.deletes {
            guard !seen.insert(ScopeVerdict.canonical(address, caller: account.userName)).inserted else { continue }
            throw CloudError(
                .invalidArguments, "A zone is saved or deleted more than once in one operation. Name it once.",
                ["zone": address.description])
        }
    }
}

extension AssetLedger {
    /// Counts the contents that records of one zone start and stop holding, for the zone and for its owner.
    func settle(
        adding added: [AssetDescriptor: Int], removing removed: [AssetDescriptor: Int], in zone: ZoneReader,
        atUptimeSeconds uptimeSeconds: Double? = nil, _ transaction: RecordTransaction
    ) throws {
        try settle(
            adding: added, removing: removed, owner: CloudService.assetOwner(of: zone.id.database),
            atUptimeSeconds: uptimeSeconds, in: transaction)
        let change = added.values.reduce(0, +) - removed.values.reduce(0, +)
        guard change != 0 else { return }
        let keys = DatabaseKeys(zone.keys.database)
        let key = keys.zoneAssets(zone.id.name)
        let (count, isOverflow) = Int(clamping: try ZoneFacts.assetCount(of: zone.id.name, keys, in: transaction))
            .addingReportingOverflow(change)
        guard !isOverflow, count >= 0 else { throw ZoneFacts.damaged(key) }
        guard count > 0 else { return try transaction.delete(key) }
        try transaction.set(key, to: CountEntry(count: UInt64(count)).encoded())
    }
}

/// What a database stores of its zones besides their entries: the encryption scope, why a host deleted a zone, and how
/// many assets its records hold. They change in the transaction that changes the zone.
enum ZoneFacts {
    static func encryptionScope(of zone: ZoneName, _ keys: DatabaseKeys, in reader: RecordReader) throws
        -> ZoneEncryptionScope
    {
        let entry = try reader.store.withValue(forKey: keys.zoneSettings(zone)) { try ZoneSettingsEntry(decoding: $0) }
        guard let entry else { return .perRecord }
        guard let scope = ZoneEncryptionScope(rawValue: entry.encryptionScope) else {
            throw damaged(keys.zoneSettings(zone))
        }
        return scope
    }

    /// Why the host deleted a missing zone; nil if it did not.
    static func purgeReason(of id: ZoneID, in reader: RecordReader) throws -> HostPurgeReason? {
        guard let database = try reader.databaseEntry(id.database) else { return nil }
        let key = DatabaseKeys(database.number).zoneMarker(id.name)
        guard let entry = try reader.store.withValue(forKey: key, { try ZoneMarkerEntry(decoding: $0) }) else {
            return nil
        }
        guard let reason = HostPurgeReason(rawValue: entry.reason) else { throw damaged(key) }
        return reason
    }

    /// The error for a missing zone. It does not say why another person's zone is missing.
    static func missing(_ zone: ResolvedZone, in reader: RecordReader) throws -> CloudError {
        var error = ScopeVerdict.zoneNotFound(zone.address)
        switch try zone.isShared ? nil : purgeReason(of: zone.id, in: reader) {
        case nil: break
        case .purged:
            error = CloudError(
                .userDeletedZone, "The user deleted the zone's data. Ask them before uploading again.",
                ["zone": zone.address.description])
        case .encryptedDataReset: error.didResetEncryptedData = true
        }
        return error
    }

    /// A zone as its owner, or a person who sees something in it, gets it.
    static func clientZone(_ zone: ResolvedZone, _ keys: DatabaseKeys, in reader: RecordReader) throws -> ClientZone {
        guard zone.isTransactional else { return ClientZone(address: zone.address) }
        let scope = try encryptionScope(of: zone.id.name, keys, in: reader)
        // A person who sees anything in a zone that is shared as a whole sees everything, including its share.
        let isSharedWhole = try reader.zone(zone.id)?.node(ShareContent.zoneWideName) != nil
        let share = RecordAddress(recordName: ShareContent.zoneWideName.text, zone: zone.address)
        return ClientZone(
            address: zone.address, capabilities: ZoneVerdict.capabilities(of: zone, scope),
            share: isSharedWhole ? ClientReference(target: share, action: .none) : nil, encryptionScope: scope)
    }

    /// How many fields and list items of the zone's records hold an asset.
    static func assetCount(of zone: ZoneName, _ keys: DatabaseKeys, in reader: RecordReader) throws -> UInt64 {
        try reader.store.withValue(forKey: keys.zoneAssets(zone)) { try CountEntry(decoding: $0).count } ?? 0
    }

    fileprivate static func damaged(_ key: [UInt8]) -> StoreError {
        StoreError(
            .corruption, "The stored data of a zone is damaged. Restore the store from a backup.",
            ["key": KeyDescription.text(of: key)])
    }
}
