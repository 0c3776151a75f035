// The keyspaces inside a zone. A raw value is the third element of every key of its keyspace, on every disk there is.

/// What the keys (database, zone, tag, …) of a zone say. The raw values are stored: they never change.
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
    /// Key: parent or null, record. Value: `ShareCountEntry`. The share roots at or below a record; where its parent
    /// stands first, so that the roots below a record are found without visiting children that have none.
    case shareCounts = 6
    /// Key: target, source, field, action. Value: a version byte. Who points at a record.
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
    /// Key: parent, ended, child. Value: `EndedChildEntry`. Children a record no longer has, until the purge horizon.
    case endedChildren = 13
    /// Key: root, ended. Value: `EndedShareEntry`. Share marks a record no longer has, until the purge horizon.
    case endedShares = 14
    /// Key: root, or null for the whole zone. Value: `ShareTokenEntry`. The secret of the root's URL, also while it is
    /// not shared.
    case shareTokens = 15
    /// Key: sequence, index. Value: `ShareEventEntry`. What happened to shares, for their owner to look up.
    case shareEvents = 16
    /// Key: user, ended, share. Value: `EndedAcceptanceEntry`. What people were admitted to, until the purge horizon.
    case endedAcceptances = 17
    /// Key: user. Value: `ClientTokenEntry`. What a user's client sent with its last change of the zone.
    case clientTokens = 18
    /// Key: type. Value: `QueryIndexesEntry`. Which fields of the type's records are in the indexes for queries.
    case queryIndexes = 19
}

// The keyspaces of a database outside its zones.

/// What the keys (database, 0, tag, …) of a database say. The raw values are stored: they never change.
package enum DatabaseKeyspace: UInt8, Hashable, Sendable, CaseIterable {
    /// Key: nothing more. Value: `DatabaseHeader`. Counters.
    case header = 1
    /// Key: zone name. Value: `ZoneEntry`. The zone's number and identity.
    case zones = 2
    /// Key: counter. Value: `DatabaseChangeEntry`. The feed of zones; at most one entry per zone.
    case changes = 3
    /// Key: user, subscription. Never written: subscriptions lie outside databases, for some are to shared ones
    /// (`GlobalKeyspace.subscriptions`).
    case subscriptions = 4
    /// Key: record type. Never written: a schema is its container's (`GlobalKeyspace.schema`).
    case schema = 5
    /// Key: zone name. Value: `ZoneSettingsEntry`. What was chosen when the zone was made; absent where all is default.
    case zoneSettings = 6
    /// Key: zone name. Value: `ZoneMarkerEntry`. Why a host deleted the zone, until it is made anew.
    case zoneMarkers = 7
    /// Key: zone name. Value: `ZoneAssetsEntry`. How often the zone's records hold an asset; absent where never.
    case zoneAssets = 8
}

// The keyspaces outside every database.

/// What the keys (0, 0, tag, …) of a store say. The raw values are stored: they never change.
package enum GlobalKeyspace: UInt8, Hashable, Sendable, CaseIterable {
    /// Key: nothing more. Value: `FormatEntry`. Checked first on opening; its key and first byte never change.
    case format = 1
    /// Key: nothing more. Value: `GlobalHeader`. Counters.
    case header = 2
    /// Key: container, owner or null, scope. Value: `DatabaseEntry`. The database's number and identity.
    case databases = 3
    /// Key: database number, zone number. Value: `PurgeEntry`. A deleted zone whose keys are still being removed.
    case purges = 4
    /// Key: identifier. Value: what a transaction of that identifier answered; read first on a retry.
    case receipts = 5
    /// Key: account. Value: `AccountEntry`.
    case accounts = 6
    /// Key: kind, value. Value: `IdentityEntry`. The account that a handle, a user record or the host's own identifier
    /// leads to.
    case identities = 7
    /// Key: SHA-256 of the URL's secret. Value: `ShareURLEntry`. The share that a URL leads to.
    case shareURLs = 8
    /// Key: user, identity of the zone, share. Value: `AcceptanceEntry`. What a user has accepted, and since when.
    case acceptances = 9
    /// Key: owner, digest. Value: `AssetEntry`. How often the owner's records hold the content.
    case assets = 10
    /// Key: container, record type. Value: `SchemaEntry`. The type's fields and grants, or, under the type without a
    /// name, the container's roles.
    case schema = 11
    /// Key: owner. Value: `UsageEntry`. The bytes that all private zones of the owner hold.
    case usage = 12
    /// Key: owner, identity of the zone. Value: `UsageEntry`. The bytes that one zone holds.
    case zoneUsage = 13
    /// Key: owner. Value: `DepartureEntry`. A deleted account whose data is still being removed.
    case departures = 14
    /// Key: database number, zone number. Value: `ReleaseEntry`. A deleted zone whose records still count as holders of
    /// assets; it becomes a purge when they do not.
    case releases = 15
    /// Key: database number, zone number. Value: `RebuildEntry`. A zone whose indexes are being rebuilt: not to be relied
    /// on until the entry is gone.
    case rebuilds = 16
    /// Key: nothing more. Value: `TokenSecretEntry`. What change tokens and cursors are authenticated with.
    case tokenSecret = 17
    /// Key: database number, zone number. Value: `IndexBuildEntry`. A zone in which indexes for queries are being filled or
    /// cleared.
    case indexBuilds = 18
    /// Key: container, record type. Value: `IndexReviewEntry`. A type whose indexes changed: its zones are to be looked at.
    case indexReviews = 19
    /// Key: nothing more. Value: a version byte. All types that were there before there were indexes for queries have been put
    /// up for review.
    case indexing = 20
    /// Key: container, user, database (1 public, 2 private, 3 shared), identifier. Value: `SubscriptionEntry`.
    case subscriptions = 21
    /// Key: account, name. Value: `DeviceEntry`. A device that gets notifications.
    case devices = 22
    /// Key: account, name, order. Value: `NotificationEntry`. What waits until its device takes it.
    case notifications = 23
    /// Key: database number, the database's change counter, index. Value: `OutboxEntry`. What a commit has left behind to be
    /// told to those who have subscribed.
    case outbox = 24
}

/// What an identity look-up goes by. The raw values are stored: they never change.
package enum IdentityKind: UInt8, Hashable, Sendable, CaseIterable {
    case email = 1
    case phone = 2
    case userRecord = 3
    /// The host's own identifier of a person.
    case externalID = 4
}

// The names of keyspaces in errors and in lines that describe keys: those of their cases. They are made once, for a name that
// is made anew costs more than reading a key.

extension ZoneKeyspace {
    private static let names = KeyspaceNames(of: ZoneKeyspace.self)

    var name: String { Self.names[rawValue] }
}

extension DatabaseKeyspace {
    private static let names = KeyspaceNames(of: DatabaseKeyspace.self)

    var name: String { Self.names[rawValue] }
}

extension GlobalKeyspace {
    private static let names = KeyspaceNames(of: GlobalKeyspace.self)

    var name: String { Self.names[rawValue] }
}

/// The names of all keyspaces of one kind, by their tags.
private struct KeyspaceNames: Sendable {
    private let names: [String]

    init<Keyspace: CaseIterable & RawRepresentable<UInt8>>(of type: Keyspace.Type) {
        var names: [String] = []
        for keyspace in Keyspace.allCases {
            let tag = Int(keyspace.rawValue)
            while names.count <= tag { names.append("") }
            names[tag] = "\(keyspace)"
        }
        self.names = names
    }

    /// The name of a keyspace that there is.
    subscript(tag: UInt8) -> String { names[Int(tag)] }
}
