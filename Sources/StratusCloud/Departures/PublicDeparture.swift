// Two parts of deleting an account: its data in public databases, and its places in other people's shares.
//
// `removeUserRecord` removes the user record from a container's public database, with its whole cascade of any
// length. It deletes records before those that they refer to with `deleteSelf`, the user record last, so that after a
// crash the user record still leads to the rest. A record that is the parent of others stays, without its contents
// . That is decided after everything else is deleted, because the others may be deleted too.
//
// `leaveShares` leaves the shares of others that the person has accepted (P-13), as if the person had deleted them.
// Each share is its own commit, which also deletes the acceptance, so that a crash needs no second check. Places that
// the person has not accepted stay: nothing leads from a person to them, and no one can accept them any longer.

import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

// MARK: The user record

extension DepartureRunner {
    /// Records removed in one commit; fewer if they are too large for one.
    private static let recordBatchCount = 200
    /// The maximum number of records that are counted before, because counting keeps their names in memory.
    private static let countedRecordCount = 200_000

    private var userRecord: RecordName { RecordName(departure.userName.text) }

    /// How many records of a public zone must be removed or emptied, up to the maximum that is counted.
    func recordCount(in zone: ZoneID, _ reader: RecordReader, _ counter: WorkCounter) throws -> Int {
        guard let zone = try reader.zone(zone), try zone.record(userRecord, fields: .none) != nil else { return 0 }
        return try OwnedRecordWalk(zone: zone, root: userRecord)
            .names(limit: Self.countedRecordCount, passing: [], counter).count
    }

    /// Removes the user record from a public zone, with its cascade.
    func removeUserRecord(from zone: ZoneID) throws {
        var deferred: Set<RecordName> = []
        var limit = Self.recordBatchCount
        var isLastRound = false
        while true {
            try checkpoint()
            do {
                let batch = try engine.transact { transaction in
                    try removeRecords(
                        of: zone, in: transaction, limit: limit, deferring: isLastRound ? nil : deferred)
                }
                deferred.formUnion(batch.refused)
                meter?.add(batch.count)
                if batch.count == 0, batch.refused.isEmpty {
                    guard !isLastRound, !deferred.isEmpty else { return }
                    isLastRound = true
                }
            } catch let error as StoreError {
                guard error.code == .tooLarge, limit > 1 else { throw error }
                limit /= 2
            }
        }
    }

    private struct Batch {
        /// Records that are parents of others; skipped for now.
        var refused: Set<RecordName> = []
        /// Records that were removed or emptied.
        var count = 0
    }

    /// Removes some records. Skips those that must stay or, in the last round, empties them.
    private func removeRecords(
        of zone: ZoneID, in transaction: RecordTransaction, limit: Int, deferring deferred: Set<RecordName>?
    ) throws -> Batch {
        guard let reader = try transaction.zone(zone) else { return Batch() }
        let names = try OwnedRecordWalk(zone: reader, root: userRecord)
            .names(limit: limit, passing: deferred ?? [])
        var records: [RecordName: Record] = [:]
        for name in names { records[name] = try reader.record(name)?.record }
        let empty = records.mapValues { Record(name: $0.name, type: $0.type, parent: $0.parent) }
        // An earlier call has emptied the empty ones.
        var going = Set(names.filter { records[$0] != nil && (deferred != nil || records[$0] != empty[$0]) })
        var emptied: Set<RecordName> = []
        var batch = Batch()
        while !going.isEmpty || !emptied.isEmpty {
            let mutations =
                going.sorted().map { RecordMutation.delete($0) }
                + emptied.sorted().compactMap { name in empty[name].map { .save($0) } }
            let plan: MutationPlan
            do {
                plan = try transaction.plan(MutationRequest(mutations, stamp: stamp, tagSalt: tagSalt), in: zone)
            } catch let refused as RequestRefused {
                let stay = going.intersection(refused.refusals.keys)
                guard !stay.isEmpty else { throw refused }
                going.subtract(stay)
                if deferred == nil { emptied.formUnion(stay) } else { batch.refused.formUnion(stay) }
                continue
            }
            let changed = going.union(emptied).compactMap { records[$0] }
            var assets: [AssetDescriptor: Int] = [:]
            var byteCountChange: Int64 = 0
            for record in changed {
                assets.merge(record.assets, uniquingKeysWith: +)
                byteCountChange = byteCountChange.addingCapped(-QuotaLedger.byteCount(of: record))
            }
            for record in emptied.compactMap({ empty[$0] }) {
                byteCountChange = byteCountChange.addingCapped(QuotaLedger.byteCount(of: record))
            }
            try service.assetLedger.settle(adding: [:], removing: assets, in: reader, transaction)
            try QuotaLedger.charge(
                byteCount: byteCountChange, to: AssetLedger.publicOwner(of: zone.database.container),
                zone: reader.header().identity, limit: nil, in: transaction)
            try journal.apply(plan, in: zone, transaction)
            batch.count = changed.count
            break
        }
        return batch
    }
}

