// The names by which clients know the types that belong to a record.

import Foundation

extension CKRecord {
    /// A record's name and zone.
    public typealias ID = CKRecordID
    /// A pointer to a record.
    public typealias Reference = CKReference
    /// What the deletion of its target does to the record that holds a reference.
    public typealias ReferenceAction = CKReferenceAction
}

extension CKReference {
    /// The old name of `CKRecord.ReferenceAction`.
    @available(*, deprecated, renamed: "CKRecord.ReferenceAction")
    public typealias Action = CKReferenceAction

    /// Points to a record.
    public convenience init(record: CKRecord, action: CKReferenceAction) {
        self.init(recordID: record.recordID, action: action)
    }
}

/// The name of `CKRecord.ReferenceAction` between two versions of Swift.
@available(*, deprecated, renamed: "CKRecord.ReferenceAction")
public typealias CKRecord_Reference_Action = CKRecord.ReferenceAction

extension CKRecord: StratusFormatArgument {}
