// The payload of a notification: the dictionary that a device gets.
//
//   aps   what the system shows, with the keys of Apple's push service: alert, badge, sound, content-available,
//         mutable-content, category
//   ck    what the app gets, under the keys of the real service's pushes:
//         cid        the container's identifier          nid  the notification's identity
//         ckuserid   the owner of the subscription       ce   2
//         p          1 if something was pruned (a key of Stratus; the real service's key is not known)
//         and one of
//         qry  of a query subscription: dbs, sid, fo (reason), rid, zid, zoid (record, zone, owner), af (fields)
//         fet  of a zone subscription: dbs, sid, zid, zoid
//         met  of a database subscription: dbs, sid
//         If the record or zone was pruned, these have only dbs and sid.
//         dbs, sid  without any of them if the kind is not known (a form of Stratus)
//         dbs is 1 for private, 2 for public, 3 for shared.
//
// Invariant: reading a payload that was written here returns exactly the notification it was written from, also after
// it passed through JSON or a property list. Payloads of other origin are read as far as they are valid.

import Foundation
import StratusCloud
import StratusModel

enum NotificationPayload {
    enum Key {
        static let shown = "aps"
        static let content = "ck"
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

    /// The payload of a notification, of Foundation's classes, whose casts convert.
    static func dictionary(of notification: ClientNotification) -> [AnyHashable: Any] {
        [
            Key.shown: object(shown(notification)),
            Key.content: object(content(notification)),
        ]
    }

    private static func content(_ notification: ClientNotification) -> [String: Any?] {
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
        // A text alone is itself the value, as in pushes of the real service.
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

    // Reading payloads: from this module, from the real service, or damaged ones.

    /// The content of a payload; nil if it is not one of CloudKit's (N-09).
    static func content(of payload: [AnyHashable: Any]) -> NotificationContent? {
        guard let payload = PayloadDictionary(payload), let sent = payload.dictionary(Key.content) else { return nil }
        let parts = [
            (Key.query, CKNotification.NotificationType.query), (Key.zone, .recordZone), (Key.database, .database),
        ].compactMap { key, type in sent.dictionary(key).map { (type: type, part: $0) } }.first
        let knownKeys = [Key.container, Key.id, Key.owner, Key.scope, Key.subscription]
        guard parts != nil || knownKeys.contains(where: { sent.holds($0) }) else { return nil }
        let place = parts?.part ?? sent
        let (owner, shown) = (sent.text(Key.owner), payload.dictionary(Key.shown))
        let notification = ClientNotification(
            id: sent.text(Key.id).flatMap { UUID(uuidString: $0) },
            container: sent.text(Key.container).map { ContainerName($0) },
            subscriptionID: place.text(Key.subscription), subscriptionOwner: owner.map { UserName($0) },
            database: database(place.number(Key.scope)),
            subject: parts.flatMap { subject($0.type, $0.part, reader: owner) },
            alert: alert(shown), badge: shown?.number(ShownKey.badge).map { Int($0) },
            isPruned: sent.flag(Key.isPruned))
        var content = NotificationContent(notification)
        if notification.subject == .prunedQuery {
            content.reason = reason(place)
            content.fields = fields(place)
        }
        return content
    }

    private static func database(_ number: Int64?) -> DatabaseSelector {
        DatabaseSelector.allCases.first { self.number(of: $0) == number } ?? .private
    }

    // MARK: What it is about

    /// The rest of the content if a part is missing.
    private static func subject(
        _ type: CKNotification.NotificationType, _ part: PayloadDictionary, reader: String?
    ) -> NotificationSubject? {
        switch type {
        case .query:
            guard let reason = reason(part), let name = part.text(Key.recordName),
                let zone = zone(part, reader: reader)
            else { return .prunedQuery }
            return .query(reason: reason, record: RecordAddress(recordName: name, zone: zone), fields: fields(part))
        case .recordZone: return zone(part, reader: reader).map { NotificationSubject.zone($0) } ?? .prunedZone
        case .database: return .database
        case .readNotification: return nil
        }
    }

    private static func reason(_ part: PayloadDictionary) -> QueryNotificationReason? {
        part.number(Key.reason).flatMap { UInt8(exactly: $0) }.flatMap { QueryNotificationReason(rawValue: $0) }
    }

    private static func fields(_ part: PayloadDictionary) -> [String: ClientValue] {
        part.dictionary(Key.fields)?.content.compactMapValues { PayloadValue.value(of: $0) } ?? [:]
    }

    /// The zone. Pushes of the real service name the reader as owner in two ways.
    private static func zone(_ part: PayloadDictionary, reader: String?) -> ZoneAddress? {
        guard let name = part.text(Key.zoneName) else { return nil }
        let owner = part.text(Key.zoneOwner)
        let isReaders = owner == nil || owner == "_defaultOwner" || owner == reader
        return ZoneAddress(zoneName: name, ownerName: isReaders ? ZoneAddress.currentUser : owner ?? "")
    }

    // MARK: Alert

    private static func alert(_ shown: PayloadDictionary?) -> NotificationAlert {
        var alert = NotificationAlert()
        guard let shown else { return alert }
        if let text = shown.text(ShownKey.alert) {
            alert.body.text = text
        } else if let parts = shown.dictionary(ShownKey.alert) {
            alert.body = phrase(parts, .body)
            alert.title = phrase(parts, .title)
            alert.subtitle = phrase(parts, .subtitle)
            alert.actionLocalizationKey = parts.text(ShownKey.action)
            alert.launchImage = parts.text(ShownKey.launchImage)
        }
        alert.soundName = shown.text(ShownKey.sound)
        alert.isContentAvailable = shown.flag(ShownKey.isContentAvailable)
        alert.isMutable = shown.flag(ShownKey.isMutable)
        alert.category = shown.text(ShownKey.category)
        return alert
    }

    private static func phrase(_ parts: PayloadDictionary, _ keys: PhraseKeys) -> NotificationPhrase {
        .init(
            text: parts.text(keys.text), localizationKey: parts.text(keys.localizationKey),
            arguments: parts.texts(keys.arguments))
    }
}

/// A dictionary in a payload of any origin.
///
/// Its pairs are read one by one: a cast to other keys ends the process if two keys become equal.
struct PayloadDictionary {
    let content: [String: Any]

