// The keyspaces: of a zone, of a database outside its zones, and of the store outside its databases. A raw value is the
// third element, the tag, of every key of its keyspace. Raw values are on disk: never change one.

import StratusModel

/// The keyspaces of a zone: (database, zone, tag, …). The raw values are stored: they never change.
package enum ZoneKeyspace: UInt8, Hashable, Sendable, CaseIterable {
    /// Key: nothing more. Value: `ZoneHeader`. Counters and identity, read by every write.
    case header = 1
    /// Key: name, and for the later chunks of a large record their index. Value: the record, its tombstone or a chunk.
    case records = 2
    /// Key: child. Value: `ParentEntry`. Small, so that a walk up a chain touches tens of bytes a level.
    case parents = 3
    /// Key: parent, child. Value: `ChildEntry`. The children of a record in the order of their names.
    case children = 4
    /// Key: root. Value: `ShareRootEntry`. Every hierarchical share of the zone.
    case shareRoots = 5
    /// Key: parent or null, record. Value: `CountEntry`. The number of share roots at or below a record. The
    /// parent comes first, so that the roots below a record are found without visiting children that have none.
    case shareCounts = 6
    /// Key: target, source, field, action. Value: a version byte. The references to a record.
    case references = 7
    /// Key: type, name. Value: a version byte. The live records of a type.
    case types = 8
    /// Key: type, field, value, name. Value: a version byte. Query indexes.
    case fields = 9
    /// Key: word, field, name. Value: a version byte. Full text.
    case tokens = 10
    /// Key: sequence. Value: `ChangeEntry`. At most one entry per record: the feed.
    case changes = 11
    /// Key: child, ended. Value: `EndedParentEntry`. Parents a record no longer has, until the purge horizon.
    case endedParents = 12
    /// Key: parent, ended, child. Value: `EndedPeriodEntry`. Children a record no longer has, until the purge horizon.
    case endedChildren = 13
    /// Key: root, ended. Value: `EndedShareEntry`. Share marks a record no longer has, until the purge horizon.
    case endedShares = 14
    /// Key: root, or null for the whole zone. Value: `ShareTokenEntry`. The secret of the root's URL, kept while the
    /// root is not shared.
    case shareTokens = 15
    /// Key: sequence, index. Value: `ShareEventEntry`. Events of shares, for their owners.
    case shareEvents = 16
    /// Key: user, ended, share. Value: `EndedPeriodEntry`. Acceptances that ended, until the purge horizon.
    case endedAcceptances = 17
    /// Key: user. Value: `ClientTokenEntry`. The token a user's client sent with its last change of the zone.
    case clientTokens = 18
    /// Key: type. Value: `QueryIndexesEntry`. The indexed fields of the type's records.
    case queryIndexes = 19
}

/// The keyspaces of a database: (database, 0, tag, …). The raw values are stored: they never change.
package enum DatabaseKeyspace: UInt8, Hashable, Sendable, CaseIterable {
    /// Key: nothing more. Value: `DatabaseHeader`. Counters.
    case header = 1
    /// Key: zone name. Value: `ZoneEntry`. The zone's number and identity.
    case zones = 2
    /// Key: counter. Value: `DatabaseChangeEntry`. The feed of zones; at most one entry per zone.
    case changes = 3
    /// Key: user, subscription. Never written: subscriptions are stored outside databases, because some concern shared
    /// databases (`GlobalKeyspace.subscriptions`).
    case subscriptions = 4
    /// Key: record type. Never written: a schema belongs to its container (`GlobalKeyspace.schema`).
    case schema = 5
    /// Key: zone name. Value: `ZoneSettingsEntry`. Settings from the zone's creation; absent if all are defaults.
    case zoneSettings = 6
    /// Key: zone name. Value: `ZoneMarkerEntry`. Why a host deleted the zone; kept until it is created again.
    case zoneMarkers = 7
    /// Key: zone name. Value: `CountEntry`. How often the zone's records hold an asset; absent if never.
    case zoneAssets = 8
}

