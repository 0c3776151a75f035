// The names by which clients know the types that belong to a record.

import Foundation

extension CKRecord {
    public typealias ID = CKRecordID
    public typealias Reference = CKReference
    public typealias ReferenceAction = CKReferenceAction
}

extension CKReference {
    @available(*, deprecated, renamed: "CKRecord.ReferenceAction")
    public typealias Action = CKReferenceAction

    /// Points to a record.
    public convenience init(record: CKRecord, action: CKReferenceAction) {
        self.init(recordID: record.recordID, action: action)
    }
}

@available(*, deprecated, renamed: "CKRecord.ReferenceAction")
public typealias CKRecord_Reference_Action = CKRecord.ReferenceAction