    /// Nil for a value that is not a dictionary. Keys that are not texts are left out.
    init?(_ object: Any?) {
        var content: [String: Any] = [:]
        switch object {
        case let dictionary as NSDictionary:
            for (key, value) in dictionary { if let key = PayloadValue.text(key) { content[key] = value } }
        case let dictionary as [AnyHashable: Any]:
            for (key, value) in dictionary { if let key = PayloadValue.text(key.base) { content[key] = value } }
        default: return nil
        }
        self.content = content
    }

    func holds(_ key: String) -> Bool { content[key] != nil }
    func dictionary(_ key: String) -> PayloadDictionary? { PayloadDictionary(content[key]) }
    func text(_ key: String) -> String? { content[key].flatMap { PayloadValue.text($0) } }
    func texts(_ key: String) -> [String]? {
        content[key].flatMap { PayloadValue.list($0) }?.compactMap(PayloadValue.text)
    }
    func number(_ key: String) -> Int64? { content[key].flatMap { PayloadValue.integer($0) } }
    func flag(_ key: String) -> Bool { number(key).map { $0 != 0 } ?? false }
}

// Values of fields in a payload. Texts and numbers are written as they are, as in pushes of the real service. A value
// that JSON or a property list cannot express or could change, is a dictionary of a type, named as in CloudKit's web
// services, and a value.
//
//   type        value
//   DOUBLE      text: a number without a fraction, or none (inf, nan)
//   TIMESTAMP   text: seconds since the beginning of 2001
//   BYTES       text: base 64
//   LOCATION    list of eight texts: latitude, longitude, altitude, accuracies, course, speed, timestamp
//   REFERENCE   dictionary: recordName, zoneName, ownerName, action (0, or 1 for deleteSelf)
//   ASSETID     nothing: assets are not included
//   LIST        list of values that are not lists
//
// Invariant: reading never creates an asset from a file.

enum PayloadValue {
    private enum Kind: String {
        case number = "DOUBLE"
        case date = "TIMESTAMP"
        case bytes = "BYTES"
        case location = "LOCATION"
        case reference = "REFERENCE"
        case asset = "ASSETID"
        case list = "LIST"
    }

    private static let kindKey = "type"
    private static let valueKey = "value"

    // MARK: Writing

