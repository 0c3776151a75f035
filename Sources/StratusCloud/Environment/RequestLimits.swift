// The limits of a request as a whole, how many bytes the content of a record counts for them, and the valid names of
// records and zones (L-07, L-08). The schema has the rules for types and fields (L-09).
//
// The size of a content is that of its names and values, without assets. An item of a list counts at least one byte, so
// that no list is free.

import StratusModel

/// The limits of a request as a whole (L-01), also for callers that need them before a request.
package struct RequestSize: Hashable, Codable, Sendable {
    /// Items of any kind.
    package var itemCount: Int
    /// Bytes of records, assets not counted.
    package var byteCount: Int

    package init(_ options: CloudOptions = CloudOptions()) {
        itemCount = options.requestItemCount
        byteCount = options.requestByteCount
    }

    /// Throws `limitExceeded` for more items than one request may have. The client splits the request.
    package func check(itemCount: Int) throws(CloudError) {
        guard itemCount > self.itemCount else { return }
        throw CloudError.overLimit(
            "The request has too many items. Split it in half.", limit: self.itemCount, ["items": "\(itemCount)"])
    }

    /// Throws `limitExceeded` for more bytes than one request may have.
    func check(byteCount: Int) throws(CloudError) {
        guard byteCount > self.byteCount else { return }
        throw CloudError.overLimit(
            "The request is too large. Split it in half.", limit: self.byteCount, ["bytes": "\(byteCount)"])
    }
}

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
    /// The bytes of the record's keys and values (L-03). The participants of a share do not count.
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

    /// The keys whose values the save writes: those that the client set; with `allKeys`, and for a record that was
    /// never saved, all keys it holds (S-01, S-02).
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

/// The valid names of records and zones.
enum NameRules {
    static let maximumCharacterCount = 255

    /// Why a record may not have this name, or nil.
    static func recordNameError(_ name: String) -> CloudError? {
        // 255 UTF-16 units are at least a third of that many bytes, so most names need no second count.
        guard name.isEmpty || name.utf8.count > maximumCharacterCount else { return nil }
        guard name.isEmpty || name.utf16.count > maximumCharacterCount else { return nil }
        return CloudError(
            .invalidArguments, "A record name must have 1 to 255 characters. Choose another.",
            ["characters": "\(name.utf16.count)"])
    }

    /// Whether a zone can have this name at all.
    static func isZoneName(_ name: String) -> Bool {
        if name == ZoneAddress.defaultZoneName { return true }
        guard let first = name.utf8.first, first != UInt8(ascii: "_") else { return false }
        return name.utf8.count <= maximumCharacterCount && name.utf8.allSatisfy { $0 < 0x80 }
    }

    /// Why a zone of this name cannot be created, or nil.
    static func zoneNameError(_ name: String) -> CloudError? {
        guard !isZoneName(name) else { return nil }
        return CloudError(
            .invalidArguments, "A zone name has 1 to 255 ASCII characters and does not begin with an underscore.",
            ["characters": "\(name.utf16.count)"])
    }
}
