// Which classes stand in archives, and under which names.
//
// Apple's systems archive the Objective-C names; Foundation on Linux puts the module before them. Both decode: with
// NSKeyedUnarchiver because the names are registered when the process is loaded, before a client can have an archive
// in hand, and with StratusArchive because it looks here.
//
// Some names stand for classes that clients do not see: what Apple's records, shares and people are made of inside.

import Foundation

/// The classes that can be archived.
enum ArchivedClasses {
    typealias ArchivedClass = NSObject & NSSecureCoding

    /// Every class by the name it has on Apple's systems.
    private static let all: [String: any ArchivedClass.Type] = [
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
        // The inside of Apple's objects.
        "CKRecordValueStore": ArchivedValueStore.self, "CKEncryptedRecordValueStore": ArchivedEncryptedValueStore.self,
        "CKContainerID": ArchivedContainerID.self, "_NSPersonNameComponentsData": ArchivedNameParts.self,
        // Reads what Foundation's class of this name reads, and Apple's form of it too.
        "NSPersonNameComponents": ArchivedPersonName.self,
    ]

    /// What stands between a class and `NSObject` on Apple's systems.
    private static let parents = [
        "CKShare": ["CKRecord"], "CKEncryptedRecordValueStore": ["CKRecordValueStore"],
        "CKQuerySubscription": ["CKSubscription"], "CKDatabaseSubscription": ["CKSubscription"],
        "CKRecordZoneSubscription": ["CKSubscription"], "CKLocationSortDescriptor": ["NSSortDescriptor"],
        "NSMutableArray": ["NSArray"], "NSMutableDictionary": ["NSDictionary"], "NSMutableSet": ["NSSet"],
    ]

    /// The class that an archive names, on Apple's systems or here.
    static func type(named name: String) -> (any ArchivedClass.Type)? { all[appleName(name)] }

    /// The name that a class has on Apple's systems.
    static func appleName(_ name: String) -> String {
        let ownPrefix = "StratusKit."
        return name.hasPrefix(ownPrefix) ? String(name.dropFirst(ownPrefix.count)) : name
    }

    /// The name that an object's class has in Apple's archives; nil for one that is never archived.
    static func appleName(of type: NSObject.Type) -> String? {
        type.classFallbacksForKeyedArchiver().first { all[$0] != nil }
    }

    /// A class and those above it on Apple's systems, by their names.
    static func lineage(of name: String) -> [String] { [name] + (parents[name] ?? []) + ["NSObject"] }

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
