// Subscriptions that the tests share, and deprecated names reachable without a warning.

import Foundation
import StratusCloud

@testable import StratusKit

enum SubscriptionSamples {
    static let zoneID = CKRecordZone.ID(zoneName: "Notes")
    static let otherZoneID = CKRecordZone.ID(zoneName: "Größen", ownerName: "_olga")

    static func info() -> CKSubscription.NotificationInfo {
        CKSubscription.NotificationInfo(
            alertBody: "new", alertLocalizationKey: "NEW", alertLocalizationArgs: ["title"], title: "T",
            titleLocalizationKey: "TT", titleLocalizationArgs: ["a", "b"], subtitle: "S", subtitleLocalizationKey: "SS",
            subtitleLocalizationArgs: [], alertActionLocalizationKey: "ACT", alertLaunchImage: "launch.png",
            soundName: "default", desiredKeys: ["title", "größe"], shouldBadge: true, shouldSendContentAvailable: true,
            shouldSendMutableContent: true, category: "C", collapseIDKey: "K")
    }

    static func query(
        _ id: String = "query", _ predicate: NSPredicate = NSPredicate(format: "age > %d AND name = %@", 3, "ä"),
        type: String = "Note", options: CKQuerySubscription.Options = [.firesOnRecordCreation, .firesOnce]
    ) -> CKQuerySubscription {
        let subscription = CKQuerySubscription(
            recordType: type, predicate: predicate, subscriptionID: id, options: options)
        subscription.zoneID = zoneID
        subscription.notificationInfo = info()
        return subscription
    }

    static func zone(_ id: String = "zone") -> CKRecordZoneSubscription {
        let subscription = CKRecordZoneSubscription(zoneID: otherZoneID, subscriptionID: id)
        subscription.recordType = "Note"
        return subscription
    }

    static func database(_ id: String = "database") -> CKDatabaseSubscription {
        let subscription = CKDatabaseSubscription(subscriptionID: id)
        subscription.notificationInfo = CKSubscription.NotificationInfo()
        subscription.notificationInfo?.shouldSendContentAvailable = true
        return subscription
    }

    static var all: [CKSubscription] { [query(), zone(), database()] }
}

/// The deprecated initialisers, reachable without a warning.
protocol LegacyQuerySubscription: CKSubscription {
    init(recordType: CKRecord.RecordType, predicate: NSPredicate, options: CKQuerySubscription.Options)
}

/// The deprecated initialisers, reachable without a warning.
protocol LegacyZoneSubscription: CKSubscription {
    init(zoneID: CKRecordZone.ID)
}

/// The deprecated initialisers, reachable without a warning.
protocol LegacyDatabaseSubscription: CKSubscription {
    init()
}

/// The deprecated blocks, reachable without a warning.
protocol LegacyModifySubscriptions: AnyObject {
    var modifySubscriptionsCompletionBlock: (([CKSubscription]?, [CKSubscription.ID]?, (any Error)?) -> Void)? {
        get set
    }
}

/// The deprecated blocks, reachable without a warning.
protocol LegacyFetchSubscriptions: AnyObject {
    var fetchSubscriptionCompletionBlock: (([CKSubscription.ID: CKSubscription]?, (any Error)?) -> Void)? { get set }
}

extension CKQuerySubscription: LegacyQuerySubscription {}
extension CKRecordZoneSubscription: LegacyZoneSubscription {}
extension CKDatabaseSubscription: LegacyDatabaseSubscription {}
extension CKModifySubscriptionsOperation: LegacyModifySubscriptions {}
extension CKFetchSubscriptionsOperation: LegacyFetchSubscriptions {}
