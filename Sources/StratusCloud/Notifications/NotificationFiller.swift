// A subscription's template and what has happened → what a device is told. Pure.

import FoundationEssentials
import StratusLayout
import StratusModel

struct NotificationFiller {
    let parts: SubscriptionKeyParts
    /// Nil for a silent subscription (N-03).
    let template: NotificationTemplate?
    /// Bytes of a notification as it is stored, its slot not counted.
    let byteLimit: Int

    /// The notification, pruned to its limit. `values` are those of the fields that the template names.
    func notification(
        of subject: NotificationEntry.Subject, _ values: [FieldKey: FieldValue], id: UUID, badge: UInt64?
    ) -> NotificationEntry {
        var entry = NotificationEntry(
            slot: slot(of: subject, values), id: id, container: parts.container, subscription: parts.id,
            owner: parts.user, database: parts.database, subject: subject)
        guard let template else {
            entry.alert.isContentAvailable = true
            return pruned(entry)
        }
        entry.alert = template.alert
        entry.alert.body = Self.filled(template.alert.body, values)
        entry.alert.title = Self.filled(template.alert.title, values)
        entry.alert.subtitle = Self.filled(template.alert.subtitle, values)
        entry.badge = badge
        if case .query(let reason, let record, let zone, _) = subject {
            let desired = Set((template.desiredKeys ?? []).map { FieldKey($0) })
            entry.subject = .query(
                reason: reason, record: record, zone: zone, fields: values.filter { desired.contains($0.key) })
        }
        return pruned(entry)
    }

    /// Whether the number on the app's icon grows with it.
    var badges: Bool { template?.badges ?? false }

    // MARK: Coalescing

    /// Of zones and databases one notification waits for each subscription, of queries one for each record. A collapse key
    /// puts notifications of all subscriptions of the app together: by the value of the record's field of that name where
    /// it has one, else by the key itself.
    private func slot(of subject: NotificationEntry.Subject, _ values: [FieldKey: FieldValue]) -> [UInt8] {
        var writer = CursorWriter()
        writer.append(parts.container.text)
        if let key = template?.collapseKey {
            writer.append(byte: 1)
            writer.append(values[FieldKey(key)].map { Self.text(of: $0) } ?? key)
            return ContentDigest.sha256(writer.bytes)
        }
        writer.append(byte: 0)
        writer.append(byte: parts.database)
        writer.append(parts.id)
        if case .query(_, let record, let zone, _) = subject {
            writer.append(zone.text)
            writer.append(record.text)
        }
        return ContentDigest.sha256(writer.bytes)
    }

    // MARK: Filling

    private static func filled(_ phrase: NotificationPhrase, _ values: [FieldKey: FieldValue]) -> NotificationPhrase {
        var phrase = phrase
        // Each gap is filled: with nothing where the record has no such field.
        phrase.arguments = phrase.arguments?.map { name in values[FieldKey(name)].map { text(of: $0) } ?? "" }
        return phrase
    }

    /// A value as a text, cut to what a notification carries (L-17).
    static func text(of value: FieldValue) -> String {
        let text: String
        switch value {
        case .string(let string): text = string
        case .int64(let number): text = "\(number)"
        case .double(let number): text = "\(number)"
        case .date(let date): text = date.formatted(.iso8601)
        case .location(let place): text = "\(place.latitudeDegrees),\(place.longitudeDegrees)"
        case .reference(let reference): text = reference.target.text
        case .bytes, .asset, .list: text = ""
        }
        return String(text.prefix(QueryJudge.textCount))
    }

    // MARK: Pruning

    /// What goes first where a notification is too large (N-06), one step after the other.
    private static let pruning: [@Sendable (inout NotificationEntry) -> Void] = [
        { $0.container = nil },
        { entry in
            guard case .query(let reason, let record, let zone, _) = entry.subject else { return }
            entry.subject = .query(reason: reason, record: record, zone: zone, fields: [:])
        },
        { entry in
            switch entry.subject {
            case .query: entry.subject = .prunedQuery
            case .zone: entry.subject = .prunedZone
            case .database, .prunedQuery, .prunedZone, nil: break
            }
        },
        { $0.alert.soundName = nil },
        { $0.alert.launchImage = nil },
        { ($0.alert.actionLocalizationKey, $0.alert.category) = (nil, nil) },
        { $0.prunePhrases(\.text) },
        { $0.prunePhrases(\.arguments) },
        { $0.prunePhrases(\.localizationKey) },
        { $0.badge = nil },
        { $0.id = nil },
    ]

    private func pruned(_ entry: NotificationEntry) -> NotificationEntry {
        var entry = entry
        for step in Self.pruning {
            guard entry.encoded().count - NotificationEntry.slotByteCount > byteLimit else { return entry }
            var shorter = entry
            step(&shorter)
            guard shorter != entry else { continue }
            shorter.isPruned = true
            entry = shorter
        }
        return entry
    }
}

extension NotificationEntry {
    fileprivate mutating func prunePhrases<Part>(_ part: WritableKeyPath<NotificationPhrase, Part?>) {
        alert.body[keyPath: part] = nil
        alert.title[keyPath: part] = nil
        alert.subtitle[keyPath: part] = nil
    }
}
