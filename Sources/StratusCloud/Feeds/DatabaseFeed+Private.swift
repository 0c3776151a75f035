// The zones of one's own: the database's changes after the token, which hold at most one entry for each zone that ever was.
// Of a name only the latest is told (T-06): a zone that was made anew has changed, and is not gone.

import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

extension DatabaseFeed {
    func privatePage(_ request: FetchDatabaseChangesRequest) throws -> FetchDatabaseChangesResponse {
        let incarnation = try incarnation()
        let known = try opened(request.token, DatabaseToken.self)
        if let known { try checkIncarnation(known.incarnation, incarnation) }
        let id = DatabaseID(container: container, owner: account.userName, scope: .private)
        guard let entry = try reader.databaseEntry(id) else {
            guard known?.identity == nil else { throw CloudError.expiredToken("the database was made anew") }
            let token = DatabaseToken(
                incarnation: incarnation, identity: nil, progress: OwnerProgress(position: 0, beginning: 0))
            return FetchDatabaseChangesResponse(
                changed: [], deleted: [], token: try sealed(token), isMoreComing: false)
        }
        if let identity = known?.identity, identity != entry.identity {
            throw CloudError.expiredToken("the database was made anew")
        }
        let keys = DatabaseKeys(entry.number)
        let now = try reader.store.withValue(forKey: keys.header()) { try DatabaseHeader(decoding: $0).changeCounter }
        guard let now else {
            throw RecordsError(
                .corruption, "A database is listed but has no header: restore the store from a backup.",
                ["database": "\(entry.number)"])
        }
        var progress = known?.progress ?? OwnerProgress(position: 0, beginning: now)
        guard max(progress.position, progress.beginning) <= now else {
            throw CloudError.expiredToken("the database has not come so far")
        }
        var response = FetchDatabaseChangesResponse(changed: [], deleted: [], token: [], isMoreComing: false)
        try fill(&response, limit: pageCount(request.limit), &progress, now: now, keys, id)
        let token = DatabaseToken(incarnation: incarnation, identity: entry.identity, progress: progress)
        response.token = try sealed(token)
        return response
    }

    /// Entries that are looked at for one page.
    private static let lookCount = 10_000

    private func fill(
        _ response: inout FetchDatabaseChangesResponse, limit: Int, _ progress: inout OwnerProgress, now: UInt64,
        _ keys: DatabaseKeys, _ id: DatabaseID
    ) throws {
        var changes: [(counter: UInt64, entry: DatabaseChangeEntry)] = []
        let range = keys.changes(after: progress.position).keyRange
        try reader.store.scan(range, .forward, limit: Self.lookCount) { key, value in
            changes.append((try keys.readChangeKey(key), try DatabaseChangeEntry(decoding: value)))
            return .next
        }
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

    /// Why a zone is gone (Z-07, Z-08): what a host has said when it removed it, else that somebody deleted it.
    private func reason(_ zone: ZoneID) throws -> ZoneDeletionReason {
        switch try ZoneFacts.purgeReason(of: zone, in: reader) {
        case nil: .deleted
        case .purged: .purged
        case .encryptedDataReset: .encryptedDataReset
        }
    }
}
