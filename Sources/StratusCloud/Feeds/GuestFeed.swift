// The feed of a zone for somebody who sees a part of it. It is exact: applied to what they had, it gives precisely what
// they may see, and it names nothing that they never could.
//
// The token holds a *base*: a moment up to which everything was told. A *round* leads from the base to an *end*, the
// zone's last change when the round begins. What the person saw at either moment follows from the history, which does
// not change any more; so a round may take many pages, from many snapshots, and is still one comparison of two moments:
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
// A record whose visibility differs has on its way up, at the end, a record of 2 or 3, or the root of a share of 1. A
// walk stops at what has a walk of its own and at roots, below which other shares decide.
//
// What a page shows is shown only if it may be seen in the page's own snapshot too. What was seen at the end and is not
// any more when it is its turn is not delivered, and the token remembers that something was withheld: the next round
// then delivers what lies below everything that happened since, also where it was seen at both of its moments.
//
// Where nothing was seen at the base, all that is seen at the end lies below roots of 1: the zone's changes are not
// looked at, however many they are.

import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

struct GuestFeed {
    let zone: ZoneReader
    let history: ZoneHistory
    let admissions: Admissions
    let view: RecordPresenter
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
    private var batch: ArraySlice<RecordChange> = []

    init(
        zone: ZoneReader, admissions: Admissions, view: RecordPresenter, fields: FieldSelection, now: UInt64,
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

    private mutating func nextChange(upTo last: UInt64) throws -> RecordChange? {
        if batch.isEmpty, let round = progress.round, round.sequence < last {
            batch = try zone.changes(after: round.sequence, upTo: last, limit: Self.batchCount)[...]
        }
        return batch.first
    }

    private mutating func take(_ change: RecordChange) {
        batch.removeFirst()
        progress.round?.sequence = change.sequence
    }

    /// Whether a record hangs elsewhere at the end than at the base, or has another share mark: it has a walk of its
    /// own. Where something was withheld, whether anything of that happened in between.
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

    /// What there is to tell because a share began or ceased to be seen: its record, its root, what lies below that; of
    /// a share of the whole zone everything.
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

// The walks of a round: what lay below a record at its end, and the whole zone.

/// A walk that is gone on with.
struct GuestWalker {
    var walk: PastWalk
    /// How everything that the walk comes to was seen, as far as it goes down.
    let below: (base: Bool, end: Bool)
    /// Whether surely no record below has a share mark now.
    let isUnmarkedNow: Bool
}

extension GuestFeed {
    /// Goes on with a walk. Returns false when the page is full before its end.
    mutating func finish(_ walk: GuestWalk) throws -> Bool {
        guard let top = walk.top else { return try finishZone(after: walk.last) }
        var last = walk.last
        if progress.round?.phase == .shares {
            // The root of a share is told before what lies below it, and stands for itself as the last that was
            // visited.
            if last == nil {
                guard !page.isFull else { return false }
                try tell(top, .covered)
                progress.round?.walk?.last = top
            } else if last == top {
                last = nil
            }
            guard try isSeenOtherwise(top) else { return true }
        }
        var walker = try walker ?? makeWalker(below: top, after: last)
        defer { self.walker = walker }
        while !page.isFull {
            guard let child = try walker.walk.next() else { return true }
            progress.round?.walk?.last = child.name
            guard try !stops(at: child.name, began: child.began, isUnmarkedNow: walker.isUnmarkedNow) else {
                page.look()
                continue
            }
            try tell(child.name, .covered, below: walker.below)
            if child.mayHaveChildren { try walker.walk.descend(to: child.name) }
        }
        return false
    }

    private func makeWalker(below top: RecordName, after last: RecordName?) throws -> GuestWalker {
        var isUnmarkedNow = false
        if isEndNow {
            // Below a root there is no other (SH-06); elsewhere the counts know.
            if case .share = try history.membership(top, at: now) {
                isUnmarkedNow = true
            } else {
                isUnmarkedNow = try zone.shareCount(of: top, under: history.node(top)?.parent) == 0
            }
        }
        let goesBelow = try last.map { try !stops(at: $0, began: nil, isUnmarkedNow: isUnmarkedNow) } ?? false
        let walk = try PastWalk(below: top, after: last, goesBelowLast: goesBelow, at: end, in: history)
        guard let walk else {
            throw RecordsError(
                .corruption, "A walk of a feed cannot be gone on with: begin without a token.",
                ["zone": zone.id.name.text])
        }
        return GuestWalker(
            walk: walk, below: (try isSeen(top, .base), try isSeen(top, .end)), isUnmarkedNow: isUnmarkedNow)
    }

    /// Whether a walk passes a record over, with all below it: another share decides there, or it has a walk of its
    /// own.
    private func stops(at name: RecordName, began: UInt64?, isUnmarkedNow: Bool) throws -> Bool {
        if try history.mark(name, at: end, isUnmarkedNow: isUnmarkedNow) != nil { return true }
        guard !isFresh else { return false }
        if try history.mark(name, at: progress.base, isUnmarkedNow: isUnmarkedNow) != nil { return true }
        if progress.redelivers { return try history.hasEvents(name, after: progress.base, upTo: end) }
        // The link that held at the end held at the base.
        if let began, began <= progress.base { return false }
        return try isMoved(name)
    }

    // MARK: The whole zone

    /// Names that are read at once.
    private static let nameCount = 256

    private mutating func finishZone(after last: RecordName?) throws -> Bool {
        var last = last
        // Where the whole zone is shared nothing in it is shared otherwise (SH-09): everything that lives is seen.
        let isSimple = isFresh && isEndNow && atEnd.contains(ShareContent.zoneWideName)
        while true {
            let names = try recordNames(after: last, limit: Self.nameCount)
            for (name, isTombstone) in names {
                guard !page.isFull else { return false }
                if !isSimple {
                    try tell(name, .covered)
                } else if isTombstone {
                    page.look()
                } else {
                    try tell(name, .covered, below: (base: false, end: true))
                }
                progress.round?.walk?.last = name
                last = name
            }
            if names.count < Self.nameCount { return true }
        }
    }

    /// The records and tombstones after a name.
    private func recordNames(
        after last: RecordName?, limit: Int
    ) throws -> [(name: RecordName, isTombstone: Bool)] {
        let range = last.map { zone.keys.records(after: $0) } ?? zone.keys.records
        var names: [(name: RecordName, isTombstone: Bool)] = []
        try zone.store.scan(range.keyRange) { key, value in
            let parts = try zone.keys.readRecordKey(key)
            if parts.chunkIndex == nil { names.append((parts.name, try RecordCodec.isTombstone(value))) }
            return names.count < limit ? .next : .stop
        }
        return names
    }
}

// What is told of one record: the decision, and what it asks of the history.

extension GuestFeed {
    /// A moment of the round.
    enum Moment {
        case base
        case end
        case now
    }

    /// Why a record is looked at.
    enum Reason {
        /// It was changed up to the end.
        case changed
        /// It was changed after the end, so that the next round delivers it; whether it is gone is asked here.
        case later
        /// It lies below something that was moved or shared.
        case covered
    }

    func moment(_ moment: Moment) -> UInt64 {
        switch moment {
        case .base: progress.base
        case .end: end
        case .now: now
        }
    }

    func shares(_ moment: Moment) -> Set<RecordName> {
        switch moment {
        case .base: atBase
        case .end: atEnd
        case .now: seenNow
        }
    }

    /// Whether a record, and all below it down to other roots, was seen because of where it hung.
    func isSeen(_ name: RecordName, _ when: Moment) throws -> Bool {
        let shares = shares(when)
        guard !shares.isEmpty else { return false }
        switch try history.membership(name, at: moment(when)) {
        case .absent: return false
        case .none: return shares.contains(SharedAccess.share(decidingFor: nil))
        case .share(let share): return shares.contains(SharedAccess.share(decidingFor: share))
        }
    }

    /// Tells of a record what there is to tell. `known` is what its change says; `below` how everything around it was
    /// seen, where that is known.
    mutating func tell(
        _ name: RecordName, _ reason: Reason, _ known: ChangeEntry.Kind = .saved,
        below: (base: Bool, end: Bool)? = nil
    ) throws {
        page.look()
        let (base, end) = (shares(.base).contains(name), shares(.end).contains(name))
        // A record of a share is seen by whoever has accepted it, wherever it hangs; which records are shares is not
        // asked before there may be something to tell.
        let mayEnd = try end || below?.end ?? isSeen(name, .end)
        guard try mayEnd || base || below?.base ?? isSeen(name, .base) else { return }
        var decoded: DecodedRecord?
        let type: RecordType
        if case .deleted(let deletedType, _) = known {
            type = deletedType
        } else if let found = try zone.decodedRecord(name, fields: fields) {
            (decoded, type) = (found, found.stored.record.type)
        } else {
            type = try deletedType(of: name)
        }
        let isShare = type == ShareContent.recordType
        if isShare ? end : mayEnd {
            guard reason != .later else { return }
            guard let decoded, try isSeenNow(name, isShare: isShare) else {
                progress.round?.willRedeliver = true
                return
            }
            if reason == .covered {
                // Its own change delivers it, in this round or, if it has moved on by then, in the next.
                if !isFresh, isInRound(decoded.stored.system.changeSequence) { return }
                if try !progress.redelivers && wasSeen(name, isShare: isShare, below) { return }
            }
            page.add(try view.shown(decoded), byteCount: QuotaLedger.byteCount(of: decoded.stored.record))
        } else {
            // What was seen may have been deleted, and its name taken by a record of another type.
            let before = try history.deletedType(name, at: progress.base) ?? type
            guard try wasSeen(name, isShare: before == ShareContent.recordType, below) else { return }
            // What was moved tells of itself, everything else is told by what lies above it: once, whatever is written
            // meanwhile, for both follow from the two moments alone.
            guard try isMoved(name) == (reason != .covered) else { return }
            page.add(deletionOf: name, before)
        }
    }

    private func isInRound(_ sequence: UInt64) -> Bool { sequence > progress.base && sequence <= end }

    private func isSeenNow(_ name: RecordName, isShare: Bool) throws -> Bool {
        guard !isEndNow else { return true }
        if seenNow.contains(name) { return true }
        return try !isShare && isSeen(name, .now)
    }

    private func wasSeen(_ name: RecordName, isShare: Bool, _ below: (base: Bool, end: Bool)?) throws -> Bool {
        if atBase.contains(name) { return true }
        guard !isShare else { return false }
        return try below?.base ?? isSeen(name, .base)
    }

    private func deletedType(of name: RecordName) throws -> RecordType {
        guard case .deleted(let tombstone) = try zone.state(of: name) else {
            throw RecordsError(
                .corruption, "A record was there and left nothing behind: verify the store.",
                ["record": name.text, "zone": zone.id.name.text])
        }
        return tombstone.type
    }
}
