// What a person who has gone leaves in a container's public database: the user record goes with everything that is
// deleted with it, however much that is.
//
// Records go before those they refer to with `deleteSelf`, the user record last, so that after a crash the user record
// still leads to what is left. A record that others have as their parent stays for their sake, and nothing in it
// that is decided when everything else has gone, for the others may be among those that go.

import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

/// Removes one person's user record from one public zone.
struct PublicDeparture {
    /// Records removed in one commit; fewer where they are too large for one.
    static let batchCount = 200
    /// Records that are counted beforehand at most, because their names are in memory while they are.
    private static let countedCount = 200_000

    let engine: RecordEngine
    let zone: ZoneID
    let userRecord: RecordName
    let stamp: Stamp
    let tagSalt: UInt32
    let assetLedger: AssetLedger
    let journal: CommitJournal
    let meter: WorkMeter?
    /// Asked before each commit, to throw where nobody waits any longer.
    let checkpoint: () throws -> Void

    /// How many records there are to be removed or emptied: no more than are counted.
    func workCount(in reader: RecordReader, _ counter: WorkCounter) throws -> Int {
        guard let zone = try reader.zone(zone), try zone.record(userRecord, fields: .none) != nil else { return 0 }
        return try OwnedRecordWalk(zone: zone, root: userRecord)
            .names(limit: Self.countedCount, passing: [], counter).count
    }

    func run() throws {
        var deferred: Set<RecordName> = []
        var limit = Self.batchCount
        var isLastRound = false
        while true {
            try checkpoint()
            do {
                let batch = try engine.transact { transaction in
                    try remove(in: transaction, limit: limit, deferring: isLastRound ? nil : deferred)
                }
                deferred.formUnion(batch.refused)
                meter?.add(batch.count)
                if batch.isEmpty {
                    guard !isLastRound, !deferred.isEmpty else { return }
                    isLastRound = true
                }
            } catch let error as RecordsError {
                guard error.code == .tooLarge, limit > 1 else { throw error }
                limit /= 2
            }
        }
    }

    private struct Batch {
        /// Records that others have as their parent; left alone as yet.
        var refused: Set<RecordName> = []
        /// Records that were removed or emptied.
        var count = 0
        /// Whether nothing was left to be done.
        var isEmpty = true
    }

    /// Removes some records. Those that must stay are left alone, or, in the last round, emptied.
    private func remove(
        in transaction: RecordTransaction, limit: Int, deferring deferred: Set<RecordName>?
    ) throws -> Batch {
        guard let reader = try transaction.zone(zone) else { return Batch() }
        let names = try OwnedRecordWalk(zone: reader, root: userRecord)
            .names(limit: limit, passing: deferred ?? [])
        var records: [RecordName: Record] = [:]
        for name in names { records[name] = try reader.record(name)?.record }
        let empty = records.mapValues { Record(name: $0.name, type: $0.type, parent: $0.parent) }
        // What is empty already was emptied by an earlier call.
        var going = Set(names.filter { records[$0] != nil && (deferred != nil || records[$0] != empty[$0]) })
        var emptied: Set<RecordName> = []
        var batch = Batch()
        batch.isEmpty = going.isEmpty
        while !going.isEmpty || !emptied.isEmpty {
            let mutations =
                going.sorted().map { RecordMutation.delete($0) }
                + emptied.sorted().compactMap { name in empty[name].map { .save($0) } }
            let plan: MutationPlan
            do {
                plan = try transaction.plan(
                    MutationRequest(mutations, stamp: stamp, tagSalt: tagSalt), in: zone)
            } catch let refused as RequestRefused {
                let stay = going.intersection(refused.refusals.keys)
                guard !stay.isEmpty else { throw refused }
                going.subtract(stay)
                if deferred == nil { emptied.formUnion(stay) } else { batch.refused.formUnion(stay) }
                continue
            }
            let changed = going.union(emptied).compactMap { records[$0] }
            try letGo(of: changed, in: reader, transaction)
            try charge(changed, leaving: emptied.compactMap { empty[$0] }, in: reader, transaction)
            try journal.apply(plan, in: zone, transaction)
            batch.count = changed.count
            break
        }
        return batch
    }

    /// Gives back to the app what the records took.
    private func charge(
        _ records: [Record], leaving empty: [Record], in reader: ZoneReader, _ transaction: RecordTransaction
    ) throws {
        let change = { (sum: Int64, record: Record) in sum.addingCapped(QuotaLedger.byteCount(of: record)) }
        try QuotaLedger.charge(
            byteCount: empty.reduce(0, change).addingCapped(-records.reduce(0, change)),
            to: AssetStore.publicOwner(of: zone.database.container), zone: reader.header().identity, limit: nil,
            in: transaction)
    }

    private func letGo(of records: [Record], in reader: ZoneReader, _ transaction: RecordTransaction) throws {
        var assets: [AssetDescriptor: Int] = [:]
        for record in records { assets.merge(record.assets, uniquingKeysWith: +) }
        guard !assets.isEmpty else { return }
        try assetLedger.settle(
            adding: [:], removing: assets, owner: AssetStore.publicOwner(of: zone.database.container), in: transaction)
        try ZoneFacts.changeAssetCount(
            by: -assets.values.reduce(0, +), of: zone.name, DatabaseKeys(reader.keys.database), in: transaction)
    }
}

