// The feed of a zone for its owner, who sees everything: the changes after the token, in their order, each record once and
// as it is in the page's snapshot (T-06). A record that is written while pages are read moves to the end and comes again.
//
// Without a token only what lives is told. Deletions are, from the moment on in which the first page was read (T-08).

import StratusLayout
import StratusModel
import StratusRecords

struct OwnerFeed {
    let zone: ZoneReader
    let view: RecordView
    let fields: FieldSelection
    /// The zone's last change.
    let now: UInt64
    var progress: OwnerProgress
    var page: FeedPage

    private let history: ZoneHistory
    /// Up to where everything had been told before this page.
    private let start: UInt64

    init(
        zone: ZoneReader, view: RecordView, fields: FieldSelection, now: UInt64, progress: OwnerProgress, page: FeedPage
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

    private mutating func tell(_ change: LatestWrite) throws {
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
