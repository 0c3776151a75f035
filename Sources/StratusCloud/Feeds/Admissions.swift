// Which shares of a zone one person could see at which moment: what they have accepted that lets them see it, and what of
// that has ended (P-09, `SharedAccess`).

import FoundationEssentials
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

struct Admissions {
    /// A time in which the person saw a share.
    private struct Stay {
        let share: RecordName
        let began: UInt64
        /// Nil while it lasts.
        let ended: UInt64?

        func contains(_ moment: UInt64) -> Bool { began <= moment && ended.map { moment < $0 } ?? true }
    }

    private var stays: [Stay] = []

    /// What is needed for moments from `start` on: two seeks.
    init(of user: UserName, to zone: ZoneReader, identity: UUID, since start: UInt64) throws {
        try zone.store.scan(GlobalKeys.acceptances(of: user, zone: identity).keyRange) { key, value in
            let entry = try AcceptanceEntry(decoding: value)
            guard entry.isOf(zone.id), SharedAccess(entry).isAdmitted else { return .next }
            let share = try GlobalKeys.readAcceptanceKey(key).share
            stays.append(Stay(share: share, began: entry.since, ended: nil))
            return .next
        }
        try zone.store.scan(zone.keys.endedAcceptances(of: user, after: start).keyRange) { key, value in
            let parts = try zone.keys.readEndedAcceptanceKey(key)
            let began = try EndedAcceptanceEntry(decoding: value).began
            stays.append(Stay(share: parts.share, began: began, ended: parts.ended))
            return .next
        }
    }

    /// The shares that the person saw at a moment; none at 0, when there was nothing.
    func shares(at moment: UInt64) -> Set<RecordName> {
        guard moment > 0 else { return [] }
        return Set(stays.lazy.filter { $0.contains(moment) }.map(\.share))
    }

    /// The shares that the person began or ceased to see after one moment and up to another, by name. Where it is the
    /// same at both, only `countingReturns` names them.
    func changed(after start: UInt64, upTo end: UInt64, countingReturns: Bool) -> [RecordName] {
        let (before, after) = (shares(at: start), shares(at: end))
        var changed = before.symmetricDifference(after)
        if countingReturns {
            for stay in stays {
                let isWithin = { (sequence: UInt64) in sequence > start && sequence <= end }
                if isWithin(stay.began) || stay.ended.map(isWithin) ?? false { changed.insert(stay.share) }
            }
        }
        return changed.sorted()
    }
}
