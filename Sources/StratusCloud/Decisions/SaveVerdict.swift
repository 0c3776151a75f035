// The decisions about one save, and how its failure affects others. Pure.
//
//   SaveVerdict    (stored tag, sent record, policy) → the keys to write, or refusal (S-01 … S-08)
//   FieldClaims    a client's values → values to store, or refusal
//   FailureSpread  the errors of failed items → the errors of the other items

import StratusModel
import StratusRecords

/// A save after comparing its tag.
enum SaveVerdict {
    /// The keys whose values are merged into the stored record, or into a new one, and whether its parent becomes the
    /// sent one.
    case write(keys: Set<String>, setsParent: Bool)
    case refused(Reason)

    enum Reason: Hashable, Sendable {
        /// A record without a tag over an existing one (S-04).
        case exists
        /// The tag is not the stored one (S-01).
        case changed
        /// There is a tag, but no longer a record (S-08).
        case deleted
    }

    /// Decides on a save. `storedTag` is the tag of the live record of this name; nil if there is none.
    init(_ save: RecordSave, policy: SavePolicy, storedTag: String?) {
        let policy = Self.policy(policy, forType: save.type)
        let comparesTags = policy == .ifServerRecordUnchanged
        switch (storedTag, save.baseTag) {
        case (nil, _?): self = .refused(.deleted)
        case (_?, nil) where comparesTags: self = .refused(.exists)
        case (let stored?, let base?) where comparesTags && base != stored: self = .refused(.changed)
        default:
            let setsParent = storedTag == nil || save.isParentChanged || policy == .allKeys && save.parent != nil
            self = .write(keys: save.sentKeys(policy), setsParent: setsParent)
        }
    }

    /// The policy for a type. A share is always saved only if unchanged (S-03).
    static func policy(_ asked: SavePolicy, forType type: String) -> SavePolicy {
        RecordType(type) == ShareContent.recordType ? .ifServerRecordUnchanged : asked
    }
}

extension SaveVerdict.Reason {
    /// The error of the item; `serverRecord` is the record as the caller may see it (S-05, S-07).
    func error(_ name: RecordName, serverRecord: ClientRecord?) -> CloudError {
        switch self {
        case .exists:
            CloudError(
                .serverRecordChanged, inner: CloudError.InnerCode.conflict, "record to insert already exists",
                ["record": name.text], serverRecord: serverRecord?.withoutContent)
        case .changed:
            CloudError(
                .serverRecordChanged, inner: CloudError.InnerCode.conflict, "client oplock error updating record",
                ["record": name.text], serverRecord: serverRecord?.withoutContent)
        case .deleted: .recordNotFound(name)
        }
    }
}

extension CloudError {
    static func recordNotFound(_ name: RecordName) -> CloudError {
        CloudError.notFound("Record not found", ["record": name.text])
    }
}

/// Converts the claims of one record to values. References must stay in the zone. A claim about an asset's
/// content counts only if the stored record holds the same content in the same field. The values of a list have
/// one type.
struct FieldClaims {
    let zone: ResolvedZone
    let caller: UserName
    /// The contents of the files that the request names, by path.
    let intake: [[UInt8]: Result<AssetDescriptor, CloudError>]

    /// The value to store for `key`. `stored` is the stored value of the field.
    func value(_ value: ClientValue, key: String, stored: FieldValue?) throws(CloudError) -> FieldValue {
        guard case .list(let items) = value else { return try single(value, key: key, stored: stored) }
        var values: [FieldValue] = []
        values.reserveCapacity(items.count)
        for item in items {
            let value = try single(item, key: key, stored: stored)
            guard values.isEmpty || values[0].scalar == value.scalar else { throw Self.mixedList(key) }
            values.append(value)
        }
        return .list(values)
    }

    /// The record that a reference points at.
    func target(_ reference: ClientReference, key: String) throws(CloudError) -> RecordName {
        if let error = NameRules.recordNameError(reference.target.recordName) { throw error }
        guard ScopeVerdict.canonical(reference.target.zone, caller: caller) == zone.address else {
            throw CloudError(
                .invalidArguments, "A reference must point to a record in the same zone. Copy the target there.",
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
                throw CloudError(.assetFileNotFound, "The asset's file was not stored.", ["field": key])
            }
            return try result.get()
        case .content(let claimed):
            guard stored?.holds(claimed) == true else {
                throw CloudError(
                    .assetNotAvailable, "The server's record has another content. Save the asset from a file.",
                    ["field": key])
            }
            return claimed
        case .missing:
            throw CloudError(.assetFileNotFound, "The asset has no file. Create it again from one.", ["field": key])
        }
    }

