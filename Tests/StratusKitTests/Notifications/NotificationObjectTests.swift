// Notifications as objects: of payloads of the store's own and of the real service's.

import Foundation
import StratusCloud
import StratusModel
import Testing

@testable import StratusKit

@Suite struct NotificationObjectTests {
    private func made(_ told: ClientNotification) -> CKNotification? {
        CKNotification(fromRemoteNotificationDictionary: NotificationPayload.dictionary(of: told))
    }

    @Test("a payload becomes a notification of its kind's class, and a subclass accepts only its own kind")
    func kinds() {
        let classes = NotificationSamples.all.map { made($0).map { "\(type(of: $0))" } ?? "nil" }
        #expect(
            classes == [
                "CKQueryNotification", "CKQueryNotification", "CKRecordZoneNotification", "CKDatabaseNotification",
                "CKDatabaseNotification", "CKQueryNotification", "CKDatabaseNotification", "CKQueryNotification",
                "CKRecordZoneNotification",
            ])
        for (sample, name) in zip(NotificationSamples.all, classes) {
            let payload = NotificationPayload.dictionary(of: sample)
            let taken: [CKNotification?] = [
                CKQueryNotification(fromRemoteNotificationDictionary: payload),
                CKRecordZoneNotification(fromRemoteNotificationDictionary: payload),
                CKDatabaseNotification(fromRemoteNotificationDictionary: payload),
            ]
            #expect(taken.compactMap { $0.map { "\(type(of: $0))" } } == [name])
        }
        #expect(
            [CKNotification.NotificationType.query, .recordZone, .readNotification, .database].map(\.rawValue)
                == [1, 2, 3, 4])
    }

    @Test("[N-09] a payload that is not CloudKit's is not a notification")
    func foreign() {
        let payloads: [[AnyHashable: Any]] = [
            [:], ["aps": ["alert": "text"]], ["ck": "text"], ["ck": [:] as [String: Any]], ["ck": ["ce": 2]],
            ["ck": ["x": 1]], ["CK": ["nid": "x"]], [1: ["nid": "x"]],
        ]
        #expect(payloads.allSatisfy { CKNotification(fromRemoteNotificationDictionary: $0) == nil })
        #expect(CKNotification(fromRemoteNotificationDictionary: ["ck": ["met": ["dbs": 1]]]) != nil)
        #expect(CKNotification(fromRemoteNotificationDictionary: ["ck": ["nid": "x"]]) != nil)
    }

    @Test("a query notification contains the reason, the record, and the desired fields")
    func query() throws {
        let notification = try #require(made(NotificationSamples.all[0]) as? CKQueryNotification)
        #expect(notification.notificationType == .query)
        #expect(notification.queryNotificationReason == .recordUpdated)
        #expect(notification.recordID == CKRecord.ID(NotificationSamples.record))
        #expect(notification.databaseScope == .private)
        #expect((notification as any LegacyQueryNotification).isPublicDatabase == false)
        #expect(notification.subscriptionID == "changes")
        #expect(!notification.isPruned)
        #expect(notification.containerIdentifier == "iCloud.com.example.app")
        #expect(notification.subscriptionOwnerUserRecordID?.recordName == "_alice")
        let id = try #require(notification.notificationID)
        #expect(id == CKNotificationID(try #require(NotificationSamples.id)))
        #expect(id.copy() as? CKNotification.ID === id)
        let fields = try #require(notification.recordFields)
        #expect(fields["title"] as? String == "Größe 😀")
        #expect(fields["count"] as? Int64 == .min)
        #expect(fields["price"] as? Double == 0.1)
        #expect(fields["whole"] as? Double == 3)
        #expect(fields["due"] as? Date == Date(timeIntervalSinceReferenceDate: 712_345_678.123_456))
        #expect((fields["place"] as? CLLocation)?.coordinate.longitude == -13.4)
        #expect((fields["folder"] as? CKRecord.Reference)?.action == .deleteSelf)
        let deleted = try #require(made(NotificationSamples.all[1]) as? CKQueryNotification)
        #expect(deleted.queryNotificationReason == .recordDeleted)
        #expect(deleted.recordFields == nil)
        #expect((deleted as any LegacyQueryNotification).isPublicDatabase)
        #expect(deleted.databaseScope == .public)
    }

    @Test("a zone notification names its zone and a database notification its database; pruned parts are nil")
    func others() throws {
        let zone = try #require(made(NotificationSamples.all[2]) as? CKRecordZoneNotification)
        #expect(zone.recordZoneID == CKRecordZone.ID(zoneName: "Trips", ownerName: "_olga"))
        #expect(zone.databaseScope == .shared)
        #expect(zone.notificationType == .recordZone)
        let database = try #require(made(NotificationSamples.all[3]) as? CKDatabaseNotification)
        #expect(database.databaseScope == .private)
        #expect(database.notificationType == .database)
        let lost = try #require(made(NotificationSamples.all[5]) as? CKQueryNotification)
        #expect(lost.isPruned)
        #expect(lost.recordID == nil)
        #expect(lost.recordFields == nil)
        #expect(lost.databaseScope == .public)
        #expect(lost.queryNotificationReason == .recordUpdated)
        #expect(lost.subscriptionID == "changes")
        let bare = try #require(made(NotificationSamples.all[6]))
        #expect(bare.notificationID == nil)
        #expect(bare.containerIdentifier == nil)
        #expect(bare.subscriptionID == nil)
        #expect(bare.subscriptionOwnerUserRecordID == nil)
        #expect(bare.isPruned)
    }

    @Test("the alert that the system shows is included")
    func shown() throws {
        let all: any LegacyNotification = try #require(made(NotificationSamples.all[0]))
        #expect(all.alertBody == "new")
        #expect(all.alertLocalizationKey == "NEW")
        #expect(all.alertLocalizationArgs == ["a", ""])
        #expect(all.title == "T")
        #expect(all.titleLocalizationKey == "TT")
        #expect(all.titleLocalizationArgs == [])
        #expect(all.subtitle == "S")
        #expect(all.subtitleLocalizationKey == "SS")
        #expect(all.subtitleLocalizationArgs == ["b"])
        #expect(all.alertActionLocalizationKey == "ACT")
        #expect(all.alertLaunchImage == "launch.png")
        #expect(all.badge == 180)
        #expect(all.soundName == "default")
        #expect(all.category == "C")
        let none: any LegacyNotification = try #require(made(NotificationSamples.all[3]))
        #expect(none.alertBody == nil)
        #expect(none.badge == nil)
        #expect(none.titleLocalizationArgs == nil)
    }

    @Test("a notification of the real service is parsed, as far as its format is known")
    func realService() throws {
        let query = CKNotification(fromRemoteNotificationDictionary: [
            "aps": ["alert": "New chat", "badge": 180, "sound": "default"],
            "ck": [
                "ce": 2, "cid": "iCloud.com.example.chat", "ckuserid": "_5012",
                "nid": "66a1bfd5-4f7c-437f-b5ad-4bae0b71b4a0",
                "qry": [
                    "dbs": 2, "fo": 1, "rid": "C8FA", "sid": "AC91", "zid": "_defaultZone", "zoid": "_defaultOwner",
                    "af": ["name": "x", "count": 3],
                ] as [String: Any],
            ] as [String: Any],
        ])
        let told = try #require(query as? CKQueryNotification)
        #expect(told.databaseScope == .public)
        #expect(told.queryNotificationReason == .recordCreated)
        #expect(told.recordID == CKRecord.ID(recordName: "C8FA"))
        #expect(told.subscriptionID == "AC91")
        #expect(told.recordFields?["name"] as? String == "x")
        #expect(told.recordFields?["count"] as? Int == 3)
        #expect((told as any LegacyNotification).alertBody == "New chat")
        let database = CKNotification(fromRemoteNotificationDictionary: [
            "aps": ["content-available": 1],
            "ck": [
                "cid": "iCloud.com.example.chat", "ckuserid": "_5012",
                "met": ["dbs": 3, "sid": "all", "zid": "z", "zoid": "_5012"] as [String: Any],
            ] as [String: Any],
        ])
        #expect((database as? CKDatabaseNotification)?.databaseScope == .shared)
        #expect(database?.subscriptionID == "all")
        let zone = CKNotification(fromRemoteNotificationDictionary: [
            "ck": [
                "ckuserid": "_5012", "fet": ["dbs": 1, "sid": "s", "zid": "Notes", "zoid": "_5012"] as NSDictionary,
            ]
                as NSDictionary
        ])
        #expect((zone as? CKRecordZoneNotification)?.recordZoneID == CKRecordZone.ID(zoneName: "Notes"))
        let bare = CKNotification(fromRemoteNotificationDictionary: [
            "ck": ["ce": 2, "cid": "iCloud.x", "nid": "y"] as [String: Any]
        ])
        #expect(bare?.containerIdentifier == "iCloud.x")
        #expect(bare?.notificationID == nil)
        let pruned = CKNotification(fromRemoteNotificationDictionary: [
            "ck": ["qry": ["dbs": 1, "fo": 3, "sid": "s", "af": ["a": "b"]] as [String: Any]]
        ])
        let lost = try #require(pruned as? CKQueryNotification)
        #expect(lost.queryNotificationReason == .recordDeleted)
        #expect(lost.recordID == nil)
        #expect(lost.subscriptionID == "s")
        #expect(lost.recordFields?["a"] as? String == "b")
    }

    @Test("an identity round-trips through an archive")
    func identity() throws {
        let id = CKNotificationID(try #require(NotificationSamples.id))
        let data = try ArchiveSamples.archive(id)
        #expect(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKNotificationID.self, from: data) == id)
        let copy = try StratusArchive.decode(CKNotification.ID.self, from: data)
        #expect(copy == id)
        #expect(copy.hash == id.hash)
        #expect(copy != CKNotificationID(UUID()))
    }
}
