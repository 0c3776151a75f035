// Which classes stand in archives, and under which names.
//
// Apple's systems archive the Objective-C names; Foundation on Linux puts the module before them. Both decode: with
// NSKeyedUnarchiver because the names are registered when the process is loaded, before a client can have an archive
// in hand, and with StratusArchive because it looks here.

import Foundation

/// The classes of clients that can be archived.
enum ArchivedClasses {
    /// Every class by the name it has on Apple's systems.
    private static var all: [String: any (NSObject & NSSecureCoding).Type] {
        [
            "CKRecord": CKRecord.self, "CKRecordID": CKRecordID.self, "CKRecordZoneID": CKRecordZoneID.self,
            "CKReference": CKReference.self, "CKAsset": CKAsset.self, "CKRecordZone": CKRecordZone.self,
            "CKUserIdentity": CKUserIdentity.self, "CKUserIdentityLookupInfo": CKUserIdentityLookupInfo.self,
            "CKShare": CKShare.self, "CKShareParticipant": CKShareParticipant.self,
            "CKShareMetadata": CKShareMetadata.self, "CKShareAccessRequester": CKShareAccessRequester.self,
            "CKShareBlockedIdentity": CKShareBlockedIdentity.self,
            "CKAllowedSharingOptions": CKAllowedSharingOptions.self, "CLLocation": CLLocation.self,
            "CKOperationGroup": CKOperationGroup.self, "CKServerChangeToken": CKServerChangeToken.self,
            "CKFetchRecordZoneChangesConfiguration": CKFetchRecordZoneChangesConfiguration.self,
            // The name that configurations had before.
            "CKFetchRecordZoneChangesOptions": CKFetchRecordZoneChangesConfiguration.self,
            "CKQuery": CKQuery.self, "CKQueryCursor": CKQueryCursor.self,
            "CKLocationSortDescriptor": CKLocationSortDescriptor.self,
            "CKQuerySubscription": CKQuerySubscription.self, "CKDatabaseSubscription": CKDatabaseSubscription.self,
            "CKRecordZoneSubscription": CKRecordZoneSubscription.self, "CKNotificationInfo": CKNotificationInfo.self,
            "CKNotificationID": CKNotificationID.self,
        ]
    }

    /// The class that an archive names, on Apple's systems or here.
    static func type(named name: String) -> (any (NSObject & NSSecureCoding).Type)? {
        let ownPrefix = "StratusKit."
        return all[name.hasPrefix(ownPrefix) ? String(name.dropFirst(ownPrefix.count)) : name]
    }

    /// Whether a class is among them, so that its decoder is known never to trap.
    static func isKnown(_ type: NSObject.Type) -> Bool { all.values.contains { $0 == type } }

    /// Makes Foundation decode archives from Apple's systems.
    static func register() {
        for (name, type) in all { NSKeyedUnarchiver.setClass(type, forClassName: name) }
    }
}

/// Called when the process is loaded; see the target `CLoadHook`.
@_cdecl("stratus_register_class_names")
func registerArchivedClassNames() {
    ArchivedClasses.register()
}
