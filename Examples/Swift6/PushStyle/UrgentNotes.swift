// A visible push for the matches of a query, in today's style: the push contains the fields to show.

import CloudKit

/// Tells a person of notes that become urgent.
public struct UrgentNotes: Sendable {
    private let database: CKDatabase
    private let zoneID: CKRecordZone.ID

    /// The notes of a zone.
    public init(zoneID: CKRecordZone.ID, database: CKDatabase = CKContainer.default().privateCloudDatabase) {
        self.zoneID = zoneID
        self.database = database
    }

    /// Subscribes under a name, or changes the subscription with that name.
    public func subscribe(_ name: String, above priority: Int) async throws {
        let subscription = CKQuerySubscription(
            recordType: "Note", predicate: NSPredicate(format: "priority > %d", priority), subscriptionID: name,
            options: [.firesOnRecordCreation, .firesOnRecordDeletion])
        subscription.zoneID = zoneID
        subscription.notificationInfo = CKSubscription.NotificationInfo(
            alertLocalizationKey: "URGENT_%@", alertLocalizationArgs: ["text"], soundName: "default",
            desiredKeys: ["text", "priority"], shouldBadge: true)
        try await database.save(subscription)
    }

    /// Whether a subscription with a name exists.
    public func isSubscribed(_ name: String) async throws -> Bool {
        do {
            let subscription = try await database.subscription(for: name)
            return subscription.subscriptionType == .query
        } catch CKError.unknownItem {
            return false
        }
    }

    /// Ends all subscriptions.
    public func unsubscribeFromAll() async throws {
        let all = try await database.allSubscriptions().map(\.subscriptionID)
        let (_, deleteResults) = try await database.modifySubscriptions(saving: [], deleting: all)
        for result in deleteResults.values { try result.get() }
    }

    /// The line to show for a push; nil for one of something else.
    public static func line(for userInfo: [AnyHashable: Any]) -> String? {
        guard
            let notification = CKNotification(fromRemoteNotificationDictionary: userInfo) as? CKQueryNotification,
            let recordID = notification.recordID
        else { return nil }
        let text = notification.recordFields?["text"] as? String ?? recordID.recordName
        switch notification.queryNotificationReason {
        case .recordCreated: return "Urgent: \(text)"
        case .recordUpdated: return "Changed: \(text)"
        case .recordDeleted: return "No longer urgent: \(text)"
        @unknown default: return nil
        }
    }
}
