// One fixed sample of every key and every value: the golden files record them and the damage tests damage them.

import FoundationEssentials
import StratusLayout
import StratusModel
import StratusTestSupport

/// Fixed keys and values.
enum LayoutSamples {
    static let zone = ZoneKeys(database: DatabaseNumber(3), zone: ZoneNumber(700))
    static let database = DatabaseKeys(DatabaseNumber(3))
    static let first = UUID(uuid: (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15))
    static let second = UUID(uuid: (0xFF, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0xFE))
    static let stamp = Stamp(date: Date(timeIntervalSinceReferenceDate: 788_918_400.25), user: "_alice")

    static let digest = [UInt8](repeating: 0xCD, count: 31) + [0]

    static let content = ContentKeyParts(owner: "_alice", digest: digest, upload: second)

    static let zoneKeys: [[UInt8]] = [
        zone.header(),
        zone.record("a.txt"),
        zone.record("nul\0and\u{1}"),
        zone.recordChunk("a.txt", index: 1),
        zone.recordChunk("a.txt", index: 300),
        zone.parent(of: "a.txt"),
        zone.child(parent: "folder", name: "\u{E9}"),
        zone.child(parent: "folder", name: "e\u{301}"),
        zone.shareRoot("folder"),
        zone.shareCount(parent: nil, name: "top"),
        zone.shareCount(parent: "top", name: "folder"),
        zone.reference(target: "t", source: "s", field: "owner", action: .none),
        zone.reference(target: "t", source: "s", field: "owner", action: .deleteSelf),
        zone.type("File", name: "a.txt"),
        fieldKey(.string("x")), fieldKey(.null), fieldKey(.integer(-5)), fieldKey(.unsigned(.max)),
        fieldKey(.double(-0.0)), fieldKey(.double(.nan)), fieldKey(.boolean(true)), fieldKey(.bytes([0, 255])),
        fieldKey(.date(stamp.date)), fieldKey(.uuid(second)), fieldKey(.nested([.integer(1), .string("a\", b")])),
        zone.token("word", field: "body", name: "a.txt"),
        zone.change(sequence: 0),
        zone.change(sequence: 65_536),
        zone.endedParent(child: "a.txt", ended: 12),
        zone.endedChild(parent: "folder", child: "a.txt", ended: 12),
        zone.endedShare(root: "folder", ended: 13),
        zone.shareToken(nil), zone.shareToken("folder"),
        zone.shareEvent(sequence: 300, index: 0), zone.shareEvent(sequence: 300, index: 1),
        zone.endedAcceptance(user: "_bob", ended: 12, share: "Share-1"),
        zone.clientToken(of: "_bob"), zone.queryIndexes(of: "Note"),
    ]

    private static func changed<Value>(_ value: Value, _ change: (inout Value) -> Void) -> Value {
        var value = value
        change(&value)
        return value
    }

    private static func fieldKey(_ value: TupleElement) -> [UInt8] {
        zone.field(type: "File", field: "size", value: value, name: "a.txt")
    }

    static let databaseKeys: [[UInt8]] = [
        database.header(), database.zone("_defaultZone"), database.change(300),
        database.subscription(user: "_alice", id: "sub-1"),
        (try? KeyDescription.bytes(of: "db 3 / schema / \"File\"")) ?? [],
        database.zoneSettings("Notes"), database.zoneMarker("Notes"), database.zoneAssets("Notes"),
    ]

    private static let privateID = DatabaseID(container: "iCloud.com.example", owner: "_alice", scope: .private)
    private static let publicID = DatabaseID(container: "iCloud.com.example", owner: nil, scope: .public)

