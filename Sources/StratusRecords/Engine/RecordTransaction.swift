// Read-modify-write over records. Its body is pure: it may run twice, so clock, salt and identities come from outside.

package import FoundationEssentials
package import StratusLayout
package import StratusModel
package import StratusStore

/// What a new zone is given from outside.
package struct ZoneBirth: Hashable, Sendable {
    package var identity: UUID
    package var incarnation: UUID
    package var stamp: Stamp
    /// The identity of the database, should this be its first zone.
    package var databaseIdentity: UUID

    package init(identity: UUID, incarnation: UUID, stamp: Stamp, databaseIdentity: UUID) {
        self.identity = identity
        self.incarnation = incarnation
        self.stamp = stamp
        self.databaseIdentity = databaseIdentity
    }
}

/// A transaction over the zones of a store. Valid only inside the `transact` call that made it.
package final class RecordTransaction: RecordReader {
    private let writer: any StoreTransaction

    init(_ writer: any StoreTransaction, engine: RecordEngine) {
        self.writer = writer
        super.init(store: writer, transaction: writer, engine: engine)
    }

    /// Plans a request without carrying it out.
    ///
    /// Throws `RequestRefused` when a record cannot be written as asked, `unknownZone`, `invalidRequest`,
    /// `hierarchyTooDeep`, `corruption`, and `rebuilding` where a rebuild of the zone's indexes runs or was interrupted.
    package func plan(_ request: MutationRequest, in id: ZoneID) throws -> MutationPlan {
        let zone = try existingZone(id)
        try requireWholeIndexes(of: zone)
        var planner = try MutationPlanner(zone: zone, request: request)
        return try planner.plan()
    }

    /// Carries out a request whole.
    ///
    /// Throws as `plan(_:in:)`; nothing is written then.
    @discardableResult
    package func apply(_ request: MutationRequest, in id: ZoneID) throws -> MutationPlan {
        try carryOut(plan(request, in: id), in: id)
    }

    /// Carries out a plan that this transaction has made, and after which it has written nothing else into the zone.
    ///
    /// Throws `unknownZone`, and `rebuilding` where a rebuild of the zone's indexes runs or was interrupted.
    @discardableResult
    package func carryOut(_ plan: MutationPlan, in id: ZoneID) throws -> MutationPlan {
        let zone = try existingZone(id)
        try requireWholeIndexes(of: zone)
        guard !plan.isEmpty else { return plan }
        var plan = plan
        try plan.mutations.visit(
            set: { try writer.set($0, to: $1) }, delete: { try writer.delete([UInt8](copying: $0)) })
        plan.header.databaseCounter = try noteChange(
            of: id, keys: zone.keys, identity: plan.header.identity, replacing: plan.header.databaseCounter,
            kind: .saved)
        try writer.set(zone.keys.header(), to: plan.header.encoded())
        let (cache, nodes) = (engine.ancestorCache, plan.nodes)
        if !nodes.isEmpty { writer.onPublish { version in cache.publish(nodes, version: version) } }
        return plan
    }

    /// Creates a zone, and its database with the first one. An existing zone is left as it is (Z-03).
    ///
    /// Returns whether the zone was created.
    @discardableResult
    package func createZone(_ id: ZoneID, _ birth: ZoneBirth) throws -> Bool {
        try id.checkLimits()
        guard try listing(of: id) == nil else { return false }
        let database = try databaseEntry(id.database) ?? createDatabase(id.database, identity: birth.databaseIdentity)
        let databaseKeys = DatabaseKeys(database.number)
        var header = try databaseHeader(databaseKeys)
        let entry = ZoneEntry(
            number: ZoneNumber(header.nextZoneNumber), identity: birth.identity, created: birth.stamp)
        header.nextZoneNumber = try header.nextZoneNumber.advanced(in: "zone number")
        try writer.set(databaseKeys.header(), to: header.encoded())
        try writer.set(databaseKeys.zone(id.name), to: entry.encoded())
        let keys = ZoneKeys(database: database.number, zone: entry.number)
        let counter = try noteChange(of: id, keys: keys, identity: entry.identity, replacing: nil, kind: .saved)
        let zoneHeader = ZoneHeader(
            identity: birth.identity, incarnation: birth.incarnation, sequence: 0, horizon: 0,
            databaseCounter: counter, recordCount: 0)
        try writer.set(keys.header(), to: zoneHeader.encoded())
        publishDirectoryChange(of: id)
        return true
    }

    /// Deletes a zone with all it holds. O(1): its number is forgotten here, its keys are purged in the background.
    ///
    /// With the owner of assets or shares that it holds, its keys stay until a release has let go of those.
    ///
    /// Returns whether there was such a zone.
    @discardableResult
    package func deleteZone(_ id: ZoneID, releasingAssetsOf owner: UserName? = nil) throws -> Bool {
        guard let listing = try listing(of: id), let zone = try zone(id) else { return false }
        let header = try zone.header()
        let databaseKeys = DatabaseKeys(listing.database)
        _ = try noteChange(
            of: id, keys: listing.keys, identity: header.identity, replacing: header.databaseCounter, kind: .deleted)
        try writer.delete(databaseKeys.zone(id.name))
        let (number, identity) = (listing.entry.number, listing.entry.identity)
        if let owner {
            let release = ReleaseEntry(database: listing.database, zone: number, identity: identity, owner: owner)
            try writer.set(GlobalKeys.release(listing.database, number), to: release.encoded())
        } else {
            let purge = PurgeEntry(database: listing.database, zone: number, identity: identity)
            try writer.set(GlobalKeys.purge(listing.database, number), to: purge.encoded())
        }
        try forgetRebuild(of: zone)
        if header.hasQueryIndexes { try writer.delete(GlobalKeys.indexBuild(listing.database, listing.entry.number)) }
        forgetAncestors(of: zone)
        forgetZoneReader(id)
        publishDirectoryChange(of: id)
        return true
    }

    /// Deletes a key that no record rule looks after: what the floors above keep, or a purge has found to be of no more use.
    package func delete(_ key: [UInt8]) throws { try writer.delete(key) }

    /// Sets a key that no record rule looks after: what the floors above keep, or a rebuild has found.
    package func set(_ key: [UInt8], to value: [UInt8]) throws { try writer.set(key, to: value) }

    /// Makes the ancestor cache forget a zone when this transaction becomes visible.
    func forgetAncestors(of zone: ZoneReader) {
        let cache = engine.ancestorCache
        let cacheZone = zone.cacheZone
        writer.onPublish { version in cache.forget(zone: cacheZone, version: version) }
    }

    private func createDatabase(_ id: DatabaseID, identity: UUID) throws -> DatabaseEntry {
        guard var global = try writer.withValue(forKey: GlobalKeys.header(), { try GlobalHeader(decoding: $0) }) else {
            throw RecordsError(
                .corruption, "The store has lost the counter of its databases: restore it from a backup.",
                ["key": "\(KeyDescription(GlobalKeys.header()))"])
        }
        let entry = DatabaseEntry(number: DatabaseNumber(global.nextDatabaseNumber), identity: identity)
        global.nextDatabaseNumber = try global.nextDatabaseNumber.advanced(in: "database number")
        let headerKey = DatabaseKeys(entry.number).header()
        guard try !writer.contains(headerKey) else {
            throw RecordsError(
                .corruption, "A database number that was never given out is in use: restore the store from a backup.",
                ["number": "\(entry.number.rawValue)"])
        }
        try writer.set(GlobalKeys.header(), to: global.encoded())
        try writer.set(GlobalKeys.database(id), to: entry.encoded())
        let header = DatabaseHeader(nextZoneNumber: 1, changeCounter: 0)
        try writer.set(headerKey, to: header.encoded())
        return entry
    }

    private func databaseHeader(_ keys: DatabaseKeys) throws -> DatabaseHeader {
        guard let header = try writer.withValue(forKey: keys.header(), { try DatabaseHeader(decoding: $0) }) else {
            throw RecordsError(
                .corruption, "A database is listed but has no header: restore the store from a backup.",
                ["database": "\(keys.number)"])
        }
        return header
    }

    /// Moves the zone to the end of its database's feed, which has at most one entry a zone.
    private func noteChange(
        of id: ZoneID, keys: ZoneKeys, identity: UUID, replacing old: UInt64?, kind: DatabaseChangeEntry.Kind
    ) throws -> UInt64 {
        let databaseKeys = DatabaseKeys(keys.database)
        var header = try databaseHeader(databaseKeys)
        header.changeCounter = try header.changeCounter.advanced(in: "database change counter")
        if let old { try writer.delete(databaseKeys.change(old)) }
        let entry = DatabaseChangeEntry(zone: id.name, identity: identity, kind: kind)
        try writer.set(databaseKeys.change(header.changeCounter), to: entry.encoded())
        try writer.set(databaseKeys.header(), to: header.encoded())
        return header.changeCounter
    }

    private func publishDirectoryChange(of id: ZoneID) {
        let cache = engine.directoryCache
        writer.onPublish { version in cache.publish(id, nil, version: version) }
    }
}

