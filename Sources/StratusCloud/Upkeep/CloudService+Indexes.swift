// Indexes for queries, where they are not what the schema wants: in zones whose records were there before.
//
// An imported schema, and the first upkeep of a store from before there were such indexes, put types up for review. A
// review goes over the zones of the type's container and tells each what is wanted; filling and clearing is the record
// layer's. Both are resumed after a crash: an entry of the review stands until all zones were told.

import StratusLayout
import StratusModel
package import StratusRecords
import StratusStore

extension CloudService {
    /// Fills and clears indexes for whoever waits for it. `progress` is told between commits how many records were looked at,
    /// and of how many.
    package func finishIndexes(_ pace: UpkeepPace, progress: (_ done: Int, _ total: Int) -> Void) throws {
        try putUpOldTypes()
        try reviewIndexes(pace)
        let total = try engine.read { try $0.unbuiltRecordCount() }
        try engine.buildIndexes(
            pause: pace.pause, rest: pace.restShortly,
            shouldContinue: {
                progress($0.recordsVisited, total)
                return pace.shouldContinue()
            })
    }

    /// Fills and clears indexes until all are what their schemas want. `progress` is told between commits what is done.
    @discardableResult
    package func buildIndexes(
        _ pace: UpkeepPace, progress: (IndexBuildProgress) -> Void = { _ in }
    ) throws -> IndexBuildProgress {
        try putUpOldTypes()
        try reviewIndexes(pace)
        return try engine.buildIndexes(
            pause: pace.pause, rest: pace.restShortly,
            shouldContinue: {
                progress($0)
                return pace.shouldContinue()
            })
    }

    /// Puts up for review what a store knew before it had indexes for queries: once in the life of a store.
    private func putUpOldTypes() throws {
        let types = try engine.read { reader in
            var types: [(ContainerName, RecordType)] = []
            if try reader.store.contains(GlobalKeys.indexing()) { return types }
            try reader.store.scan(GlobalKeys.schema.keyRange) { key, _ in
                let parts = try GlobalKeys.readSchemaKey(key)
                if let type = parts.type { types.append((parts.container, type)) }
                return .next
            }
            return types
        }
        guard !types.isEmpty else { return }
        try engine.transact { transaction in
            for (container, type) in types {
                let key = GlobalKeys.indexReview(container, type)
                guard try !transaction.store.contains(key) else { continue }
                try transaction.set(key, to: IndexReviewEntry().encoded())
            }
            try transaction.set(GlobalKeys.indexing(), to: IndexingEntry().encoded())
        }
    }

    private func reviewIndexes(_ pace: UpkeepPace) throws {
        while pace.shouldContinue(), let review = try nextReview() {
            guard try carryOut(review, pace) else { return }
        }
    }

    private struct Review {
        var container: ContainerName
        var type: RecordType
        var entry: IndexReviewEntry
        var key: [UInt8] { GlobalKeys.indexReview(container, type) }
    }

    private func nextReview() throws -> Review? {
        try engine.read { reader in
            var next: Review?
            try reader.store.scan(GlobalKeys.indexReviews.keyRange, .forward, limit: 1) { key, value in
                let (container, type) = try GlobalKeys.readIndexReviewKey(key)
                next = Review(container: container, type: type, entry: try IndexReviewEntry(decoding: value))
                return .stop
            }
            return next
        }
    }

    /// Tells every zone behind the review's position what is wanted. Returns false when it was told to stop.
    private func carryOut(_ review: Review, _ pace: UpkeepPace) throws -> Bool {
        var review = review
        for id in try zones(of: review) {
            guard pace.shouldContinue() else { return false }
            let moved = try engine.transact { transaction -> IndexReviewEntry? in
                // Another change of the schema has put the review back: it begins anew.
                guard try self.entry(of: review, in: transaction) == review.entry else { return nil }
                guard let zone = try transaction.zone(id) else { return review.entry }
                let schema = try schemaKeeper.schema(of: review.type, container: review.container, in: transaction)
                let wanted = schema?.queryIndexes ?? [:]
                guard try transaction.setQueryIndexes(wanted, of: review.type, in: zone) else { return review.entry }
                let entry = IndexReviewEntry(last: (zone.keys.database, zone.keys.zone))
                try transaction.set(review.key, to: entry.encoded())
                return entry
            }
            guard let moved else { return true }
            if moved != review.entry { pace.restShortly() }
            review.entry = moved
        }
        let last = review
        try engine.transact { transaction in
            if try self.entry(of: last, in: transaction) == last.entry { try transaction.delete(last.key) }
        }
        return true
    }

    private func entry(of review: Review, in reader: RecordReader) throws -> IndexReviewEntry? {
        try reader.store.withValue(forKey: review.key) { try IndexReviewEntry(decoding: $0) }
    }

    /// The zones that are still to be told, in the order of their numbers.
    private func zones(of review: Review) throws -> [ZoneID] {
        try engine.read { reader in
            var found: [(database: DatabaseNumber, zone: ZoneNumber, id: ZoneID)] = []
            for (id, database) in try reader.databases() where id.container == review.container {
                for listing in try reader.zones(in: id) {
                    found.append((database.number, listing.entry.number, ZoneID(database: id, name: listing.name)))
                }
            }
            found.sort { ($0.database, $0.zone) < ($1.database, $1.zone) }
            guard let last = review.entry.last else { return found.map(\.id) }
            return found.filter { ($0.database, $0.zone) > (last.database, last.zone) }.map(\.id)
        }
    }
}