/// Walks a record and everything that is deleted with it, what refers to a record before the record.
private struct OwnedRecordWalk {
    let zone: ZoneReader
    let root: RecordName

    private struct Step {
        let name: RecordName
        var owned: [RecordName]
        /// Whether something below it is passed over, so that it must stay as yet.
        var mustWait: Bool
    }

    /// The first names of the walk, at most `limit` of them and no more than the `counter` lets. Those in `passed` are
    /// left out, with all that they refer to.
    func names(
        limit: Int, passing passed: Set<RecordName>, _ counter: WorkCounter? = nil
    ) throws -> [RecordName] {
        var found: [RecordName] = []
        var seen: Set<RecordName> = [root]
        var path = [try step(root, passed)]
        while var top = path.popLast() {
            if let next = top.owned.popLast() {
                path.append(top)
                guard seen.insert(next).inserted else { continue }
                path.append(try step(next, passed))
                continue
            }
            if top.mustWait {
                if !path.isEmpty { path[path.count - 1].mustWait = true }
            } else {
                found.append(top.name)
                if found.count == limit || counter?.add() == .stop { return found }
            }
        }
        return found
    }

    private func step(_ name: RecordName, _ passed: Set<RecordName>) throws -> Step {
        var owned: [RecordName] = []
        try zone.visitOwned(by: name) { source in
            owned.append(source)
            return .next
        }
        // A user record stays whatever it points at (S-15).
        let going = try owned.filter { try zone.record($0, fields: .none)?.record.type != AccessVerdict.usersType }
        return Step(name: name, owned: going, mustWait: passed.contains(name))
    }
}

// Takes a person who has gone out of the shares of others in which they take part: they leave them (P-13), as if they
// had deleted them. Each share is a commit of its own, in which the acceptance goes too, so that what has no acceptance
// any more needs no second look after a crash.
//
// Places that the person has not accepted stay: nothing leads from a person to them, and nobody can accept them any
// more.

/// Leaves every share that one person has accepted.
struct ShareDeparture {
    let engine: RecordEngine
    let acceptances: AcceptanceDirectory
    let journal: CommitJournal
    let user: UserName
    /// When the person leaves. The change of each share is theirs.
    let stamp: Stamp
    let tagSalt: UInt32
    let meter: WorkMeter?
    /// Asked before each commit, to throw where nobody waits any longer.
    let checkpoint: () throws -> Void

    /// Acceptances looked at in one commit. Most of them, or all but one, are dead.
    private static let batchCount = 1_000

    /// Throws the store's errors, and `corruption` where an acceptance or its share cannot be read.
    func run() throws {
        var hasMore = true
        while hasMore {
            try checkpoint()
            let count: Int
            (count, hasMore) = try engine.transact { try leaveSome(in: $0) }
            meter?.add(count)
        }
    }

    /// Removes acceptances up to the first share that is left. Returns how many, and whether there may be others.
    private func leaveSome(in transaction: RecordTransaction) throws -> (count: Int, hasMore: Bool) {
        var keys: [[UInt8]] = []
        let range = GlobalKeys.acceptances(of: user).keyRange
        try transaction.store.scan(range, .forward, limit: Self.batchCount) { key, _ in
            keys.append([UInt8](copying: key))
            return .next
        }
        for (index, key) in keys.enumerated() where try leave(key, in: transaction) { return (index + 1, true) }
        return (keys.count, keys.count == Self.batchCount)
    }

    /// Removes one acceptance. Returns whether a share was left with it.
    private func leave(_ key: [UInt8], in transaction: RecordTransaction) throws -> Bool {
        let parts = try GlobalKeys.readAcceptanceKey(key.span)
        guard let entry = try transaction.store.withValue(forKey: key, { try AcceptanceEntry(decoding: $0) }) else {
            return false
        }
        if try leaveShare(parts, entry, in: transaction) { return true }
        // The zone is gone, or the share knows nothing of it: the entry is all there is.
        try transaction.delete(key)
        acceptances.forget([key], in: transaction)
        return false
    }

    /// Returns whether the person took part.
    private func leaveShare(
        _ parts: AcceptanceKeyParts, _ entry: AcceptanceEntry, in transaction: RecordTransaction
    ) throws -> Bool {
        let database = DatabaseID(container: entry.container, owner: entry.owner, scope: .private)
        let id = ZoneID(database: database, name: entry.zone)
        guard try transaction.listing(of: id)?.entry.identity == parts.zone, let zone = try transaction.zone(id),
            let stored = try zone.record(parts.share), let old = try stored.record.shareContent(),
            let left = ShareRevision(leaving: user, old)
        else { return false }
        _ = try ShareWriter(acceptances, to: zone, in: transaction, journal).write(
            left.content, replacing: old, in: stored, stamp: stamp, actor: user, tagSalt: tagSalt)
        try ClientTokens.forget(user, in: zone, transaction)
        return true
    }
}
