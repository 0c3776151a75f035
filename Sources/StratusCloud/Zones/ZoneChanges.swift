// The changes of one request for zones; and creating, deleting and leaving zones inside a transaction, with everything
// that follows.

import FoundationEssentials
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

/// The changes of one request. `prepare` draws identifiers, a stamp and a salt, and
/// looks up planned faults, before the transaction.
struct ZoneChanges {
    let service: CloudService
    let caller: Caller
    let user: UserName
    let database: DatabaseSelector
    private(set) var births: [ZoneBirth] = []
    private(set) var saveFaults: [CloudError?] = []
    private(set) var deleteFaults: [CloudError?] = []
    /// The stamp and the salt with which the caller leaves shares; nil if the request can leave none.
    private(set) var leaving: (stamp: Stamp, tagSalt: UInt32)?
    /// The number of custom zones of the database, and the identities of all its zones, after the first look-up.
    private(set) var known: (customCount: Int, identities: Set<UUID>)?
    private(set) var hasWritten = false
    /// The maximum number of shares of one deleted zone in an answer.
    static let endedShareLimit = 1_000

    mutating func prepare(_ request: ModifyZonesRequest) {
        births = request.saves.map { _ in service.makeBirth(by: user) }
        saveFaults = request.saves.map { fault($0.address) }
        deleteFaults = request.deletes.map { fault($0) }
        if database == .shared {
            let stamp = Stamp(date: service.environment.clock.now, user: user)
            leaving = (stamp, service.environment.identifiers.makeSalt())
        }
    }

    mutating func apply(
        _ request: ModifyZonesRequest, in transaction: RecordTransaction
    ) throws -> ModifyZonesResponse {
        var response = ModifyZonesResponse(saves: [], deletes: [])
        // Deletes first, so that a request at the limit can replace one zone with another.
        for (index, address) in request.deletes.enumerated() {
            let ended = try Result.item {
                if let fault = deleteFaults[index] { throw fault }
                let shares = try request.namesEndedShares ? shares(of: address, in: transaction) : []
                try delete(address, in: transaction)
                return shares
            }
            response.endedShares += (try? ended.get()) ?? []
            response.deletes.append(ended.map { _ in Done() })
        }
        for (index, zone) in request.saves.enumerated() {
            response.saves.append(
                try Result.item {
                    if let fault = saveFaults[index] { throw fault }
                    return try save(zone, births[index], in: transaction)
                })
        }
        return response
    }

    private mutating func save(
        _ sent: ClientZone, _ birth: ZoneBirth, in transaction: RecordTransaction
    ) throws -> ClientZone {
        if let error = NameRules.zoneNameError(sent.address.zoneName) { throw error }
        let zone = try resolved(sent.address)
        guard zone.isTransactional else {
            // The default zone always exists.
            if let error = ZoneVerdict.scopeRefusal(stored: .perRecord, sent: sent.encryptionScope) { throw error }
            return ClientZone(address: zone.address)
        }
        if let listing = try transaction.listing(of: zone.id) {
            let found = try ZoneFacts.clientZone(zone, DatabaseKeys(listing.database), in: transaction)
            if let error = ZoneVerdict.scopeRefusal(stored: found.encryptionScope, sent: sent.encryptionScope) {
                throw error
            }
            return found
        }
        var known = known ?? (0, [])
        if self.known == nil {
            try transaction.visitZones(in: zone.id.database) { listing in
                known.customCount += listing.name.text == ZoneAddress.defaultZoneName ? 0 : 1
                known.identities.insert(listing.entry.identity)
                return .next
            }
        }
        guard known.customCount < service.options.zoneCount else {
            throw CloudError.overLimit(
                "The database has the maximum number of zones. Delete one first.", limit: service.options.zoneCount)
        }
        guard known.identities.insert(birth.identity).inserted else { throw CloudError.repeatedIdentity }
        try service.makeZone(zone, sent.encryptionScope, birth, journal, in: transaction)
        known.customCount += 1
        self.known = known
        hasWritten = true
        return ClientZone(
            address: zone.address, capabilities: ZoneVerdict.capabilities(of: zone, sent.encryptionScope),
            encryptionScope: sent.encryptionScope)
    }

    private mutating func delete(_ address: ZoneAddress, in transaction: RecordTransaction) throws {
        let zone = try resolved(address)
        guard !zone.isDefault else {
            throw CloudError(.invalidArguments, "The default zone cannot be deleted. Delete its records.")
        }
        guard !zone.isShared else {
            guard try leave(zone, in: transaction) else {
                throw ScopeVerdict.zoneNotFound(zone.address)
            }
            hasWritten = true
            return
        }
        guard try service.removeZone(zone.id, journal, in: transaction) else {
            throw try ZoneFacts.missing(zone, in: transaction)
        }
        known?.customCount -= 1
        hasWritten = true
    }

    /// The shares of the caller's zone, or the accepted ones of another person's zone, by name.
    private func shares(of address: ZoneAddress, in transaction: RecordTransaction) throws -> [RecordAddress] {
        let zone = try resolved(address)
        guard !zone.isShared else {
            return try accepted(in: zone, transaction).map {
                RecordAddress(recordName: $0.text, zone: zone.address)
            }
        }
        guard let reader = try transaction.zone(zone.id) else { return [] }
        let range = reader.keys.types(of: ShareContent.recordType)
        return try reader.store.collect(range, limit: Self.endedShareLimit) { key, _ in
            RecordAddress(recordName: try reader.keys.readTypeKey(key).name.text, zone: zone.address)
        }
    }

