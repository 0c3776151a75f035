// Who has accepted which share, in memory beside the store: all that access asks of a share, on every path.
//
// Exact for each snapshot, as all caches over `PublishedCache`; that nobody has accepted is remembered too. Entries of a
// zone that was deleted are never asked for, because a zone's identity is never used again.

import FoundationEssentials
package import StratusLayout
package import StratusRecords
import StratusStore

/// Finds acceptances.
package final class AcceptanceDirectory: Sendable {
    /// By the keys of the store.
    private let cache: PublishedCache<[UInt8], AcceptanceEntry?>

    package init(maximumCount: Int = 50_000) { cache = PublishedCache(maximumCount: maximumCount) }

    /// What somebody has accepted, or nil. The cache answers when it can; in a transaction only where no change of the
    /// acceptance is in flight.
    package func acceptance(_ parts: AcceptanceKeyParts, in reader: RecordReader) throws -> AcceptanceEntry? {
        let key = GlobalKeys.acceptance(parts)
        let transaction = reader as? RecordTransaction
        let mayUseCache = transaction?.hasUnpublishedWrite(forKey: key) != true
        let version = reader.store.version
        if mayUseCache, let known = cache.value(for: key, at: version) { return known }
        let entry = try reader.store.withValue(forKey: key) { try AcceptanceEntry(decoding: $0) }
        if transaction == nil { cache.fill(key, entry, at: version) }
        return entry
    }

    /// Forgets the acceptances under these keys in the instant in which the transaction becomes visible.
    package func forget(_ keys: [[UInt8]], in transaction: RecordTransaction) {
        guard !keys.isEmpty else { return }
        let cache = cache
        transaction.onPublish { version in
            for key in keys { cache.publish(key, nil, version: version) }
        }
    }
}
