// Updates the indexes for queries in zones with older records when the schema changes.
//
// An imported schema, and the first upkeep of a store from before there were such indexes, add a review for each type.
// A review sets the wanted indexes in all zones of the type's container; the record layer then fills and clears them.
// Both continue after a crash: the entry of a review stays until all zones are done.

import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

extension CloudService {
    /// Fills and clears indexes until all match their schemas. `progress` gets the progress of each part from time to
    /// time; only for it the work is counted before. Reviews `reviewedZoneCount` zones at a time, at least one; twice
    /// as many names are in memory.
    package func buildIndexes(
        _ pace: UpkeepPace, reviewedZoneCount: Int = CloudService.reviewedZoneCount,
        progress tell: IndexingProgress.Listener? = nil
    ) throws {
        try putUpOldTypes()
        let meter = try tell.map { WorkMeter(total: try reviewableZoneCount(), IndexingPart.zones.telling($0)) }
        try reviewIndexes(pace, zonesAtOnce: reviewedZoneCount, meter)
        var recordCount: Int?
        if let tell {
            guard pace.shouldContinue() else { return }
            let counter = WorkCounter(IndexingPart.counting, tell, shouldContinue: pace.shouldContinue)
            recordCount = try engine.read { try $0.unbuiltRecordCount(counter) }
        }
        try engine.buildIndexes(
            pause: pace.pause, rest: pace.rest,
            shouldContinue: {
                tell?(IndexingProgress(part: .records, doneCount: $0.recordsVisited, totalCount: recordCount))
                return pace.shouldContinue()
            })
    }

    /// Adds reviews for all types of a store from before there were indexes for queries: once in the life of a store.
    private func putUpOldTypes() throws {
        let types: [(container: ContainerName, type: RecordType?)] = try engine.read { reader in
            if try reader.store.contains(GlobalKeys.indexing()) { return [] }
            return try reader.store.collect(GlobalKeys.keyspace(.schema)) { key, _ in try GlobalKeys.readSchemaKey(key)
            }
        }
        guard types.contains(where: { $0.type != nil }) else { return }
        try engine.transact { transaction in
            for case (let container, let type?) in types {
                let key = GlobalKeys.indexReview(container, type)
                guard try !transaction.store.contains(key) else { continue }
                try transaction.set(key, to: IndexReviewEntry().encoded())
            }
            try transaction.set(GlobalKeys.indexing(), to: EmptyEntry().encoded())
        }
    }

    private func reviewIndexes(_ pace: UpkeepPace, zonesAtOnce: Int, _ meter: WorkMeter? = nil) throws {
        while pace.shouldContinue(), let review = try nextReview() {
            guard try apply(review, zonesAtOnce: zonesAtOnce, pace, meter) else { return }
        }
    }

    /// How many zones all reviews must visit.
    private func reviewableZoneCount() throws -> Int {
        try engine.read { reader in
            var count = 0
            // Most reviews go over all zones of a container, which are counted once for all types.
            var all: [ContainerName: Int] = [:]
            try reader.store.forEach(in: GlobalKeys.keyspace(.indexReviews)) { key, value in
                let container = try GlobalKeys.readIndexReviewKey(key).container
                let position = try IndexReviewEntry(decoding: value).last
                if position == nil, let known = all[container] {
                    count += known
                    return
                }
                let before = count
                try Self.visitZones(of: container, behind: position, reader) { _ in count += 1 }
                if position == nil { all[container] = count - before }
            }
            return count
        }
    }

    private struct Review {
        var container: ContainerName
        var type: RecordType
        var entry: IndexReviewEntry
        /// The wanted indexes. Another change of the schema, which may want others, restarts the review.
        var wanted: [FieldKey: QueryIndexKinds]
        var key: [UInt8] { GlobalKeys.indexReview(container, type) }
    }

    private func nextReview() throws -> Review? {
        try engine.read { reader in
            try reader.store.first(in: GlobalKeys.keyspace(.indexReviews)) { key, value in
                let (container, type) = try GlobalKeys.readIndexReviewKey(key)
                return Review(
                    container: container, type: type, entry: try IndexReviewEntry(decoding: value),
                    wanted: try wantedIndexes(of: type, in: container, reader))
            }
        }
    }