    static let globalKeys: [[UInt8]] = [
        GlobalKeys.format(), GlobalKeys.header(), GlobalKeys.database(publicID), GlobalKeys.database(privateID),
        GlobalKeys.zone(DatabaseNumber(3), ZoneNumber(7), in: .purges), GlobalKeys.receipt([1, 2, 0, 255]),
        GlobalKeys.account("user-17"), GlobalKeys.identity(.email, "a@example.com"),
        GlobalKeys.identity(.phone, "+1"), GlobalKeys.identity(.userRecord, "_alice"), GlobalKeys.shareURL(digest),
        GlobalKeys.acceptance(user: "_bob", zone: first, share: "Share-1"),
        GlobalKeys.asset(owner: "_alice", digest: [UInt8](repeating: 0xAB, count: 32)),
        GlobalKeys.schema("iCloud.com.example", "File"), GlobalKeys.schemaRoles("iCloud.com.example"),
        GlobalKeys.identity(.externalID, "user-17"),
        GlobalKeys.identity(.email("b@example.com")), GlobalKeys.identity(.phone("+491")),
        GlobalKeys.usage(of: "_alice"), GlobalKeys.zoneUsage(of: "_alice", zone: second),
        GlobalKeys.departure(of: "_alice"), GlobalKeys.zone(DatabaseNumber(3), ZoneNumber(7), in: .releases),
        GlobalKeys.zone(DatabaseNumber(3), ZoneNumber(7), in: .rebuilds), GlobalKeys.tokenSecret(),
        GlobalKeys.zone(DatabaseNumber(3), ZoneNumber(7), in: .indexBuilds),
        GlobalKeys.indexReview("iCloud.com.example", "Note"),
        GlobalKeys.indexing(), GlobalKeys.subscription(subscription("sub-1")),
        GlobalKeys.device(of: "account-1", "phone"), GlobalKeys.notification(for: "account-1", "phone", order: 300),
        GlobalKeys.outbox(DatabaseNumber(3), counter: 300, index: 1),
        GlobalKeys.upload(owner: "_alice", digest: digest, lease: first), GlobalKeys.content(content),
        GlobalKeys.operation("operation-1", 300),
        GlobalKeys.work(.history), GlobalKeys.host(first), GlobalKeys.run(of: "operation-1"), GlobalKeys.timeline(),
    ]

    static var allKeys: [[UInt8]] { globalKeys + databaseKeys + zoneKeys }

    private static let smallAccount = StoredAccount(
        id: "account-1", externalID: nil, userName: "_bob", isDiscoverable: false, created: stamp.date)
    private static let fullAccount = StoredAccount(
        id: "account-2", externalID: "user-17", userName: "_alice",
        handles: [.phone("+4930123"), .email("b@example.com"), .email("a@example.com")],
        name: PersonName(
            prefix: "Dr.", given: "\u{C1}lice", middle: "M", family: "Example", suffix: "Jr.", nickname: "Al"),
        standing: .needsVerification, isDiscoverable: true, quotaByteCount: 5_000_000_000, created: stamp.date)

    /// Values of people, each with its key.
    static let accountValues: [(key: [UInt8], value: any LayoutValue)] = [
        (GlobalKeys.account("account-1"), AccountEntry(smallAccount)),
        (GlobalKeys.account("account-2"), AccountEntry(fullAccount)),
        (GlobalKeys.identity(.externalID, "user-17"), AccountIDEntry(account: "account-2")),
        (GlobalKeys.usage(of: "_alice"), UsageEntry(byteCount: 300)),
        (GlobalKeys.zoneUsage(of: "_alice", zone: second), UsageEntry(byteCount: .max)),
        (GlobalKeys.departure(of: "_alice"), AccountIDEntry(account: "account-2")),
    ]

