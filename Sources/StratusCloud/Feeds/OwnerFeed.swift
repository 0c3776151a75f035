// The feed of a zone for its owner, who sees everything: the changes after the token, in their order, each record once
// and as it is in the page's snapshot (T-06). A record that is written while pages are read moves to the end and comes
// again.
//
// Without a token only what lives is told. Deletions are, from the moment on in which the first page was read (T-08).

import StratusLayout
import StratusModel
import StratusRecords

struct OwnerFeed {
    let zone: ZoneReader
    let view: RecordPresenter
    let fields: FieldSelection
    /// The zone's last change.
    let now: UInt64
    var progress: OwnerProgress
    var page: FeedPage

    private let history: ZoneHistory
    /// Up to where everything had been told before this page.
    private let start: UInt64

    init(
        zone: ZoneReader, view: RecordPresenter, fields: FieldSelection, now: UInt64, progress: OwnerProgress,
        page: FeedPage
    ) {
        self.zone = zone
        self.view = view
        self.fields = fields
        self.now = now
        self.progress = progress
        self.page = page
        history = ZoneHistory(zone, now: now)
        start = progress.position
    }

    /// Changes that are read at once.
    private static let batchCount = 256

    /// Fills the page, and moves the progress on.
    mutating func run() throws {
        while progress.position < now {
            let batch = try zone.changes(after: progress.position, upTo: now, limit: Self.batchCount)
            for change in batch {
                guard !page.isFull else {
                    page.isMoreComing = true
                    return
                }
                page.look()
                try tell(change)
                progress.position = change.sequence
            }
            if batch.count < Self.batchCount { progress.position = now }
        }
        progress.beginning = 0
    }

    private mutating func tell(_ change: RecordChange) throws {
        switch change.kind {
        case .saved:
            guard let decoded = try zone.decodedRecord(change.name, fields: fields) else {
                throw RecordsError(
                    .corruption, "A change tells of a record that is not there: verify the store, then rebuild it.",
                    ["record": change.name.text, "zone": zone.id.name.text])
            }
            page.add(try view.shown(decoded), byteCount: QuotaLedger.byteCount(of: decoded.stored.record))
        case .deleted(let type, _):
            guard change.sequence > progress.beginning else { return }
            // What was told may have been deleted before, and its name taken by a record of another type.
            page.add(deletionOf: change.name, try history.deletedType(change.name, at: start) ?? type)
        }
    }
}

// One page of a zone's feed while it is made. It is bounded in what it holds and in the work that is done for it.

/// How large a page may be.
struct FeedLimits: Sendable {
    /// Records and deletions.
    var count: Int
    /// Bytes of the records' contents; the record that goes over it is still in the page.
    var byteCount: Int
    /// Records looked at, told or not.
    var lookCount: Int

    /// Limits for what a client asked for; 0 lets the server decide (L-14).
    init(asked: Int, _ options: CloudOptions) {
        count = asked > 0 ? min(asked, options.feedPageLimit) : min(options.feedPageCount, options.feedPageLimit)
        count = max(count, 1)
        byteCount = options.feedPageByteCount
        lookCount = max(options.feedLookCount, 1)
    }
}

/// Invariant: a record stands in a page once. Several rounds of a guest's feed may meet in a page, all of one snapshot,
/// and the lists of a page have no order between them, so that what is said last is all that is said. An owner's feed
/// names each record once anyway.
struct FeedPage {
    /// Records that there is room for from the beginning.
    private static let roomCount = 128

    private let limits: FeedLimits
    private let zone: ZoneAddress
    private(set) var changed: [ClientRecord] = []
    private(set) var deleted: [RecordDeletion] = []
    /// Where a record stands in one of the lists; nil where each is told once.
    private var places: [RecordName: Place]?

    private enum Place {
        case changed(Int)
        case deleted(Int)
    }

    private var byteCount = 0
    private(set) var lookCount = 0
    var isMoreComing = false

    init(_ limits: FeedLimits, of zone: ResolvedZone) {
        self.limits = limits
        self.zone = zone.address
        places = zone.isShared ? [:] : nil
        changed.reserveCapacity(min(limits.count, Self.roomCount))
    }

    /// Whether nothing more is to be looked at for this page.
    var isFull: Bool {
        changed.count + deleted.count >= limits.count || byteCount >= limits.byteCount
            || lookCount >= limits.lookCount
    }

    mutating func look() { lookCount += 1 }

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

    /// Takes back what was said of a record; the last of its list takes its place.
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
