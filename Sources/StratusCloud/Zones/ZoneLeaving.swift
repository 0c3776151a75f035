// Deleting another's zone: the owner's stays as it is, and whoever deletes it in their shared database leaves all that they
// have accepted there (D-07, P-13). It is how programs leave a zone that is shared as a whole.

import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

/// Leaves all shares of one zone that somebody has accepted. What it draws is drawn when it is made.
struct ZoneLeaving {
    private let service: CloudService
    private let user: UserName
    private let journal: CommitJournal
    private let stamp: Stamp
    private let tagSalt: UInt32

    init(service: CloudService, caller: Caller, user: UserName) {
        self.service = service
        self.user = user
        journal = service.journal(CommitOrigin(caller))
        stamp = Stamp(date: service.environment.clock.now, user: user)
        tagSalt = service.environment.identifiers.makeSalt()
    }

    /// The shares of another's zone that the person has accepted, by name; none where there is no such zone.
    func accepted(in zone: ResolvedZone, _ transaction: RecordTransaction) throws -> [RecordName] {
        guard let identity = try transaction.listing(of: zone.id)?.entry.identity else { return [] }
        let limit = service.engine.options.limits.requestItemCount
        var names: [RecordName] = []
        try transaction.store.scan(
            GlobalKeys.acceptances(of: user, zone: identity).keyRange, .forward, limit: limit + 1
        ) { key, value in
            guard try AcceptanceEntry(decoding: value).isOf(zone.id) else { return .next }
            names.append(try GlobalKeys.readAcceptanceKey(key).share)
            return .next
        }
        guard names.count <= limit else {
            throw CloudError(
                .limitExceeded, inner: CloudError.InnerCode.limit,
                "More shares of the zone are accepted than one request takes: delete shares until there are fewer.",
                ["zone": zone.address.description, "limit": "\(limit)"])
        }
        return names
    }

    /// Returns whether the person took part in the zone. Throws `limitExceeded` where they take part in more shares than a
    /// request has items, and the store's errors.
    func leave(_ zone: ResolvedZone, in transaction: RecordTransaction) throws -> Bool {
        var hasLeft = false
        for name in try accepted(in: zone, transaction) {
            guard let reader = try transaction.zone(zone.id), let stored = try reader.record(name),
                let old = try stored.record.shareContent(), let left = ShareRevision(leaving: user, old)
            else { continue }
            _ = try ShareWriter(service.acceptanceDirectory, to: reader, in: transaction, journal).write(
                left.content, replacing: old, in: stored, stamp: stamp, actor: user, tagSalt: tagSalt)
            hasLeft = true
        }
        return hasLeft
    }
}
