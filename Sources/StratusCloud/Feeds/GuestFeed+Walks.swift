// The walks of a round: what lay below a record at its end, and the whole zone.

import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

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
            // The root of a share is told before what lies below it, and stands for itself as the last that was visited.
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

    /// Whether a walk passes a record over, with all below it: another share decides there, or it has a walk of its own.
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
