// A transaction over records: it plans requests, applies plans, and creates and deletes zones.
//
// The body of a transaction may run twice. It must be pure: the caller draws times, salts and identities before it.

package import FoundationEssentials
import StratusLayout
package import StratusModel
package import StratusStore

/// What the caller draws for a new zone.
package struct ZoneBirth: Hashable, Sendable {
    package var identity: UUID
    package var incarnation: UUID
    package var stamp: Stamp
    /// The identity of the database, used if this is its first zone.
    package var databaseIdentity: UUID

    package init(identity: UUID, incarnation: UUID, stamp: Stamp, databaseIdentity: UUID) {
        self.identity = identity
        self.incarnation = incarnation
        self.stamp = stamp
        self.databaseIdentity = databaseIdentity
    }
}

/// A transaction over the zones of a store. Valid only inside the `transact` call that created it.
package final class RecordTransaction: RecordReader {
    /// The most bytes that reading and writing the zone's header, its entry in the feed and the database's header count
    /// against the limit.
    private static let headersByteCount = 16_384

    private let writer: any StoreTransaction

    init(_ writer: any StoreTransaction, engine: RecordEngine) {
        self.writer = writer
        super.init(store: writer, transaction: writer, engine: engine)
    }

    /// Lends the store's transaction to code of the engine itself.
    func writing<Result>(_ body: (any StoreTransaction) throws -> Result) rethrows -> Result { try body(writer) }

    // MARK: Records

    /// Plans a request without writing anything.
    ///
    /// Throws `RequestRefused` when a record cannot be written as asked, `unknownZone`, `invalidRequest`,
    /// `hierarchyTooDeep`, `corruption`, and `rebuilding` while a rebuild of the zone's indexes runs or after it was
    /// interrupted.
    package func plan(_ request: MutationRequest, in id: ZoneID) throws -> MutationPlan {
        var planner = try MutationPlanner(zone: plannedZone(id), request: request)
        return try planner.plan()
    }

    /// Plans another tag for each of these records, and nothing else: they keep their dates and their place in the
    /// feed. Records that do not exist are skipped. The plan ends before the first record for which the transaction has
    /// no room.
    ///
    /// Throws `unknownZone`, `corruption`, and `rebuilding` as `plan(_:in:)`.
    package func planNewTags(for names: [RecordName], salt: UInt32, in id: ZoneID) throws -> MutationPlan {
        try MutationPlanner.planNewTags(for: names, salt: salt, in: plannedZone(id)) { hasRoom(forByteCount: $0) }
    }

    /// Plans a request and applies the plan.
    ///
    /// Throws as `plan(_:in:)`; nothing is written then.
    @discardableResult
    package func apply(_ request: MutationRequest, in id: ZoneID) throws -> MutationPlan {
        try apply(plan(request, in: id), in: id)
    }

    /// Writes a plan. This transaction must have made it, and must not have written to the zone since.
    ///
    /// Throws `unknownZone`, and `rebuilding` as `plan(_:in:)`.
    @discardableResult
    package func apply(_ plan: MutationPlan, in id: ZoneID) throws -> MutationPlan {
        let zone = try plannedZone(id)
        guard !plan.isEmpty else { return plan }
        try plan.mutations.write(to: writer)
        guard plan.entersFeed else { return plan }
        var plan = plan
        plan.header.databaseCounter = try noteChange(
            of: id, keys: zone.keys, identity: plan.header.identity, replacing: plan.header.databaseCounter,
            kind: .saved)
        try writer.set(zone.keys.header(), to: plan.header.encoded())
        let (cache, nodes) = (engine.ancestorCache, plan.nodes)
        if !nodes.isEmpty { writer.onPublish { version in cache.publish(nodes, version: version) } }
        return plan
    }

    /// Writes other fields of a record under its tag, dates and change: no feed reports it, no history keeps the old
    /// value, and clients that have read the record may still change it. The floor above uses it for fields that
    /// readers must not notice.
    ///
    /// Only fields without references and indexes may differ. Chunks of the old and the new value carry the same
    /// change. They never mix, because both values are written whole.
    ///
    /// Throws `unknownZone`, `rebuilding` as `plan(_:in:)`, and `invalidRequest` if the record does not exist or was
    /// saved since it was read.
    package func rewrite(_ stored: StoredRecord, in id: ZoneID) throws {
        let zone = try plannedZone(id)
        let name = stored.record.name
        guard case .live(let live) = try zone.state(of: name), live.header.system == stored.system else {
            throw StoreError(
                .invalidRequest, "The record was saved since it was read: read it again.",
                ["record": name.text, "zone": id.name.text])
        }
        var mutations = KeyMutations()
        var value: [UInt8] = []
        let count = try mutations.set(stored, in: zone.keys, &value)
        for index in count..<max(count, live.chunkCount) {
            mutations.delete { zone.keys.recordChunk(name, index: index, into: &$0) }
        }
        try mutations.write(to: writer)
    }

    private func plannedZone(_ id: ZoneID) throws -> ZoneReader {
        let zone = try existingZone(id)
        try requireWholeIndexes(of: zone)
        return zone
    }

    // MARK: Zones and databases

    /// Creates a zone, and its database with the first one. An existing zone stays as it is (Z-03).
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
            identity: birth.identity, incarnation: birth.incarnation, databaseCounter: counter)
        try writer.set(keys.header(), to: zoneHeader.encoded())
        publishDirectoryChange(of: id)
        return true
    }

    /// Deletes a zone with all its records. O(1): this forgets the zone's number, and a purge removes its keys in the
    /// background.
    ///
    /// If the zone holds assets or shares, pass their owner: its keys then stay until a release has freed them.
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
        let (keys, identity) = (listing.keys, listing.entry.identity)
        if let owner {
            let release = ReleaseEntry(database: keys.database, zone: keys.zone, identity: identity, owner: owner)
            try writer.set(keys.listed(in: .releases), to: release.encoded())
        } else {
            let purge = PurgeEntry(database: keys.database, zone: keys.zone, identity: identity)
            try writer.set(keys.listed(in: .purges), to: purge.encoded())
        }
        try forgetRebuild(of: zone)
        if header.hasQueryIndexes { try writer.delete(keys.listed(in: .indexBuilds)) }
        forgetAncestors(of: zone)
        forgetZoneReader(id)
        publishDirectoryChange(of: id)
        return true
    }

    /// Removes at most about `limit` entries of a database that has no zones, and its place in the directory with the
    /// last of them. Its number is never used again.
    ///
    /// Returns whether the database is gone. Throws `invalidRequest` while it has zones, or zones that are being
    /// purged.
    package func removeDatabase(_ id: DatabaseID, limit: Int) throws -> Bool {
        guard let entry = try databaseEntry(id) else { return true }
        let keys = DatabaseKeys(entry.number)
        // The header alone must not fill a batch.
        let limit = max(limit, 2)
        guard try zones(in: id, limit: 1).isEmpty, try !isPurging(entry.number) else {
            throw StoreError(
                .invalidRequest, "A database is removed after its zones: delete them and let them be purged.",
                ["database": "\(entry.number)"])
        }
        let found = try store.keys(in: keys.all, limit: limit)
        let isLast = found.count < limit
        // The header goes last, with the place in the directory: a database that is listed has a header.
        for key in found where isLast || key != keys.header() { try delete(key) }
        if isLast {
            try delete(GlobalKeys.database(id))
            writer.divide(at: keys.all.lower, false)
        }
        return isLast
    }

    private func createDatabase(_ id: DatabaseID, identity: UUID) throws -> DatabaseEntry {
        guard var global = try writer.withValue(forKey: GlobalKeys.header(), { try GlobalHeader(decoding: $0) }) else {
            throw StoreError(
                .corruption, "The store has lost the counter of its databases: restore it from a backup.",
                ["key": KeyDescription.text(of: GlobalKeys.header())])
        }
        let count = global.nextDatabaseNumber
        let number = engine.store.isShared ? DatabaseNumber.scattered(count) : DatabaseNumber(count)
        let entry = DatabaseEntry(number: number, identity: identity)
        global.nextDatabaseNumber = try global.nextDatabaseNumber.advanced(in: "database number")
        let headerKey = DatabaseKeys(entry.number).header()
        guard try !writer.contains(headerKey) else {
            throw StoreError(
                .corruption, "A new database's number is already in use: restore the store from a backup.",
                ["number": "\(entry.number.rawValue)"])
        }
        try writer.set(GlobalKeys.header(), to: global.encoded())
        try writer.set(GlobalKeys.database(id), to: entry.encoded())
        try writer.set(headerKey, to: DatabaseHeader().encoded())
        writer.divide(at: DatabaseKeys(entry.number).all.lower, true)
        return entry
    }

    private func databaseHeader(_ keys: DatabaseKeys) throws -> DatabaseHeader {
        guard let header = try writer.withValue(forKey: keys.header(), { try DatabaseHeader(decoding: $0) }) else {
            throw StoreError(
                .corruption, "A database is listed but has no header: restore the store from a backup.",
                ["database": "\(keys.number)"])
        }
        return header
    }

    /// Moves the zone to the end of its database's feed, which has at most one entry for each zone.
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

    // MARK: Other keys

    /// Deletes a key that no rule for records maintains: one of the floors above, or one that a purge has found.
    package func delete(_ key: [UInt8]) throws { try writer.delete(key) }

    /// Sets a key that no rule for records maintains: one of the floors above, or one that a rebuild has found.
    package func set(_ key: [UInt8], to value: [UInt8]) throws { try writer.set(key, to: value) }

    /// The bytes that count against the limit of the transaction, until now (`StoreLimits`).
    package var countedByteCount: Int { writer.countedByteCount }

    /// Whether the store would accept all writes of a plan, and reads and writes that count `byteCount` bytes. Ask
    /// before you apply a plan: when the store refuses a write, the writes before it stay in the transaction.
    package func hasRoom(for plan: MutationPlan, besides byteCount: Int) -> Bool {
        hasRoom(forByteCount: plan.mutations.countedByteCount + byteCount)
    }

    /// Whether the store would accept reads and writes that count `byteCount` bytes, and the headers that end the
    /// transaction.
    package func hasRoom(forByteCount byteCount: Int) -> Bool {
        countedByteCount + byteCount + Self.headersByteCount <= StoreLimits.maximumTransactionByteCount
    }

    // MARK: Caches

    /// Registers an action that runs when this transaction becomes visible, and never if it fails. The action must be
    /// short and must not call the store.
    package func onPublish(_ action: @escaping @Sendable (StoreVersion) -> Void) { writer.onPublish(action) }

    /// Whether a write of this key is not yet part of the transaction's version. A cache does not know such a write.
    package func hasUnpublishedWrite(forKey key: [UInt8]) -> Bool { writer.hasUnpublishedWrite(forKey: key) }

    /// Whether a write of any key of the range is not yet part of the transaction's version.
    package func hasUnpublishedWrite(in range: KeyRange) -> Bool { writer.hasUnpublishedWrite(in: range) }

    /// Makes the ancestor cache forget a zone when this transaction becomes visible.
    func forgetAncestors(of zone: ZoneReader) {
        let (cache, cacheZone) = (engine.ancestorCache, zone.cacheZone)
        writer.onPublish { version in cache.forget(zone: cacheZone, version: version) }
    }

    private func publishDirectoryChange(of id: ZoneID) {
        let cache = engine.directoryCache
        writer.onPublish { version in cache.publish(id, nil, version: version) }
    }
}

extension UInt64 {
    /// The next number of a stored counter. Throws `corruption` at its end, which only damage can reach.
    package func advanced(in counter: StaticString) throws -> UInt64 {
        let (next, isOverflow) = addingReportingOverflow(1)
        guard !isOverflow else {
            throw StoreError(
                .corruption,
                "A counter has its largest value, which only damage can cause: restore the store from a backup.",
                ["counter": "\(counter)"])
        }
        return next
    }
}