// Writing a record without saving it: for what a floor above keeps in a record of which its readers must not be told.

extension RecordTransaction {
    /// Writes other fields under the tag, the dates and the change that a record has. No feed tells of it, no history
    /// remembers it, and whoever has read the record may go on changing it.
    ///
    /// Only fields may differ that hold no reference and are in no index. Chunks of the old value and of the new carry the
    /// same change: they never meet, because both are written whole.
    ///
    /// Throws `unknownZone`, `rebuilding` as `carryOut`, and `invalidRequest` where the record is not there, or has been
    /// saved since it was read.
    package func rewrite(_ stored: StoredRecord, in id: ZoneID) throws {
        let zone = try existingZone(id)
        try requireWholeIndexes(of: zone)
        let name = stored.record.name
        guard case .live(let live) = try zone.state(of: name), live.header.system == stored.system else {
            throw RecordsError(
                .invalidRequest, "The record was saved since it was read: read it again.",
                ["record": name.text, "zone": id.name.text])
        }
        let chunks = try RecordChunks.split(
            RecordCodec.encoded(stored), record: name, changeSequence: stored.system.changeSequence)
        for (index, chunk) in chunks.enumerated() {
            try set(index == 0 ? zone.keys.record(name) : zone.keys.recordChunk(name, index: index), to: chunk)
        }
        for index in chunks.count..<max(chunks.count, live.chunkCount) {
            try delete(zone.keys.recordChunk(name, index: index))
        }
    }
}

