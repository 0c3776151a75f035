// Who may write which record: (record as stored, record as asked for, caller, database) → refusal or nil.
//
// In the public database the world reads, any account creates, and only the creator writes (S-18). User records are the
// system's: their person modifies them, nobody creates or deletes one (S-15).

import StratusModel

enum AccessVerdict {
    static let usersType = RecordType("Users")
    static let shareType = RecordType("cloudkit.share")

    /// Why the caller may not save a record, or nil. `userRecordOwner` is the user whose record the name is, if any.
    static func saveRefusal(
        type: RecordType, name: RecordName, existing: StoredRecord?, zone: ResolvedZone, caller: UserName,
        userRecordOwner: UserName?
    ) -> CloudError? {
        if let owner = userRecordOwner {
            if owner != caller { return denied("WRITE operation not permitted", name) }
            return type == usersType ? nil : typeChanged(name)
        }
        if type == usersType { return denied("CREATE operation not permitted", name) }
        guard let existing else { return nil }
        if zone.isPublic, existing.system.created.user != caller {
            return denied("WRITE operation not permitted", name)
        }
        return existing.record.type == type ? nil : typeChanged(name)
    }

    /// Why the caller may not delete a record, or nil.
    static func deleteRefusal(
        name: RecordName, existing: StoredRecord?, zone: ResolvedZone, caller: UserName, userRecordOwner: UserName?
    ) -> CloudError? {
        if userRecordOwner != nil { return denied("DELETE operation not permitted", name) }
        guard zone.isPublic, let existing, existing.system.created.user != caller else { return nil }
        return denied("DELETE operation not permitted", name)
    }

    private static func denied(_ text: StaticString, _ name: RecordName) -> CloudError {
        CloudError(.permissionFailure, inner: CloudError.InnerCode.permission, text, ["record": name.text])
    }

    private static func typeChanged(_ name: RecordName) -> CloudError {
        CloudError(
            .invalidArguments, "A record keeps its type: save another record, or delete this one first.",
            ["record": name.text])
    }
}
