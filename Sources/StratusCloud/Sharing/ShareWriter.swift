// Writes everything that belongs to a share besides its record: the entries outside its zone for finding it and for
// access checks, ended acceptances, the trail, and the secret of its root.
//
//   1. `settlement` only reads, and returns what must be written.
//   2. `write` writes it, after the plan of the records.
//
// Every write of a share's record is settled in the same transaction. Only the release of a deleted zone also writes
// these keys.

import FoundationEssentials
import StratusLayout
package import StratusModel
package import StratusRecords
import StratusStore

/// A share before and after a transaction; nil if it does not exist.
package struct ShareTransition: Hashable, Sendable {
    package var share: RecordName
    package var old: ShareContent?
    package var new: ShareContent?
    /// The people who had requested access and whom this change invites.
    package var approved: [UserName] = []
}

/// Everything to write besides the records of shares: a value, created before anything is written.
package struct ShareSettlement: Sendable {
    fileprivate var entries: [IndexEntry] = []
    fileprivate var deleted: [[UInt8]] = []

    /// The bytes that writing it counts.
    package var countedByteCount: Int {
        let deletedByteCount = deleted.reduce(0) {
            $0 + StoreLimits.countedByteCount(writingKey: $1.count, value: 0)
        }
        return entries.reduce(deletedByteCount) {
            $0 + StoreLimits.countedByteCount(writingKey: $1.key.count, value: $1.value.count)
        }
    }
}

