// A payload as a notification again: one of our own, one of the real service, or a damaged one.

import Foundation
import StratusCloud
import StratusModel

extension NotificationPayload {
    /// What a payload tells; nil where it is none of CloudKit's (N-09).
    static func content(of payload: [AnyHashable: Any]) -> NotificationContent? {
        guard let payload = PayloadDictionary(payload), let told = payload.dictionary(Key.told) else { return nil }
        let parts = [
            (Key.query, CKNotification.NotificationType.query), (Key.zone, .recordZone), (Key.database, .database),
        ].compactMap { key, type in told.dictionary(key).map { (type: type, part: $0) } }.first
        let knownKeys = [Key.container, Key.id, Key.owner, Key.scope, Key.subscription]
        guard parts != nil || knownKeys.contains(where: { told.holds($0) }) else { return nil }
        let place = parts?.part ?? told
        let (owner, shown) = (told.text(Key.owner), payload.dictionary(Key.shown))
        let notification = ClientNotification(
            id: told.text(Key.id).flatMap { UUID(uuidString: $0) },
            container: told.text(Key.container).map { ContainerName($0) },
            subscriptionID: place.text(Key.subscription), subscriptionOwner: owner.map { UserName($0) },
            database: database(place.number(Key.scope)),
            subject: parts.flatMap { subject($0.type, $0.part, reader: owner) },
            alert: alert(shown), badge: shown?.number(ShownKey.badge).map { Int($0) },
            isPruned: told.flag(Key.isPruned))
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

    /// What is left of it where a part is missing.
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

    /// The zone. Pushes of the real service name the reader in two ways where its own clients say that it is theirs.
    private static func zone(_ part: PayloadDictionary, reader: String?) -> ZoneAddress? {
        guard let name = part.text(Key.zoneName) else { return nil }
        let owner = part.text(Key.zoneOwner)
        let isReaders = owner == nil || owner == "_defaultOwner" || owner == reader
        return ZoneAddress(zoneName: name, ownerName: isReaders ? ZoneAddress.currentUser : owner ?? "")
    }

    // MARK: What is shown

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

/// A dictionary of a payload, whoever made it and of whatever.
///
/// Its pairs are gone through one by one: a cast to other keys ends the process where two keys become one.
struct PayloadDictionary {
    let content: [String: Any]

    /// Nil for what is no dictionary. Keys that are no texts are left out.
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
