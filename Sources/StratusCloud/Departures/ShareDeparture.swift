// Takes a person who has gone out of the shares of others in which they take part: they leave them (P-13), as if they had
// deleted them. Each share is a commit of its own, in which the acceptance goes too, so that what has no acceptance any
// more needs no second look after a crash.
//
// Places that the person has not accepted stay: nothing leads from a person to them, and nobody can accept them any more.

import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

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
