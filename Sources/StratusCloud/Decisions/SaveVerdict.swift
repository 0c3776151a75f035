// What a save comes to: (record as stored, record as sent, policy) → record to store, or refusal (S-01 … S-08).

import StratusModel
import StratusRecords

/// A save after its tag was compared.
enum SaveVerdict {
    /// The values to write are merged into the record as stored, or into nothing.
    case write(keys: Set<String>, parent: ParentChange)
    case refused(Reason)

    /// What happens to the parent link.
    enum ParentChange: Hashable, Sendable {
        case asSent
        case asStored
    }

    enum Reason: Hashable, Sendable {
        /// A record without a tag over an existing one (S-04).
        case exists
        /// The tag is not the stored one (S-01).
        case changed
        /// There is a tag, but no record any more (S-08).
        case deleted
    }

    /// The decision; `storedTag` is that of the live record of this name, nil when there is none.
    init(_ save: RecordSave, policy: SavePolicy, storedTag: String?) {
        let policy = Self.policy(policy, forType: save.type)
        guard let storedTag else {
            guard save.baseTag == nil else {
                self = .refused(.deleted)
                return
            }
            self = .write(keys: save.sentKeys(policy), parent: .asSent)
            return
        }
        if policy == .ifServerRecordUnchanged {
            guard let baseTag = save.baseTag else {
                self = .refused(.exists)
                return
            }
            guard baseTag == storedTag else {
                self = .refused(.changed)
                return
            }
        }
        let sendsParent = save.isParentChanged || policy == .allKeys && save.parent != nil
        self = .write(keys: save.sentKeys(policy), parent: sendsParent ? .asSent : .asStored)
    }

    /// A share is always saved as if unchanged, whatever was asked for (S-03).
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
        case .deleted:
            CloudError(
                .unknownItem, inner: CloudError.InnerCode.unknownItem, "Record not found", ["record": name.text])
        }
    }
}

// A client's values as values to store. References must stay in the zone, what is said of an asset counts only
// where the stored record holds the same content in the same field, and lists hold values of one kind.

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

// What each item of a zone is answered when some cannot be done: the record layer's refusals in the server's words, and
// how a failure spreads to the other items.

extension Refusal {
    /// The error of the item that was refused.
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
            return CloudError(
                .limitExceeded, inner: CloudError.InnerCode.limit,
                "The record would lie too deep in its hierarchy: move it up.",
                ["record": name.text, "limit": "\(limit)"])
        case .alreadyShared(let conflict):
            return CloudError(
                .alreadyShared, "The record would be in two shares: take it out of one of them.",
                ["record": name.text, "root": conflict.root.text, "share": conflict.share.text])
        }
    }
}

/// How failures spread in one zone.
enum FailureSpread {
    /// The error that every other item of a failed atomic zone gets.
    static var batchRequestFailed: CloudError {
        CloudError(
            .batchRequestFailed, inner: CloudError.InnerCode.batch,
            "Another item of the zone failed, so nothing of it was done: mend that item, then save all again.")
    }

    /// What a save is answered whose parent is in the same request and failed with `error`; nil when the parent's
    /// failure says nothing about the child.
    static func childError(ofParentFailing error: CloudError, _ name: RecordName) -> CloudError? {
        switch error.code {
        case .quotaExceeded:
            CloudError(.quotaExceeded, "The parent was not saved for lack of room.", ["record": name.text])
        case .referenceViolation, .internalError:
            CloudError(
                .internalError, "The parent was not saved, for its own parent is missing.", ["record": name.text])
        default: nil
        }
    }

    /// The errors of all items of a failed atomic zone: their own, their parents', or `batchRequestFailed`.
    ///
    /// `items` are all of them, each with the parent a save would have had; `errors` belong to those that failed by
    /// themselves.
    static func atomicErrors(
        _ items: [(name: RecordName, parent: RecordName?)], own errors: [RecordName: CloudError]
    ) -> [RecordName: CloudError] {
        var parents: [RecordName: RecordName?] = [:]
        for item in items { parents[item.name] = .some(item.parent) }
        var result = errors
        for item in items where result[item.name] == nil {
            // Walks up while parents are items that have no answer yet; then down again.
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