/// Writes shares of one zone in one transaction.
package struct ShareWriter {
    let acceptances: AcceptanceDirectory
    let zone: ZoneReader
    let transaction: RecordTransaction

    /// What must be written besides the records of these shares. `plan` writes those records, and is applied first.
    /// `stamp` has the actor and the date.
    ///
    /// Throws `corruption` if the store contradicts the old content, and `CloudError` with `internalError` if the
    /// secret of a new URL, or the identity of the zone, is already used.
    package func settlement(
        of changes: [ShareTransition], with plan: MutationPlan, stamp: Stamp
    ) throws -> ShareSettlement {
        if let reads = RequestReads(transaction) { announce(changes, identity: plan.header.identity, reads) }
        var settlement = ShareSettlement()
        var eventCounts: [UInt64: UInt64] = [:]
        for change in changes where change.old != change.new {
            let saved = plan.saved.first { $0.record.name == change.share }
            // A deleted share ended with the plan's last change.
            let sequence = saved?.system.changeSequence ?? plan.header.sequence
            guard let place = SharePlace(zone.id, identity: plan.header.identity, share: change.share) else {
                throw CloudError(.badDatabase, "Only records in private databases can be shared.")
            }
            try append(change, at: place, sequence, stamp, to: &settlement)
            for event in ShareEvents.between(
                change.old, change.new, approved: change.approved, share: change.share, stamp: stamp)
            {
                let index = eventCounts[sequence, default: 0]
                eventCounts[sequence] = index + 1
                settlement.entries.append(
                    IndexEntry(
                        key: zone.keys.shareEvent(sequence: sequence, index: index),
                        value: ShareEventEntry(event).encoded()))
            }
        }
        settlement.deleted += try clientTokens(leftBy: settlement.deleted, in: plan.header.identity)
        return settlement
    }

    package func write(_ settlement: ShareSettlement) throws {
        for entry in settlement.entries { try transaction.set(entry.key, to: entry.value) }
        for key in settlement.deleted { try transaction.delete(key) }
        acceptances.forget(settlement.entries.map(\.key) + settlement.deleted, in: transaction)
    }

    /// Replaces the content of an existing share, with everything that follows. `stamp` has the person who does it. The
    /// change of the record's size is charged to the zone's owner without a limit, because others have caused it
    /// (S-16).
    ///
    /// Returns the stored record. Throws like `settlement` and planning.
    package func write(
        _ content: ShareContent, replacing old: ShareContent, in stored: StoredRecord, stamp: Stamp, tagSalt: UInt32,
        _ journal: CommitJournal
    ) throws -> StoredRecord {
        let record = stored.record.with(content)
        let plan = try transaction.plan(
            MutationRequest([.save(record)], stamp: stamp, tagSalt: tagSalt), in: zone.id)
        guard let saved = plan.saved.first else { return stored }
        let change = ShareTransition(share: record.name, old: old, new: content)
        let settlement = try settlement(of: [change], with: plan, stamp: stamp)
        if let owner = zone.id.database.owner {
            let byteCount = QuotaLedger.byteCount(of: record) - QuotaLedger.byteCount(of: stored.record)
            try QuotaLedger.charge(
                byteCount: byteCount, to: owner, zone: plan.header.identity, limit: nil, in: transaction)
        }
        try journal.apply(plan, in: zone.id, transaction, keeping: settlement.countedByteCount)
        try write(settlement)
        return saved
    }

    /// Removes the person of `stamp` from a share that they have accepted. Returns whether they participated.
    func leave(_ share: RecordName, stamp: Stamp, tagSalt: UInt32, _ journal: CommitJournal) throws -> Bool {
        guard let stored = try zone.record(share), let old = try stored.record.shareContent(),
            let left = ShareRevision(leaving: stamp.user, old)
        else { return false }
        _ = try write(left.content, replacing: old, in: stored, stamp: stamp, tagSalt: tagSalt, journal)
        return true
    }

    /// Replaces only the requesters of an existing share: its record keeps its tag and dates. Adds events to the trail,
    /// after those of the zone's last change.
    ///
    /// Throws `corruption` if the store contradicts `stored`.
    package func write(
        _ requesters: [SharePetitioner], of old: ShareContent, in stored: StoredRecord, stamp: Stamp
    ) throws {
        var content = old
        content.requesters = requesters
        try transaction.rewrite(
            StoredRecord(record: stored.record.with(content), system: stored.system), in: zone.id)
        let events = ShareEvents.between(old, content, share: stored.record.name, stamp: stamp)
        guard !events.isEmpty else { return }
        let sequence = try zone.header().sequence
        // The index after the events of the zone's last change.
        var index: UInt64 = 0
        try zone.store.scan(zone.keys.keyspace(.shareEvents), .backward, limit: 1) { key, _ in
            let parts = try zone.keys.readShareEventKey(key)
            if parts.sequence == sequence { index = parts.index + 1 }
            return .stop
        }
        for event in events {
            try transaction.set(
                zone.keys.shareEvent(sequence: sequence, index: index), to: ShareEventEntry(event).encoded())
            index += 1
        }
    }

    /// The secret of the URL of a root or of the whole zone; nil if it was never shared.
    static func token(of root: RecordName?, in zone: ZoneReader) throws -> ShareToken? {
        try zone.store.withValue(forKey: zone.keys.shareToken(root)) { try ShareTokenEntry(decoding: $0).token }
    }

    /// Deletes the secret of a root's URL with its record: a later record of the same name is another root.
    package func forgetToken(of root: RecordName) throws {
        let key = zone.keys.shareToken(root)
        if try transaction.store.contains(key) { try transaction.delete(key) }
    }

    private func append(
        _ change: ShareTransition, at place: SharePlace, _ sequence: UInt64, _ stamp: Stamp,
        to settlement: inout ShareSettlement
    ) throws {
        let difference = try ShareEntries.difference(
            from: change.old, to: change.new, at: place, sequence: sequence, date: stamp.date
        ) { user in
            let key = place.acceptanceKey(of: user)
            return try transaction.store.withValue(forKey: key) { try AcceptanceEntry(decoding: $0) }
        }
        for key in difference.newURLs {
            let found = try transaction.store.withValue(forKey: key) { try ShareURLEntry(decoding: $0) }
            if let found, SharePlace(found) != place { throw CloudError.repeatedIdentity }
        }
        settlement.entries += difference.set
        settlement.deleted += difference.deleted
        for ended in difference.ended {
            settlement.entries.append(
                IndexEntry(
                    key: zone.keys.endedAcceptance(user: ended.user, ended: sequence, share: change.share),
                    value: EndedPeriodEntry(began: ended.began).encoded()))
        }
        guard change.old == nil, let new = change.new, try Self.token(of: new.root, in: zone) != new.token else {
            return
        }
        settlement.entries.append(
            IndexEntry(key: zone.keys.shareToken(new.root), value: ShareTokenEntry(token: new.token).encoded()))
    }

    /// The client tokens in the zone of people who no longer see anything in it. No owner is charged for these.
    private func clientTokens(leftBy deleted: [[UInt8]], in zoneIdentity: UUID) throws -> [[UInt8]] {
        let gone = Set(deleted)
        var keys: [[UInt8]] = []
        for user in Set(deleted.compactMap { try? GlobalKeys.readAcceptanceKey($0.span).user }).sorted() {
            let key = zone.keys.clientToken(of: user)
            guard try transaction.store.contains(key) else { continue }
            var isElsewhere = false
            try transaction.store.scan(GlobalKeys.acceptances(of: user, zone: zoneIdentity)) { other, _ in
                isElsewhere = !gone.contains([UInt8](copying: other))
                return isElsewhere ? .stop : .next
            }
            if !isElsewhere { keys.append(key) }
        }
        return keys
    }
}

extension Record {
    /// A share's record with another content.
    package func with(_ content: ShareContent) -> Record {
        var record = self
        record.fields[ShareContent.fieldKey] = Field(.bytes(ShareContentEntry(content).encoded()))
        return record
    }

    /// The record as its schema has it (L-09).
    var withoutShareContent: Record {
        guard fields[ShareContent.fieldKey] != nil else { return self }
        var record = self
        record.fields[ShareContent.fieldKey] = nil
        return record
    }

    /// The content of a share's record; nil for every other record.
    ///
    /// Throws `corruption` if it cannot be read.
    package func shareContent() throws -> ShareContent? {
        guard let field = fields[ShareContent.fieldKey] else { return nil }
        guard case .bytes(let bytes) = field.value else {
            throw StoreError(
                .corruption, "The content of a share is damaged. Restore the store from a backup.",
                ["share": name.text])
        }
        return try ShareContentEntry(decoding: bytes.span).content
    }
}
