// What a save comes to: (record as stored, record as sent, policy) → record to store, or refusal (S-01 … S-08).

import StratusModel

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
