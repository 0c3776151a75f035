// What a page of a query reads first, announced before the first read. See `ZoneReads`.

import StratusLayout
import StratusModel
import StratusRecords

extension CloudService {
    /// Announces the zone of a query, and which indexes it has for a type.
    func announce(
        _ zone: ZoneAddress?, _ database: DatabaseSelector, _ caller: Caller, user: UserName?, _ type: RecordType,
        _ reads: RequestReads
    ) {
        let resolved = try? ScopeVerdict.zone(
            zone ?? .defaultZone, in: database, container: caller.container, caller: user)
        guard let resolved else { return }
        reads.zone(resolved, user: user)?.reads.queryIndexes(of: [type])
    }
}

extension DatabaseQuery {
    /// Announces all zones of a query, and which indexes they have for its type.
    func announceZones(_ type: RecordType) {
        guard zones.count > 1, let reads = RequestReads(reader) else { return }
        for zone in zones { reads.zone(zone, user: account?.userName)?.reads.queryIndexes(of: [type]) }
    }
}
