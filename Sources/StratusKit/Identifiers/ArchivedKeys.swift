// What decoding does with parts of archives that have no place in Stratus.
//
// Every key with a value is read, is listed here, or makes `StratusArchive` refuse the archive. The names come
// from archives that Apple's systems wrote. A key may be listed if it says nothing about the user's data:
//
//   security    keys, protection data and tokens of Apple's servers: useless elsewhere, and not to be passed on
//   caches      what a server or device knows without the archive: its own tags, quotas, host names, sources
//   claims      what the server decides itself, or what another key of the same object also says
//   originals   a value before a change, where the change itself is read
//
// `NSKeyedUnarchiver` cannot list the keys of an archive. Both decoders therefore ask for the keys that are known and
// not supported: see `unsupportedObjects`.

import Foundation

/// The keys of archives that are not read.
enum ArchivedKeys {
    /// Whether a key of a class can be dropped without losing data.
    static func isLeftOut(_ key: String, of className: String) -> Bool {
        switch className {
        case "CKRecord": record.contains(key)
        case "CKShare": record.contains(key) || share.contains(key)
        case "CKAsset": asset.contains(key)
        case "CKShareParticipant": participant.contains(key)
        case "CKUserIdentity", "CKUserIdentityLookupInfo": identity.contains(key)
        case "CKRecordZone": zone.contains(key)
        case "CKRecordZoneID": key == "databaseScopeKey"
        case "CKShareMetadata": metadata.contains(key)
        // What a device measures beyond the data of a record's location.
        case "CLLocation": key.hasPrefix("kCLLocationCodingKey")
        default: false
        }
    }

    private static let record: Set = [
        // Security.
        "AllPCSKeyIDs", "ChainParentPublicKeyID", "ChainPrivateKey", "ChainProtectionData",
        "MutableEncryptedPublicSharingKey", "NeedsRollAndCounterSignKey", "PCSKeyID", "ProtectionData",
        "ProtectionDataEtag", "PreviousProtectionDataEtag", "PreviousProtectionDataEtagFromUnitTest",
        "TombstonedPublicKeyIDs", "UseLightweightPCS", "WantsChainPCSKey", "WantsPublicSharingKey",
        "ZoneProtectionDataEtag", "ZoneishKeyID",
        // Caches.
        "BaseToken", "ConflictLoserEtags", "DisplayedHostname", "ModifiedByDevice", "RoutingKey", "ShareEtag", "URL",
        "WasCached",
        // Claims.
        "HasUpdatedShareReference", "KnownToServer", "Permission",
        // Originals.
        "PreviousParentReference", "PreviousShareReference",
    ]

    private static let share: Set = [
        "ContainerID", "InvitedKeysToRemove", "InvitedPCS", "InvitedPCSEtag", "PreviousInvitedPCSEtag",
        "PreviousPublicPCSEtag", "PublicPCS", "PublicPCSEtag",
    ]

    /// File paths are never read.
    private static let asset: Set = [
        "AssetChunkerOptions", "AssetCopyInfo", "AssetDeviceID", "AssetDownloadURL", "AssetDownloadURLExpiration",
        "AssetFileID", "AssetFileURL", "AssetGenerationID", "AssetTransferOptions", "AssetTypeHint",
        "AssetUploadReceipt", "AssetUploadReceiptExpiration", "AssetUploaded", "ClearAssetKey",
        "ClientOpenedFileHandle", "RecordID", "ShouldReadRawEncryptedData", "StorageGroupingPolicy", "WasCached",
        "WrappedAssetKey",
    ]

    private static let participant: Set = [
        "AcceptedInProcess", "CreatedInProcess", "EncryptedPersonalInfo", "InvitationToken", "InviterID",
        "OriginalAcceptanceStatus", "OriginalParticipantType", "OriginalPermission", "ProtectionInfo",
        "ProtectionInfoPublicKey", "mutableInvitationTokenStatus", "wantsNewInvitationToken",
    ]

    private static let identity: Set = [
        // Identifiers in the address book of one device.
        "ContactIdentifiers", "EncryptedPersonalInfo", "IsCached", "OONProtectionData", "ProtectionData",
        "ReportsMissing",
    ]

    private static let zone: Set = [
        "AssetQuotaUsage", "ClientChangeToken", "CurrentServerChangeToken", "DeviceCount", "InvitedKeysToRemove",
        "MetadataQuotaUsage", "PCSKeyID", "PCSModificationDate", "PreviousProtectionEtag", "ZoneishKeyID",
    ]

