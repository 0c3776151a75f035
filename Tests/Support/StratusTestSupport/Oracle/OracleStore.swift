// A whole store as plain dictionaries: zones by name, and the feed of each database. A value: a copy is a past state.

package import StratusModel

/// The latest change of one zone in its database's feed; a zone that was deleted and recreated has two.
package struct OracleZoneChange: Hashable, Sendable {
    package var counter: UInt64
    package var zone: ZoneName
    package var birth: Int
    package var isDeleted: Bool
}

/// All contents of a store, and the feed of each of its databases.
package struct OracleStore: Hashable, Sendable {
    package var zones: [ZoneID: OracleZone] = [:]
    /// The counter of each database's feed; a database appears with its first zone and is never removed.
    package var counters: [DatabaseID: UInt64] = [:]
    /// For each database the latest change of every zone that ever was, by its birth.
    package var zoneChanges: [DatabaseID: [Int: OracleZoneChange]] = [:]

    package init() {}

    /// Whether the zone was created; an existing one stays unchanged (Z-03).
    package mutating func createZone(_ id: ZoneID, birth: Int) -> Bool {
        guard zones[id] == nil else { return false }
        zones[id] = OracleZone(birth: birth, databaseCounter: 0)
        noteChange(of: id, isDeleted: false)
        return true
    }

    /// Whether there was such a zone.
    package mutating func deleteZone(_ id: ZoneID) -> Bool {
        guard zones[id] != nil else { return false }
        noteChange(of: id, isDeleted: true)
        zones[id] = nil
        return true
    }

    /// Carries out a request; nil when the zone does not exist.
    package mutating func apply(
        _ items: [OracleItem], in id: ZoneID, stamp: Stamp, limits: OracleLimits, fault: OracleFault? = nil
    ) -> OracleOutcome? {
        guard let zone = zones[id] else { return nil }
        let outcome = zone.outcome(of: items, stamp: stamp, limits: limits, fault: fault)
        guard outcome.verdict == .accepted, outcome.zone.sequence > zone.sequence else { return outcome }
        zones[id] = outcome.zone
        noteChange(of: id, isDeleted: false)
        return outcome
    }

    /// Takes over what only the store can know of written records: change tags.
    package mutating func adopt(_ saved: [StoredRecord], in id: ZoneID) {
        for stored in saved { zones[id]?.live[stored.record.name] = stored }
    }

    /// The feed of a database, oldest first.
    package func feed(of database: DatabaseID) -> [OracleZoneChange] {
        (zoneChanges[database] ?? [:]).values.sorted { $0.counter < $1.counter }
    }

    private mutating func noteChange(of id: ZoneID, isDeleted: Bool) {
        guard let birth = zones[id]?.birth else { return }
        let counter = counters[id.database, default: 0] + 1
        counters[id.database] = counter
        zones[id]?.databaseCounter = counter
        zoneChanges[id.database, default: [:]][birth] = OracleZoneChange(
            counter: counter, zone: id.name, birth: birth, isDeleted: isDeleted)
    }
}
