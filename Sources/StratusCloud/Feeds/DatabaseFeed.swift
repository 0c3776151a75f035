// The feed of a database: which zones changed since a token, and which are gone.
//
// The private database: its changes after the token, with at most one entry for each zone that ever existed. For each
// name only the latest counts (T-06): a zone that was created again has changed, and is not deleted.
//
// The shared database: the zones of others in which the caller sees something. The store has no list of what changed
// for a person, so the token holds the client's state: each zone with its identity and its last change. A page compares
// that with the current zones: a new zone, or one with later changes, has changed (D-06); one that the caller no longer
// sees is deleted, for any reason (D-08). Pages go around the zones by owner and name, so that busy zones do not block
// others.

import FoundationEssentials
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

extension CloudService {
    /// One page of the zones that changed for the caller since the request's token. The default zone is never among
    /// them (T-02, N-02).
    ///
    /// Throws `badDatabase` for the public database (T-02); `changeTokenExpired` for a token of another database or
    /// caller, or of another incarnation of the store or of the database (T-09); `notAuthenticated` and similar
    /// errors; a planned fault; the store's failures.
    package func fetchDatabaseChanges(
        _ request: FetchDatabaseChangesRequest, as caller: Caller, in database: DatabaseSelector
    ) throws(CloudError) -> FetchDatabaseChangesResponse {
        try reporting(.fetchDatabaseChanges, caller, itemCount: 1) { event in
            guard database != .public else {
                throw CloudError(
                    .badDatabase, "The public database has no feed of zones. Query it instead.", ["rule": "T-02"])
            }
            let claimed = try claimedAccount(of: caller)
            let seal = try tokenKeeper.seal(of: engine, environment.identifiers)
            let response = try engine.read { reader in
                DatabaseFeed.announce(by: caller, user: claimed.userName, in: database, reader)
                let account = try accountDirectory.requireAccount(of: caller, in: reader)
                let feed = DatabaseFeed(
                    service: self, account: account, container: caller.container, database: database, seal: seal,
                    reader: reader)
                return database == .shared ? try feed.sharedPage(request) : try feed.privatePage(request)
            }
            event.itemCount = response.changed.count + response.deleted.count
            return response
        }
    }
}

/// One request for changes of a database, in one snapshot.
struct DatabaseFeed {
    let service: CloudService
    let account: StoredAccount
    let container: ContainerName
    let database: DatabaseSelector
    let seal: TokenSeal
    let reader: RecordReader

    private var binding: TokenBinding {
        TokenBinding(user: account.userName, container: container, database: database)
    }

    /// The content of a token; nil without one.
    func opened<Token: LayoutValue>(_ token: [UInt8]?, _ type: Token.Type) throws -> Token? {
        guard let token else { return nil }
        guard let contents = seal.opened(token, .database, for: binding),
            let known = try? Token(decoding: contents.span)
        else { throw CloudError.foreignToken }
        return known
    }

    func sealed(_ token: some LayoutValue) throws -> [UInt8] {
        try seal.sealed(token.encoded(), .database, for: binding)
    }

    /// What positions are valid for.
    func incarnation() throws -> UUID {
        guard let format = try reader.store.withValue(forKey: GlobalKeys.format(), { try FormatEntry(decoding: $0) })
        else {
            throw StoreError(
                .corruption, "The store has no format entry. Restore it from a backup.",
                ["key": KeyDescription.text(of: GlobalKeys.format())])
        }
        return try reader.positionIncarnation(format.incarnation)
    }

    func checkIncarnation(_ known: UUID, _ incarnation: UUID) throws {
        guard known != incarnation else { return }
        throw CloudError.expiredToken("the store was restored, copied or repaired")
    }
}

extension DatabaseFeed {
    func privatePage(_ request: FetchDatabaseChangesRequest) throws -> FetchDatabaseChangesResponse {
        let incarnation = try incarnation()
        let known = try opened(request.token, DatabaseToken.self)
        if let known { try checkIncarnation(known.incarnation, incarnation) }
        let id = DatabaseID(container: container, owner: account.userName, scope: .private)
        guard let entry = try reader.databaseEntry(id) else {
            guard known?.identity == nil else { throw CloudError.expiredToken("the database was recreated") }
            let token = DatabaseToken(
                incarnation: incarnation, identity: nil, progress: OwnerProgress(position: 0, beginning: 0))
            return FetchDatabaseChangesResponse(
                changed: [], deleted: [], token: try sealed(token), isMoreComing: false)
        }
        if let identity = known?.identity, identity != entry.identity {
            throw CloudError.expiredToken("the database was recreated")
        }
        let keys = DatabaseKeys(entry.number)
        announceChanges(after: known?.progress.position ?? 0, keys)
        let now = try reader.store.withValue(forKey: keys.header()) { try DatabaseHeader(decoding: $0).changeCounter }
        guard let now else {
            throw StoreError(
                .corruption, "A database is listed but has no header. Restore the store from a backup.",
                ["database": "\(entry.number)"])
        }
        var progress = known?.progress ?? OwnerProgress(position: 0, beginning: now)
        guard max(progress.position, progress.beginning) <= now else {
            throw CloudError.expiredToken("the database has not come so far")
        }
        var response = FetchDatabaseChangesResponse(changed: [], deleted: [], token: [], isMoreComing: false)
        try fill(&response, limit: service.options.pageCount(asked: request.limit), &progress, now: now, keys, id)
        let token = DatabaseToken(incarnation: incarnation, identity: entry.identity, progress: progress)
        response.token = try sealed(token)
        return response
    }

