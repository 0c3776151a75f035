// The feed of a zone for a person who sees a part of it. It is exact: applied to what they had, it gives precisely what
// they may see, and it never names a record that they could not see.
//
// The token holds a *base*: a sequence up to which everything was delivered. A *round* leads from the base to an *end*,
// the zone's last change when the round starts. What the person saw at base and end follows from the history, which no
// longer changes. So a round may take many pages, from many snapshots, and is still one comparison of two states:
//
//   seen at the end                    delivered, if it has changed or was not seen at the base
//   not at the end, but at the base    reported as deleted
//   at neither                         skipped
//
// Three phases find the records that can differ, without reading the others:
//
//   1. shares         that the person started or stopped seeing: everything below their roots at the end; or the whole
//                     zone, and then no other walks are needed
//   2. changes        up to the end: the records themselves and, if one has another parent or share mark than at the
//                     base, everything below it at the end
//   3. later changes  of records that were also moved up to the end: the entry of a change moves with the next change
//
// The entry of a change names the parent of the record. If nothing of the record has ended since the base, and nothing
// below that parent was seen at base or end, the change is passed without looking the record up.
//
// A record whose visibility differs has among its ancestors at the end a record of 2 or 3, or the root of a share of 1.
// A walk stops at records that have their own walk, and at roots, below which other shares decide.
//
// A page only has records that the person may also see in the page's own snapshot. A record that was seen at the end,
// but no longer when its turn comes, is withheld, and the token remembers this: then the next round delivers everything
// below the records that changed since, even if it was seen at both base and end.
//
// If nothing was seen at the base, everything seen at the end is below roots of 1: the zone's changes, of any number,
// are not read.

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
    /// What is seen at the base, at the end, and now.
    var atBase = GuestSight()
    var atEnd = GuestSight()
    var atNow = GuestSight()
    /// The current walk of the round.
    var walker: GuestWalker?
    var changedShares: [RecordName] = []
    /// Whether the round reads every record of the zone, so that no other walks are needed.
    var coversZone = false
    var batch: ArraySlice<LatestWrite> = []
    /// Where reads are trips, the sequences of the batch's changes that are known to be unseen.
    var unseenSequences: Set<UInt64> = []
    /// Records below which nothing was seen, neither at the base nor at the end of the round, and the last of them.
    var unseenParents: Set<RecordName> = []
    var lastUnseenParent: RecordName?

    /// The end of the round.
    var end: UInt64 { progress.round?.end ?? progress.base }
    /// Whether nothing was seen at the base.
    var isFresh: Bool { atBase.shares.isEmpty }
    /// Whether the end is the page's own snapshot.
    var isEndNow: Bool { end == now }

    /// Fills the page, and advances the progress.
    mutating func run() throws {
        atNow = admissions.sight(at: now)
        while progress.round != nil || progress.base < now {
            if progress.round == nil { progress.round = GuestRound(end: now) }
            atBase = admissions.sight(at: progress.base)
            atEnd = admissions.sight(at: end)
            changedShares = admissions.changed(
                after: progress.base, upTo: end, countingReturns: progress.redelivers && !isFresh)
            coversZone = changedShares.contains(ShareContent.zoneWideName)
            if coversZone { changedShares = [ShareContent.zoneWideName] }
            walker = nil
            batch = []
            (unseenParents, lastUnseenParent) = ([], nil)
            guard try finishRound() else {
                page.isMoreComing = true
                return
            }
            progress = GuestProgress(base: end, redelivers: progress.round?.willRedeliver ?? false)
        }
    }

    /// Continues the round. Returns false if the page is full before its end.
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
                if try isUnseen(change) {
                    page.look()
                    continue
                }
                if try tell(change.name, .changed, change.kind) { try walkBelow(change.name) }
            case .laterChanges:
                guard let change = try nextChange(upTo: now) else { return true }
                guard !page.isFull else { return false }
                take(change)
                page.look()
                guard try !isUnseen(change), try isMoved(change.name) else { continue }
                if try tell(change.name, .later, change.kind) { try walkBelow(change.name) }
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
    static let batchCount = 256

    private mutating func nextChange(upTo last: UInt64) throws -> LatestWrite? {
        if batch.isEmpty, let round = progress.round, round.sequence < last {
            let changes = try zone.changes(
                after: round.sequence, upTo: last, limit: Self.batchCount, withPlaces: true)
            try history.loadMoves(forChanges: changes.count)
            if let reads = zone.reads { try announce(changes, reads) }
            batch = changes[...]
        }
        return batch.first
    }

    private mutating func take(_ change: LatestWrite) {
        batch.removeFirst()
        progress.round?.sequence = change.sequence
    }

    /// Whether the entry of a change suffices to tell that the person saw the record neither at the base nor at the
    /// end, without looking the record up. Its place at both is the one that the entry names, or it did not exist.
    mutating func isUnseen(_ change: LatestWrite) throws -> Bool {
        if !unseenSequences.isEmpty, unseenSequences.contains(change.sequence) { return true }
        guard case .saved(.below(let parent)) = change.kind, !atEnd.sees(change.name), !atBase.sees(change.name),
            try !history.mayHaveMoved(change.name, after: progress.base)
        else { return false }
        guard let parent else {
            let deciding = SharedAccess.share(decidingFor: nil)
            return !atEnd.sees(deciding) && !atBase.sees(deciding)
        }
        if lastUnseenParent == parent { return true }
        if !unseenParents.contains(parent) {
            // A record that has changed up to the end had its parent there.
            let isParentThere = change.sequence <= end
            let membership =
                try isParentThere
                ? history.membership(of: parent, above: change.name, at: end) : history.membership(parent, at: end)
            guard !membership.isSeen(atEnd) else { return false }
            guard try !isSeen(parent, atBase) else { return false }
            unseenParents.insert(parent)
        }
        lastUnseenParent = parent
        return true
    }

    /// Whether a record has another parent or share mark at the end than at the base, and so its own walk. If something
    /// was withheld, whether any such change happened between them.
    func isMoved(_ name: RecordName) throws -> Bool {
        if progress.redelivers { return try history.hasEvents(name, after: progress.base, upTo: end) }
        return try history.node(name, at: progress.base) != history.node(name, at: end)
    }

    /// Starts the walk below a moved record, if the visibility below it has changed.
    private mutating func walkBelow(_ name: RecordName) throws {
        if coversZone { return }
        if isEndNow, try history.node(name)?.hasChildren != true { return }
        guard try isMoved(name), try history.node(name, at: progress.base) != nil,
            try history.node(name, at: end) != nil
        else { return }
        if try isSeenOtherwise(name) { progress.round?.walk = GuestWalk(top: name) }
    }

    /// Whether the visibility below a record has changed, or the records there must be delivered again.
    func isSeenOtherwise(_ name: RecordName) throws -> Bool {
        let (before, after) = (try isSeen(name, atBase), try isSeen(name, atEnd))
        return before != after || (progress.redelivers && after)
    }

    // MARK: Shares

    /// Delivers the effects of starting or stopping to see a share: its record, its root, and everything below; for a
    /// share of the whole zone everything.
    private mutating func tell(of share: RecordName) throws {
        page.look()
        guard share != ShareContent.zoneWideName else {
            progress.round?.walk = GuestWalk(top: nil)
            return
        }
        if let reads = zone.reads {
            reads.records(CollectionOfOne(share))
            reads.places(of: CollectionOfOne(share))
        }
        try tell(share, .covered)
        let content = try zone.record(share)?.record.shareContent()
        if let reads = zone.reads, let root = content?.root { announce(root: root, reads) }
        guard let root = try history.root(of: share, at: end, now: content?.root) else { return }
        // The share was created or ended since, so the root has its own walk.
        guard try isFresh || !isMoved(root) else { return }
        progress.round?.walk = GuestWalk(top: root)
    }
}

