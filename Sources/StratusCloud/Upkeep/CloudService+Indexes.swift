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
    /// Fills and clears indexes for whoever waits for it. `progress` is told now and then how far each part has come.
    /// Zones are told what is wanted `reviewedZoneCount` at a time, which is at least one; twice as many names are in
    /// memory.
    package func finishIndexes(
        _ pace: UpkeepPace, reviewedZoneCount: Int = CloudService.reviewedZoneCount,
        progress tell: @escaping IndexingProgress.Listener
    ) throws {
        try putUpOldTypes()
        let tellOfZones = IndexingProgress.Part.zones.telling(tell)
        try reviewIndexes(
            pace, zonesAtOnce: reviewedZoneCount, WorkMeter(total: reviewableZoneCount()) { tellOfZones($0, $1) })
        guard pace.shouldContinue() else { return }
        let tellOfCounting = IndexingProgress.Part.counting.telling(tell)
        let counter = WorkCounter { count in
            tellOfCounting(count, nil)
            return pace.shouldContinue() ? .next : .stop
        }
        let total = try engine.read { try $0.unbuiltRecordCount(counter) }
        let tellOfRecords = IndexingProgress.Part.records.telling(tell)
        try engine.buildIndexes(
            pause: pace.pause, rest: pace.restShortly,
            shouldContinue: {
                tellOfRecords($0.recordsVisited, total)
                return pace.shouldContinue()
            })
    }

    /// Fills and clears indexes until all are what their schemas want. `progress` is told between commits what is done.
    @discardableResult
    package func buildIndexes(
        _ pace: UpkeepPace, progress: (IndexBuildProgress) -> Void = { _ in }
    ) throws -> IndexBuildProgress {
        try putUpOldTypes()
        try reviewIndexes(pace, zonesAtOnce: Self.reviewedZoneCount)
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

    private func reviewIndexes(_ pace: UpkeepPace, zonesAtOnce: Int, _ meter: WorkMeter? = nil) throws {
        while pace.shouldContinue(), let review = try nextReview() {
            guard try apply(review, zonesAtOnce: zonesAtOnce, pace, meter) else { return }
        }
    }

    /// How many zones are to be told, by all reviews.
    private func reviewableZoneCount() throws -> Int {
        try engine.read { reader in
            var count = 0
            // Most reviews go over all zones of a container, which are counted once for all types.
            var all: [ContainerName: Int] = [:]
            try reader.store.scan(GlobalKeys.indexReviews.keyRange) { key, value in
                let container = try GlobalKeys.readIndexReviewKey(key).container
                let position = try IndexReviewEntry(decoding: value).last
                let known = position == nil ? all[container] : nil
                let found = try known ?? Self.zoneCount(of: container, behind: position, reader)
                if position == nil { all[container] = found }
                count += found
                return .next
            }
            return count
        }
    }

    private static func zoneCount(
        of container: ContainerName, behind position: (database: DatabaseNumber, zone: ZoneNumber)?,
        _ reader: RecordReader
    ) throws -> Int {
        var count = 0
        try visitZones(of: container, behind: position, reader) { _ in count += 1 }
        return count
    }

    private struct Review {
        var container: ContainerName
        var type: RecordType
        var entry: IndexReviewEntry
        /// What zones are told. Another change of the schema, which may want something else, begins the review anew.
        var wanted: [FieldKey: QueryIndexKinds]
        var key: [UInt8] { GlobalKeys.indexReview(container, type) }
    }

    private func nextReview() throws -> Review? {
        try engine.read { reader in
            var next: Review?
            try reader.store.scan(GlobalKeys.indexReviews.keyRange, .forward, limit: 1) { key, value in
                let (container, type) = try GlobalKeys.readIndexReviewKey(key)
                next = Review(
                    container: container, type: type, entry: try IndexReviewEntry(decoding: value),
                    wanted: try wantedIndexes(of: type, in: container, reader))
                return .stop
            }
            return next
        }
    }

    private func wantedIndexes(
        of type: RecordType, in container: ContainerName, _ reader: RecordReader
    ) throws -> [FieldKey: QueryIndexKinds] {
        try schemaKeeper.schema(of: type, container: container, in: reader)?.queryIndexes ?? [:]
    }

    /// Whether nobody has put the review back since it came this far.
    private func isCurrent(_ review: Review, in reader: RecordReader) throws -> Bool {
        let entry = try reader.store.withValue(forKey: review.key) { try IndexReviewEntry(decoding: $0) }
        return try entry == review.entry
            && wantedIndexes(of: review.type, in: review.container, reader) == review.wanted
    }

    /// Tells every zone behind the review's position what is wanted. Returns false when it was told to stop.
    private func apply(
        _ review: Review, zonesAtOnce: Int, _ pace: UpkeepPace, _ meter: WorkMeter?
    ) throws -> Bool {
        var review = review
        var position = review.entry.last
        while true {
            let page = try zones(of: review, behind: position, limit: zonesAtOnce)
            for place in page {
                guard pace.shouldContinue() else { return false }
                guard let moved = try tell(place, what: review) else { return true }
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

    /// Tells a zone what is wanted. Returns how far the review has come, which moves on only with what is written; nil
    /// where another change of the schema has put the review back: it begins anew.
    private func tell(_ place: ReviewedZone, what review: Review) throws -> IndexReviewEntry? {
        try engine.transact { transaction -> IndexReviewEntry? in
            guard try isCurrent(review, in: transaction) else { return nil }
            guard let zone = try transaction.zone(place.id) else { return review.entry }
            guard try transaction.setQueryIndexes(review.wanted, of: review.type, in: zone) else { return review.entry }
            // A zone that was made anew under the name has a larger number, behind which others may wait.
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

    /// Zones that are told before the directory is gone over again, which is not in the order of numbers.
    package static let reviewedZoneCount = 50_000

    /// The first zones of the container behind a position, in the order of their numbers.
    private func zones(
        of review: Review, behind position: (database: DatabaseNumber, zone: ZoneNumber)?, limit: Int
    ) throws -> [ReviewedZone] {
        precondition(limit > 0, "A review goes on by one zone at least.")
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

    /// Visits the zones of a container that lie behind a position in the order of their numbers, in the order of their
    /// names.
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

// How far bringing indexes to what schemas want has come: part by part, each with a total of its own.

/// How far one part of the work on indexes has come.
package struct IndexingProgress: Hashable, Sendable {
    /// What is gone over, one after the other.
    package enum Part: String, Sendable {
        /// Zones, each as often as there are types whose indexes have changed: they are told what is wanted.
        case zones
        /// Records that are to be looked at: what there is to do. It has no total.
        case counting
        /// Those records.
        case records
    }

    package typealias Listener = (IndexingProgress) -> Void

    package var part: Part
    package var doneCount: Int
    /// Nil while it is counted.
    package var totalCount: Int?
}

extension IndexingProgress.Part {
    /// What tells of this part alone.
    func telling(_ tell: @escaping IndexingProgress.Listener) -> (_ done: Int, _ total: Int?) -> Void {
        { tell(IndexingProgress(part: self, doneCount: $0, totalCount: $1)) }
    }
}