    /// The accepted shares of another person's zone, by name; none if there is no such zone.
    private func accepted(in zone: ResolvedZone, _ transaction: RecordTransaction) throws -> [RecordName] {
        guard let identity = try transaction.listing(of: zone.id)?.entry.identity else { return [] }
        let limit = service.engine.options.limits.requestItemCount
        let range = GlobalKeys.acceptances(of: user, zone: identity)
        let names = try transaction.store.collect(range, limit: limit + 1) { key, value in
            try AcceptanceEntry(decoding: value).isOf(zone.id) ? try GlobalKeys.readAcceptanceKey(key).share : nil
        }.compactMap { $0 }
        guard names.count <= limit else {
            throw CloudError.overLimit(
                "Too many shares of the zone are accepted for one request. Delete some of the shares first.",
                limit: limit, ["zone": zone.address.description])
        }
        return names
    }

    /// Leaves all accepted shares of another person's zone. This is what deleting a zone in the shared database does;
    /// the owner's zone stays as it is (D-07, P-13). Programs leave a zone that is shared as a whole this way.
    ///
    /// Returns whether the person participated in the zone. Throws `limitExceeded` if they participate in more shares
    /// than a request has items, and the store's errors.
    private func leave(_ zone: ResolvedZone, in transaction: RecordTransaction) throws -> Bool {
        guard let leaving else { return false }
        var hasLeft = false
        for name in try accepted(in: zone, transaction) {
            guard let reader = try transaction.zone(zone.id) else { continue }
            let writer = ShareWriter(acceptances: service.acceptanceDirectory, zone: reader, transaction: transaction)
            if try writer.leave(name, stamp: leaving.stamp, tagSalt: leaving.tagSalt, journal) { hasLeft = true }
        }
        return hasLeft
    }

    private var journal: CommitJournal { service.journal(caller) }

    private func resolved(_ address: ZoneAddress) throws(CloudError) -> ResolvedZone {
        try ScopeVerdict.zone(address, in: database, container: caller.container, caller: user)
    }

    private func fault(_ address: ZoneAddress) -> CloudError? {
        service.environment.faults?.error(at: .zone(address, caller, .modifyZones))
    }
}

/// Looks zones up in one snapshot.
struct ZoneLookUp {
    let service: CloudService
    let caller: Caller
    let user: UserName?
    let database: DatabaseSelector
    let reader: RecordReader

    func zone(_ address: ZoneAddress) throws -> Result<ClientZone, CloudError> {
        try Result.item {
            let zone = try ScopeVerdict.zone(address, in: database, container: caller.container, caller: user)
            guard zone.isTransactional else { return ClientZone(address: zone.address) }
            guard let listing = try reader.listing(of: zone.id) else { throw try ZoneFacts.missing(zone, in: reader) }
            guard try ZoneAccess(service, to: zone, caller: user, in: reader).isZoneVisible() else {
                throw ScopeVerdict.zoneNotFound(zone.address)
            }
            return try ZoneFacts.clientZone(zone, DatabaseKeys(listing.database), in: reader)
        }
    }

    /// The default zone and the custom ones, in the byte order of their names; in the shared database the zones of
    /// others in which the caller sees something, by owner and name (Z-05).
    func all() throws -> [(ZoneAddress, Result<ClientZone, CloudError>)] {
        var zones: [(ZoneAddress, Result<ClientZone, CloudError>)] = []
        if database != .shared { zones.append((.defaultZone, .success(ClientZone(address: .defaultZone)))) }
        guard database != .public, let user else { return zones }
        guard database == .private else {
            for (id, _, listing) in try service.visibleZones(of: user, in: caller.container, reader) {
                let zone = ResolvedZone(id: id, as: user)
                let found = try ZoneFacts.clientZone(zone, DatabaseKeys(listing.database), in: reader)
                zones.append((zone.address, .success(found)))
            }
            return zones.sorted { left, right in
                let (one, other) = (left.0, right.0)
                return one.ownerName == other.ownerName
                    ? ZoneName(one.zoneName) < ZoneName(other.zoneName)
                    : UserName(one.ownerName) < UserName(other.ownerName)
            }
        }
        let database = DatabaseID(container: caller.container, owner: user, scope: .private)
        for listing in try reader.zones(in: database) where listing.name.text != ZoneAddress.defaultZoneName {
            let address = ZoneAddress(zoneName: listing.name.text)
            let zone = ResolvedZone(id: ZoneID(database: database, name: listing.name), address: address)
            let found = try ZoneFacts.clientZone(zone, DatabaseKeys(listing.database), in: reader)
            zones.append((address, .success(found)))
        }
        return zones
    }
}

// MARK: Zones in a transaction

extension CloudService {

    /// Creates a zone that does not exist, and forgets why an earlier one of its name was deleted.
    ///
    /// Throws `internalError` if a zone of its owner already has the identity, and the store's errors.
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

    /// Throws `internalError` if a zone of the owner, in any container, already has this identity: acceptances of one
    /// zone would apply to the other.
    func requireUnused(_ identity: UUID, for zone: ZoneID, in transaction: RecordTransaction) throws {
        let owner = Self.assetOwner(of: zone.database)
        if try transaction.store.contains(GlobalKeys.zoneUsage(of: owner, zone: identity)) {
            throw CloudError.repeatedIdentity
        }
    }

    /// Deletes a zone with its settings, and frees its part of its owner's quota (Z-04). Upkeep releases the assets of
    /// its records in the background.
    ///
    /// O(1). Returns whether there was such a zone.
    func removeZone(_ id: ZoneID, _ journal: CommitJournal, in transaction: RecordTransaction) throws -> Bool {
        guard let listing = try transaction.listing(of: id) else { return false }
        let keys = DatabaseKeys(listing.database)
        if let owner = id.database.owner {
            // First, because only this can throw a refusal: then nothing may have been written.
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
