// By what a person is looked up. Top-level, because Foundation on Linux cannot archive nested classes; clients say
// `CKUserIdentity.LookupInfo`.
//
// Invariants: immutable; exactly one of the three is set, except in what a foreign archive says.

public import Foundation
import StratusCloud

/// An e-mail address, a phone number or a user record, equal by value (C-18).
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

    /// One for each e-mail address.
    public class func lookupInfos(withEmails emails: [String]) -> [CKUserIdentity.LookupInfo] {
        emails.map { CKUserIdentityLookupInfo(emailAddress: $0) }
    }

    /// One for each phone number.
    public class func lookupInfos(withPhoneNumbers phoneNumbers: [String]) -> [CKUserIdentity.LookupInfo] {
        phoneNumbers.map { CKUserIdentityLookupInfo(phoneNumber: $0) }
    }

    /// One for each user record.
    public class func lookupInfos(with userRecordIDs: [CKRecord.ID]) -> [CKUserIdentity.LookupInfo] {
        userRecordIDs.map { CKUserIdentityLookupInfo(userRecordID: $0) }
    }

    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKUserIdentityLookupInfo else { return false }
        return emailAddress == other.emailAddress && phoneNumber == other.phoneNumber
            && userRecordID == other.userRecordID
    }

    public override var hash: Int {
        var hasher = Hasher()
        hasher.combine(emailAddress)
        hasher.combine(phoneNumber)
        hasher.combine(userRecordID)
        return hasher.finalize()
    }

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

    /// Archives what is looked for.
    public func encode(with coder: NSCoder) {
        coder.encodeText(emailAddress, forKey: CoderKey.emailAddress)
        coder.encodeText(phoneNumber, forKey: CoderKey.phoneNumber)
        coder.encode(userRecordID, forKey: coder.isOfApple ? CoderKey.Apple.lookupRecordID : CoderKey.userRecordID)
    }

    /// Decodes what is looked for.
    public convenience init?(coder: NSCoder) {
        self.init(
            emailAddress: coder.decodeText(forKey: CoderKey.emailAddress),
            phoneNumber: coder.decodeText(forKey: CoderKey.phoneNumber),
            userRecordID: coder.decodeValue(of: CKRecordID.self, forKey: CoderKey.userRecordID)
                ?? coder.decodeValue(of: CKRecordID.self, forKey: CoderKey.Apple.lookupRecordID))
    }
}
