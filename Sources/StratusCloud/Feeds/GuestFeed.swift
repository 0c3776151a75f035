// The feed of a zone for somebody who sees a part of it. It is exact: applied to what they had, it gives precisely what they
// may see, and it names nothing that they never could.
//
// The token holds a *base*: a moment up to which everything was told. A *round* leads from the base to an *end*, the zone's
// last change when the round begins. What the person saw at either moment follows from the history, which does not change
// any more; so a round may take many pages, from many snapshots, and is still one comparison of two moments:
//
//   seen at the end            delivered, when it has changed or was not seen at the base
//   not at the end, at the base   told as deleted
//   neither                    passed over in silence
//
// Which records can differ is found without looking at the others:
//
//   1. shares         that the person began or ceased to see: what lay below their roots at the end, or the whole zone,
//                     and then nothing is walked to besides
//   2. changes        up to the end: the records themselves and, where one hangs elsewhere than at the base or has or had
//                     another share mark, what lay below it at the end
//   3. later changes  of records that hung elsewhere up to the end as well: the entry of a change moves with the next one
//
// A record whose visibility differs has on its way up, at the end, a record of 2 or 3, or the root of a share of 1. A walk
// stops at what has a walk of its own and at roots, below which other shares decide.
//
// What a page shows is shown only if it may be seen in the page's own snapshot too. What was seen at the end and is not any
// more when it is its turn is not delivered, and the token remembers that something was withheld: the next round then
// delivers what lies below everything that happened since, also where it was seen at both of its moments.
//
// Where nothing was seen at the base, all that is seen at the end lies below roots of 1: the zone's changes are not looked
// at, however many they are.

import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

struct GuestFeed {
    let zone: ZoneReader
    let history: ZoneHistory
    let admissions: Admissions
    let view: RecordView
    let fields: FieldSelection
    /// The zone's last change.
    let now: UInt64
    var progress: GuestProgress
    var page: FeedPage
    /// The shares that were seen at the base, at the end, and are now.
    var atBase: Set<RecordName> = []
    var atEnd: Set<RecordName> = []
    var seenNow: Set<RecordName> = []
    /// The walk of the round, while it is gone on with.
    var walker: GuestWalker?
    private var changedShares: [RecordName] = []
    /// Whether the round looks at every record of the zone. What other walks would come to is told by that one.
    private var coversZone: Bool { changedShares == [ShareContent.zoneWideName] }
    private var batch: ArraySlice<LatestWrite> = []

    init(
        zone: ZoneReader, admissions: Admissions, view: RecordView, fields: FieldSelection, now: UInt64,
        progress: GuestProgress, page: FeedPage
    ) {
        self.zone = zone
        history = ZoneHistory(zone, now: now)
        self.admissions = admissions
        self.view = view
        self.fields = fields
        self.now = now
        self.progress = progress
        self.page = page
    }

    /// The end of the round.
    var end: UInt64 { progress.round?.end ?? progress.base }
    /// Whether nothing was seen at the base.
    var isFresh: Bool { atBase.isEmpty }
    /// Whether the end is the page's own snapshot.
    var isEndNow: Bool { end == now }

    /// Fills the page, and moves the progress on.
    mutating func run() throws {
        seenNow = admissions.shares(at: now)
        while progress.round != nil || progress.base < now {
            if progress.round == nil { progress.round = GuestRound(end: now) }
            beginWithRound()
            guard try finishRound() else {
                page.isMoreComing = true
                return
            }
            progress = GuestProgress(base: end, redelivers: progress.round?.willRedeliver ?? false)
        }
    }

    /// What is known of a round without reading.
    private mutating func beginWithRound() {
        atBase = admissions.shares(at: progress.base)
        atEnd = admissions.shares(at: end)
        changedShares = admissions.changed(
            after: progress.base, upTo: end, countingReturns: progress.redelivers && !isFresh)
        if changedShares.contains(ShareContent.zoneWideName) { changedShares = [ShareContent.zoneWideName] }
        walker = nil
        batch = []
    }