    static func object(of value: ClientValue) -> Any {
        switch value {
        case .string(let text): NSString(string: text)
        case .int64(let number): NSNumber(value: number)
        // A number with a fraction keeps it, and so is read as the same number.
        case .double(let number) where number.isFinite && number != number.rounded(): NSNumber(value: number)
        case .double(let number): typed(.number, text(of: number))
        case .date(let date): typed(.date, text(of: date.timeIntervalSinceReferenceDate))
        case .bytes(let bytes): typed(.bytes, NSString(string: bytes.data.base64EncodedString()))
        case .location(let place):
            typed(.location, NSArray(array: CLLocation(place).archivedNumbers.map { text(of: $0) }))
        case .reference(let reference): typed(.reference, parts(of: reference))
        case .asset: typed(.asset, NSString(string: ""))
        case .list(let values): typed(.list, NSArray(array: values.map { object(of: $0) }))
        }
    }

    private static func typed(_ kind: Kind, _ value: NSObject) -> NSDictionary {
        NSDictionary(dictionary: [kindKey: NSString(string: kind.rawValue), valueKey: value])
    }

    /// The shortest text that is read as the same number.
    private static func text(of number: Double) -> NSString { NSString(string: "\(number)") }

    private static func parts(of reference: ClientReference) -> NSDictionary {
        NSDictionary(dictionary: [
            "recordName": NSString(string: reference.target.recordName),
            "zoneName": NSString(string: reference.target.zone.zoneName),
            "ownerName": NSString(string: reference.target.zone.ownerName),
            "action": NSNumber(value: reference.action == .deleteSelf ? 1 : 0),
        ])
    }

    // MARK: Reading

    /// The value of an object; nil if it is not a value.
    static func value(of object: Any, isInList: Bool = false) -> ClientValue? {
        if let dictionary = PayloadDictionary(object) { return value(of: dictionary, isInList) }
        if let number = object as? NSNumber { return value(of: number) }
        guard list(object) == nil, let held = try? HeldValue(holding: object), held.assets.isEmpty else { return nil }
        return held.clientValue
    }

    /// By its text, which shows whether it is whole: JSON returns some whole numbers as decimal numbers.
    private static func value(of number: NSNumber) -> ClientValue? {
        let text = number.stringValue
        return Int64(text).map { .int64($0) } ?? Double(text).map { .double($0) }
    }

    private static func value(of dictionary: PayloadDictionary, _ isInList: Bool) -> ClientValue? {
        guard let kind = dictionary.text(kindKey).flatMap({ Kind(rawValue: $0) }) else { return nil }
        let text = dictionary.text(valueKey)
        switch kind {
        case .number: return text.flatMap { Double($0) }.map { .double($0) }
        case .date:
            return text.flatMap { Double($0) }.map { .date(Date(timeIntervalSinceReferenceDate: $0)) }
        case .bytes: return text.flatMap { Data(base64Encoded: $0) }.map { .bytes(ClientBytes($0)) }
        case .location:
            let numbers = dictionary.texts(valueKey)?.compactMap { Double($0) } ?? []
            return CLLocation(archivedNumbers: numbers).map { .location($0.location) }
        case .reference: return dictionary.dictionary(valueKey).flatMap { reference($0) }.map { .reference($0) }
        case .asset: return .asset(.missing)
        case .list:
            guard !isInList, let values = dictionary.content[valueKey].flatMap({ list($0) }) else { return nil }
            return .list(values.compactMap { value(of: $0, isInList: true) })
        }
    }

    private static func reference(_ parts: PayloadDictionary) -> ClientReference? {
        guard let recordName = parts.text("recordName"), let zoneName = parts.text("zoneName"),
            let ownerName = parts.text("ownerName")
        else { return nil }
        let zone = ZoneAddress(zoneName: zoneName, ownerName: ownerName)
        return ClientReference(
            target: RecordAddress(recordName: recordName, zone: zone),
            action: parts.number("action") == 1 ? .deleteSelf : .none)
    }

    // MARK: Plain objects

    static func text(_ object: Any) -> String? { object as? String }

    static func list(_ object: Any) -> [Any]? {
        (object as? NSArray).map { Array($0) } ?? object as? [Any]
    }

    /// A whole number of any type.
    static func integer(_ object: Any) -> Int64? {
        switch value(of: object, isInList: true) {
        case .int64(let number): number
        case .double(let number): Int64(exactly: number)
        default: nil
        }
    }
}
