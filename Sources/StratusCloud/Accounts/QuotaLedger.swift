// How many bytes each owner's zones hold, counted in the same transaction as the writes (S-16). Users own their private
// databases; the app owns the public database of a container (`AssetLedger.publicOwner`).
//
// Invariants: an owner's usage is the sum of the usages of their zones; a zone's usage is the sum of `byteCount(of:)`
// over its live records. A zone's own counter makes deleting it O(1).

package import FoundationEssentials
import StratusLayout
package import StratusModel
package import StratusRecords
import StratusStore

/// Charges bytes to owners.
package enum QuotaLedger {
    /// The cost of every record besides its content: its name in the indexes, dates, tag.
    package static let recordOverheadByteCount: Int64 = 64

    /// The cost of a record for its owner: the bytes of its names and values, at least one for each item of a list, and
    /// of its assets. The participants of a share cost nothing, because others also change them.
    package static func byteCount(of record: Record) -> Int64 {
        let names = record.name.text.utf8.count + (record.parent?.text.utf8.count ?? 0)
        return byteCount(names: names + (record.share?.text.utf8.count ?? 0), record.type, record.fields)
    }

    /// The same. It reads the parts where they are: a copy of the record would retain each of them.
    static func byteCount(of decoded: DecodedRecord) -> Int64 {
        let names =
            decoded.stored.record.name.text.utf8.count + (decoded.stored.record.parent?.text.utf8.count ?? 0)
            + (decoded.stored.record.share?.text.utf8.count ?? 0)
        return byteCount(names: names, decoded.stored.record.type, decoded.stored.record.fields)
    }

    private static func byteCount(names: Int, _ type: RecordType, _ fields: RecordFields) -> Int64 {
        var sum = recordOverheadByteCount + Int64(names + type.text.utf8.count)
        // Only shares have that field.
        let fields = type == ShareContent.recordType ? fields.without(ShareContent.fieldKey) : fields
        let entries = fields.entries.span
        for index in entries.indices {
            sum = sum.addingCapped(Int64(entries[index].key.text.utf8.count))
                .addingCapped(byteCount(of: entries[index].value.value))
        }
        return sum
    }

    /// Charges a change of a zone's size to its owner; `byteCount` is negative if the zone holds less.
    ///
    /// Throws `quotaExceeded` if the owner would then hold more than `limit`. A reduction is never refused.
    package static func charge(
        byteCount: Int64, to owner: UserName, zone: UUID, limit: Int64?, in transaction: RecordTransaction
    ) throws {
        guard byteCount != 0 else { return }
        var total = try usage(of: owner, in: transaction).addingCapped(byteCount)
        if let limit, byteCount > 0, total > limit {
            throw exceeded(limit: limit, needed: total)
        }
        var inZone = try usage(of: owner, zone: zone, in: transaction).addingCapped(byteCount)
        if AssetLedger.isPublicOwner(owner) {
            // Public data from before it was counted frees nothing.
            total = max(0, total)
            inZone = max(0, inZone)
        }
        guard total >= 0, inZone >= 0 else {
            throw CloudError(
                .internalError, "More bytes would be freed than are counted. Verify the store.",
                ["owner": owner.text])
        }
        try set(GlobalKeys.usage(of: owner), to: total, in: transaction)
        try set(GlobalKeys.zoneUsage(of: owner, zone: zone), to: inZone, in: transaction)
    }

    static func exceeded(limit: Int64, needed: Int64) -> CloudError {
        CloudError(
            .quotaExceeded, "The owner's storage is full. Delete something, or raise the quota.",
            ["limit": "\(limit)", "needed": "\(needed)"])
    }

    /// Frees what a zone holds. Call it in the transaction that deletes the zone.
    package static func release(zone: UUID, of owner: UserName, in transaction: RecordTransaction) throws {
        let inZone = try usage(of: owner, zone: zone, in: transaction)
        try charge(byteCount: -inZone, to: owner, zone: zone, limit: nil, in: transaction)
    }

    /// The bytes that all zones of an owner hold.
    package static func usage(of owner: UserName, in reader: RecordReader) throws -> Int64 {
        try count(GlobalKeys.usage(of: owner), in: reader)
    }

    /// The bytes that one zone of an owner holds.
    package static func usage(of owner: UserName, zone: UUID, in reader: RecordReader) throws -> Int64 {
        try count(GlobalKeys.zoneUsage(of: owner, zone: zone), in: reader)
    }

    static func count(_ key: [UInt8], in reader: RecordReader) throws -> Int64 {
        let found = try reader.store.withValue(forKey: key) { try UsageEntry(decoding: $0).byteCount }
        return Int64(clamping: found ?? 0)
    }

    /// Sets a counter. A counter of zero has no entry.
    static func set(_ key: [UInt8], to byteCount: Int64, in transaction: RecordTransaction) throws {
        if byteCount == 0 { return try transaction.delete(key) }
        try transaction.set(key, to: UsageEntry(byteCount: UInt64(byteCount)).encoded())
    }

    private static func byteCount(of value: FieldValue) -> Int64 {
        switch value {
        case .asset(let asset): Int64(asset.digest.count).addingCapped(max(0, asset.byteCount))
        case .list(let items): items.reduce(0) { $0.addingCapped(max(1, byteCount(of: $1))) }
        default: Int64(value.contentByteCount)
        }
    }
}

