// What is told of one record: the decision, and what it asks of the history.

import StratusLayout
import StratusModel
import StratusRecords

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