// Removing a whole database, once nothing of its zones is left.

extension RecordReader {
    /// The containers that have a database, in the byte order of their names: one seek each.
    package func containers() throws -> [ContainerName] {
        var containers: [ContainerName] = []
        var range = GlobalKeys.databases
        while true {
            var found: ContainerName?
            try store.scan(range.keyRange, .forward, limit: 1) { key, _ in
                found = try GlobalKeys.readDatabaseKey(key).container
                return .stop
            }
            guard let found else { return containers }
            containers.append(found)
            range.lower = GlobalKeys.databases(of: found).upper
        }
    }

    /// Whether keys of deleted zones of a database are still being purged, or will be.
    package func isPurging(_ database: DatabaseNumber) throws -> Bool {
        var isPurging = false
        for range in [GlobalKeys.purges(in: database), GlobalKeys.releases(in: database)] where !isPurging {
            try store.scan(range.keyRange, .forward, limit: 1) { _, _ in
                isPurging = true
                return .stop
            }
        }
        return isPurging
    }
}

extension RecordTransaction {
    /// Removes at most about `limit` entries of a database that has no zones any more, and its place in the directory
    /// with the last of them. Its number is never used again.
    ///
    /// Returns whether the database is gone. Throws `invalidRequest` while it has zones or zones that are being purged.
    package func removeDatabase(_ id: DatabaseID, limit: Int) throws -> Bool {
        guard let entry = try databaseEntry(id) else { return true }
        let keys = DatabaseKeys(entry.number)
        // The header alone must not fill a batch.
        let limit = max(limit, 2)
        guard try zones(in: id, limit: 1).isEmpty, try !isPurging(entry.number) else {
            throw RecordsError(
                .invalidRequest, "A database is removed after its zones: delete them and let them be purged.",
                ["database": "\(entry.number)"])
        }
        var found: [[UInt8]] = []
        try store.scan(keys.all.keyRange, .forward, limit: limit) { key, _ in
            found.append([UInt8](copying: key))
            return .next
        }
        let isLast = found.count < limit
        // The header goes last, with the place in the directory: a database that is listed has one.
        for key in found where isLast || key != keys.header() { try delete(key) }
        if isLast { try delete(GlobalKeys.database(id)) }
        return isLast
    }
}

// Whether a plan fits into what is left of a transaction: asked before it is carried out, because a write that the store
// refuses leaves those before it in the transaction.

extension RecordTransaction {
    /// What the zone's header, its entry in the feed and the database's header take at most, with their keys.
    private static let headersByteCount = 16_384

    /// Whether the store would take all writes of a plan, and as many bytes of other keys and values.
    package func hasRoom(for plan: MutationPlan, besides byteCount: Int) -> Bool {
        hasRoom(forByteCount: plan.mutations.byteCount + byteCount)
    }

    /// Whether the store would take as many more bytes of keys and values, beside what ends the transaction.
    package func hasRoom(forByteCount byteCount: Int) -> Bool {
        let needed = byteCount + Self.headersByteCount
        return store.cost.bytesWritten + needed <= StoreLimits.maximumTransactionByteCount
    }
}

// What a cache of the floor above needs to be exact: it hears of commits in order, and knows what is still in flight.

extension RecordTransaction {
    /// Registers what must happen in the instant this transaction becomes visible, never if it fails. The action must
    /// be short and must not call the store.
    package func onPublish(_ action: @escaping @Sendable (StoreVersion) -> Void) { transaction?.onPublish(action) }

    /// Whether a write of this key is not yet part of the transaction's version: a cache knows nothing of it then.
    package func hasUnpublishedWrite(forKey key: [UInt8]) -> Bool {
        transaction?.hasUnpublishedWrite(forKey: key) ?? false
    }

    /// Whether a write of any key of the range is not yet part of the transaction's version.
    package func hasUnpublishedWrite(in range: KeyRange) -> Bool {
        transaction?.hasUnpublishedWrite(in: range) ?? false
    }
}
