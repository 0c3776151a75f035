// User records: every account has one in the default zone of its private database and of the public one. It is there
// without anybody having saved it; the first save makes it (S-15).

import FoundationEssentials
import StratusLayout
import StratusModel
import StratusRecords

enum UserRecords {
    /// The account whose user record has this name in this zone, or nil.
    static func owner(
        of name: RecordName, in zone: ResolvedZone, caller: Account?, _ directory: AccountDirectory,
        reader: RecordReader
    ) throws -> Account? {
        guard zone.isDefault else { return nil }
        let userName = UserName(name.text)
        if let caller, caller.userName == userName { return caller }
        // User names begin with an underscore, so that other names cost no look-up.
        guard zone.isPublic, name.text.utf8.first == UInt8(ascii: "_") else { return nil }
        return try directory.account(userName: userName, in: reader)
    }

    /// The record as it is before anybody has saved it.
    static func unsaved(of account: Account) -> StoredRecord {
        let stamp = Stamp(date: account.created, user: account.userName)
        return StoredRecord(
            record: Record(name: RecordName(account.userName.text), type: AccessVerdict.usersType),
            system: SystemFields(changeSequence: 0, tagSalt: 0, created: stamp, modified: stamp))
    }
}