/// The keyspaces of the store: (0, 0, tag, …). The raw values are stored: they never change.
package enum GlobalKeyspace: UInt8, Hashable, Sendable, CaseIterable {
    /// Key: nothing more. Value: `FormatEntry`. Checked first on opening. Its key never changes, and in a whole store
    /// neither does its first byte.
    case format = 1
    /// Key: nothing more. Value: `GlobalHeader`. Counters.
    case header = 2
    /// Key: container, owner or null, scope. Value: `DatabaseEntry`. The database's number and identity.
    case databases = 3
    /// Key: database number, zone number. Value: `PurgeEntry`. A deleted zone whose keys are still being removed.
    case purges = 4
    /// Key: identifier. Value: the result of the transaction with that identifier; read first on a retry.
    case receipts = 5
    /// Key: account. Value: `AccountEntry`.
    case accounts = 6
    /// Key: kind, value. Value: `AccountIDEntry`. The account of a handle, a user record or the host's own identifier.
    case identities = 7
    /// Key: SHA-256 of the URL's secret. Value: `ShareURLEntry`. The share of a URL.
    case shareURLs = 8
    /// Key: user, identity of the zone, share. Value: `AcceptanceEntry`. What a user has accepted, and when.
    case acceptances = 9
    /// Key: owner, digest. Value: `AssetEntry`. How often the owner's records hold the content.
    case assets = 10
    /// Key: container, record type. Value: `SchemaEntry`. The type's fields and grants, or, under the empty type, the
    /// container's roles.
    case schema = 11
    /// Key: owner. Value: `UsageEntry`. The bytes that all private zones of the owner hold.
    case usage = 12
    /// Key: owner, identity of the zone. Value: `UsageEntry`. The bytes that one zone holds.
    case zoneUsage = 13
    /// Key: owner. Value: `AccountIDEntry`. A deleted account whose data is still being removed.
    case departures = 14
    /// Key: database number, zone number. Value: `ReleaseEntry`. A deleted zone whose records still count as holders of
    /// assets; it becomes a purge when they do not.
    case releases = 15
    /// Key: database number, zone number. Value: `ZoneIdentityEntry`. A zone whose indexes are being rebuilt: it
    /// refuses requests until the entry is gone.
    case rebuilds = 16
    /// Key: nothing more. Value: `TokenSecretEntry`. The secret that authenticates change tokens and cursors.
    case tokenSecret = 17
    /// Key: database number, zone number. Value: `ZoneIdentityEntry`. A zone in which indexes for queries are being
    /// filled or cleared.
    case indexBuilds = 18
    /// Key: container, record type. Value: `IndexReviewEntry`. A type whose indexes changed: its zones need a review.
    case indexReviews = 19
    /// Key: nothing more. Value: a version byte. All types older than indexes for queries have an entry in
    /// `indexReviews`.
    case indexing = 20
    /// Key: container, user, database (1 public, 2 private, 3 shared), identifier. Value: `SubscriptionEntry`.
    case subscriptions = 21
    /// Key: account, name. Value: `DeviceEntry`. A device that gets notifications.
    case devices = 22
    /// Key: account, name, order. Value: `NotificationEntry`. A notification that waits for its device.
    case notifications = 23
    /// Key: database number, the database's change counter, index. Value: `OutboxEntry`. News of a commit for
    /// subscribers.
    case outbox = 24
    /// Key: owner, digest, lease. Value: `UploadEntry`. A content that a request uses which has not ended. Only where
    /// contents are in the store.
    case uploads = 25
    /// Key: owner, digest, upload. Value: a version byte. A content that waits to be removed. The key is also the name
    /// of the content's parts. Only where contents are in the store.
    case collecting = 26
    /// Key: identifier, index. Value: `OperationPart`. A long-lived operation. Only where contents are in the store.
    case operations = 27
    /// Key: number of the work. Value: `WorkEntry`. Which process does a kind of background work. Only where several
    /// processes may write the store.
    case work = 28
    /// Key: UUID of the process. Value: `HostEntry`. The processes that do background work, and their signs of life.
    /// Only where several processes may write the store.
    case hosts = 29
    /// Key: identifier. Value: `WorkEntry`. Which process runs a long-lived operation. Only where several processes may
    /// write the store.
    case runs = 30
    /// Key: nothing more. Value: `TimelineEntry`. The server's timeline on which no commit was missing. Only where
    /// several processes may write the store.
    case timeline = 31
}

