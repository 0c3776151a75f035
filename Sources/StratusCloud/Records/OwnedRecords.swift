// References with `deleteSelf`: how many records may point at one with it (L-05).

import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

extension ZoneReader {
    /// Visits the records that hold a `deleteSelf` reference to a record, in the byte order of their names.
    func visitOwned(by target: RecordName, _ visit: (RecordName) throws -> ScanStep) throws {
        var last: RecordName?
        try store.scan(keys.references(to: target).keyRange) { key, _ in
            let parts = try keys.readReferenceKey(key)
            guard parts.action == .deleteSelf, parts.source != last else { return .next }
            last = parts.source
            return try visit(parts.source)
        }
    }
}

extension Record {
    /// The records that this one is deleted with.
    var owners: Set<RecordName> {
        var owners: Set<RecordName> = []
        for field in fields.values { Self.collect(field.value, into: &owners) }
        return owners
    }

    /// Makes the references to these records such as delete nothing. What they take of the record's size stays.
    mutating func removeOwners(_ targets: Set<RecordName>) {
        for (key, field) in fields {
            guard let value = Self.disowning(field.value, targets) else { continue }
            fields[key] = Field(value, isEncrypted: field.isEncrypted)
        }
    }

    /// The value without `deleteSelf` references to these records; nil where it has none.
    private static func disowning(_ value: FieldValue, _ targets: Set<RecordName>) -> FieldValue? {
        switch value {
        case .reference(let reference) where reference.action == .deleteSelf && targets.contains(reference.target):
            return .reference(RecordReference(target: reference.target, action: .none))
        case .list(let items):
            let changed = items.map { disowning($0, targets) }
            guard changed.contains(where: { $0 != nil }) else { return nil }
            return .list(zip(items, changed).map { $1 ?? $0 })
        default: return nil
        }
    }

    private static func collect(_ value: FieldValue, into owners: inout Set<RecordName>) {
        switch value {
        case .reference(let reference) where reference.action == .deleteSelf: owners.insert(reference.target)
        case .list(let items): for item in items { collect(item, into: &owners) }
        default: break
        }
    }
}

/// How many records point at one with `deleteSelf`, after a request.
struct OwnedRecordLimit {
    let zone: ZoneReader
    let limit: Int

    /// The saves that would make too many records point at one. Of the saves that add one the first are let through.
    ///
    /// One seek for every record that a save newly points at.
    func errors(saves: [JudgedSave], removed: Set<RecordName>) throws -> [RecordName: CloudError] {
        var added: [RecordName: [RecordName]] = [:]
        for save in saves {
            let before = save.old?.record.owners ?? []
            for target in save.record.owners where !before.contains(target) {
                added[target, default: []].append(save.name)
            }
        }
        guard !added.isEmpty else { return [:] }
        var afterwards: [RecordName: Set<RecordName>] = [:]
        for save in saves { afterwards[save.name] = save.record.owners }
        var errors: [RecordName: CloudError] = [:]
        for (target, names) in added {
            var count = 0
            try zone.visitOwned(by: target) { source in
                let stays = !removed.contains(source) && afterwards[source]?.contains(target) != false
                if stays { count += 1 }
                return count > limit ? .stop : .next
            }
            for name in names.dropFirst(max(0, limit - count)) {
                errors[name] = CloudError(
                    .limitExceeded, inner: CloudError.InnerCode.limit,
                    "Limit exceeded for number of owning references to single record",
                    ["record": name.text, "target": target.text, "limit": "\(limit)"])
            }
        }
        return errors
    }
}

// Who goes with deleted records: at any depth those that hold a `deleteSelf` reference to one of them, and the
// share of a root (SH-11). The whole of a cascade goes in one commit, so one that is too long for it is not done at all,
// and is the error of the deletion that was asked for; the other deletions of the request are not the worse for it.

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
