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
