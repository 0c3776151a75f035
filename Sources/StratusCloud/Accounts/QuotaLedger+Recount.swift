// Comparing what is counted with what is there. Nothing is mended unasked: a difference is reported, and `recount` sets
// the counters to what it finds, zone by zone, each in a transaction of its own.

package import FoundationEssentials
import StratusLayout
package import StratusModel
package import StratusRecords
import StratusStore

/// What an owner's counters say, and what their zones hold.
package struct UsageReport: Hashable, Sendable {
    /// One counter.
    package struct Count: Hashable, Sendable {
        package var recordedByteCount: Int64
        package var foundByteCount: Int64
    }

    /// The owner's counter, beside the sum of everything found.
    package var total: Count
    /// The counter of each zone that exists or has a counter, by its identity.
    package var zones: [UUID: Count]

    /// Whether every counter is right.
    package var isExact: Bool {
        total.recordedByteCount == total.foundByteCount
            && zones.values.allSatisfy { $0.recordedByteCount == $0.foundByteCount }
    }
}

extension QuotaLedger {
    /// Counts everything an owner's zones hold, in one snapshot, and compares. `onRecord` is called for every record.
    package static func verify(
        _ owner: UserName, in reader: RecordReader, onRecord: () -> Void = {}
    ) throws -> UsageReport {
        var zones: [UUID: UsageReport.Count] = [:]
        try reader.store.scan(GlobalKeys.zoneUsages(of: owner).keyRange) { key, value in
            let zone = try GlobalKeys.readZoneUsageKey(key).zone
            let recorded = Int64(clamping: try UsageEntry(decoding: value).byteCount)
            zones[zone] = UsageReport.Count(recordedByteCount: recorded, foundByteCount: 0)
            return .next
        }
        for (id, identity) in try zonesByIdentity(of: owner, in: reader) {
            let found = try foundByteCount(in: reader.existingZone(id), onRecord)
            zones[identity, default: .init(recordedByteCount: 0, foundByteCount: 0)].foundByteCount = found
        }
        let total = UsageReport.Count(
            recordedByteCount: try usage(of: owner, in: reader),
            foundByteCount: zones.values.reduce(0) { $0.addingCapped($1.foundByteCount) })
        return UsageReport(total: total, zones: zones)
    }

    /// Sets an owner's counters to what their zones hold. Others may write meanwhile.
    package static func recount(_ owner: UserName, in engine: RecordEngine) throws {
        let zones = try engine.read { try zonesByIdentity(of: owner, in: $0) }
        for (id, identity) in zones {
            try engine.transact { transaction in
                guard let zone = try transaction.zone(id), try zone.header().identity == identity else { return }
                let key = GlobalKeys.zoneUsage(of: owner, zone: identity)
                try set(key, to: foundByteCount(in: zone), in: transaction)
            }
        }
        try engine.transact { transaction in
            let existing = Set(try zonesByIdentity(of: owner, in: transaction).map(\.identity))
            var total: Int64 = 0
            var dead: [[UInt8]] = []
            try transaction.store.scan(GlobalKeys.zoneUsages(of: owner).keyRange) { key, value in
                if existing.contains(try GlobalKeys.readZoneUsageKey(key).zone) {
                    total = total.addingCapped(Int64(clamping: try UsageEntry(decoding: value).byteCount))
                } else {
                    dead.append([UInt8](copying: key))
                }
                return .next
            }
            for key in dead { try transaction.delete(key) }
            try set(GlobalKeys.usage(of: owner), to: total, in: transaction)
        }
    }

    private static func zonesByIdentity(
        of owner: UserName, in reader: RecordReader
    ) throws -> [(id: ZoneID, identity: UUID)] {
        try reader.containers().flatMap { container in
            let isApp = owner == AssetStore.publicOwner(of: container)
            let database = DatabaseID(
                container: container, owner: isApp ? nil : owner, scope: isApp ? .public : .private)
            return try reader.zones(in: database).map {
                (ZoneID(database: database, name: $0.name), $0.entry.identity)
            }
        }
    }

    /// Every live record has an entry among the parents.
    private static func foundByteCount(in zone: ZoneReader, _ onRecord: () -> Void = {}) throws -> Int64 {
        var sum: Int64 = 0
        try zone.store.scan(zone.keys.parents.keyRange) { key, _ in
            if let record = try zone.record(zone.keys.readParentKey(key)) {
                sum = sum.addingCapped(byteCount(of: record.record))
                onRecord()
            }
            return .next
        }
        return sum
    }
}
