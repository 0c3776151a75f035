// What a database keeps of its zones beside their entries: the encryption scope, why a host deleted a zone, and how many
// assets its records hold. All of it is changed in the transaction that changes the zone.

import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

enum ZoneFacts {
    static func encryptionScope(of zone: ZoneName, _ keys: DatabaseKeys, in reader: RecordReader) throws
        -> ZoneEncryptionScope
    {
        let entry = try reader.store.withValue(forKey: keys.zoneSettings(zone)) { try ZoneSettingsEntry(decoding: $0) }
        guard let entry else { return .perRecord }
        guard let scope = ZoneEncryptionScope(rawValue: entry.encryptionScope) else {
            throw damaged(keys.zoneSettings(zone))
        }
        return scope
    }

    /// Why a zone that is not there was deleted by the host; nil when it was not.
    static func purgeReason(of id: ZoneID, in reader: RecordReader) throws -> ZonePurgeReason? {
        guard let database = try reader.databaseEntry(id.database) else { return nil }
        let key = DatabaseKeys(database.number).zoneMarker(id.name)
        guard let entry = try reader.store.withValue(forKey: key, { try ZoneMarkerEntry(decoding: $0) }) else {
            return nil
        }
        guard let reason = ZonePurgeReason(rawValue: entry.reason) else { throw damaged(key) }
        return reason
    }

    /// The error for a zone that is not there. Why another's is not there is not told.
    static func missing(_ zone: ResolvedZone, in reader: RecordReader) throws -> CloudError {
        if zone.isShared { return ScopeVerdict.zoneNotFound(zone.address) }
        return ZoneVerdict.missing(zone.address, purged: try purgeReason(of: zone.id, in: reader))
    }

    /// A zone as its owner is told of it, or somebody who sees something of it.
    static func clientZone(_ zone: ResolvedZone, _ keys: DatabaseKeys, in reader: RecordReader) throws -> ClientZone {
        guard zone.isTransactional else { return ClientZone(address: zone.address) }
        let scope = try encryptionScope(of: zone.id.name, keys, in: reader)
        // Who sees anything of a zone that is shared whole sees all of it, its share too.
        let isSharedWhole = try reader.zone(zone.id)?.node(ShareContent.zoneWideName) != nil
        let share = RecordAddress(recordName: ShareContent.zoneWideName.text, zone: zone.address)
        return ClientZone(
            address: zone.address, capabilities: ZoneVerdict.capabilities(of: zone, scope),
            share: isSharedWhole ? ClientReference(target: share, action: .none) : nil, encryptionScope: scope)
    }

    /// How many fields and list items of the zone's records hold an asset.
    static func assetCount(of zone: ZoneName, _ keys: DatabaseKeys, in reader: RecordReader) throws -> UInt64 {
        try reader.store.withValue(forKey: keys.zoneAssets(zone)) { try ZoneAssetsEntry(decoding: $0).count } ?? 0
    }

    static func changeAssetCount(
        by change: Int, of zone: ZoneName, _ keys: DatabaseKeys, in transaction: RecordTransaction
    ) throws {
        guard change != 0 else { return }
        let (count, isOverflow) = Int(clamping: try assetCount(of: zone, keys, in: transaction))
            .addingReportingOverflow(change)
        guard !isOverflow, count >= 0 else { throw damaged(keys.zoneAssets(zone)) }
        guard count > 0 else { return try transaction.delete(keys.zoneAssets(zone)) }
        try transaction.set(keys.zoneAssets(zone), to: ZoneAssetsEntry(count: UInt64(count)).encoded())
    }

    private static func damaged(_ key: [UInt8]) -> RecordsError {
        RecordsError(
            .corruption, "What is kept of a zone contradicts itself: restore the store from a backup.",
            ["key": "\(KeyDescription(key))"])
    }
}
