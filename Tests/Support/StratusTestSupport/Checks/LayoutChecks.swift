// Invariants for any bytes, from disk or random: nothing traps, and accepted bytes are canonical.
//
// The same checks serve the tests (flips, cuts, random bytes) and the fuzz targets `key` and `record`.

import FoundationEssentials
package import StratusLayout
import StratusModel
import StratusStore

/// Checks of decoders over arbitrary bytes. Each returns the fault, or nil.
package enum LayoutChecks {
    /// Describes and reads `bytes` as a key of any keyspace; a description reads back as the same bytes.
    package static func key(_ bytes: [UInt8]) -> String? { key(bytes, describedAs: KeyDescription.text(of: bytes)) }

    /// The same with an existing description.
    package static func key(_ bytes: [UInt8], describedAs line: String) -> String? {
        if let problem = unsafeScalar(in: line) { return "\(problem) in \(line)" }
        let isDamaged = line.hasPrefix("damaged key")
        if !isDamaged {
            guard (try? KeyDescription.bytes(of: line)) == bytes else { return "\(line) does not read back" }
        }
        let zone = ZoneKeys(database: DatabaseNumber(1), zone: ZoneNumber(1))
        let key = bytes.span
        let isRead = readsAsZoneKey(key, zone)
        if isRead, isDamaged { return "a reader accepts what \(line) says" }
        _ = try? GlobalKeys.readDatabaseKey(key)
        _ = try? GlobalKeys.readZoneKey(key, in: .purges)
        _ = try? GlobalKeys.readAssetKey(key)
        _ = try? GlobalKeys.readSchemaKey(key)
        _ = try? GlobalKeys.readAccountKey(key)
        _ = try? GlobalKeys.readUsageKey(key)
        _ = try? GlobalKeys.readZoneUsageKey(key)
        _ = try? GlobalKeys.readDepartureKey(key)
        _ = try? GlobalKeys.readAcceptanceKey(key)
        _ = try? DatabaseKeys(DatabaseNumber(1)).readZoneKey(key)
        _ = try? DatabaseKeys(DatabaseNumber(1)).readChangeKey(key)
        _ = try? GlobalKeys.readZoneKey(key, in: .indexBuilds)
        _ = try? GlobalKeys.readIndexReviewKey(key)
        _ = try? GlobalKeys.readSubscriptionKey(key)
        _ = try? GlobalKeys.readDeviceKey(key)
        _ = try? GlobalKeys.readNotificationKey(key)
        _ = try? GlobalKeys.readOutboxKey(key)
        _ = try? GlobalKeys.readUploadKey(key)
        _ = try? GlobalKeys.readContentKey(key)
        _ = try? GlobalKeys.readOperationKey(key)
        _ = try? ZoneKeys.readChild(key, prefixByteCount: 6)
        _ = try? ZoneKeys.readName(key, prefixByteCount: 6)
        _ = try? ZoneKeys.readFieldEntry(key, prefixByteCount: 6)
        return nil
    }

    /// Whether the reader of the key's keyspace accepts the key.
    private static func readsAsZoneKey(_ key: Span<UInt8>, _ zone: ZoneKeys) -> Bool {
        guard let keyspace = zone.keyspace(of: key) else { return false }
        do {
            switch keyspace {
            case .header: return false
            case .records: _ = try zone.readRecordKey(key)
            case .parents: _ = try zone.readParentKey(key)
            case .children: _ = try zone.readChildKey(key)
            case .shareRoots: _ = try zone.readShareRootKey(key)
            case .shareCounts: _ = try zone.readShareCountKey(key)
            case .references: _ = try zone.readReferenceKey(key)
            case .types: _ = try zone.readTypeKey(key)
            case .fields: _ = try zone.readFieldKey(key)
            case .tokens: _ = try zone.readTokenKey(key)
            case .changes: _ = try zone.readChangeKey(key)
            case .endedParents: _ = try zone.readEndedParentKey(key)
            case .endedChildren: _ = try zone.readEndedChildKey(key)
            case .endedShares: _ = try zone.readEndedShareKey(key)
            case .shareTokens: _ = try zone.readShareTokenKey(key)
            case .shareEvents: _ = try zone.readShareEventKey(key)
            case .endedAcceptances: _ = try zone.readEndedAcceptanceKey(key)
            case .clientTokens: _ = try zone.readClientTokenKey(key)
            case .queryIndexes: _ = try zone.readQueryIndexesKey(key)
            }
            return true
        } catch { return false }
    }

    /// Decodes `bytes` as every value; what is accepted encodes to the same bytes, and partial decoding agrees.
    package static func record(_ bytes: [UInt8]) -> String? {
        let value = bytes.span
        if let problem = recordItself(bytes) { return problem }
        _ = try? RecordChunks.join([bytes])
        _ = try? RecordChunks.join([bytes, bytes])
        _ = try? RecordCodec.chunkCount(in: value)
        for type in valueTypes {
            if let problem = canonical(bytes, type) { return problem }
        }
        return nil
    }

    /// Every type of value but the record, which has no layout of its own protocol.
    package static let valueTypes: [any LayoutValue.Type] = [
        Tombstone.self, ParentEntry.self, ChildEntry.self, ShareRootEntry.self, CountEntry.self, EmptyEntry.self,
        ChangeEntry.self, EndedParentEntry.self, EndedPeriodEntry.self, EndedShareEntry.self, ZoneHeader.self,
        ZoneEntry.self, DatabaseHeader.self, DatabaseEntry.self, DatabaseChangeEntry.self, GlobalHeader.self,
        ZoneSettingsEntry.self, ZoneMarkerEntry.self,
        PurgeEntry.self, FormatEntry.self, AssetEntry.self, SchemaEntry.self, AccountEntry.self, AccountIDEntry.self,
        UsageEntry.self, ReleaseEntry.self, ShareContentEntry.self,
        ShareURLEntry.self, AcceptanceEntry.self, ShareTokenEntry.self, ShareEventEntry.self,
        TokenSecretEntry.self, ClientTokenEntry.self, ZoneToken.self, DatabaseToken.self, SharedDatabaseToken.self,
        QueryIndexesEntry.self, ZoneIdentityEntry.self, IndexReviewEntry.self, SubscriptionEntry.self, DeviceEntry.self,
        NotificationEntry.self, OutboxEntry.self, UploadEntry.self, OperationPart.self, WorkEntry.self, HostEntry.self,
        TimelineEntry.self,
    ]

    private static func canonical<Value: LayoutValue>(_ bytes: [UInt8], _ type: Value.Type) -> String? {
        guard let value = try? Value(decoding: bytes.span) else { return nil }
        return value.encoded() == bytes ? nil : "\(type) accepts x'\(Hex.text(bytes))' and writes other bytes"
    }

    private static func recordItself(_ bytes: [UInt8]) -> String? {
        let references = try? RecordCodec.headerAndReferences(in: bytes.span)
        _ = try? RecordHeader(decoding: bytes.span)
        _ = try? RecordCodec.decode("name", bytes.span, fields: .none)
        let keys = ZoneKeys(database: DatabaseNumber(1), zone: ZoneNumber(1))
        let line = ValueDescription.text(of: bytes, forKey: keys.record("a"))
        if let problem = unsafeScalar(in: line) { return "\(problem) in \(line)" }
        guard let stored = try? RecordCodec.decode("name", bytes.span) else { return nil }
        guard (try? RecordCodec.encoded(stored)) == bytes else {
            return "a record of other bytes than it encodes to is accepted: x'\(Hex.text(bytes))'"
        }
        if references == nil { return "the references of a record cannot be read: x'\(Hex.text(bytes))'" }
        for (key, field) in stored.record.fields {
            guard let part = try? RecordCodec.decode("name", bytes.span, fields: .only([key])),
                bitwise(part.record.fields[key]) == bitwise(field)
            else { return "field \(key) decodes otherwise alone than with all: x'\(Hex.text(bytes))'" }
        }
        return nil
    }

    /// A field's value in bytes, since a NaN equals nothing.
    private static func bitwise(_ field: Field?) -> [UInt8]? {
        guard let field else { return nil }
        let stamp = Stamp(date: .init(timeIntervalSinceReferenceDate: 0), user: "")
        let system = SystemFields(
            changeSequence: 0, tagSalt: 0, created: stamp, modified: stamp)
        let record = Record(name: "a", type: "", fields: ["a": field])
        return try? RecordCodec.encoded(StoredRecord(record: record, system: system))
    }

    /// The first scalar of a line that must not be in one: found here by other means than the escaping itself uses.
    package static func unsafeScalar(in line: String) -> String? {
        for scalar in line.unicodeScalars {
            switch scalar.value {
            // Controls, invisible characters, line formatting, ignorable characters.
            case 0..<0x20, 0x7F...0x9F, 0xAD, 0x61C, 0x180E, 0x2800, 0x3164, 0xFEFF, 0x200B...0x200F,
                0x2028...0x202E, 0x2060...0x206F, 0xE0000...0xE0FFF:
                return "U+\(String(scalar.value, radix: 16))"
            default: continue
            }
        }
        return nil
    }
}