extension Int64 {
    /// The sum, or the nearest representable number.
    func addingCapped(_ other: Int64) -> Int64 {
        let (sum, isOverflow) = addingReportingOverflow(other)
        guard isOverflow else { return sum }
        return other > 0 ? .max : .min
    }
}

// MARK: Verification

/// An owner's counters, and what their zones hold.
package struct UsageReport: Hashable, Sendable {
    /// One counter.
    package struct Count: Hashable, Sendable {
        package var recordedByteCount: Int64 = 0
        package var foundByteCount: Int64 = 0
    }

    /// The owner's counter, and the sum of everything found.
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
        try reader.store.forEach(in: GlobalKeys.zoneUsages(of: owner)) { key, value in
            let zone = try GlobalKeys.readZoneUsageKey(key).zone
            let recorded = Int64(clamping: try UsageEntry(decoding: value).byteCount)
            zones[zone] = UsageReport.Count(recordedByteCount: recorded)
        }
        for database in try databases(of: owner, in: reader) {
            for listing in try reader.zones(in: database) {
                guard let zone = try reader.zone(ZoneID(database: database, name: listing.name)) else { continue }
                let found = try foundByteCount(in: zone, onRecord)
                zones[listing.entry.identity, default: .init()].foundByteCount = found
            }
        }
        let total = UsageReport.Count(
            recordedByteCount: try usage(of: owner, in: reader),
            foundByteCount: zones.values.reduce(0) { $0.addingCapped($1.foundByteCount) })
        return UsageReport(total: total, zones: zones)
    }

    /// The databases whose records count for an owner, existing or not.
    static func databases(of owner: UserName, in reader: RecordReader) throws -> [DatabaseID] {
        try reader.containers().map { container in
            let isApp = owner == AssetLedger.publicOwner(of: container)
            return DatabaseID(container: container, owner: isApp ? nil : owner, scope: isApp ? .public : .private)
        }
    }

    /// Every live record has an entry among the parents.
    private static func foundByteCount(in zone: ZoneReader, _ onRecord: () -> Void) throws -> Int64 {
        var sum: Int64 = 0
        try zone.store.forEach(in: zone.keys.keyspace(.parents)) { key, _ in
            if let record = try zone.record(zone.keys.readParentKey(key)) {
                sum = sum.addingCapped(byteCount(of: record.record))
                onRecord()
            }
        }
        return sum
    }
}
