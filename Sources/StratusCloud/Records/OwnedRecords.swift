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
