// Who may read and write which record: (record as stored, record as asked for, caller, permissions) → refusal or nil.
//
// In a private database its person may do everything; in the public one the grants of the record's type decide (S-18,
// `GrantVerdict`), in another's zone what was accepted of its shares (`ZoneAccess`). User records are the system's: their
// person modifies them, nobody creates or deletes one, whatever is granted (S-15).

import StratusModel

enum AccessVerdict {
    static let usersType = RecordType("Users")

    /// Why the caller may not save a record, or nil. `userRecordOwner` is the user whose record the name is, if any;
    /// `permissions` are those for the existing record, or where there is none for one of this type.
    static func saveRefusal(
        type: RecordType, name: RecordName, existing: StoredRecord?, permissions: RecordPermissions, caller: UserName,
        userRecordOwner: UserName?
    ) -> CloudError? {
        if let owner = userRecordOwner {
            if owner != caller { return denied("WRITE operation not permitted", name) }
            return type == usersType ? nil : typeChanged(name)
        }
        if type == usersType { return denied("CREATE operation not permitted", name) }
        guard let existing else {
            return permissions.contains(.create) ? nil : denied("CREATE operation not permitted", name)
        }
        guard permissions.contains(.write) else { return denied("WRITE operation not permitted", name) }
        return existing.record.type == type ? nil : typeChanged(name)
    }

    /// Why the caller may not delete a record, or nil.
    static func deleteRefusal(
        name: RecordName, existing: StoredRecord?, permissions: RecordPermissions, userRecordOwner: UserName?
    ) -> CloudError? {
        if userRecordOwner != nil { return denied("DELETE operation not permitted", name) }
        guard existing != nil, !permissions.contains(.write) else { return nil }
        return denied("DELETE operation not permitted", name)
    }

    /// Why the caller may not read an existing record, or nil.
    static func readRefusal(name: RecordName, permissions: RecordPermissions) -> CloudError? {
        permissions.contains(.read) ? nil : denied("READ operation not permitted", name)
    }

    static func denied(_ text: StaticString, _ name: RecordName) -> CloudError {
        CloudError(.permissionFailure, inner: CloudError.InnerCode.permission, text, ["record": name.text])
    }

    /// The same where a rule of sharing is broken; root and share are those that the caller sees the record in.
    static func denied(
        _ text: StaticString, _ name: RecordName, rule: String, root: RecordName? = nil, share: RecordName? = nil
    ) -> CloudError {
        denied(text, name).ofSharing(rule: rule, root: root?.text, share: share?.text)
    }

    private static func typeChanged(_ name: RecordName) -> CloudError {
        CloudError(
            .invalidArguments, "A record keeps its type: save another record, or delete this one first.",
            ["record": name.text])
    }
}