    /// Small values, each with its key.
    static let smallValues: [(key: [UInt8], value: any LayoutValue)] = [
        (database.zoneSettings("Notes"), ZoneSettingsEntry(encryptionScope: 1)),
        (database.zoneMarker("Notes"), ZoneMarkerEntry(reason: 2, deleted: stamp.date)),
        (database.zoneAssets("Notes"), CountEntry(count: 300)),
        (GlobalKeys.format(), FormatEntry(incarnation: first)),
        (GlobalKeys.format(), FormatEntry(incarnation: first, copied: second)),
        (GlobalKeys.header(), GlobalHeader(nextDatabaseNumber: 128)),
        (GlobalKeys.database(publicID), DatabaseEntry(number: DatabaseNumber(3), identity: first)),
        (
            GlobalKeys.zone(DatabaseNumber(3), ZoneNumber(7), in: .purges),
            PurgeEntry(database: DatabaseNumber(3), zone: ZoneNumber(7), identity: second)
        ),
        (
            GlobalKeys.zone(DatabaseNumber(3), ZoneNumber(7), in: .releases),
            ReleaseEntry(database: DatabaseNumber(3), zone: ZoneNumber(7), identity: second, owner: "_alice")
        ),
        (
            GlobalKeys.zone(DatabaseNumber(3), ZoneNumber(300), in: .releases),
            changed(
                ReleaseEntry(database: DatabaseNumber(3), zone: ZoneNumber(300), identity: first, owner: "_alice")
            ) { $0.last = "a.txt" }
        ),
        (GlobalKeys.zone(DatabaseNumber(3), ZoneNumber(7), in: .rebuilds), ZoneIdentityEntry(identity: first)),
        (GlobalKeys.zone(DatabaseNumber(3), ZoneNumber(7), in: .indexBuilds), ZoneIdentityEntry(identity: first)),
        (GlobalKeys.indexReview("iCloud.com.example", "Note"), IndexReviewEntry()),
        (GlobalKeys.indexing(), EmptyEntry()),
        (
            GlobalKeys.indexReview("iCloud.com.example", "Task"),
            IndexReviewEntry(last: (DatabaseNumber(3), ZoneNumber(300)))
        ),
        (zone.queryIndexes(of: "Empty"), QueryIndexesEntry()),
        (
            zone.queryIndexes(of: "Note"),
            changed(QueryIndexesEntry()) { entry in
                entry.fields = [
                    "age": QueryIndexState(kinds: [.values, .missing], phase: .ready),
                    "text": QueryIndexState(kinds: .all, phase: .filling),
                    "old": QueryIndexState(kinds: .values, phase: .clearing),
                ]
                entry.position = "note-7"
            }
        ),
        (
            database.header(),
            changed(DatabaseHeader()) { header in
                header.nextZoneNumber = 2
                header.changeCounter = 16_384
            }
        ),
        (database.zone("z"), ZoneEntry(number: ZoneNumber(700), identity: first, created: stamp)),
        (database.change(1), DatabaseChangeEntry(zone: "z", identity: first, kind: .saved)),
        (database.change(2), DatabaseChangeEntry(zone: "z", identity: first, kind: .deleted)),
        (
            zone.header(),
            changed(ZoneHeader(identity: first, incarnation: second, databaseCounter: 2)) { header in
                header.sequence = 300
                header.horizon = 5
                header.recordCount = .max
            }
        ),
        (zone.parent(of: "a"), ParentEntry(parent: nil, parentSince: 1)),
        (
            zone.parent(of: "a"),
            ParentEntry(
                parent: "folder", parentSince: 200, share: "Share-1", shareSince: 9, hasChildren: true
            )
        ),
        (zone.parent(of: "a"), ParentEntry(parent: nil, parentSince: 2, share: "S", shareSince: 3)),
        (zone.child(parent: "a", name: "b"), ChildEntry(since: 300, hasChildren: true)),
        (zone.child(parent: "a", name: "b"), ChildEntry(since: 1, hasChildren: false)),
        (zone.shareRoot("a"), ShareRootEntry(share: "Share-1", since: 9)),
        (zone.shareCount(parent: nil, name: "a"), CountEntry(count: 2)),
        (zone.reference(target: "t", source: "s", field: "f", action: .none), EmptyEntry()),
        (zone.type("T", name: "a"), EmptyEntry()),
        (zone.change(sequence: 4), ChangeEntry(name: "a", kind: .saved(.unsaid))),
        (zone.change(sequence: 7), ChangeEntry(name: "a", kind: .saved(.below(nil)))),
        (zone.change(sequence: 8), ChangeEntry(name: "a", kind: .saved(.below("p")))),
        (zone.change(sequence: 5), ChangeEntry(name: "a", kind: .deleted(type: "File", parent: nil))),
        (zone.change(sequence: 6), ChangeEntry(name: "a", kind: .deleted(type: "File", parent: "p"))),
        (zone.endedParent(child: "a", ended: 9), EndedParentEntry(parent: "p", began: 4)),
        (zone.endedParent(child: "a", ended: 4), EndedParentEntry(parent: nil, began: 1)),
        (zone.endedParent(child: "a", ended: 9), EndedParentEntry(parent: "p", began: 4, deletedType: "File")),
        (zone.endedParent(child: "a", ended: 4), EndedParentEntry(parent: nil, began: 1, deletedType: "")),
        (zone.endedChild(parent: "p", child: "a", ended: 9), EndedPeriodEntry(began: 4)),
        (zone.endedShare(root: "a", ended: 9), EndedShareEntry(share: "S", began: 4)),
        (
            zone.record("gone"),
            Tombstone(sequence: 77, type: "File", parent: "folder", deleted: stamp)
        ),
        (zone.record("gone"), Tombstone(sequence: 78, type: "File", parent: nil, deleted: stamp)),
    ]

