// What an engine remembers, as a plain value: its progress, and its lists of pending changes.

import StratusModel

/// What an engine remembers.
struct SyncContent: Sendable {
    /// The database that all of it belongs to, by its container and scope.
    var container: String
    var scope: Int
    /// The name of the user record that the rest belongs to; nil before an account was seen, and after it signed out.
    var userName: String?
    /// How far the engine has followed the list of zones.
    var databaseToken: CKServerChangeToken?
    /// How far it has followed each zone.
    var zoneTokens: [CKRecordZone.ID: CKServerChangeToken] = [:]
    /// Zones with changes that were not fetched yet, the oldest first.
    var unfetchedZoneIDs: [CKRecordZone.ID] = []
    var records = PendingList<CKSyncEngine.PendingRecordZoneChange>()
    var zones = PendingList<CKSyncEngine.PendingDatabaseChange>()
    var hasUntrackedChanges = false

    /// Forgets everything, because it belongs to another account (E-10).
    mutating func reset(for userName: String?) {
        self = SyncContent(container: container, scope: scope)
        self.userName = userName
    }

    /// Whether there is something to send.
    var hasPendingChanges: Bool { !records.isEmpty || !zones.isEmpty || hasUntrackedChanges }

    /// The size of the state, for logs.
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

    /// Notes zones that are gone. Changes pending for them stay: the program decides (Z-07).
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

    /// The zone to fetch next: a prioritized one (E-15), else the one that has waited longest.
    func nextZone(
        _ options: CKSyncEngine.FetchChangesOptions, except done: Set<CKRecordZone.ID>
    ) -> CKRecordZone.ID? {
        let open = unfetchedZoneIDs.filter { !done.contains($0) && options.scope.contains($0) }
        return options.prioritizedZoneIDs.first(where: open.contains) ?? open.first
    }
}

// Pending changes, each item once, in the order in which they were first added.
//
// Invariants:
//   1. There is one change for each item: a record or a zone by its name.
//   2. Adding a pending change again keeps its position. Adding the other change of its item removes it and appends the
//      other one (E-05).
//   3. A change that was sent is dropped only if it was not added again since: later edits were not in the request.

/// A change of something that has a name.
protocol PendingChange: Hashable, Sendable {
    associatedtype Item: Hashable & Sendable
    /// The item that the change concerns.
    var item: Item { get }
    /// The change with the content of a newer, equal one.
    func updated(by newer: Self) -> Self
}

extension CKSyncEngine.PendingRecordZoneChange: PendingChange {
    var item: CKRecord.ID { recordID }
    func updated(by newer: Self) -> Self { self }
}

extension CKSyncEngine.PendingDatabaseChange: PendingChange {
    var item: CKRecordZone.ID { zoneID }
    func updated(by newer: Self) -> Self { newer }
}

/// Pending changes.
struct PendingList<Change: PendingChange>: Sendable {
    private struct Slot: Sendable {
        var change: Change
        /// When it was last added.
        var moment: UInt64
    }

    /// Nil for removed changes; compacted when most are nil.
    private var slots: [Slot?] = []
    private var places: [Change.Item: Int] = [:]

    var count: Int { places.count }
    var isEmpty: Bool { places.isEmpty }

    /// When a change that is still pending was last added.
    var newestMoment: UInt64 { slots.lazy.compactMap { $0?.moment }.max() ?? 0 }

    /// The changes in their order.
    var changes: [Change] { slots.compactMap { $0?.change } }

    /// The first changes that satisfy `passes`, at most `limit`.
    func first(_ limit: Int, where passes: (Change) -> Bool) -> [Change] {
        var found: [Change] = []
        for slot in slots {
            guard found.count < limit else { break }
            if let slot, passes(slot.change) { found.append(slot.change) }
        }
        return found
    }

    /// Adds a change. `moment` is later than all before.
    mutating func add(_ change: Change, at moment: UInt64) {
        if let place = places[change.item], let slot = slots[place] {
            guard slot.change != change else {
                slots[place] = Slot(change: slot.change.updated(by: change), moment: moment)
                return
            }
            drop(change.item)
        }
        places[change.item] = slots.count
        slots.append(Slot(change: change, moment: moment))
    }

    /// Removes a change. Returns false if it was not pending.
    @discardableResult
    mutating func remove(_ change: Change) -> Bool {
        guard let place = places[change.item], slots[place]?.change == change else { return false }
        drop(change.item)
        return true
    }

    /// Removes a finished change, unless it was added again after `moment`.
    mutating func finish(_ change: Change, asOf moment: UInt64) {
        guard let place = places[change.item], let slot = slots[place], slot.change == change, slot.moment <= moment
        else { return }
        drop(change.item)
    }

    private mutating func drop(_ item: Change.Item) {
        guard let place = places.removeValue(forKey: item) else { return }
        slots[place] = nil
        guard slots.count > 32, places.count < slots.count / 2 else { return }
        slots.removeAll { $0 == nil }
        for (place, slot) in slots.enumerated() { if let slot { places[slot.change.item] = place } }
    }
}
