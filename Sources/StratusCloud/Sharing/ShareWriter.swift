// What goes along when a share's record is written: the entries outside its zone by which it is found and by which access
// is decided, what has ended, what has happened, and the secret of its root.
//
// Two steps, as everywhere: `settlement` only reads, and says what will be written and how much; `carryOut` writes it,
// after the plan of the records. Whoever writes a share's record settles it in the same transaction; nobody else writes
// these keys, but for the release of a deleted zone.

import FoundationEssentials
import StratusLayout
package import StratusModel
package import StratusRecords
import StratusStore

/// A share before and after a transaction; nil where it is not there.
package struct ShareChange: Hashable, Sendable {
    package var share: RecordName
    package var old: ShareContent?
    package var new: ShareContent?
    /// Who had asked for access, and is invited by this change.
    package var approved: [UserName]

    package init(share: RecordName, old: ShareContent?, new: ShareContent?, approved: [UserName] = []) {
        self.share = share
        self.old = old
        self.new = new
        self.approved = approved
    }
}

/// All that has to be written beside the records of shares: a value, made before anything is written.
package struct ShareSettlement: Sendable {
    fileprivate var entries: [IndexEntry] = []
    fileprivate var deleted: [[UInt8]] = []

    /// The bytes of all keys and values.
    package var byteCount: Int {
        entries.reduce(deleted.reduce(0) { $0 + $1.count }) { $0 + $1.key.count + $1.value.count }
    }

    package var isEmpty: Bool { entries.isEmpty && deleted.isEmpty }
}

