// A person as others may know them.
//
// Invariant: immutable.

public import Foundation
import StratusModel

/// A person: their user record, how they were found, their name.
public final class CKUserIdentity: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// By what a person is looked up.
    public typealias LookupInfo = CKUserIdentityLookupInfo

    /// The person's user record; nil where it is not known.
    public let userRecordID: CKRecord.ID?
    /// By what the person was found.
    public let lookupInfo: CKUserIdentity.LookupInfo?
    /// The person's name; nil where it is not known.
    public let nameComponents: PersonNameComponents?
    /// Whether the person has an account.
    public let hasiCloudAccount: Bool

    /// Always empty: there is no address book on Linux.
    @available(*, deprecated, message: "Contacts are not linked any longer.")
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
        // How the name is said, which is seldom known.
        let phonetic = nameComponents.phoneticRepresentation.map { PersonName($0).parts.map { $0 ?? "" } }
        if let phonetic { coder.encodeBlock(phonetic, forKey: CoderKey.phoneticParts) }
    }

    /// The name in an archive; nil where there is none.
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

    /// Decodes a person; nil where the name is damaged.
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
}
