// The keys of Apple's archives that are left out when an object is decoded, by the class that has them.
//
// Every other key with a value is either read or makes `StratusArchive` refuse the archive. The names are those
// of archives that Apple's systems wrote. A key may stand here when it says nothing of the user's data:
//
//   security    keys, protection data, and tokens of Apple's servers: of no use elsewhere, and not to be passed on
//   caches      what a server or a device knows for itself: tags of its own, quotas, host names, from where it came
//   claims      what the server decides for itself, or what another key of the same object says too
//   originals   what a value was before a change, where the change itself is read
//
// `NSKeyedUnarchiver` cannot list the keys of an archive. What is known and has no place here is asked for by both
// decoders: see `unsupported`.

import Foundation

/// Which keys of an archive are not read.
enum ArchivedKeys {
    /// Whether a key of a class says nothing that has to be kept.
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
        // What a device measures beyond what a record holds of a place.
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

    /// no path of a file is read.
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
        // Numbers of an address book that is on the device alone.
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

    /// Keys that change what an object means, and of which Stratus has nothing that corresponds.
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

    /// Classes that what stands under such a key may have. Foundation ends the process where a class is known to it and
    /// not among those that are asked for.
    private static var anyClasses: [AnyClass] {
        [
            NSString.self, NSNumber.self, NSDate.self, NSData.self, NSArray.self, NSDictionary.self, NSSet.self,
            NSNull.self, NSURL.self, NSUUID.self,
        ]
    }

    /// Whether the object that is decoded has a part that Stratus has no place for: then it does not decode.
    static func hasUnsupportedPart(_ className: String, in coder: NSCoder) -> Bool {
        let keys =
            (unsupportedObjects[className] ?? []).filter {
                coder.decodeWithStandIns(of: anyClasses, forKey: $0) != nil
            } + (unsupportedNumbers[className] ?? []).filter { coder.decodeNumber(forKey: $0) != 0 }
        guard let key = keys.first else { return false }
        (coder as? any ArchiveReader)?.noteUnknown(
            "The archive has a part that Stratus has no place for. Use the object without it, or on Apple's systems.",
            ["class": className, "key": key])
        return true
    }
}

// Dictionaries out of Foundation's unarchiver that have values of unknown classes.
//
// On Linux a dictionary whose value does not decode has fewer values than keys, and reads beyond them. A delegate keeps
// that from happening: it names a class for every unknown one. What is decoded then holds objects that nothing takes for
// a value, and is refused. The client's own delegate is asked first.

extension NSCoder {
    /// The object under a key, which may be a dictionary of anything; nil where there is none.
    func decodeWithStandIns(of classes: [AnyClass], forKey key: String) -> Any? {
        UnknownClassStandIn.whileSet(on: self as? NSKeyedUnarchiver) { decodeValue(of: classes, forKey: key) }
    }
}

/// Puts an object without meaning in the place of one whose class is not known.
private final class UnknownClassStandIn: NSKeyedUnarchiverDelegate {
    /// What no record holds, so that it is refused.
    private final class Unknown: NSObject, NSSecureCoding {
        static var supportsSecureCoding: Bool { true }
        init?(coder: NSCoder) { super.init() }
        func encode(with coder: NSCoder) {}
    }

    /// The client's.
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