// MARK: Walks

/// A walk of a round, in progress: below a record as of the end.
struct GuestWalker {
    var walk: PastWalk
    /// Whether the records on the walk were seen at base and end.
    let below: (base: Bool, end: Bool)
    /// Whether it is certain that no record below has a share mark now.
    let isUnmarkedNow: Bool
}

extension GuestFeed {
    /// Continues a walk. Returns false if the page is full before its end.
    mutating func finish(_ walk: GuestWalk) throws -> Bool {
        guard let top = walk.top else { return try finishZone(after: walk.last) }
        var last = walk.last
        if progress.round?.phase == .shares {
            // The root of a share comes before the records below it, and marks itself as the last visited record.
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
            throw StoreError(
                .corruption, "A walk of a feed cannot continue. Start without a token.",
                ["zone": zone.id.name.text])
        }
        return GuestWalker(
            walk: walk, below: (try isSeen(top, atBase), try isSeen(top, atEnd)), isUnmarkedNow: isUnmarkedNow)
    }

    /// Whether a walk skips a record with everything below it: another share decides there, or it has its own walk.
    private func stops(at name: RecordName, began: UInt64?, isUnmarkedNow: Bool) throws -> Bool {
        if try history.mark(name, at: end, isUnmarkedNow: isUnmarkedNow) != nil { return true }
        guard !isFresh else { return false }
        if try history.mark(name, at: progress.base, isUnmarkedNow: isUnmarkedNow) != nil { return true }
        if progress.redelivers { return try history.hasEvents(name, after: progress.base, upTo: end) }
        // The link at the end is the same as at the base.
        if let began, began <= progress.base { return false }
        return try isMoved(name)
    }

    // MARK: The whole zone

    /// Names that are read at once.
    private static let nameCount = 256