    /// Goes on with the round. Returns false when the page is full before its end.
    private mutating func finishRound() throws -> Bool {
        while let round = progress.round {
            if let walk = round.walk {
                guard try finish(walk) else { return false }
                progress.round?.walk = nil
                walker = nil
                continue
            }
            switch round.phase {
            case .shares:
                guard let share = changedShares.first(where: { share in round.share.map { $0 < share } ?? true }) else {
                    guard !isFresh else { return true }
                    go(to: .changes, after: progress.base)
                    continue
                }
                guard !page.isFull else { return false }
                progress.round?.share = share
                try tell(of: share)
            case .changes:
                guard let change = try nextChange(upTo: end) else {
                    guard !isEndNow else { return true }
                    go(to: .laterChanges, after: end)
                    continue
                }
                guard !page.isFull else { return false }
                take(change)
                try tell(change.name, .changed, change.kind)
                try walkBelow(change.name)
            case .laterChanges:
                guard let change = try nextChange(upTo: now) else { return true }
                guard !page.isFull else { return false }
                take(change)
                page.look()
                guard try isMoved(change.name) else { continue }
                try tell(change.name, .later, change.kind)
                try walkBelow(change.name)
            }
        }
        return true
    }

    private mutating func go(to phase: GuestRound.Phase, after sequence: UInt64) {
        progress.round?.phase = phase
        progress.round?.sequence = sequence
    }

    // MARK: Changes

    /// Changes that are read at once.
    private static let batchCount = 256

    private mutating func nextChange(upTo last: UInt64) throws -> LatestWrite? {
        if batch.isEmpty, let round = progress.round, round.sequence < last {
            batch = try zone.changes(after: round.sequence, upTo: last, limit: Self.batchCount)[...]
        }
        return batch.first
    }

    private mutating func take(_ change: LatestWrite) {
        batch.removeFirst()
        progress.round?.sequence = change.sequence
    }

    /// Whether a record hangs elsewhere at the end than at the base, or has another share mark: it has a walk of its own.
    /// Where something was withheld, whether anything of that happened in between.
    func isMoved(_ name: RecordName) throws -> Bool {
        if progress.redelivers { return try history.hasEvents(name, after: progress.base, upTo: end) }
        return try history.node(name, at: progress.base) != history.node(name, at: end)
    }

    /// Begins the walk below a record that was moved, where what lies below it is seen otherwise than before.
    private mutating func walkBelow(_ name: RecordName) throws {
        if coversZone { return }
        if isEndNow, try history.node(name)?.hasChildren != true { return }
        guard try isMoved(name), try history.node(name, at: progress.base) != nil,
            try history.node(name, at: end) != nil
        else { return }
        if try isSeenOtherwise(name) { progress.round?.walk = GuestWalk(top: name) }
    }

    /// Whether what lies below a record is seen otherwise than before, or is to be delivered again.
    func isSeenOtherwise(_ name: RecordName) throws -> Bool {
        let (before, after) = (try isSeen(name, .base), try isSeen(name, .end))
        return before != after || (progress.redelivers && after)
    }

    // MARK: Shares

    /// What there is to tell because a share began or ceased to be seen: its record, its root, what lies below that; of a
    /// share of the whole zone everything.
    private mutating func tell(of share: RecordName) throws {
        page.look()
        guard share != ShareContent.zoneWideName else {
            progress.round?.walk = GuestWalk(top: nil)
            return
        }
        try tell(share, .covered)
        let content = try zone.record(share)?.record.shareContent()
        guard let root = try history.root(of: share, at: end, now: content?.root) else { return }
        // It was made or ended since, so that the root has a walk of its own.
        guard try isFresh || !isMoved(root) else { return }
        progress.round?.walk = GuestWalk(top: root)
    }
}
