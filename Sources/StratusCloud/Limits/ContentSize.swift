// How many bytes a record's content counts for the limits of records and requests: names and values, assets not. An item
// of a list counts a byte at least, so that no list is free.

import StratusModel

extension FieldValue {
    /// The bytes of the value; an asset counts nothing (L-03).
    package var contentByteCount: Int {
        switch self {
        case .string(let text): text.utf8.count
        case .int64, .double, .date: 8
        case .bytes(let bytes): bytes.count
        case .location: 64
        case .reference(let reference): reference.target.text.utf8.count + 1
        case .asset: 0
        case .list(let items): items.reduce(0) { $0 + max(1, $1.contentByteCount) }
        }
    }
}

extension Record {
    /// The bytes of the record's keys and values (L-03). Who takes part in a share does not count.
    package var contentByteCount: Int {
        var sum = 0
        for (key, field) in fields where key != ShareContent.fieldKey {
            sum += key.text.utf8.count + field.value.contentByteCount
        }
        return sum
    }
}

extension ClientValue {
    /// The bytes of the value; an asset counts nothing (L-01).
    package var contentByteCount: Int {
        switch self {
        case .string(let text): text.utf8.count
        case .int64, .double, .date: 8
        case .bytes(let bytes): bytes.count
        case .location: 64
        case .reference(let reference): reference.target.recordName.utf8.count + 1
        case .asset: 0
        case .list(let items): items.reduce(0) { $0 + max(1, $1.contentByteCount) }
        }
    }
}

extension RecordSave {
    /// The bytes that the save sends under a policy (L-01).
    package func contentByteCount(_ policy: SavePolicy) -> Int {
        sentKeys(policy).reduce(address.recordName.utf8.count + (sharing?.contentByteCount ?? 0)) { sum, key in
            sum + key.utf8.count + (fields[key]?.value.contentByteCount ?? 0)
        }
    }

    /// The keys whose values the save writes: those set by the client; with `allKeys`, and of a record that was never
    /// saved, all it holds (S-01, S-02).
    package func sentKeys(_ policy: SavePolicy) -> Set<String> {
        guard policy == .allKeys || baseTag == nil else { return changedKeys }
        return fields.keys.allSatisfy(changedKeys.contains) ? changedKeys : changedKeys.union(fields.keys)
    }
}

extension ShareClaim {
    /// The bytes of all that the claim names (L-01).
    var contentByteCount: Int {
        let people = [denied, blocked, unblocked].joined().reduce(0) { $0 + $1.utf8.count + 1 }
        return participants.reduce(people + (root?.recordName.utf8.count ?? 0)) { sum, participant in
            sum + participant.id.utf8.count + (participant.lookup?.contentByteCount ?? 0) + 4
        }
    }
}

extension IdentityLookup {
    fileprivate var contentByteCount: Int {
        switch self {
        case .email(let text), .phone(let text), .userRecord(let text): text.utf8.count
        }
    }
}
