// People, as other people may know them, and what they are looked up by.
//
// Invariant: identities and lookup infos are immutable.

public import Foundation
import StratusCloud
import StratusModel

/// A person: their user record, how they were found, and their name.
public final class CKUserIdentity: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// What a person is looked up by.
    public typealias LookupInfo = CKUserIdentityLookupInfo

    /// The person's user record; nil if unknown.
    public let userRecordID: CKRecord.ID?
    /// What the person was found by.
    public let lookupInfo: CKUserIdentity.LookupInfo?
    /// The person's name; nil if unknown.
    public let nameComponents: PersonNameComponents?
    /// Whether the person has an account.
    public let hasiCloudAccount: Bool

    /// Always empty: Linux has no address book.
    @available(*, deprecated, message: "Contacts are no longer linked.")
    public var contactIdentifiers: [String] { [] }

    init(
        userRecordID: CKRecord.ID?, lookupInfo: CKUserIdentity.LookupInfo?, nameComponents: PersonNameComponents?,
        hasiCloudAccount: Bool
    ) {
        self.userRecordID = userRecordID
        self.lookupInfo = lookupInfo
        self.nameComponents = nameComponents
        self.hasiCloudAccount = hasiCloudAccount
        super.init()
    }

    public override var description: String {
        let subject = userRecordID?.recordName ?? lookupInfo?.description ?? "nobody"
        return "<CKUserIdentity: \(subject), hasiCloudAccount=\(hasiCloudAccount)>"
    }

    // MARK: Copying and archiving

    /// The same object, which never changes.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    public static override func classFallbacksForKeyedArchiver() -> [String] { ["CKUserIdentity"] }

    /// Archives the person.
    public func encode(with coder: NSCoder) {
        coder.encode(userRecordID, forKey: CoderKey.userRecordID)
        coder.encode(lookupInfo, forKey: CoderKey.lookupInfo)
        coder.encode(hasiCloudAccount, forKey: coder.isOfApple ? CoderKey.Apple.hasAccount : CoderKey.hasAccount)
        guard let nameComponents else { return }
        if coder.isOfApple {
            return coder.encode(ArchivedPersonName(nameComponents), forKey: CoderKey.Apple.nameComponents)
        }
        let parts = PersonName(nameComponents).parts.map { Data(($0 ?? "").utf8) as NSData }
        coder.encode(NSArray(array: parts), forKey: CoderKey.nameParts)
        // The pronunciation, which is seldom known.
        let phonetic = nameComponents.phoneticRepresentation.map { PersonName($0).parts.map { $0 ?? "" } }
        if let phonetic { coder.encodeBlock(phonetic, forKey: CoderKey.phoneticParts) }
    }

    /// The name in an archive, or nil if there is none.
    private static func name(in coder: NSCoder) -> PersonNameComponents? {
        if let name = coder.decodeValue(of: ArchivedPersonName.self, forKey: CoderKey.Apple.nameComponents) {
            return name.components
        }
        let classes: [AnyClass] = [NSArray.self, NSString.self, NSData.self]
        let parts = (coder.decodeValue(of: classes, forKey: CoderKey.nameParts) as? NSArray)?.compactMap { part in
            (part as? String) ?? (part as? Data).flatMap { String(validating: $0, as: UTF8.self) }
        }
        var name = parts.flatMap(PersonName.init(parts:)).map(PersonNameComponents.init)
        name?.phoneticRepresentation = coder.decodeBlock([String].self, forKey: CoderKey.phoneticParts)
            .flatMap(PersonName.init(parts:)).map(PersonNameComponents.init)
        return name
    }

    /// Decodes a person. Returns nil if the name is damaged.
    public convenience init?(coder: NSCoder) {
        let name = Self.name(in: coder)
        let isNameMissing = [CoderKey.nameParts, CoderKey.phoneticParts].contains { coder.containsValue(forKey: $0) }
        if name == nil, isNameMissing { return nil }
        self.init(
            userRecordID: coder.decodeValue(of: CKRecordID.self, forKey: CoderKey.userRecordID),
            lookupInfo: coder.decodeValue(of: CKUserIdentityLookupInfo.self, forKey: CoderKey.lookupInfo),
            nameComponents: name,
            hasiCloudAccount: coder.decodeFlag(forKey: CoderKey.hasAccount)
                || coder.decodeFlag(forKey: CoderKey.Apple.hasAccount))
    }

    // Conversion to and from the server's types.

    /// A person that the server has found.
    convenience init(_ found: DiscoveredIdentity, lookupInfo: CKUserIdentity.LookupInfo) {
        self.init(
            userRecordID: CKRecord.ID(recordName: found.userName.text), lookupInfo: lookupInfo,
            nameComponents: PersonNameComponents(found.name), hasiCloudAccount: true)
    }

    /// A participant or requester of a share, from the server.
    convenience init(_ identity: ClientIdentity, phoneticName: PersonName? = nil) {
        var name = identity.name.map { PersonNameComponents($0) }
        name?.phoneticRepresentation = phoneticName.map { PersonNameComponents($0) }
        self.init(
            userRecordID: identity.userName.map { CKRecordID(recordName: $0) },
            lookupInfo: identity.lookup.map(CKUserIdentity.LookupInfo.init), nameComponents: name,
            hasiCloudAccount: identity.hasAccount)
    }

    /// What identifies the person: the user record if known, otherwise how they were found (C-18).
    var canonicalKey: PersonKey? {
        if let userRecordID { return .user(UserName(userRecordID.recordName)) }
        return lookupInfo?.canonicalKey
    }

    /// Whether both have user records and are two people; the addresses that led to them do not matter. The meaning of
    /// `__defaultOwner__` depends on the account that made the request, which is not known here.
    func isKnownToDiffer(from other: CKUserIdentity) -> Bool {
        guard let own = userRecordID?.recordName, let others = other.userRecordID?.recordName else { return false }
        return own != others && own != CKCurrentUserDefaultName && others != CKCurrentUserDefaultName
    }
}