/// Writes shares of one zone in one transaction.
package struct ShareWriter {
    let acceptances: AcceptanceDirectory
    let zone: ZoneReader
    let transaction: RecordTransaction
    /// What carries out the plans that are made here; nil where nobody is told of them.
    private let journal: CommitJournal?

    package init(
        _ acceptances: AcceptanceDirectory, to zone: ZoneReader, in transaction: RecordTransaction,
        _ journal: CommitJournal? = nil
    ) {
        self.acceptances = acceptances
        self.zone = zone
        self.transaction = transaction
        self.journal = journal
    }

    /// What has to be written beside the records of these shares. `plan` writes those records, and is carried out first.
    /// `stamp` says who has done it, and when.
    ///
    /// Throws `corruption` where what is stored contradicts the old content, and `CloudError` with `internalError` where
    /// the secret of a new URL, or the identity of the zone, is that of another.
    package func settlement(
        of changes: [ShareChange], with plan: MutationPlan, stamp: Stamp
    ) throws -> ShareSettlement {
        var settlement = ShareSettlement()
        var eventCounts: [UInt64: UInt64] = [:]
        for change in changes where change.old != change.new {
            let saved = plan.saved.first { $0.record.name == change.share }
            // Of a share that is deleted the plan's last change tells as well when it ended.
            let sequence = saved?.system.changeSequence ?? plan.header.sequence
            guard let place = SharePlace(zone.id, identity: plan.header.identity, share: change.share) else {
                throw CloudError(.badDatabase, "Records are shared in private databases alone.")
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

    package func carryOut(_ settlement: ShareSettlement) throws {
        for entry in settlement.entries { try transaction.set(entry.key, to: entry.value) }
        for key in settlement.deleted { try transaction.delete(key) }
        acceptances.forget(settlement.entries.map(\.key) + settlement.deleted, in: transaction)
    }

    /// Gives a share that is there another content, and carries out all that follows. `stamp` is that of the record,
    /// `actor` whoever has done it. What the record takes more or less is charged to the zone's owner, who is not
    /// asked for room: others have done it (S-16).
    ///
    /// Returns the record as it then lies in the store. Throws as `settlement` and as planning does.
    package func write(
        _ content: ShareContent, replacing old: ShareContent, in stored: StoredRecord, stamp: Stamp, actor: UserName,
        tagSalt: UInt32
    ) throws -> StoredRecord {
        let record = stored.record.with(content)
        let plan = try transaction.plan(
            MutationRequest([.save(record)], stamp: stamp, tagSalt: tagSalt), in: zone.id)
        guard let saved = plan.saved.first else { return stored }
        let change = ShareChange(share: record.name, old: old, new: content)
        let settlement = try settlement(of: [change], with: plan, stamp: Stamp(date: stamp.date, user: actor))
        if let owner = zone.id.database.owner {
            let byteCount = QuotaLedger.byteCount(of: record) - QuotaLedger.byteCount(of: stored.record)
            try QuotaLedger.charge(
                byteCount: byteCount, to: owner, zone: plan.header.identity, limit: nil, in: transaction)
        }
        if let journal {
            try journal.carryOut(plan, in: zone.id, transaction, keeping: settlement.byteCount)
        } else {
            try transaction.apply(plan, in: zone.id)
        }
        try carryOut(settlement)
        return saved
    }

    /// Gives a share that is there other requesters, and nothing else: the record is as new as before. The trail tells of
    /// it, behind what happened with the zone's last change.
    ///
    /// Throws `corruption` where the store contradicts `stored`.
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
        var index = try nextEventIndex(at: sequence)
        for event in events {
            try transaction.set(
                zone.keys.shareEvent(sequence: sequence, index: index), to: ShareEventEntry(event).encoded())
            index += 1
        }
    }

    /// The place behind what the trail tells of the zone's last change.
    private func nextEventIndex(at sequence: UInt64) throws -> UInt64 {
        var next: UInt64 = 0
        try zone.store.scan(zone.keys.shareEvents.keyRange, .backward, limit: 1) { key, _ in
            let parts = try zone.keys.readShareEventKey(key)
            if parts.sequence == sequence { next = parts.index + 1 }
            return .stop
        }
        return next
    }

    /// The secret of a root's URL, or of the whole zone's; nil where it was never shared.
    package func token(of root: RecordName?) throws -> ShareToken? { try Self.token(of: root, in: zone) }

    static func token(of root: RecordName?, in zone: ZoneReader) throws -> ShareToken? {
        try zone.store.withValue(forKey: zone.keys.shareToken(root)) { try ShareTokenEntry(decoding: $0).token }
    }

    /// Forgets the secret of a root's URL: its record is deleted, and another one of its name is another root.
    package func forgetToken(of root: RecordName) throws {
        let key = zone.keys.shareToken(root)
        if try transaction.store.contains(key) { try transaction.delete(key) }
    }

    private func append(
        _ change: ShareChange, at place: SharePlace, _ sequence: UInt64, _ stamp: Stamp,
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
                    value: EndedAcceptanceEntry(began: ended.began).encoded()))
        }
        guard change.old == nil, let new = change.new, try token(of: new.root) != new.token else { return }
        settlement.entries.append(
            IndexEntry(key: zone.keys.shareToken(new.root), value: ShareTokenEntry(token: new.token).encoded()))
    }

    /// What the clients of people have left in the zone who see nothing of it any more: nobody is charged for it.
    private func clientTokens(leftBy deleted: [[UInt8]], in zoneIdentity: UUID) throws -> [[UInt8]] {
        let gone = Set(deleted)
        var keys: [[UInt8]] = []
        for user in Set(deleted.compactMap { try? GlobalKeys.readAcceptanceKey($0.span).user }).sorted() {
            let key = zone.keys.clientToken(of: user)
            guard try transaction.store.contains(key) else { continue }
            var isElsewhere = false
            try transaction.store.scan(GlobalKeys.acceptances(of: user, zone: zoneIdentity).keyRange) { other, _ in
                isElsewhere = !gone.contains([UInt8](copying: other))
                return isElsewhere ? .stop : .next
            }
            if !isElsewhere { keys.append(key) }
        }
        return keys
    }
}

extension Record {
    /// The record with what the server keeps of the share that it is.
    package func with(_ content: ShareContent) -> Record {
        var record = self
        record.fields[ShareContent.fieldKey] = Field(.bytes(ShareContentEntry(content).encoded()))
        return record
    }

    /// The record as its schema knows it (L-09).
    var withoutShareContent: Record {
        guard fields[ShareContent.fieldKey] != nil else { return self }
        var record = self
        record.fields[ShareContent.fieldKey] = nil
        return record
    }

    /// What the server keeps of the share that the record is; nil for every other record.
    ///
    /// Throws `corruption` where it cannot be read.
    package func shareContent() throws -> ShareContent? {
        guard let field = fields[ShareContent.fieldKey] else { return nil }
        guard case .bytes(let bytes) = field.value else {
            throw RecordsError(
                .corruption, "What is kept of a share is no content of one: restore the store from a backup.",
                ["share": name.text])
        }
        return try ShareContentEntry(decoding: bytes.span).content
    }
}
