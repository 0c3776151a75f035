// The feed of a zone for its owner, who sees everything: the changes after the token, in their order, each record once
// and as it is in the page's snapshot (T-06). A record that is written between pages moves to the end and comes again.
//
// Without a token it first walks over the zone in the order of names, because reading neighbours costs much less than
// reading records one by one in the order of their changes. The walk's end is the zone's last change when it began. It
// has the live records that have not changed since (T-08). Then the feed goes on with the changes after the end. So a
// page names no record twice, and what was deleted after the walk had it comes as a deletion.
//
// `FeedPage` is one page of this feed or of a guest's (`GuestFeed`), with limits on its size and work.

import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

struct OwnerFeed {
    let zone: ZoneReader
    let history: ZoneHistory
    let view: RecordPresenter
    let fields: FieldSelection
    /// The zone's last change.
    let now: UInt64
    /// The walk to finish first.
    var walk: FirstSync?
    /// The sequence up to which everything was delivered before this page.
    let start: UInt64
    var progress: OwnerProgress
    var page: FeedPage

    /// Changes that are read at once, at most; where reads are trips, at least.
    private static let batchCount = 256
    /// Where reads are trips, at most.
    private static let largestBatchCount = 2_048

    /// Fills the page, and advances the progress.
    mutating func run() throws {
        guard try finishWalk() else {
            page.isMoreComing = true
            return
        }
        while progress.position < now {
            // One more than fits: it says that more is coming. Old tokens skip deletions, which take no room.
            let wanted = progress.beginning > 0 ? Self.batchCount : page.roomCount + 1
            let limit =
                zone.reads == nil
                ? min(Self.batchCount, wanted) : max(Self.batchCount, min(Self.largestBatchCount, wanted))
            let batch = try zone.changes(after: progress.position, upTo: now, limit: limit, withPlaces: false)
            var announcedCount = 0
            for (index, change) in batch.enumerated() {
                guard !page.isFull else {
                    page.isMoreComing = true
                    return
                }
                if let reads = zone.reads, index == announcedCount {
                    let part = batch[index...].prefix(page.foreseenCount)
                    announce(part, reads)
                    announcedCount += part.count
                }
                page.look()
                try tell(change)
                progress.position = change.sequence
            }
            if batch.count < limit { progress.position = now }
        }
        progress.beginning = 0
    }

    /// Continues the walk. Returns false if the page is full before its end.
    private mutating func finishWalk() throws -> Bool {
        // After a batch that has added nothing the next one is larger.
        var leastLimit = 0
        while let walk {
            let limit = zone.reads == nil ? Int.max : max(page.walkLimit, leastLimit)
            let before = page.changed.count
            zone.reads?.announce(zone.keys.records(after: walk.last), limit: limit)
            var isFull = false
            let readCount = try zone.walk(after: walk.last, changedUpTo: walk.end, fields: fields, limit: limit) {
                name, record, entryCount in
                isFull = page.isFull
                guard !isFull else { return .stop }
                page.look(entryCount)
                self.walk?.last = name
                if let record {
                    page.add(try view.shown(record), byteCount: QuotaLedger.byteCount(of: record))
                }
                return .next
            }
            if readCount < limit, !isFull {
                self.walk = nil
                continue
            }
            if page.isFull { return false }
            leastLimit = page.changed.count == before ? min(2 * limit, Self.largestBatchCount) : 0
        }
        return true
    }

    private mutating func tell(_ change: LatestWrite) throws {
        switch change.kind {
        case .saved:
            guard let decoded = try zone.decodedRecord(change.name, fields: fields) else {
                throw StoreError(
                    .corruption, "A change names a record that does not exist. Verify the store, then rebuild it.",
                    ["record": change.name.text, "zone": zone.id.name.text])
            }
            page.add(try view.shown(decoded), byteCount: QuotaLedger.byteCount(of: decoded))
        case .deleted(let type, _):
            guard change.sequence > progress.beginning else { return }
            // The delivered record may have been deleted before, and its name reused by a record of another type.
            page.add(deletionOf: change.name, try history.deletedType(change.name, at: start) ?? type)
        }
    }
}