/// An e-mail address, a phone number or a user record. Two are equal by value (C-18). Exactly one of the three is set,
/// except after decoding a foreign archive.
///
/// The class is top-level because Foundation on Linux cannot archive nested classes. Clients write
/// `CKUserIdentity.LookupInfo`.
public final class CKUserIdentityLookupInfo: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// The e-mail address to look for.
    public let emailAddress: String?
    /// The phone number to look for.
    public let phoneNumber: String?
    /// The user record to look for.
    public let userRecordID: CKRecord.ID?

    private init(emailAddress: String?, phoneNumber: String?, userRecordID: CKRecord.ID?) {
        self.emailAddress = emailAddress
        self.phoneNumber = phoneNumber
        self.userRecordID = userRecordID
        super.init()
    }

    /// Looks for an e-mail address.
    public convenience init(emailAddress: String) {
        self.init(emailAddress: emailAddress, phoneNumber: nil, userRecordID: nil)
    }

    /// Looks for a phone number.
    public convenience init(phoneNumber: String) {
        self.init(emailAddress: nil, phoneNumber: phoneNumber, userRecordID: nil)
    }

    /// Looks for a user record.
    public convenience init(userRecordID: CKRecord.ID) {
        self.init(emailAddress: nil, phoneNumber: nil, userRecordID: userRecordID)
    }

    /// A lookup info for each e-mail address.
    public class func lookupInfos(withEmails emails: [String]) -> [CKUserIdentity.LookupInfo] {
        emails.map { CKUserIdentityLookupInfo(emailAddress: $0) }
    }

    /// A lookup info for each phone number.
    public class func lookupInfos(withPhoneNumbers phoneNumbers: [String]) -> [CKUserIdentity.LookupInfo] {
        phoneNumbers.map { CKUserIdentityLookupInfo(phoneNumber: $0) }
    }

    /// A lookup info for each user record.
    public class func lookupInfos(with userRecordIDs: [CKRecord.ID]) -> [CKUserIdentity.LookupInfo] {
        userRecordIDs.map { CKUserIdentityLookupInfo(userRecordID: $0) }
    }

    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKUserIdentityLookupInfo else { return false }
        return emailAddress == other.emailAddress && phoneNumber == other.phoneNumber
            && userRecordID == other.userRecordID
    }

    public override var hash: Int { lookup.hashValue }

    public override var description: String {
        let subject = emailAddress ?? phoneNumber ?? userRecordID?.recordName ?? "nobody"
        return "<CKUserIdentityLookupInfo: \(subject)>"
    }

    // MARK: Copying and archiving

    /// The same object, which never changes.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    public static override func classFallbacksForKeyedArchiver() -> [String] { ["CKUserIdentityLookupInfo"] }

    /// Archives the lookup.
    public func encode(with coder: NSCoder) {
        coder.encodeText(emailAddress, forKey: CoderKey.emailAddress)
        coder.encodeText(phoneNumber, forKey: CoderKey.phoneNumber)
        coder.encode(userRecordID, forKey: coder.isOfApple ? CoderKey.Apple.lookupRecordID : CoderKey.userRecordID)
    }

    /// Decodes the lookup.
    public convenience init?(coder: NSCoder) {
        self.init(
            emailAddress: coder.decodeText(forKey: CoderKey.emailAddress),
            phoneNumber: coder.decodeText(forKey: CoderKey.phoneNumber),
            userRecordID: coder.decodeValue(of: CKRecordID.self, forKey: CoderKey.userRecordID)
                ?? coder.decodeValue(of: CKRecordID.self, forKey: CoderKey.Apple.lookupRecordID))
    }
}

/// What identifies a person (C-18).
enum PersonKey: Hashable, Sendable {
    case user(UserName)
    case handle(Handle)
}

extension CKUserIdentity.LookupInfo {
    /// Converts the server's type.
    convenience init(_ lookup: IdentityLookup) {
        switch lookup {
        case .email(let address): self.init(emailAddress: address)
        case .phone(let number): self.init(phoneNumber: number)
        case .userRecord(let name): self.init(userRecordID: CKRecordID(recordName: name))
        }
    }

    /// The same in the server's terms.
    var lookup: IdentityLookup {
        if let emailAddress { return .email(emailAddress) }
        if let phoneNumber { return .phone(phoneNumber) }
        return .userRecord(userRecordID?.recordName ?? "")
    }

    /// The person that is looked for. Handles that differ only in spelling give the same result.
    var canonicalKey: PersonKey? {
        if let userRecordID { return .user(UserName(userRecordID.recordName)) }
        return lookup.handle.map { .handle($0.normalized ?? $0) }
    }
}
