// The record above another in its hierarchy.

import StratusStore

extension CKRecord {
    /// The record above this one: what is shared with a share of it is this record too. Its action is `.none`; another
    /// is a mistake, remembered until the save (C-09, X-25).
    public var parent: CKRecord.Reference? {
        get { state.withLock { $0.parent } }
        set {
            state.withLock { state in
                guard newValue == nil || newValue?.action == CKReferenceAction.none else {
                    StratusMisuse.note("A parent reference must have the action none.", in: &state.misuse)
                    return
                }
                state.parent = newValue
                state.parentEditNumber = state.nextEditNumber()
            }
        }
    }

    /// Puts this record under another, or under none.
    public func setParent(_ parentRecord: CKRecord?) {
        parent = parentRecord.map { CKRecord.Reference(recordID: $0.recordID, action: .none) }
    }

    /// Puts this record under another, or under none.
    @_disfavoredOverload
    public func setParent(_ parentRecordID: CKRecord.ID?) {
        parent = parentRecordID.map { CKRecord.Reference(recordID: $0, action: .none) }
    }
}
