// The keys under which values stand in archives, and how single values are taken out of one. Never change a key: clients
// keep archives.

import Foundation

/// The keys of archives.
enum CoderKey {
    static let zoneName = "ZoneName"
    static let ownerName = "ownerName"
    static let recordName = "RecordName"
    static let zoneID = "ZoneID"
    static let recordID = "RecordID"
    static let referenceAction = "ReferenceAction"
    static let assetDigest = "StratusDigest"
    static let assetByteCount = "StratusByteCount"
    static let recordType = "RecordType"
    static let changeTag = "ETag"
    static let creationDate = "RecordCtime"
    static let modificationDate = "RecordMtime"
    static let creator = "CreatorUserRecordID"
    static let lastModifier = "LastModifiedUserRecordID"
    static let parent = "ParentReference"
    static let share = "ShareReference"
    static let isParentChanged = "StratusParentChanged"
    static let account = "StratusAccount"
    static let misuse = "StratusMisuse"
    static let values = "StratusValues"
    static let baseValues = "StratusBaseValues"
    static let encryptedValues = "StratusEncryptedValues"
    static let encryptedBaseValues = "StratusEncryptedBaseValues"
    static let changedKeys = "StratusChangedKeys"
    static let encryptedChangedKeys = "StratusEncryptedChangedKeys"
    static let capabilities = "Capabilities"
    static let encryptionScope = "EncryptionScope"
}

extension NSCoder {
    /// The text under a key; nil where there is none.
    func decodeText(forKey key: String) -> String? {
        decodeObject(of: NSString.self, forKey: key).map { String($0) }
    }

    /// The date under a key; nil where there is none.
    func decodeDate(forKey key: String) -> Date? {
        decodeObject(of: NSDate.self, forKey: key).map {
            Date(timeIntervalSinceReferenceDate: $0.timeIntervalSinceReferenceDate)
        }
    }

    /// The integer under a key, 0 where there is none.
    func decodeNumber(forKey key: String) -> Int64 {
        containsValue(forKey: key) ? decodeInt64(forKey: key) : 0
    }
}
