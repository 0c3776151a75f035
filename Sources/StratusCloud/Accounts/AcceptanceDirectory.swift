// Who has accepted which share: a cache in memory over the store, for the access checks of every path.
//
// It is exact for each snapshot, like every `PublishedCache`, and also remembers missing acceptances. Where other
// processes write to the store it remembers nothing: who announces reads knows the range without it. Entries of a
// deleted zone are never read, because a zone's identity is never used again. An acceptance counts only in the zone
// that it names: stores of earlier versions may hold two zones with one identity.

package import FoundationEssentials
package import StratusLayout
package import StratusModel
package import StratusRecords
package import StratusStore

/// Finds acceptances.
package final class AcceptanceDirectory: Sendable {
    /// By the store's keys.
    private let cache: PublishedCache<[UInt8], AcceptanceEntry?>
    /// The zone of the first acceptance under an identity with which the visitor sees something; nil if there is none.
    private let visibilities: PublishedCache<Visitor, ZoneID?>

    package init(role: CacheRole = .answers) {
        let count = role == .answers ? 50_000 : 0
        cache = PublishedCache(maximumCount: count, role: role)
        visibilities = PublishedCache(maximumCount: count, role: role)
    }

    /// A person who looks at a zone.
    private struct Visitor: Hashable, Sendable {
        let user: UserName
        let zone: UUID
    }

    /// A person's acceptance in a zone, or nil. From the cache if possible; in a transaction only if no change of the
    /// acceptance is in flight.
    package func acceptance(
        _ parts: AcceptanceKeyParts, in zone: ZoneID, _ reader: RecordReader
    ) throws -> AcceptanceEntry? {
        let key = GlobalKeys.acceptance(user: parts.user, zone: parts.zone, share: parts.share)
        let transaction = reader as? RecordTransaction
        let mayUseCache = transaction?.hasUnpublishedWrite(forKey: key) != true
        let version = reader.store.version
        let stored: AcceptanceEntry?
        if mayUseCache, let known = cache.value(for: key, at: version) {
            stored = known
        } else {
            stored = try reader.store.withValue(forKey: key) { try AcceptanceEntry(decoding: $0) }
            if transaction == nil { cache.fill(key, stored, at: version) }
        }
        guard let stored, stored.isOf(zone) else { return nil }
        return stored
    }

    /// Removes the acceptances among these keys from the cache when the transaction becomes visible.
    package func forget(_ written: [[UInt8]], in transaction: RecordTransaction) {
        let acceptances = GlobalKeys.keyspace(.acceptances)
        let keys = written.filter { acceptances.contains($0) }
        guard !keys.isEmpty else { return }
        let visitors = keys.compactMap { key in
            (try? GlobalKeys.readAcceptanceKey(key.span)).map { Visitor(user: $0.user, zone: $0.zone) }
        }
        transaction.onPublish { [cache, visibilities] version in
            for key in keys { cache.publish(key, nil, version: version) }
            for visitor in visitors { visibilities.publish(visitor, nil, version: version) }
        }
    }

    /// Whether a person has accepted a share of the zone with which they see something (P-09). One seek, or none if the
    /// cache has it; a transaction seeks if a change of the person's acceptances there is in flight.
    package func isVisible(
        _ zone: ZoneID, identity: UUID, to user: UserName, in reader: RecordReader
    ) throws -> Bool {
        let range = GlobalKeys.acceptances(of: user, zone: identity)
        let transaction = reader as? RecordTransaction
        let mayUseCache = transaction?.hasUnpublishedWrite(in: range) != true
        let visitor = Visitor(user: user, zone: identity)
        let version = reader.store.version
        if mayUseCache, let known = visibilities.value(for: visitor, at: version), known == nil || known == zone {
            return known == zone
        }
        var first: ZoneID?
        var isVisible = false
        try reader.store.scan(range) { _, value in
            let entry = try AcceptanceEntry(decoding: value)
            guard SharedAccess(entry).isAdmitted else { return .next }
            first = first ?? entry.zoneID
            isVisible = entry.isOf(zone)
            return isVisible ? .stop : .next
        }
        if transaction == nil { visibilities.fill(visitor, first, at: version) }
        return isVisible
    }
}

extension AcceptanceEntry {
    /// The zone of the acceptance.
    var zoneID: ZoneID {
        ZoneID(database: DatabaseID(container: container, owner: owner, scope: .private), name: zone)
    }
}
