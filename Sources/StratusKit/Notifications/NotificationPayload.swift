// The payload of a notification: the dictionary that a device gets.
//
//   aps   what the system shows, in the words of Apple's push service: alert, badge, sound, content-available,
//         mutable-content, category
//   ck    what the app is told, under the keys that pushes of the real service have:
//         cid        the container's identifier          nid  the notification's
//         ckuserid   whose subscription it is            ce   2
//         p          1 where something was pruned (our own; which key the real service has is not known)
//         and one of
//         qry  of a query subscription: dbs, sid, fo (why), rid, zid, zoid (record, zone, owner), af (fields)
//         fet  of a zone subscription: dbs, sid, zid, zoid
//         met  of a database subscription: dbs, sid
//         of one whose record, or zone, was pruned nothing but dbs and sid is left there
//         dbs, sid  without any of them where the kind is not known (our own)
//         dbs is 1 for private, 2 for public, 3 for shared.
//
// Invariant: a payload that was written here is read as what it was written of, to the bit, also after JSON or a
// property list in between. What others have written is read as far as it makes sense.

import Foundation
import StratusCloud
import StratusModel

enum NotificationPayload {
    enum Key {
        static let shown = "aps"
        static let told = "ck"
        static let container = "cid"
        static let id = "nid"
        static let owner = "ckuserid"
        static let environment = "ce"
        static let isPruned = "p"
        static let query = "qry"
        static let zone = "fet"
        static let database = "met"
        static let scope = "dbs"
        static let subscription = "sid"
        static let reason = "fo"
        static let recordName = "rid"
        static let zoneName = "zid"
        static let zoneOwner = "zoid"
        static let fields = "af"
    }

    /// The keys of `aps`, which Apple documents.
    enum ShownKey {
        static let alert = "alert"
        static let badge = "badge"
        static let sound = "sound"
        static let isContentAvailable = "content-available"
        static let isMutable = "mutable-content"
        static let category = "category"
        static let action = "action-loc-key"
        static let launchImage = "launch-image"
    }

    /// The keys of one text of the alert.
    struct PhraseKeys {
        let text: String
        let localizationKey: String
        let arguments: String

        static let body = PhraseKeys(text: "body", localizationKey: "loc-key", arguments: "loc-args")
        static let title = PhraseKeys(
            text: "title", localizationKey: "title-loc-key", arguments: "title-loc-args")
        static let subtitle = PhraseKeys(
            text: "subtitle", localizationKey: "subtitle-loc-key", arguments: "subtitle-loc-args")
    }

    /// The numbers of databases.
    static func number(of database: DatabaseSelector) -> Int64 {
        switch database {
        case .private: 1
        case .public: 2
        case .shared: 3
        }
    }

    // MARK: Writing

    /// The payload of a notification, of Foundation's own classes, whose casts convert.
    static func dictionary(of notification: ClientNotification) -> [AnyHashable: Any] {
        [
            Key.shown: object(shown(notification)),
            Key.told: object(told(notification)),
        ]
    }

    private static func told(_ notification: ClientNotification) -> [String: Any?] {
        var parts: [String: Any?] = [
            Key.environment: number(2), Key.container: notification.container.map { text($0.text) },
            Key.id: notification.id.map { text($0.uuidString.lowercased()) },
            Key.owner: notification.subscriptionOwner.map { text($0.text) },
            Key.isPruned: flag(notification.isPruned),
        ]
        let place: [String: Any?] = [
            Key.scope: number(number(of: notification.database)),
            Key.subscription: notification.subscriptionID.map { text($0) },
        ]
        switch notification.subject {
        case .query(let reason, let record, let fields):
            var query = place.merging(zone(record.zone)) { $1 }
            query[Key.reason] = number(Int64(reason.rawValue))
            query[Key.recordName] = text(record.recordName)
            if !fields.isEmpty { query[Key.fields] = object(fields.mapValues { PayloadValue.object(of: $0) }) }
            parts[Key.query] = object(query)
        case .zone(let address): parts[Key.zone] = object(place.merging(zone(address)) { $1 })
        case .database: parts[Key.database] = object(place)
        case .prunedQuery: parts[Key.query] = object(place)
        case .prunedZone: parts[Key.zone] = object(place)
        case nil: parts.merge(place) { $1 }
        }
        return parts
    }

    private static func zone(_ address: ZoneAddress) -> [String: Any?] {
        [Key.zoneName: text(address.zoneName), Key.zoneOwner: text(address.ownerName)]
    }

    private static func shown(_ notification: ClientNotification) -> [String: Any?] {
        let alert = notification.alert
        var parts: [String: Any?] = [
            ShownKey.action: alert.actionLocalizationKey.map { text($0) },
            ShownKey.launchImage: alert.launchImage.map { text($0) },
        ]
        parts.merge(phrase(alert.body, .body)) { $1 }
        parts.merge(phrase(alert.title, .title)) { $1 }
        parts.merge(phrase(alert.subtitle, .subtitle)) { $1 }
        let texts = parts.compactMapValues { $0 }
        // A text alone stands for itself, as in pushes of the real service.
        let isBodyAlone = texts.count == 1 && alert.body.text != nil
        return [
            ShownKey.alert: isBodyAlone ? texts.values.first : texts.isEmpty ? nil : object(parts),
            ShownKey.badge: notification.badge.map { number(Int64($0)) },
            ShownKey.sound: alert.soundName.map { text($0) },
            ShownKey.isContentAvailable: flag(alert.isContentAvailable), ShownKey.isMutable: flag(alert.isMutable),
            ShownKey.category: alert.category.map { text($0) },
        ]
    }

    private static func phrase(_ phrase: NotificationPhrase, _ keys: PhraseKeys) -> [String: Any?] {
        [
            keys.text: phrase.text.map { text($0) }, keys.localizationKey: phrase.localizationKey.map { text($0) },
            keys.arguments: phrase.arguments.map { NSArray(array: $0.map { text($0) }) },
        ]
    }

    private static func text(_ text: String) -> NSString { NSString(string: text) }
    private static func number(_ number: Int64) -> NSNumber { NSNumber(value: number) }
    private static func flag(_ isSet: Bool) -> NSNumber? { isSet ? number(1) : nil }
    private static func object(_ parts: [String: Any?]) -> NSDictionary {
        NSDictionary(dictionary: parts.compactMapValues { $0 })
    }
}
