// The keys under which values stand in archives, and how single values are taken out of one. Clients keep archives:
// never change a key.
//
// Apple publishes no keys. Some are known from public tools that read archives written on its systems: `RecordType`,
// `RecordName`, `CreatorUserRecordID`, `LastModifiedUserRecordID`, `ParentReference` with `recordID` in it, and those
// of a user identity. `RecordID`, `ZoneID`, `ZoneName`, `ownerName`, `ETag`, `RecordCtime`, `RecordMtime` and
// `ShareReference` are in general use among those who look into such archives, but not confirmed by a tool. The keys
// that begin with `Stratus` are our own: how Apple archives values and changes is not known, so that a full archive
// from its systems decodes to its system fields.

import Foundation

/// The keys of archives.
enum CoderKey {
    // Identifiers and references.
    static let zoneName = "ZoneName"
    static let ownerName = "ownerName"
    static let recordName = "RecordName"
    static let zoneID = "ZoneID"
    static let targetRecordID = "recordID"
    static let referenceAction = "referenceAction"

    // The system fields of a record.
    static let recordType = "RecordType"
    static let recordID = "RecordID"
    static let changeTag = "ETag"
    static let creationDate = "RecordCtime"
    static let modificationDate = "RecordMtime"
    static let creator = "CreatorUserRecordID"
    static let lastModifier = "LastModifiedUserRecordID"
    static let parent = "ParentReference"
    static let share = "ShareReference"
    static let isParentChanged = "StratusParentChanged"
    static let misuse = "StratusMisuse"

    // The values of a record.
    static let values = "StratusValues"
    static let baseValues = "StratusBaseValues"
    static let encryptedValues = "StratusEncryptedValues"
    static let encryptedBaseValues = "StratusEncryptedBaseValues"
    static let changedKeys = "StratusChangedKeys"
    static let encryptedChangedKeys = "StratusEncryptedChangedKeys"
    static let assetDigest = "StratusDigest"
    static let assetByteCount = "StratusByteCount"

    // Zones.
    static let capabilities = "StratusCapabilities"
    static let encryptionScope = "StratusEncryptionScope"

    // People.
    static let userRecordID = "UserRecordID"
    static let lookupInfo = "LookupInfo"
    static let emailAddress = "EmailAddress"
    static let phoneNumber = "PhoneNumber"
    static let hasAccount = "StratusHasAccount"
    static let nameParts = "StratusNameParts"
}

extension NSCoder {
    // Foundation on Linux calls an archive corrupt when a key is asked for that it does not have, and within a
    // dictionary that ends the process: so a key is looked for first.

    /// The object of a class under a key; nil where there is none.
    func decodeValue<Object>(of type: Object.Type, forKey key: String) -> Object?
    where Object: NSObject, Object: NSCoding {
        containsValue(forKey: key) ? decodeObject(of: type, forKey: key) : nil
    }

    /// The object of one of some classes under a key; nil where there is none.
    func decodeValue(of classes: [AnyClass], forKey key: String) -> Any? {
        containsValue(forKey: key) ? decodeObject(of: classes, forKey: key) : nil
    }

    /// The text under a key; nil where there is none.
    func decodeText(forKey key: String) -> String? {
        decodeValue(of: NSString.self, forKey: key).map { String($0) }
    }

    /// The date under a key; nil where there is none.
    func decodeDate(forKey key: String) -> Date? {
        decodeValue(of: NSDate.self, forKey: key).map {
            Date(timeIntervalSinceReferenceDate: $0.timeIntervalSinceReferenceDate)
        }
    }

    /// The integer under a key, 0 where there is none.
    func decodeNumber(forKey key: String) -> Int64 {
        containsValue(forKey: key) ? decodeInt64(forKey: key) : 0
    }

    /// The floating-point number under a key, nil where there is none.
    func decodeNumberIfPresent(forKey key: String) -> Double? {
        containsValue(forKey: key) ? decodeDouble(forKey: key) : nil
    }

    /// The flag under a key, false where there is none.
    func decodeFlag(forKey key: String) -> Bool {
        containsValue(forKey: key) && decodeBool(forKey: key)
    }
}
