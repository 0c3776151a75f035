// The zones of others of which the caller sees something. Nothing in the store says in one place what changed for a person,
// so the token holds what the client knows: each zone with its identity and its last change. A page compares that with what
// is there: a zone that is new to the client or has gone on has changed (D-06), one that is not seen any more is gone, for
// whatever reason (D-08).
//
// Pages go round the zones by owner and name, so that busy zones keep none from its turn.

import FoundationEssentials
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

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
        // Those behind the last one that was told come first.
        let turn = places.firstIndex { place in known?.last.map { $0 < place } ?? true } ?? 0
        let limit = pageCount(request.limit)
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