/// The kind of name that an identity look-up starts from. The raw values are stored: they never change.
package enum IdentityKind: UInt8, Hashable, Sendable, CaseIterable {
    case email = 1
    case phone = 2
    case userRecord = 3
    /// The host's own identifier of a person.
    case externalID = 4
}

extension Handle {
    var kind: IdentityKind {
        switch self {
        case .email: .email
        case .phone: .phone
        }
    }
}

/// The keyspaces at one level.
protocol Keyspace: CaseIterable, RawRepresentable<UInt8>, Sendable {
    /// The name in errors and in lines that describe keys, which is that of the case.
    var name: String { get }
    /// The parts of a key after the tag.
    var parts: [KeyPart] { get }
}

/// One part of a key.
enum KeyPart {
    case text
    /// A text or null.
    case optionalText
    case number
    case uuid
    case bytes
    /// Any element.
    case element
    case database
    case zone
    /// The index of a chunk. A record's own key does not have it.
    case chunk
    case action
    case scope
    case identityKind

    /// The beginning of the part in a line that describes a key.
    var label: String {
        switch self {
        case .text, .optionalText, .number, .uuid, .bytes, .element: ""
        case .database: "db "
        case .zone: "zone "
        case .chunk: "chunk "
        case .action: "action "
        case .scope: "scope "
        case .identityKind: "kind "
        }
    }
}

// Names are made once, because making a name costs more than reading a key. The raw values count from 1 in the order of
// the cases.

extension ZoneKeyspace: Keyspace {
    private static let names = allCases.map { "\($0)" }
    var name: String { Self.names[Int(rawValue) - 1] }

    var parts: [KeyPart] {
        switch self {
        case .header: []
        case .records: [.text, .chunk]
        case .parents, .shareRoots: [.text]
        case .children, .types: [.text, .text]
        case .shareCounts: [.optionalText, .text]
        case .references: [.text, .text, .text, .action]
        case .fields: [.text, .text, .element, .text]
        case .tokens: [.text, .text, .text]
        case .changes: [.number]
        case .endedParents, .endedShares: [.text, .number]
        case .endedChildren, .endedAcceptances: [.text, .number, .text]
        case .shareTokens: [.optionalText]
        case .shareEvents: [.number, .number]
        case .clientTokens, .queryIndexes: [.text]
        }
    }
}

extension DatabaseKeyspace: Keyspace {
    private static let names = allCases.map { "\($0)" }
    var name: String { Self.names[Int(rawValue) - 1] }

    var parts: [KeyPart] {
        switch self {
        case .header: []
        case .zones, .schema, .zoneSettings, .zoneMarkers, .zoneAssets: [.text]
        case .changes: [.number]
        case .subscriptions: [.text, .text]
        }
    }
}

extension GlobalKeyspace: Keyspace {
    private static let names = allCases.map { "\($0)" }
    var name: String { Self.names[Int(rawValue) - 1] }

    var parts: [KeyPart] {
        switch self {
        case .format, .header, .tokenSecret, .indexing, .timeline: []
        case .databases: [.text, .optionalText, .scope]
        case .purges, .releases, .rebuilds, .indexBuilds: [.database, .zone]
        case .receipts, .shareURLs: [.bytes]
        case .accounts, .usage, .departures: [.text]
        case .identities: [.identityKind, .text]
        case .acceptances: [.text, .uuid, .text]
        case .assets: [.text, .bytes]
        case .schema, .indexReviews, .devices: [.text, .text]
        case .zoneUsage: [.text, .uuid]
        case .subscriptions: [.text, .text, .number, .text]
        case .notifications: [.text, .text, .number]
        case .outbox: [.database, .number, .number]
        case .uploads, .collecting: [.text, .bytes, .uuid]
        case .operations: [.text, .number]
        case .work: [.number]
        case .hosts: [.uuid]
        case .runs: [.text]
        }
    }
}