    private static func mixedList(_ key: String) -> CloudError {
        CloudError(.invalidArguments, "The values of a list must have one type, and cannot be lists.", ["field": key])
    }
}

extension FieldValue {
    /// The type of the value; nil for a list.
    var scalar: ScalarType? {
        switch self {
        case .string: .string
        case .int64: .int64
        case .double: .double
        case .date: .timestamp
        case .bytes: .bytes
        case .location: .location
        case .reference: .reference
        case .asset: .asset
        case .list: nil
        }
    }

    /// Whether the value is this content or a list with it.
    fileprivate func holds(_ asset: AssetDescriptor) -> Bool {
        switch self {
        case .asset(let own): own == asset
        case .list(let items): items.contains { $0.holds(asset) }
        default: false
        }
    }
}

extension RecordSave {
    /// The files in the values that the save writes.
    func filePaths(_ policy: SavePolicy) -> [String] {
        sentKeys(policy).flatMap { fields[$0]?.value.filePaths ?? [] }
    }
}

extension ClientValue {
    /// Whether the value claims a content that only the server knows.
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

extension Refusal {
    /// The record layer's refusal as the error of the item.
    func error(_ name: RecordName) -> CloudError {
        let fields = ["record": name.text]
        switch self {
        case .parentMissing(let parent):
            return CloudError(
                .referenceViolation,
                text: "Record save would violate validating reference ([\(parent)]), rejecting update", fields)
        case .hasChildren(let child):
            return CloudError(
                .referenceViolation,
                text: "Record delete would violate validating reference ([\(child)]), rejecting update", fields)
        case .cycle(let parent):
            return CloudError(
                .referenceViolation,
                text: "Record save would make \(name) its own ancestor by its parent ([\(parent)]), rejecting update",
                fields)
        case .tooDeep(let limit):
            return CloudError.overLimit(
                "The record would be too deep in its hierarchy. Move it up.", limit: limit, ["record": name.text])
        case .alreadyShared(let conflict):
            return CloudError(
                .alreadyShared, "The record would be in two shares. Remove it from one of them.",
                ["record": name.text, "root": conflict.root.text, "share": conflict.share.text])
        }
    }
}

/// How failures spread to other items of a zone.
enum FailureSpread {
    /// The error that every other item of a failed atomic zone gets.
    static var batchRequestFailed: CloudError {
        CloudError(
            .batchRequestFailed, inner: CloudError.InnerCode.batch,
            "Another item of the zone failed, so none was applied. Fix that item, then save all again.")
    }

    /// The error of a save whose parent is in the same request and failed with `error`; nil if the parent's failure
    /// does not affect the child.
    static func childError(ofParentFailing error: CloudError, _ name: RecordName) -> CloudError? {
        switch error.code {
        case .quotaExceeded:
            CloudError(.quotaExceeded, "The parent was not saved because the storage is full.", ["record": name.text])
        case .referenceViolation, .internalError:
            CloudError(
                .internalError, "The parent was not saved. Fix the cause of its error, then save both again.",
                ["record": name.text])
        default: nil
        }
    }

    /// The errors of all items of a failed atomic zone: their own, their parents', or `batchRequestFailed`.
    ///
    /// `items` are all items, each with the parent that its save would set. `errors` are those of the items that failed
    /// individually.
    static func atomicErrors(
        _ items: [(name: RecordName, parent: RecordName?)], own errors: [RecordName: CloudError]
    ) -> [RecordName: CloudError] {
        var parents: [RecordName: RecordName?] = [:]
        for item in items { parents[item.name] = .some(item.parent) }
        var result = errors
        for item in items where result[item.name] == nil {
            // Walk up while parents are items without an error yet, then down again.
            var path = [item.name]
            var seen: Set<RecordName> = [item.name]
            var above: CloudError?
            while let last = path.last, case .some(.some(let parent)) = parents[last], parents[parent] != nil {
                above = result[parent]
                guard above == nil, seen.insert(parent).inserted else { break }
                path.append(parent)
            }
            for name in path.reversed() {
                let error = above.flatMap { childError(ofParentFailing: $0, name) } ?? batchRequestFailed
                result[name] = error
                above = error
            }
        }
        return result
    }
}
