// Who goes with deleted records: at any depth those that hold a `deleteSelf` reference to one of them, and the
// share of a root (SH-11). The whole of a cascade goes in one commit, so one that is too long for it is not done at all,
// and is the error of the deletion that was asked for; the other deletions of the request are not the worse for it.

import StratusModel
import StratusRecords
import StratusStore

/// A record that a request deletes, asked for or by a cascade. Its values are not kept: a cascade may be long. Only what
/// the server keeps of a share is.
struct RemovedRecord {
    let name: RecordName
    /// What it costs its owner.
    let byteCount: Int64
    let assets: [AssetDescriptor: Int]
    /// The record whose deletion was asked for and that leads to this one; the record itself when it was asked for.
    let cause: RecordName
    /// Its share, where it is a root.
    let share: RecordName?
    /// Who takes part, where it is a share.
    let content: ShareContent?

    init(_ record: Record, cause: RecordName) throws {
        name = record.name
        byteCount = QuotaLedger.byteCount(of: record)
        assets = record.assets
        self.cause = cause
        share = record.share
        content = record.type == ShareContent.recordType ? try record.shareContent() : nil
    }
}

/// What deletions come to.
struct Cascades {
    /// The records that are there, each once.
    private(set) var removed: [RemovedRecord] = []
    /// The deletions that would take too many records along. What only they lead to is not in `removed`.
    private(set) var errors: [RecordName: CloudError] = [:]

    /// Records that a request saves are in `kept`: no cascade takes them along. At most `limit` records are removed.
    /// `visitCount` is how many records may be looked at in all; it is counted down. Of the records that were not named
    /// only those go along of which `isTaken` says so.
    init(
        of names: [RecordName], keeping kept: Set<RecordName>, limit: Int, visitCount: inout Int, in zone: ZoneReader,
        taking isTaken: (RecordName) throws -> Bool
    ) throws {
        var known = Set(names)
        for cause in names {
            var queue = [cause]
            var found: [RemovedRecord] = []
            var position = 0
            while position < queue.count {
                let name = queue[position]
                position += 1
                guard let stored = try zone.record(name) else { continue }
                // A user record stays whatever it points at (S-15).
                if name != cause, stored.record.type == AccessVerdict.usersType { continue }
                guard removed.count + found.count < limit, visitCount > 0 else {
                    errors[cause] = Self.tooLong(cause, ["recordLimit": "\(limit)"])
                    break
                }
                visitCount -= 1
                found.append(try RemovedRecord(stored.record, cause: cause))
                // A share goes with its root (SH-11).
                if let share = stored.record.share, !kept.contains(share), !known.contains(share), try isTaken(share) {
                    known.insert(share)
                    queue.append(share)
                }
                try zone.visitOwned(by: name) { source in
                    guard !kept.contains(source), !known.contains(source), try isTaken(source) else { return .next }
                    known.insert(source)
                    queue.append(source)
                    return .next
                }
            }
            if errors[cause] == nil { removed += found } else { known.subtract(queue.dropFirst()) }
        }
    }

    /// `limit` names what there is too much of, records or bytes, and how much one transaction takes.
    static func tooLong(_ cause: RecordName, _ limit: [String: String]) -> CloudError {
        CloudError(
            .limitExceeded, inner: CloudError.InnerCode.limit,
            "More records would be deleted than one transaction takes: delete some of them first.",
            limit.merging(["record": cause.text]) { own, _ in own })
    }
}