/// One page while it is filled.
///
/// Invariant: a record is in a page once. A page may have several rounds of a guest's feed, all from one snapshot, and
/// the lists of a page have no order between them, so only the last statement about a record is kept. An owner's feed
/// names each record once anyway.
struct FeedPage {
    /// The initial capacity for records.
    private static let roomCount = 128
    /// How many records are foreseen while nothing is known of their sizes.
    private static let firstForeseenCount = 256
    /// More than the chunks of a record.
    private static let leastWalkCount = 32

    /// Records and deletions; bytes of the records' contents, and the record that exceeds them is still in the page;
    /// records read, delivered or not.
    private let limits: (count: Int, byteCount: Int, lookCount: Int)
    private let zone: ZoneAddress
    private(set) var changed: [ClientRecord] = []
    private(set) var deleted: [RecordDeletion] = []
    /// The place of a record in one of the lists; nil if each is delivered once anyway.
    private var places: [RecordName: Place]?

    private enum Place {
        case changed(Int)
        case deleted(Int)
    }

    private var byteCount = 0
    private(set) var lookCount = 0
    var isMoreComing = false

    /// `limit` is the client's.
    init(limit: Int, _ options: CloudOptions, of zone: ResolvedZone) {
        limits = (options.pageCount(asked: limit), options.feedPageByteCount, max(options.feedLookCount, 1))
        self.zone = zone.address
        places = zone.isShared ? [:] : nil
        changed.reserveCapacity(min(limits.count, Self.roomCount))
    }

    /// Whether no more records may be read for this page.
    var isFull: Bool {
        changed.count + deleted.count >= limits.count || byteCount >= limits.byteCount
            || lookCount >= limits.lookCount
    }

    /// The most records that may still be read for this page.
    var roomCount: Int {
        max(0, min(limits.count - changed.count - deleted.count, limits.lookCount - lookCount))
    }

    /// The records that are likely to fit into the rest of this page, at least one.
    var foreseenCount: Int {
        guard byteCount > 0, !changed.isEmpty else { return max(1, min(roomCount, Self.firstForeseenCount)) }
        let meanByteCount = max(1, byteCount / changed.count)
        return max(1, min(roomCount, (limits.byteCount - byteCount) / meanByteCount + 1))
    }

    /// The entries that a walk reads at once where reads are trips.
    var walkLimit: Int { max(foreseenCount, Self.leastWalkCount) + 1 }

    mutating func look(_ entryCount: Int = 1) { lookCount += entryCount }

    mutating func add(_ record: consuming ClientRecord, byteCount count: Int64) {
        if places != nil {
            let name = RecordName(record.address.recordName)
            withdraw(name)
            places?[name] = .changed(changed.count)
        }
        changed.append(record)
        byteCount += Int(clamping: count)
    }

    mutating func add(deletionOf name: RecordName, _ type: RecordType) {
        withdraw(name)
        places?[name] = .deleted(deleted.count)
        let address = RecordAddress(recordName: name.text, zone: zone)
        deleted.append(RecordDeletion(address: address, type: type.text))
    }

    /// Removes a record from its list; the last one of the list takes its place.
    private mutating func withdraw(_ name: RecordName) {
        switch places?.removeValue(forKey: name) {
        case nil: return
        case .changed(let index)?:
            changed.swapAt(index, changed.count - 1)
            changed.removeLast()
            if index < changed.count { places?[RecordName(changed[index].address.recordName)] = .changed(index) }
        case .deleted(let index)?:
            deleted.swapAt(index, deleted.count - 1)
            deleted.removeLast()
            if index < deleted.count { places?[RecordName(deleted[index].address.recordName)] = .deleted(index) }
        }
    }
}