    private func wantedIndexes(
        of type: RecordType, in container: ContainerName, _ reader: RecordReader
    ) throws -> [FieldKey: QueryIndexKinds] {
        try schemaKeeper.schema(of: type, container: container, in: reader)?.queryIndexes ?? [:]
    }

    /// Whether no change of the schema has restarted the review.
    private func isCurrent(_ review: Review, in reader: RecordReader) throws -> Bool {
        let entry = try reader.store.withValue(forKey: review.key) { try IndexReviewEntry(decoding: $0) }
        return try entry == review.entry
            && wantedIndexes(of: review.type, in: review.container, reader) == review.wanted
    }

    /// Sets the wanted indexes in every zone after the review's position. Returns false if it was stopped.
    private func apply(
        _ review: Review, zonesAtOnce: Int, _ pace: UpkeepPace, _ meter: WorkMeter?
    ) throws -> Bool {
        var review = review
        var position = review.entry.last
        while true {
            let page = try zones(of: review, behind: position, limit: zonesAtOnce)
            for place in page {
                guard pace.shouldContinue() else { return false }
                guard let moved = try setIndexes(of: place, review) else { return true }
                meter?.add()
                if moved != review.entry { pace.restShortly() }
                review.entry = moved
            }
            guard let last = page.last, page.count == zonesAtOnce else { break }
            position = (last.database, last.zone)
        }
        let last = review
        try engine.transact { transaction in
            if try isCurrent(last, in: transaction) { try transaction.delete(last.key) }
        }
        return true
    }

    /// Sets the wanted indexes in a zone. Returns the review's position, which advances only with a write; nil if
    /// another change of the schema has restarted the review.
    private func setIndexes(of place: ReviewedZone, _ review: Review) throws -> IndexReviewEntry? {
        try engine.transact { transaction -> IndexReviewEntry? in
            guard try isCurrent(review, in: transaction) else { return nil }
            guard let zone = try transaction.zone(place.id) else { return review.entry }
            guard try transaction.setQueryIndexes(review.wanted, of: review.type, in: zone) else { return review.entry }
            // A new zone of the same name has a larger number, before which other zones may wait.
            let entry = IndexReviewEntry(last: (place.database, place.zone))
            try transaction.set(review.key, to: entry.encoded())
            return entry
        }
    }

    private struct ReviewedZone {
        var database: DatabaseNumber
        var zone: ZoneNumber
        var id: ZoneID
    }

    /// Zones that are reviewed before the directory, which is not in the order of numbers, is read again.
    package static let reviewedZoneCount = 50_000

    /// The first zones of the container after a position, in the order of their numbers.
    private func zones(
        of review: Review, behind position: (database: DatabaseNumber, zone: ZoneNumber)?, limit: Int
    ) throws -> [ReviewedZone] {
        precondition(limit > 0, "A review advances by at least one zone.")
        return try engine.read { reader in
            var found: [ReviewedZone] = []
            func keepFirst() {
                found.sort { ($0.database, $0.zone) < ($1.database, $1.zone) }
                found.removeLast(max(0, found.count - limit))
            }
            try Self.visitZones(of: review.container, behind: position, reader) {
                found.append($0)
                if found.count >= 2 * limit { keepFirst() }
            }
            keepFirst()
            return found
        }
    }

    /// Visits the zones of a container whose numbers follow a position, in the order of their names.
    private static func visitZones(
        of container: ContainerName, behind position: (database: DatabaseNumber, zone: ZoneNumber)?,
        _ reader: RecordReader, _ visit: (ReviewedZone) -> Void
    ) throws {
        try reader.visitDatabases { database, entry in
            let isBehind = position.map { entry.number >= $0.database } ?? true
            guard database.container == container, isBehind else { return .next }
            try reader.visitZones(in: database) { listing in
                let number = listing.entry.number
                guard position.map({ (entry.number, number) > $0 }) ?? true else { return .next }
                let id = ZoneID(database: database, name: listing.name)
                visit(ReviewedZone(database: entry.number, zone: number, id: id))
                return .next
            }
            return .next
        }
    }
}

/// The parts of the work on indexes, in their order.
package enum IndexingPart: String, WorkPart {
    /// Reviewed zones, each once for every type whose indexes have changed.
    case zones
    /// Counting the records to read. It has no total.
    case counting
    /// Those records.
    case records
}

/// The progress of one part of the work on indexes.
package typealias IndexingProgress = PartProgress<IndexingPart>
