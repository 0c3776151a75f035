// What is refused whatever its files hold is refused before they are copied: each item is judged in a snapshot as its
// transaction would, with the sizes of its files in place of their contents, and the owner's quota is looked at.
//
// A refusal is the answer, although the transaction might see something else: it was right while the request was under
// way. Only what no order of the request's items could make room for is refused for its quota; hierarchy, schema and the
// rest are left to the transaction, which has the last word on everything that is let through.

import StratusModel
import StratusRecords

struct AssetPreflight {
    let service: CloudService
    let caller: Caller
    let intake: AssetIntake

    /// The zones with the errors of those and of the items that are refused.
    func judged(_ zones: [ZoneRequest]) throws -> [ZoneRequest] {
        try service.engine.read { reader in
            let account = try service.accountDirectory.requireAccount(of: caller, in: reader)
            var zones = zones
            var changes: [[Int64?]] = []
            for index in zones.indices {
                changes.append(try refuse(&zones[index], account, reader))
            }
            try refuseForQuota(&zones, changes, account, reader)
            return zones
        }
    }

    /// Sets the errors of one zone's items. Returns by how much each save would change what the zone holds, nil for those
    /// that are refused.
    private func refuse(
        _ request: inout ZoneRequest, _ account: Account, _ reader: RecordReader
    ) throws -> [Int64?] {
        guard request.error == nil else { return request.saves.map { _ in nil } }
        let zone = try reader.zone(request.zone.id)
        guard zone != nil || request.zone.isDefault else {
            request.error = try ZoneFacts.missing(request.zone, in: reader)
            return request.saves.map { _ in nil }
        }
        let judge = try ZoneJudge(service, request, account, reader, zone: zone, intake: intake)
        guard try judge.access.isZoneVisible() else {
            request.error = ScopeVerdict.zoneNotFound(request.zone.address)
            return request.saves.map { _ in nil }
        }
        var changes: [Int64?] = []
        for (index, item) in request.saves.enumerated() {
            do {
                changes.append(try judge.judged(item).byteCountChange)
            } catch let error as CloudError {
                request.saves[index].error = error
                changes.append(nil)
            }
        }
        for (index, item) in request.deletes.enumerated() {
            do { _ = try judge.judged(item) } catch let error as CloudError { request.deletes[index].error = error }
        }
        return changes
    }

    /// Marks the saves that no order of the request's items leaves room for, for each owner of zones by themself. A
    /// request that deletes makes room that is known only when its cascades are.
    private func refuseForQuota(
        _ zones: inout [ZoneRequest], _ changes: [[Int64?]], _ account: Account, _ reader: RecordReader
    ) throws {
        let indexesByOwner = Dictionary(grouping: zones.indices) { zones[$0].zone.assetOwner }
        for (_, indexes) in indexesByOwner {
            let charged = try service.charged(for: zones[indexes[0]].zone, account, in: reader)
            guard let limit = charged.limit, indexes.allSatisfy({ zones[$0].deletes.isEmpty }) else { continue }
            let freed = indexes.lazy.flatMap { changes[$0] }.reduce(Int64(0)) { $0.addingCapped(min(0, $1 ?? 0)) }
            let least = try QuotaLedger.usage(of: charged.owner, in: reader).addingCapped(freed)
            for index in indexes {
                let added = changes[index].map { max(0, $0 ?? 0) }
                // An atomic zone is written whole; elsewhere each save may find the room alone.
                let needs = zones[index].isAtomic ? added.map { _ in added.reduce(0) { $0.addingCapped($1) } } : added
                for (place, need) in needs.enumerated() where need > 0 && least.addingCapped(need) > limit {
                    let error = QuotaLedger.exceeded(limit: limit, needed: least.addingCapped(need))
                    zones[index].saves[place].quotaError = zones[index].zone.isShared ? error.withoutFields : error
                }
            }
        }
    }
}
