// What happened to the shares of a zone, for its owner and the host to look up.

import StratusLayout
package import StratusModel
import StratusRecords
import StratusStore

/// Where in a zone's trail something stands.
package struct ShareEventPosition: Hashable, Sendable {
    /// The change of the zone with which it happened.
    package var sequence: UInt64
    /// What happened with the same change is numbered from 0.
    package var index: UInt64

    package init(sequence: UInt64, index: UInt64) {
        self.sequence = sequence
        self.index = index
    }
}

/// Some events in the order in which they happened.
package struct ShareEventPage: Hashable, Sendable {
    package var events: [ShareEvent]
    /// Where the next page begins; nil after the last one.
    package var next: ShareEventPosition?

    package init(events: [ShareEvent], next: ShareEventPosition?) {
        self.events = events
        self.next = next
    }
}

extension CloudService {
    /// What happened to the shares of a zone after `position`, at most `limit` events (1,000 at most). The trail stays with
    /// the zone, and goes with it; of a long one upkeep keeps the newest `CloudOptions.shareEventCount` events.
    ///
    /// Throws `zoneNotFound`, and the store's failures.
    package func shareEvents(
        of zone: ZoneID, after position: ShareEventPosition? = nil, limit: Int = 200
    ) throws(CloudError) -> ShareEventPage {
        let limit = min(max(limit, 1), Self.maximumEventCount)
        return try reading { reader in
            let keys = try reader.existingZone(zone).keys
            let range =
                position.map {
                    keys.shareEvents(after: ShareEventKeyParts(sequence: $0.sequence, index: $0.index))
                } ?? keys.shareEvents
            var page = ShareEventPage(events: [], next: nil)
            var last: ShareEventPosition?
            try reader.store.scan(range.keyRange, .forward, limit: limit + 1) { key, value in
                guard page.events.count < limit else {
                    page.next = last
                    return .stop
                }
                let parts = try keys.readShareEventKey(key)
                last = ShareEventPosition(sequence: parts.sequence, index: parts.index)
                page.events.append(try ShareEventEntry(decoding: value).event)
                return .next
            }
            return page
        }
    }

    private static let maximumEventCount = 1_000

    /// Removes what a zone's trail holds beyond the newest `shareEventCount` events: whoever joins and leaves a public share
    /// again and again writes into the zone of another, who is not charged for it.
    ///
    /// Returns how many went. Throws the store's failures; a zone that is gone has none.
    @discardableResult
    func trimShareTrail(of zone: ZoneID, shouldContinue: () -> Bool = { true }) throws -> Int {
        guard let newest = try newestDispensableEvent(of: zone) else { return 0 }
        var count = 0
        while shouldContinue() {
            let deleted = try engine.transact { transaction in
                guard let keys = try transaction.zone(zone)?.keys else { return 0 }
                var range = keys.shareEvents.keyRange
                range.upper = newest + [0]
                var expired: [[UInt8]] = []
                try transaction.store.scan(range, .forward, limit: engine.options.limits.purgeBatchCount) { key, _ in
                    expired.append([UInt8](copying: key))
                    return .next
                }
                for key in expired { try transaction.delete(key) }
                return expired.count
            }
            guard deleted > 0 else { break }
            count += deleted
        }
        return count
    }

    /// The key of the newest event that need not be kept.
    private func newestDispensableEvent(of zone: ZoneID) throws -> [UInt8]? {
        try engine.read { reader in
            guard let keys = try reader.zone(zone)?.keys else { return nil }
            var count = 0
            var found: [UInt8]?
            try reader.store.scan(keys.shareEvents.keyRange, .backward, limit: options.shareEventCount + 1) { key, _ in
                count += 1
                if count > options.shareEventCount { found = [UInt8](copying: key) }
                return .next
            }
            return found
        }
    }
}