    static let assetAndSchemaValues: [(key: [UInt8], value: any LayoutValue)] = [
        (
            GlobalKeys.asset(owner: "_alice", digest: [UInt8](repeating: 0xAB, count: 32)),
            AssetEntry(count: 300, byteCount: 1 << 40)
        ),
        (GlobalKeys.asset(owner: "_bob", digest: digest), AssetEntry(count: 1, byteCount: 0, upload: second)),
        (
            GlobalKeys.upload(owner: "_alice", digest: digest, lease: first),
            UploadEntry(upload: second, endMilliseconds: 1_735_689_600_000)
        ),
        (GlobalKeys.content(content), EmptyEntry()),
        (GlobalKeys.operation("operation-1", 0), OperationPart(first: 300, count: 1)),
        (GlobalKeys.operation("operation-1", 300), OperationPart(first: 300, count: 1, bytes: [0x7B, 0x7D])),
        (GlobalKeys.work(.history), WorkEntry(holder: first, generation: 300)),
        (GlobalKeys.work(.history), WorkEntry(holder: nil, generation: 301)),
        (GlobalKeys.host(first), HostEntry(beat: 300)),
        (GlobalKeys.run(of: "operation-1"), WorkEntry(holder: first, generation: 1)),
        (GlobalKeys.timeline(), TimelineEntry(system: -1, number: 1, isReplicated: false, incarnation: nil)),
        (GlobalKeys.timeline(), TimelineEntry(system: 300, number: 4, isReplicated: true, incarnation: second)),
        (
            GlobalKeys.schema("iCloud.com.example", "Empty"),
            SchemaEntry.type(fields: [:], grants: [:], isImported: false)
        ),
        (
            GlobalKeys.schema("iCloud.com.example", "Imported"),
            SchemaEntry.type(
                fields: ["name": FieldSchema(FieldType(.string), indexes: .queryable)], grants: [:], isImported: true)
        ),
        (
            GlobalKeys.schema("iCloud.com.example", "File"),
            SchemaEntry.type(
                fields: [
                    "name": FieldSchema(FieldType(.string), indexes: .all),
                    "secret": FieldSchema(FieldType(.double, isList: true, isEncrypted: true)),
                    "___createTime": FieldSchema(FieldType(.timestamp), indexes: .sortable),
                ], grants: RecordTypeSchema.defaultGrants, isImported: false
            )
        ),
        (GlobalKeys.schemaRoles("iCloud.com.example"), SchemaEntry.roles(["Editors", "Admins"])),
    ]

    /// A record with a field of every kind.
    static let fullRecord = StoredRecord(
        record: Record(
            name: "a.txt", type: "File", parent: "folder", share: "Share-1",
            fields: [
                "asset": Field(.asset(AssetDescriptor(digest: [UInt8](repeating: 7, count: 32), byteCount: 12_345))),
                "bytes": Field(.bytes([0, 1, 255])),
                "date": Field(.date(Date(timeIntervalSinceReferenceDate: -0.5))),
                "double": Field(.double(-0.0)),
                "empty": Field(.list([])),
                "int": Field(.int64(.min)),
                "ints": Field(.list([.int64(1), .int64(-1)])),
                "links": Field(
                    .list([
                        .reference(RecordReference(target: "x", action: .none)),
                        .reference(RecordReference(target: "y", action: .deleteSelf)),
                    ])),
                "place": Field(
                    .location(Location(latitudeDegrees: 52.5, longitudeDegrees: 13.4, timestamp: stamp.date))),
                "reference": Field(.reference(RecordReference(target: "target", action: .deleteSelf))),
                "secret": Field(.string("s\u{E9}cret\u{202E}\n"), isEncrypted: true),
                "texts": Field(.list([.string(""), .string("b")])),
            ]),
        system: SystemFields(
            changeSequence: 300, tagSalt: 0xDEAD_BEEF, created: stamp,
            modified: Stamp(date: stamp.date + 1, user: "_bob")))

    /// A record of few parts.
    static let smallRecord = StoredRecord(
        record: Record(name: "b", type: "T", fields: ["n": Field(.int64(5))]),
        system: SystemFields(
            changeSequence: 1, tagSalt: 0, created: stamp, modified: stamp))

    /// Every sample but the records.
    static var typedValues: [(key: [UInt8], value: any LayoutValue)] {
        smallValues + assetAndSchemaValues + accountValues + shareValues
    }

    static func values() throws -> [(key: [UInt8], value: [UInt8])] {
        try typedValues.map { ($0.key, $0.value.encoded()) }
            + [fullRecord, smallRecord, shareRecord].map { (zone.record($0.record.name), try RecordCodec.encoded($0)) }
    }
}