    /// Entries that are read for one page.
    private static let lookCount = 10_000

    private func fill(
        _ response: inout FetchDatabaseChangesResponse, limit: Int, _ progress: inout OwnerProgress, now: UInt64,
        _ keys: DatabaseKeys, _ id: DatabaseID
    ) throws {
        let range = keys.changes(after: progress.position)
        let changes = try reader.store.collect(range, limit: Self.lookCount) { key, value in
            (try keys.readChangeKey(key), try DatabaseChangeEntry(decoding: value))
        }
        announceDeletions(in: changes.lazy.map { $0.1 }, limit: limit, keys)
        var gone: Set<ZoneName> = []
        for (counter, change) in changes {
            guard response.changed.count + response.deleted.count < limit else {
                response.isMoreComing = true
                return
            }
            progress.position = counter
            guard change.zone.text != ZoneAddress.defaultZoneName else { continue }
            let address = ZoneAddress(zoneName: change.zone.text)
            switch change.kind {
            case .saved: response.changed.append(address)
            case .deleted:
                let zone = ZoneID(database: id, name: change.zone)
                guard counter > progress.beginning, try reader.listing(of: zone) == nil,
                    gone.insert(change.zone).inserted
                else { continue }
                response.deleted.append(ZoneDeletion(zone: address, reason: try reason(zone)))
            }
        }
        if changes.count == Self.lookCount {
            response.isMoreComing = true
        } else {
            progress = OwnerProgress(position: now, beginning: 0)
        }
    }

    /// Why a zone was deleted (Z-07, Z-08): the host's reason, or that a client deleted it.
    private func reason(_ zone: ZoneID) throws -> ZoneDeletionReason {
        switch try ZoneFacts.purgeReason(of: zone, in: reader) {
        case nil: .deleted
        case .purged: .purged
        case .encryptedDataReset: .encryptedDataReset
        }
    }
}

// MARK: Shared database

extension DatabaseFeed {
    func sharedPage(_ request: FetchDatabaseChangesRequest) throws -> FetchDatabaseChangesResponse {
        let incarnation = try incarnation()
        let known = try opened(request.token, SharedDatabaseToken.self)
        if let known { try checkIncarnation(known.incarnation, incarnation) }
        let zones = try visibleZones()
        var told = Dictionary(
            (known?.zones ?? []).map { (SharedDatabaseToken.Place($0), $0) }, uniquingKeysWith: { $1 })
        let places = Set(told.keys).union(zones.keys).filter { place in
            guard let zone = zones[place] else { return true }
            return told[place].map { $0.identity != zone.identity || $0.sequence < zone.sequence } ?? true
        }.sorted()
        // The zones after the last returned one come first.
        let turn = places.firstIndex { place in known?.last.map { $0 < place } ?? true } ?? 0
        let limit = service.options.pageCount(asked: request.limit)
        var response = FetchDatabaseChangesResponse(changed: [], deleted: [], token: [], isMoreComing: false)
        var last: SharedDatabaseToken.Place?
        for place in (places[turn...] + places[..<turn]).prefix(limit) {
            let address = ZoneAddress(zoneName: place.name.text, ownerName: place.owner.text)
            if let zone = zones[place] {
                response.changed.append(address)
                told[place] = zone
            } else {
                response.deleted.append(ZoneDeletion(zone: address, reason: .deleted))
                told[place] = nil
            }
            last = place
        }
        response.isMoreComing = places.count > limit
        let token = SharedDatabaseToken(
            incarnation: incarnation, zones: told.values.sorted { SharedDatabaseToken.Place($0) < .init($1) },
            last: response.isMoreComing ? last : nil)
        response.token = try sealed(token)
        return response
    }

    private func visibleZones() throws -> [SharedDatabaseToken.Place: KnownZone] {
        var zones: [SharedDatabaseToken.Place: KnownZone] = [:]
        for (id, owner, listing) in try service.visibleZones(of: account.userName, in: container, reader) {
            guard let sequence = try reader.zone(id)?.header().sequence else { continue }
            zones[SharedDatabaseToken.Place(owner: owner, name: id.name)] = KnownZone(
                owner: owner, name: id.name, identity: listing.entry.identity, sequence: sequence)
        }
        return zones
    }
}

extension SharedDatabaseToken.Place {
    fileprivate init(_ zone: KnownZone) { self.init(owner: zone.owner, name: zone.name) }
}