/// Walks a record and everything that is deleted with it, what refers to a record before the record.
private struct OwnedRecordWalk {
    let zone: ZoneReader
    let root: RecordName

    private struct Step {
        let name: RecordName
        var owned: [RecordName]
        /// Whether something below it was skipped, so that it must stay for now.
        var mustWait: Bool
    }

    /// The first names of the walk, at most `limit`, until the `counter` stops. Skips those in `passed` and everything
    /// that they refer to.
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
        // A cascade never deletes a user record (S-15).
        let going = try owned.filter { try zone.record($0, fields: .none)?.record.type != AccessVerdict.usersType }
        return Step(name: name, owned: going, mustWait: passed.contains(name))
    }
}

// MARK: Shares

extension DepartureRunner {
    /// One batch of leaving every share that the person has accepted: removes acceptances up to the first one whose
    /// share it leaves. Returns how many, and whether there may be more.
    ///
    /// Throws the store's errors, and `corruption` if an acceptance or its share cannot be read.
    func leaveShares(in transaction: RecordTransaction) throws -> (count: Int, hasMore: Bool) {
        // At most one of them is alive.
        let keys = try transaction.store.keys(
            in: GlobalKeys.acceptances(of: departure.userName), limit: Self.entryBatchCount)
        for (index, key) in keys.enumerated() where try leave(key, in: transaction) { return (index + 1, true) }
        return (keys.count, keys.count == Self.entryBatchCount)
    }

    /// Removes one acceptance. Returns whether a share was left with it.
    private func leave(_ key: [UInt8], in transaction: RecordTransaction) throws -> Bool {
        let parts = try GlobalKeys.readAcceptanceKey(key.span)
        guard let entry = try transaction.store.withValue(forKey: key, { try AcceptanceEntry(decoding: $0) }) else {
            return false
        }
        if try leaveShare(parts, entry, in: transaction) { return true }
        // The zone was deleted, or the share does not have the person: only the entry exists.
        try transaction.delete(key)
        service.acceptanceDirectory.forget([key], in: transaction)
        return false
    }

    /// Returns whether the person participated.
    private func leaveShare(
        _ parts: AcceptanceKeyParts, _ entry: AcceptanceEntry, in transaction: RecordTransaction
    ) throws -> Bool {
        guard try transaction.listing(of: entry.zoneID)?.entry.identity == parts.zone,
            let zone = try transaction.zone(entry.zoneID)
        else { return false }
        let writer = ShareWriter(acceptances: service.acceptanceDirectory, zone: zone, transaction: transaction)
        guard try writer.leave(parts.share, stamp: stamp, tagSalt: tagSalt, journal) else { return false }
        try ClientTokens.forget(departure.userName, in: zone, transaction)
        return true
    }
}
