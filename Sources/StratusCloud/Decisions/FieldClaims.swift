// A client's values as values to store. References must stay in the zone, what is said of an asset counts only
// where the stored record holds the same content in the same field, and lists hold values of one kind.

import StratusModel

/// Reads the claims of one record.
struct FieldClaims {
    let zone: ResolvedZone
    let caller: UserName
    /// What became of the files that the request names, by path.
    let intake: [[UInt8]: Result<AssetDescriptor, CloudError>]

    /// The value to store for `key`; `stored` is the field as it lies in the store.
    func value(_ value: ClientValue, key: String, stored: FieldValue?) throws(CloudError) -> FieldValue {
        guard case .list(let items) = value else { return try single(value, key: key, stored: stored) }
        var values: [FieldValue] = []
        values.reserveCapacity(items.count)
        for item in items {
            let value = try single(item, key: key, stored: stored)
            guard values.isEmpty || values[0].kind == value.kind else { throw Self.mixedList(key) }
            values.append(value)
        }
        return .list(values)
    }

    /// The record that a reference points at.
    func target(_ reference: ClientReference, key: String) throws(CloudError) -> RecordName {
        if let error = NameRules.recordNameError(reference.target.recordName) { throw error }
        guard ScopeVerdict.canonical(reference.target.zone, caller: caller) == zone.address else {
            throw CloudError(
                .invalidArguments, "A reference points into the zone of its record: copy the target there.",
                ["field": key, "target": reference.target.description, "zone": zone.address.description])
        }
        return RecordName(reference.target.recordName)
    }

    private func single(_ value: ClientValue, key: String, stored: FieldValue?) throws(CloudError) -> FieldValue {
        switch value {
        case .string(let text): return .string(text)
        case .int64(let number): return .int64(number)
        case .double(let number): return .double(number)
        case .date(let date): return .date(date)
        case .bytes(let bytes): return .bytes(bytes.bytes)
        case .location(let location): return .location(location)
        case .reference(let reference):
            return .reference(RecordReference(target: try target(reference, key: key), action: reference.action))
        case .asset(let asset): return .asset(try content(asset, key: key, stored: stored))
        case .list: throw Self.mixedList(key)
        }
    }

    private func content(_ asset: ClientAsset, key: String, stored: FieldValue?) throws(CloudError) -> AssetDescriptor {
        switch asset {
        case .file(let path):
            guard let result = intake[Array(path.utf8)] else {
                throw CloudError(.assetFileNotFound, "The asset's file was not taken in.", ["field": key])
            }
            return try result.get()
        case .content(let claimed):
            guard stored?.holds(claimed) == true else {
                throw CloudError(
                    .assetNotAvailable, "The record on the server holds other content: save the asset from a file.",
                    ["field": key])
            }
            return claimed
        case .missing:
            throw CloudError(.assetFileNotFound, "The asset has no file: make it anew from one.", ["field": key])
        }
    }

    private static func mixedList(_ key: String) -> CloudError {
        CloudError(.invalidArguments, "A list holds values of one kind, and no lists.", ["field": key])
    }
}

extension FieldValue {
    /// Which kind of value it is.
    fileprivate var kind: Int {
        switch self {
        case .string: 0
        case .int64: 1
        case .double: 2
        case .date: 3
        case .bytes: 4
        case .location: 5
        case .reference: 6
        case .asset: 7
        case .list: 8
        }
    }

    /// Whether the value is this content, or a list with it.
    fileprivate func holds(_ asset: AssetDescriptor) -> Bool {
        switch self {
        case .asset(let own): own == asset
        case .list(let items): items.contains { $0.holds(asset) }
        default: false
        }
    }
}

extension RecordSave {
    /// The files that the keys to be written name.
    func filePaths(_ policy: SavePolicy) -> [String] {
        sentKeys(policy).flatMap { fields[$0]?.value.filePaths ?? [] }
    }
}

extension ClientValue {
    /// Whether the value says of an asset what only the server knows.
    var claimsContent: Bool {
        switch self {
        case .asset(.content), .asset(.missing): true
        case .list(let items): items.contains { $0.claimsContent }
        default: false
        }
    }

    fileprivate var filePaths: [String] {
        switch self {
        case .asset(.file(let path)): [path]
        case .list(let items): items.flatMap(\.filePaths)
        default: []
        }
    }
}
