// The keys under which values stand in archives, and how single values are taken out of one. Clients keep archives:
// never change a key.
//
// Apple publishes no keys. Some are known from public tools that read archives written on its systems: `RecordType`,
// `RecordName`, `CreatorUserRecordID`, `LastModifiedUserRecordID`, `ParentReference` with `recordID` in it, and those
// of a user identity. `RecordID`, `ZoneID`, `ZoneName`, `ownerName`, `ETag`, `RecordCtime`, `RecordMtime` and
// `ShareReference` are in general use among those who look into such archives, but not confirmed by a tool. The keys
// that begin with `Stratus` are our own: how Apple archives values and changes is not known, so that a full archive
// from its systems decodes to its system fields.

import CLoadHook
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
    static let originMark = "StratusOrigin"
    static let misuse = "StratusMisuse"

    // The values of a record, as `ArchivedFields` writes them.
    static let fields = "StratusFields"
    static let baseFields = "StratusBaseFields"

    // The values of a record as dictionaries of objects: archives of older versions.
    static let values = "StratusValues"
    static let baseValues = "StratusBaseValues"
    static let encryptedValues = "StratusEncryptedValues"
    static let encryptedBaseValues = "StratusEncryptedBaseValues"

    // The changes of a record.
    static let changedKeys = "StratusChangedKeys"
    static let encryptedChangedKeys = "StratusEncryptedChangedKeys"

    // Assets.
    static let assetDigest = "StratusDigest"
    static let assetByteCount = "StratusByteCount"

    // Zones.
    static let capabilities = "StratusCapabilities"
    static let encryptionScope = "StratusEncryptionScope"

    // Feeds.
    static let changeToken = "StratusChangeToken"
    static let previousChangeToken = "StratusPreviousChangeToken"
    static let resultsLimit = "StratusResultsLimit"
    static let desiredKeys = "StratusDesiredKeys"

    // Queries, as `ArchivedQuery` writes them.
    static let predicateFormat = "StratusPredicateFormat"
    static let predicateArguments = "StratusPredicateArguments"
    static let predicateArgumentCount = "StratusPredicateArgumentCount"
    static let sortOrder = "StratusSortOrder"
    static let sortPlaces = "StratusSortPlaces"
    static let sortKey = "StratusSortKey"
    static let sortLocation = "StratusSortLocation"
    static let cursor = "StratusCursor"

    // Subscriptions and notifications.
    static let subscriptionID = "StratusSubscriptionID"
    static let subscriptionInfo = "StratusSubscriptionInfo"
    static let subscriptionOptions = "StratusSubscriptionOptions"
    static let notificationInfo = "StratusNotificationInfo"
    static let notificationID = "StratusNotificationID"

    // Shares, as `ArchivedShare` and its kin write them.
    static let sharing = "StratusSharing"
    static let editedSharing = "StratusEditedSharing"
    static let participant = "StratusParticipant"
    static let petitioner = "StratusPetitioner"
    static let metadata = "StratusShareMetadata"
    static let metadataShare = "StratusShareOfMetadata"
    static let metadataRoot = "StratusRootOfMetadata"

    // What sharing is allowed.
    static let permissionOptions = "AllowedParticipantPermissionOptions"
    static let accessOptions = "AllowedParticipantAccessOptions"
    static let allowsInvitingOthers = "AllowsParticipantsToInviteOthers"
    static let allowsAccessRequests = "AllowsAccessRequests"

    // People.
    static let userRecordID = "UserRecordID"
    static let lookupInfo = "LookupInfo"
    static let emailAddress = "EmailAddress"
    static let phoneNumber = "PhoneNumber"
    static let hasAccount = "StratusHasAccount"
    static let nameParts = "StratusNameParts"

    /// What stands in archives of Apple's systems alone.
    enum Apple {
        static let changeToken = "ChangeTokenData"
        static let cursor = "CursorData"
        static let hasAccount = "HasICloudAccount"
        static let lookupRecordID = "RecordID"
        static let participantID = "ParticipantID"
        static let userIdentity = "UserIdentity"
        static let role = "Type"
        static let permission = "Permission"
        static let acceptanceStatus = "AcceptanceStatus"
        static let participants = "Participants"
        static let publicPermission = "PublicPermission"
        static let rootRecordID = "RootRecordID"
        static let url = "URL"
    }
}

extension NSCoder {
    // Foundation on Linux archives objects that are equal as one, and finds them by hashes that some equal ones do not
    // share. So a number 1 comes back as 1.0 where both are archived, and two `NSNull`, or two texts that differ in
    // nothing but their Unicode normalisation, come back as one or end the process, as chance has it. Nothing of the
    // kind goes into an archive here: numbers go in as what they are and not as objects, and texts with other characters
    // than ASCII as bytes.

    /// Archives a text, or nothing.
    func encodeText(_ text: String?, forKey key: String) {
        guard let text else { return }
        if text.utf8.allSatisfy({ $0 < 0x80 }) {
            encode(text as NSString, forKey: key)
        } else {
            encode(Data(text.utf8) as NSData, forKey: Self.keyOfBytes(key))
        }
    }

    private static func keyOfBytes(_ key: String) -> String { "Stratus.UTF8.\(key)" }

    // Foundation on Linux calls an archive corrupt when a key is asked for that it does not have, and within a
    // dictionary that ends the process: so a key is looked for first.

    // Every class that decodes calls one of these functions, so that whoever links a class out of a static library links
    // this file and with it the registration of class names.

    /// The object of a class under a key; nil where there is none.
    func decodeValue<Object>(of type: Object.Type, forKey key: String) -> Object?
    where Object: NSObject, Object: NSCoding {
        stratus_keep_load_hook()
        return containsValue(forKey: key) ? decodeObject(of: type, forKey: key) : nil
    }

    /// The object of one of some classes under a key; nil where there is none.
    func decodeValue(of classes: [AnyClass], forKey key: String) -> Any? {
        containsValue(forKey: key) ? decodeObject(of: classes, forKey: key) : nil
    }

    /// The text under a key; nil where there is none.
    func decodeText(forKey key: String) -> String? {
        if let text = decodeValue(of: NSString.self, forKey: key) { return String(text) }
        return decodeValue(of: NSData.self, forKey: Self.keyOfBytes(key)).flatMap {
            String(validating: Data(referencing: $0), as: UTF8.self)
        }
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
