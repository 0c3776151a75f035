// References with `deleteSelf`: who goes with a deleted record, and how many may point at one (L-05).

import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

/// A record that a request deletes, asked for or by a cascade. Its values are not kept: a cascade may be long.
struct RemovedRecord {
    let name: RecordName
    /// What it costs its owner.
    let byteCount: Int64
    let assets: [AssetDescriptor: Int]
    /// The record whose deletion was asked for and that leads to this one; the record itself when it was asked for.
    let cause: RecordName
}

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

    /// Everything that is deleted with `names`: the records themselves and, at any depth, those that hold a
    /// `deleteSelf` reference to one of them, but for those in `kept`. Records that do not exist are left out.
    ///
    /// Throws `CloudError` with `limitExceeded` beyond `limit` records.
    func removed(
        with names: [RecordName], keeping kept: Set<RecordName>, limit: Int
    ) throws -> [RemovedRecord] {
        var removed: [RemovedRecord] = []
        var known = Set(names)
        var queue = names.map { (name: $0, cause: $0) }
        var position = 0
        while position < queue.count {
            let (name, cause) = queue[position]
            position += 1
            guard let stored = try record(name) else { continue }
            // A user record stays whatever it points at (S-15).
            if name != cause, stored.record.type == AccessVerdict.usersType { continue }
            removed.append(
                RemovedRecord(
                    name: name, byteCount: QuotaLedger.byteCount(of: stored.record), assets: stored.record.assets,
                    cause: cause))
            guard removed.count <= limit else {
                throw CloudError(
                    .limitExceeded, inner: CloudError.InnerCode.limit,
                    "More records would be deleted than one transaction takes: delete some of them first.",
                    ["limit": "\(limit)", "zone": id.name.text])
            }
            try visitOwned(by: name) { source in
                if !kept.contains(source), known.insert(source).inserted { queue.append((source, cause)) }
                return .next
            }
        }
        return removed
    }
}

extension Record {
    /// The records that this one is deleted with.
    var owners: Set<RecordName> {
        var owners: Set<RecordName> = []
        for field in fields.values { Self.collect(field.value, into: &owners) }
        return owners
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
