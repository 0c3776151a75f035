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
