// References with `deleteSelf`: how many records may point at one record with it (L-05), and the cascade of a deletion
//
//
// A cascade deletes, at any depth, the records that hold a `deleteSelf` reference to a deleted record, and the share of
// a deleted root (SH-11). A whole cascade is one commit. One that is too long for a commit is not applied, and becomes
// the error of the deletion that the request named; it does not affect the other deletions of the request.

import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

extension ZoneReader {
    /// Visits the records that hold a `deleteSelf` reference to a record, in the byte order of their names.
    func visitOwned(by target: RecordName, _ visit: (RecordName) throws -> ScanStep) throws {
        var last: RecordName?
        try store.scan(keys.references(to: target)) { key, _ in
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

    /// Removes the action of the references to these records. Their size stays the same.
    mutating func removeOwners(_ targets: Set<RecordName>) {
        for (key, field) in fields {
            guard let value = Self.disowning(field.value, targets) else { continue }
            fields[key] = Field(value, isEncrypted: field.isEncrypted)
        }
    }

    /// The value without `deleteSelf` references to these records; nil if it has none.
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
extension ZoneReader {
    /// The saves that would make too many records point at one. The first saves that still fit are accepted.
    ///
    /// One seek for every record that a save newly points at.
    func owningErrors(
        of saves: [JudgedSave], removed: Set<RecordName>, limit: Int
    ) throws -> [RecordName: CloudError] {
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
            try visitOwned(by: target) { source in
                let stays = !removed.contains(source) && afterwards[source]?.contains(target) != false
                if stays { count += 1 }
                return count > limit ? .stop : .next
            }
            for name in names.dropFirst(max(0, limit - count)) {
                errors[name] = CloudError.overLimit(
                    "Limit exceeded for number of owning references to single record", limit: limit,
                    ["record": name.text, "target": target.text])
            }
        }
        return errors
    }
}

/// A record that a request deletes, by name or by a cascade. It does not keep the record's values, because a cascade
/// may be long, except for the content of a share.
struct RemovedRecord {
    let name: RecordName
    /// How much of its owner's quota it uses.
    let byteCount: Int64
    let assets: [AssetDescriptor: Int]
    /// The named record whose deletion causes this one; the record itself if the request names it.
    let cause: RecordName
    /// Its share, if it is a root.
    let share: RecordName?
    /// Its participants, if it is a share.
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

/// What the cascades of one transaction may still do, in all attempts together.
struct CascadeBudget {
    /// The records that may be visited.
    var visitCount: Int
    /// What the visits may count against the limit of the transaction. Deleting a record counts about six times as much
    /// as visiting it, so a cascade that needs more does not fit; and other items must find room after its refusal.
    var byteCount = StoreLimits.maximumTransactionByteCount / 4

    init(visitCount: Int) { self.visitCount = visitCount }
}

/// The effect of deletions.
struct Cascades {
    /// The records that exist, each once.
    private(set) var removed: [RemovedRecord] = []
    /// The deletions whose cascades are too long. Records that only these reach are not in `removed`.
    private(set) var errors: [RecordName: CloudError] = [:]

    /// `kept` are the records that the request saves: no cascade deletes them. At most `limit` records are removed.
    /// `budget` is counted down. A cascade only includes records for which `isIncluded` returns true.
    init(
        of names: [RecordName], keeping kept: Set<RecordName>, limit: Int, budget: inout CascadeBudget,
        in zone: ZoneReader, _ transaction: RecordTransaction, including isIncluded: (RecordName) throws -> Bool
    ) throws {
        var known = Set(names)
        zone.reads?.deletions(of: names, limit: budget.visitCount)
        for cause in names {
            var queue = [cause]
            var found: [RemovedRecord] = []
            var position = 0
            var levelEnd = 1
            while position < queue.count {
                if position == levelEnd {
                    // Announce everything that the previous level has added.
                    zone.reads?.deletions(of: queue[position...], limit: budget.visitCount)
                    levelEnd = queue.count
                }
                let name = queue[position]
                position += 1
                let countedByteCount = transaction.countedByteCount
                defer { budget.byteCount -= transaction.countedByteCount - countedByteCount }
                guard let stored = try zone.record(name) else { continue }
                // A cascade never deletes a user record (S-15).
                if name != cause, stored.record.type == AccessVerdict.usersType { continue }
                guard removed.count + found.count < limit, budget.visitCount > 0 else {
                    errors[cause] = Self.tooLong(cause, ["recordLimit": "\(limit)"])
                    break
                }
                guard budget.byteCount > 0 || name == cause else {
                    errors[cause] = Self.tooLong(
                        cause, ["byteLimit": "\(StoreLimits.maximumTransactionByteCount)"])
                    break
                }
                budget.visitCount -= 1
                found.append(try RemovedRecord(stored.record, cause: cause))
                // A share goes with its root (SH-11).
                if let share = stored.record.share, !kept.contains(share), !known.contains(share), try isIncluded(share)
                {
                    known.insert(share)
                    queue.append(share)
                }
                try zone.visitOwned(by: name) { source in
                    guard !kept.contains(source), !known.contains(source), try isIncluded(source) else { return .next }
                    known.insert(source)
                    queue.append(source)
                    return .next
                }
            }
            if errors[cause] == nil { removed += found } else { known.subtract(queue.dropFirst()) }
        }
    }

    /// `limit` names the exceeded limit of a transaction, records or bytes, and its value.
    static func tooLong(_ cause: RecordName, _ limit: [String: String]) -> CloudError {
        CloudError(
            .limitExceeded, inner: CloudError.InnerCode.limit,
            "The deletion includes more records than one transaction can hold. Delete some of them first.",
            limit.merging(["record": cause.text]) { own, _ in own })
    }
}
