// People between client and server.

import Foundation
import StratusCloud
import StratusModel

extension CKUserIdentity.LookupInfo {
    /// The same in the server's words.
    var lookup: IdentityLookup {
        if let emailAddress { return .email(emailAddress) }
        if let phoneNumber { return .phone(phoneNumber) }
        return .userRecord(userRecordID?.recordName ?? "")
    }
}

extension CKUserIdentity {
    /// A person whom the server has found.
    convenience init(_ found: DiscoveredIdentity, lookupInfo: CKUserIdentity.LookupInfo) {
        self.init(
            userRecordID: CKRecord.ID(recordName: found.userName.text), lookupInfo: lookupInfo,
            nameComponents: PersonNameComponents(found.name), hasiCloudAccount: true)
    }
}

extension CKUserIdentity {
    /// Somebody who takes part in a share or asks to, as the server tells of them.
    convenience init(_ identity: ClientIdentity, phoneticName: PersonName? = nil) {
        var name = identity.name.map { PersonNameComponents($0) }
        name?.phoneticRepresentation = phoneticName.map { PersonNameComponents($0) }
        self.init(
            userRecordID: identity.userName.map { CKRecordID(recordName: $0) },
            lookupInfo: identity.lookup.map(CKUserIdentity.LookupInfo.init), nameComponents: name,
            hasiCloudAccount: identity.hasAccount)
    }

    /// By what the person can be told from others: the user record where it is known, else how they were found (C-18).
    var canonicalKey: PersonKey? {
        if let userRecordID { return .user(UserName(userRecordID.recordName)) }
        return lookupInfo?.canonicalKey
    }

    /// Whether both are known by their user records, and are two people: whatever address led to them. Whose record
    /// `__defaultOwner__` is depends on who was told, which is not known here.
    func isKnownToDiffer(from other: CKUserIdentity) -> Bool {
        guard let own = userRecordID?.recordName, let others = other.userRecordID?.recordName else { return false }
        return own != others && own != CKCurrentUserDefaultName && others != CKCurrentUserDefaultName
    }
}

/// A person, as far as one can be told from others (C-18).
enum PersonKey: Hashable, Sendable {
    case user(UserName)
    case handle(Handle)
}

extension CKUserIdentity.LookupInfo {
    /// From the server's words.
    convenience init(_ lookup: IdentityLookup) {
        switch lookup {
        case .email(let address): self.init(emailAddress: address)
        case .phone(let number): self.init(phoneNumber: number)
        case .userRecord(let name): self.init(userRecordID: CKRecordID(recordName: name))
        }
    }

    /// Who is looked for; of handles that are written differently and mean the same, the same.
    var canonicalKey: PersonKey? {
        if let userRecordID { return .user(UserName(userRecordID.recordName)) }
        return lookup.handle.map { .handle($0.normalized ?? $0) }
    }
}