    private mutating func finishZone(after last: RecordName?) throws -> Bool {
        var last = last
        // A zone that is shared as a whole has no other shares (SH-09): every live record is seen.
        let isSimple = isFresh && isEndNow && atEnd.sees(ShareContent.zoneWideName)
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
        let range = zone.keys.records(after: last)
        var names: [(name: RecordName, isTombstone: Bool)] = []
        zone.reads?.announce(range, limit: limit)
        try zone.store.scan(range) { key, value in
            let parts = try zone.keys.readRecordKey(key)
            if parts.chunkIndex == nil { names.append((parts.name, try RecordCodec.isTombstone(value))) }
            return names.count < limit ? .next : .stop
        }
        return names
    }
}

// MARK: One record

extension GuestFeed {
    /// Why a record is checked.
    enum Reason {
        /// It has changed up to the end.
        case changed
        /// It has changed after the end, so the next round delivers it; this round only checks whether it is gone.
        case later
        /// It is below a record that was moved or shared.
        case covered
    }

    /// Whether a record, with everything below it down to other roots, was seen because of its place.
    func isSeen(_ name: RecordName, _ sight: GuestSight) throws -> Bool {
        guard !sight.shares.isEmpty else { return false }
        return try history.membership(name, at: sight.sequence).isSeen(sight)
    }

    /// Delivers a record or its deletion, if necessary. `known` is the kind of its change; `below` is whether the
    /// records around it were seen, if known.
    ///
    /// Returns false if the person saw neither the record nor its place, at base or end.
    @discardableResult
    mutating func tell(
        _ name: RecordName, _ reason: Reason, _ known: ChangeEntry.Kind = .saved(.unsaid),
        below: (base: Bool, end: Bool)? = nil
    ) throws -> Bool {
        page.look()
        guard let mayEnd = try mayBeSeen(name, below) else { return false }
        try tellSeen(name, reason, known, below, mayEnd: mayEnd)
        return true
    }

    /// Whether a record may be seen at the end; nil if neither there nor at the base. Everyone who has accepted a share
    /// sees its record, in any place.
    private func mayBeSeen(_ name: RecordName, _ below: (base: Bool, end: Bool)?) throws -> Bool? {
        // No `||` and `??`: each would copy this feed for its right side, and most changes are not seen.
        if atEnd.sees(name) { return true }
        let isBelowSeen = if let below { below.end } else { try isSeen(name, atEnd) }
        if isBelowSeen { return true }
        if atBase.sees(name) { return false }
        let wasBelowSeen = if let below { below.base } else { try isSeen(name, atBase) }
        return wasBelowSeen ? false : nil
    }

    private mutating func tellSeen(
        _ name: RecordName, _ reason: Reason, _ known: ChangeEntry.Kind, _ below: (base: Bool, end: Bool)?,
        mayEnd: Bool
    ) throws {
        // The record's type is only read if there may be something to deliver.
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
        if isShare ? atEnd.sees(name) : mayEnd {
            guard reason != .later else { return }
            guard let decoded, try isSeenNow(name, isShare: isShare) else {
                progress.round?.willRedeliver = true
                return
            }
            if reason == .covered {
                // Its own change delivers it, in this round or, after a later change, in the next.
                let sequence = decoded.stored.system.changeSequence
                if !isFresh, sequence > progress.base, sequence <= self.end { return }
                if try !progress.redelivers && wasSeen(name, isShare: isShare, below) { return }
            }
            page.add(try view.shown(decoded), byteCount: QuotaLedger.byteCount(of: decoded))
        } else {
            // The seen record may have been deleted, and its name reused by a record of another type.
            let before = try history.deletedType(name, at: progress.base) ?? type
            guard try wasSeen(name, isShare: before == ShareContent.recordType, below) else { return }
            // A moved record is reported on its own account, every other one because of a record above it. Both follow
            // only from base and end, so each record is reported once even if others write meanwhile.
            guard try isMoved(name) == (reason != .covered) else { return }
            page.add(deletionOf: name, before)
        }
    }

    private func isSeenNow(_ name: RecordName, isShare: Bool) throws -> Bool {
        guard !isEndNow else { return true }
        if atNow.sees(name) { return true }
        return try !isShare && isSeen(name, atNow)
    }

    private func wasSeen(_ name: RecordName, isShare: Bool, _ below: (base: Bool, end: Bool)?) throws -> Bool {
        if atBase.sees(name) { return true }
        guard !isShare else { return false }
        return try below?.base ?? isSeen(name, atBase)
    }

    private func deletedType(of name: RecordName) throws -> RecordType {
        guard case .deleted(let tombstone) = try zone.state(of: name) else {
            throw StoreError(
                .corruption, "A deleted record has no tombstone. Verify the store.",
                ["record": name.text, "zone": zone.id.name.text])
        }
        return tombstone.type
    }
}

extension PastMembership {
    /// Whether a person saw the records of this membership, because of their place.
    func isSeen(_ sight: GuestSight) -> Bool {
        switch self {
        case .absent: false
        case .none: sight.sees(SharedAccess.share(decidingFor: nil))
        case .share(let share): sight.sees(SharedAccess.share(decidingFor: share))
        }
    }
}