    private static let metadata: Set = [
        "EncryptedData", "InvitationToken", "OutOfNetworkMatches", "PrivateToken", "ProtectedFullToken", "PublicToken",
    ]

    // MARK: What Stratus has no place for

    /// Keys that change what an object means and that Stratus does not support.
    private static let unsupportedObjects = [
        "CKRecord": ["PluginFields"],
        "CKShare": ["PluginFields", "ExpirationDate", "UpdatedExpiration"],
        "CKRecordZone": ["ExpirationDate", "UpdatedExpiration"],
    ]

    private static let unsupportedNumbers = [
        "CKShare": [
            "AllowsAnonymousAccess", "Expired", "ParticipantSelfRemovalBehavior", "ParticipantVisibility",
        ],
        "CKRecordZone": ["Expired"],
        "CKShareParticipant": ["isAnonymousInvitedParticipant"],
    ]

    /// The classes that a value of such a key may have. Foundation ends the process if it knows a class and the class
    /// was not requested.
    private static var anyClasses: [AnyClass] {
        [
            NSString.self, NSNumber.self, NSDate.self, NSData.self, NSArray.self, NSDictionary.self, NSSet.self,
            NSNull.self, NSURL.self, NSUUID.self,
        ]
    }

    /// Whether the object has a part that Stratus does not support. Such an object does not decode.
    static func hasUnsupportedPart(_ className: String, in coder: NSCoder) -> Bool {
        let keys =
            (unsupportedObjects[className] ?? []).filter {
                coder.decodeWithStandIns(of: anyClasses, forKey: $0) != nil
            } + (unsupportedNumbers[className] ?? []).filter { coder.decodeNumber(forKey: $0) != 0 }
        guard let key = keys.first else { return false }
        (coder as? any ArchiveReader)?.noteUnknown(
            "The archive has a part that Stratus does not support. Use the object without it, or on Apple's systems.",
            ["class": className, "key": key])
        return true
    }
}

// Dictionaries with values of unknown classes, read with Foundation's unarchiver.
//
// On Linux, a dictionary with a value that does not decode gets fewer values than keys, and Foundation reads beyond
// them. A delegate prevents this: it names a class for every unknown one. The dictionary then holds objects that no
// field takes, and is refused. The client's own delegate is called first.

extension NSCoder {
    /// The object under a key, which may be a dictionary of any values; nil if there is none.
    func decodeWithStandIns(of classes: [AnyClass], forKey key: String) -> Any? {
        UnknownClassStandIn.whileSet(on: self as? NSKeyedUnarchiver) { decodeValue(of: classes, forKey: key) }
    }
}

/// Substitutes an object without meaning for one of an unknown class.
private final class UnknownClassStandIn: NSKeyedUnarchiverDelegate {
    /// No record holds such an object, so it is refused.
    private final class Unknown: NSObject, NSSecureCoding {
        static var supportsSecureCoding: Bool { true }
        init?(coder: NSCoder) { super.init() }
        func encode(with coder: NSCoder) {}
    }

    /// The client's delegate.
    private let outer: (any NSKeyedUnarchiverDelegate)?

    private init(outer: (any NSKeyedUnarchiverDelegate)?) { self.outer = outer }

    static func whileSet(on unarchiver: NSKeyedUnarchiver?, _ decode: () -> Any?) -> Any? {
        let outer = unarchiver?.delegate
        let standIn = UnknownClassStandIn(outer: outer)
        unarchiver?.delegate = standIn
        defer { unarchiver?.delegate = outer }
        return withExtendedLifetime(standIn) { decode() }
    }

    func unarchiver(
        _ unarchiver: NSKeyedUnarchiver, cannotDecodeObjectOfClassName name: String,
        originalClasses classNames: [String]
    ) -> AnyClass? {
        outer?.unarchiver(unarchiver, cannotDecodeObjectOfClassName: name, originalClasses: classNames) ?? Unknown.self
    }

    func unarchiver(_ unarchiver: NSKeyedUnarchiver, didDecode object: Any?) -> Any? {
        outer?.unarchiver(unarchiver, didDecode: object)
    }

    func unarchiver(_ unarchiver: NSKeyedUnarchiver, willReplace object: Any, with newObject: Any) {
        outer?.unarchiver(unarchiver, willReplace: object, with: newObject)
    }

    func unarchiverWillFinish(_ unarchiver: NSKeyedUnarchiver) { outer?.unarchiverWillFinish(unarchiver) }
    func unarchiverDidFinish(_ unarchiver: NSKeyedUnarchiver) { outer?.unarchiverDidFinish(unarchiver) }
}
