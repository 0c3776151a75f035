// The keys of values in archives, and how single values are read and written. Clients keep archives: never change a
// key.
//
// Apple does not publish its keys. The keys here come from archives that its systems wrote; the tests decode these
// archives. They contain no reference or location as a value: `recordID` and the keys of a location are known from
// public tools, and `referenceAction` is not confirmed. The keys that begin with `Stratus` are our own.

import CStratusSystem
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

    // The values of a record as dictionaries of objects: archives that older versions wrote.
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

    // Shares, as `ArchivedShare` and related types write them.
    static let sharing = "StratusSharing"
    static let editedSharing = "StratusEditedSharing"
    static let participant = "StratusParticipant"
    static let addedSeconds = "StratusAdded"
    static let isApprovedRequester = "StratusApprovedRequester"
    static let isOneTime = "StratusOneTime"
    static let oneTimeURL = "StratusOneTimeURL"
    static let url = "StratusURL"
    static let petitioner = "StratusPetitioner"
    static let metadata = "StratusShareMetadata"
    static let metadataShare = "StratusShareOfMetadata"
    static let metadataRoot = "StratusRootOfMetadata"

    // Allowed sharing options.
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
    static let phoneticParts = "StratusPhoneticParts"

    /// The keys in archives of Apple's systems, and in archives that we write in their format.
    enum Apple {
        // The values of a record.
        static let valueStore = "ValueStore"
        static let encryptedValueStore = "EncryptedValueStore"
        static let recordValues = "RecordValues"
        static let originalValues = "OriginalValues"
        static let changedKeys = "ChangedKeys"
        static let isParentChanged = "HasUpdatedParentReference"
        static let isKnownToServer = "KnownToServer"

        // Assets.
        static let assetHasSize = "AssetHasSize"
        static let assetSize = "AssetSize"
        static let assetPaddedSize = "AssetPaddedSize"
        static let assetSignature = "AssetSignature"
        static let assetReferenceSignature = "ReferenceSignature"
        static let assetUUID = "AssetUUID"

        // Zones, containers and names.
        static let capabilities = "Capabilities"
        static let containerIdentifier = "ContainerIdentifier"
        static let containerEnvironment = "Environment"
        static let nameData = "NS.nameComponentsPrivate"
        static let nameComponents = "NameComponents"

        // Shares and their people.
        static let lastFetchedParticipants = "LastFetchedParticipants"
        static let addedParticipants = "AddedParticipantIDs"
        static let removedParticipants = "RemovedParticipantIDs"
        static let isCurrentUser = "IsCurrentUser"

        // Metadata of shares.
        static let container = "ContainerID"
        static let share = "Share"
        static let rootRecord = "RootRecord"
        static let rootRecordType = "RootRecordType"
        static let hierarchy = "SharedItemHierarchyIDs"
        static let ownerIdentity = "OwnerIdentity"
        static let callingParticipant = "CallingParticipant"
        static let callerRole = "ParticipantType"
        static let callerStatus = "ParticipantStatus"
        static let callerPermission = "ParticipantPermission"

        // Tokens, people, and the older keys of shares.
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

/// A coder that writes Apple's format.
protocol AppleFormatWriter: NSCoder {}

/// A coder that reads untrusted data and reports what it does not understand.
protocol ArchiveReader: NSCoder {
    /// Reports a part that is not understood. The archive is refused then.
    /// - Parameters:
    ///   - message: What the part is, and what to do.
    ///   - fields: Names of classes and keys.
    func noteUnknown(_ message: StaticString, _ fields: [String: String])
}

extension NSCoder {
    // Foundation on Linux archives equal objects as one object, and finds them by hashes that some equal objects do not
    // share. As a result, 1 comes back as 1.0 if both are archived; and two `NSNull`, or two texts that differ only in
    // their Unicode normalisation, come back as one or end the process, depending on chance. We archive nothing of this
    // kind: numbers are written as numbers, not as objects, and texts with non-ASCII characters as bytes.

    /// Archives a text. Writes nothing for nil.
    func encodeText(_ text: String?, forKey key: String) {
        guard let text else { return }
        if isOfApple || text.utf8.allSatisfy({ $0 < 0x80 }) {
            encode(text as NSString, forKey: key)
        } else {
            encode(Data(text.utf8) as NSData, forKey: Self.keyOfBytes(key))
        }
    }

    private static func keyOfBytes(_ key: String) -> String { "Stratus.UTF8.\(key)" }

    /// Whether the archive is written in Apple's format, with Apple's keys.
    var isOfApple: Bool { self is any AppleFormatWriter }

    // Foundation on Linux reports an archive as corrupt if you ask for a key that it does not have; within a dictionary
    // this ends the process. So we look for the key first.

    // Every class that decodes calls one of these functions. A program that links a class from a static library
    // therefore links this file too, and with it the registration of class names.

    /// The object of a class under a key, or nil if there is none.
    func decodeValue<Object>(of type: Object.Type, forKey key: String) -> Object?
    where Object: NSObject, Object: NSCoding {
        stratus_keep_load_hook()
        return containsValue(forKey: key) ? decodeObject(of: type, forKey: key) : nil
    }

    /// The object of one of the classes under a key, or nil if there is none.
    func decodeValue(of classes: [AnyClass], forKey key: String) -> Any? {
        containsValue(forKey: key) ? decodeObject(of: classes, forKey: key) : nil
    }

    /// The members of the array or set under a key; nil if there is none, or a member is of another class.
    func decodeMembers<Object>(of type: Object.Type, forKey key: String) -> [Object]?
    where Object: NSObject, Object: NSCoding {
        let decoded = decodeValue(of: [NSArray.self, NSSet.self, type], forKey: key)
        guard let members = (decoded as? NSArray).map(Array.init) ?? (decoded as? NSSet)?.allObjects else { return nil }
        let objects = members.compactMap { $0 as? Object }
        if objects.count == members.count { return objects }
        (self as? any ArchiveReader)?.noteUnknown(
            "A list of the archive has a member of an unexpected class. Archive the object again.",
            ["key": key])
        return nil
    }

    /// Whether the value of a key is anything other than an array or set of objects of a class.
    func hasForeignMembers<Object>(_ type: Object.Type, forKey key: String) -> Bool
    where Object: NSObject, Object: NSCoding {
        decodeValue(of: [NSArray.self, NSSet.self, type], forKey: key) != nil
            && decodeMembers(of: type, forKey: key) == nil
    }

    /// The text under a key, or nil if there is none.
    func decodeText(forKey key: String) -> String? {
        if let text = decodeValue(of: NSString.self, forKey: key) { return String(text) }
        return decodeData(forKey: Self.keyOfBytes(key)).flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// The bytes under a key, or nil if there are none.
    func decodeData(forKey key: String) -> Data? {
        decodeValue(of: NSData.self, forKey: key).map { Data(referencing: $0) }
    }

    /// The date under a key, or nil if there is none.
    func decodeDate(forKey key: String) -> Date? {
        decodeValue(of: NSDate.self, forKey: key).map {
            Date(timeIntervalSinceReferenceDate: $0.timeIntervalSinceReferenceDate)
        }
    }

    /// The integer under a key, or 0 if there is none.
    func decodeNumber(forKey key: String) -> Int64 {
        containsValue(forKey: key) ? decodeInt64(forKey: key) : 0
    }

    /// The floating-point number under a key, or nil if there is none.
    func decodeNumberIfPresent(forKey key: String) -> Double? {
        containsValue(forKey: key) ? decodeDouble(forKey: key) : nil
    }

    /// The flag under a key, or nil if there is none.
    func decodeFlagIfPresent(forKey key: String) -> Bool? {
        containsValue(forKey: key) ? decodeBool(forKey: key) : nil
    }

    /// The flag under a key, or false if there is none.
    func decodeFlag(forKey key: String) -> Bool { decodeFlagIfPresent(forKey: key) ?? false }

    /// Archives plain values as one block. Writes nothing for nil.
    func encodeBlock(_ block: (some Encodable)?, forKey key: String) {
        guard let block, let content = try? ExactJSON.encode(block) else { return }
        encode(Data(content) as NSData, forKey: key)
    }

    /// The values of a block; nil if there is none, or it has another content.
    func decodeBlock<Block: Decodable>(_ type: Block.Type, forKey key: String) -> Block? {
        guard let data = decodeData(forKey: key) else { return nil }
        let block = try? ExactJSON.decode(type, from: data)
        if block == nil {
            (self as? any ArchiveReader)?.noteUnknown(
                "A block of values in the archive is damaged. Archive the object again.", ["key": key])
        }
        return block
    }

    /// Whether there is a block that does not decode. An object for which the block is optional does not decode then
    ///
    func hasDamagedBlock<Block: Decodable>(_ type: Block.Type, forKey key: String) -> Bool {
        containsValue(forKey: key) && decodeBlock(type, forKey: key) == nil
    }
}

/// JSON in which every value can be written: numbers that JSON cannot express are written as words. Equal values
/// without sets give equal bytes.
enum ExactJSON {
    static func encode(_ value: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        encoder.outputFormatting = .sortedKeys
        return try Array(encoder.encode(value))
    }

    static func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, from content: some Sequence<UInt8>
    ) throws -> Value {
        let decoder = JSONDecoder()
        decoder.nonConformingFloatDecodingStrategy = .convertFromString(
            positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        return try decoder.decode(type, from: Data(content))
    }
}
