// What an engine remembers, as a plain value: how far it has come, and what is still to be sent.

import StratusCloud
import StratusModel

/// Which database a state is of.
struct SyncPlace: Hashable, Sendable {
    var container: String
    var scope: Int
}

/// What an engine remembers.
struct SyncContent: Sendable {
    var place: SyncPlace
    /// The name of the user record of whom the rest is; nil before anybody was seen, and after they have signed out.
    var userName: String?
    /// How far the engine has followed which zones there are.
    var databaseToken: CKServerChangeToken?
    /// How far it has followed each zone.
    var zoneTokens: [CKRecordZone.ID: CKServerChangeToken] = [:]
    /// Zones in which something has changed that was not fetched yet, the longest known first.
    var unfetchedZoneIDs: [CKRecordZone.ID] = []
    var records = PendingList<CKSyncEngine.PendingRecordZoneChange>()
    var zones = PendingList<CKSyncEngine.PendingDatabaseChange>()
    var hasUntrackedChanges = false

    init(place: SyncPlace) { self.place = place }

    /// Forgets everything, because it was of somebody who is gone (E-10).
    mutating func reset(for userName: String?) {
        self = SyncContent(place: place)
        self.userName = userName
    }

    /// Whether there is something to send.
    var hasPendingChanges: Bool { !records.isEmpty || !zones.isEmpty || hasUntrackedChanges }

    /// How much there is, for logs.
    var summary: String {
        "\(records.count.counting("pending record change")), \(zones.count.counting("pending zone change")), "
            + "\(unfetchedZoneIDs.count.counting("zone")) to fetch"
    }

    // MARK: Following

    /// Notes zones in which something has changed.
    mutating func noteChanged(_ zoneIDs: [CKRecordZone.ID]) {
        var known = Set(unfetchedZoneIDs)
        unfetchedZoneIDs += zoneIDs.filter { known.insert($0).inserted }
    }

    /// Notes zones that are gone. What is to be sent to them stays: the program decides (Z-07).
    mutating func noteDeleted(_ zoneIDs: [CKRecordZone.ID]) {
        let gone = Set(zoneIDs)
        unfetchedZoneIDs.removeAll(where: gone.contains)
        for zoneID in zoneIDs { zoneTokens[zoneID] = nil }
    }

    /// Notes how far a zone was fetched.
    mutating func noteFetched(_ zoneID: CKRecordZone.ID, upTo token: CKServerChangeToken, isMoreComing: Bool) {
        zoneTokens[zoneID] = token
        if !isMoreComing { unfetchedZoneIDs.removeAll { $0 == zoneID } }
    }

    /// The zone to fetch next: one that goes before others (E-15), else the one that has waited longest.
    func nextZone(
        _ options: CKSyncEngine.FetchChangesOptions, except done: Set<CKRecordZone.ID>
    ) -> CKRecordZone.ID? {
        let open = unfetchedZoneIDs.filter { !done.contains($0) && options.scope.contains($0) }
        return options.prioritizedZoneIDs.first(where: open.contains) ?? open.first
    }
}
