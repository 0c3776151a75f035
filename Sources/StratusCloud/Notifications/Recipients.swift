// Who gets notifications because of a commit, and what they contain.
//
//   Recipients          (outbox entry, transaction) → users, and which of their subscriptions may fire
//   NotificationFiller  (subscription's template, change) → notification. Pure.
//
// `DeliveryRun` checks whether the users still have such subscriptions. Only people who see, or saw, something of the
// change in another person's zone are among the recipients:
//   * the people named in the entry: those who saw the share before or after the commit, if the commit changed that
//   * for other shares, the people who see the share now and already did at the commit. Anyone who saw it then and no
//     longer does lost it in a later commit, whose entry names them.

import FoundationEssentials
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

/// A reason for which a user's subscriptions may fire.
enum Occasion {
    /// A change in one of the user's own zones.
    case own(types: [RecordType]?)
    /// A change in another person's zone.
    case shared(types: [RecordType]?)
    case matches([QueryMatch])
    /// A subscription of the user ended with its zone.
    case ended(String, NotificationTemplate?)
}

struct Recipients {
    let entry: OutboxEntry
    let database: DatabaseNumber
    let transaction: RecordTransaction

    /// All recipients who were not served yet, in the order of their names.
    func all() throws -> [(user: UserName, occasions: [Occasion])] {
        var found: [UserName: [Occasion]] = [:]
        switch entry.news {
        case .records(let types): if let owner = entry.owner { found[owner] = [.own(types: types)] }
        case .matches(let matches):
            for (user, own) in Dictionary(grouping: matches, by: \.user) { found[user] = [.matches(own)] }
        case .zoneDeleted:
            if let owner = entry.owner { found[owner] = [.own(types: nil)] }
            for user in try viewersOfDeletedZone() { found[user, default: []].append(.shared(types: nil)) }
        case .subscriptionEnded(let id, let template):
            if let owner = entry.owner { found[owner] = [.ended(id, template)] }
        case .shares(let shares):
            for (user, types) in try users(of: shares) { found[user] = [.shared(types: types)] }
        }
        return found.filter { user, _ in entry.last.map { $0 < user } ?? true }
            .sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    // MARK: Shares

    /// For each user, the types of the records that changed; nil for any type.
    private func users(of shares: [SharedNews]) throws -> [UserName: [RecordType]?] {
        var found: [UserName: [RecordType]?] = [:]
        for news in shares {
            for user in try news.users ?? viewers(of: news.share) {
                let known: [RecordType]? = found[user] ?? []
                found[user] = .some(known.flatMap { known in news.types.map { known + $0 } })
            }
        }
        return found
    }

    /// The people who see a share now and did at the commit.
    private func viewers(of share: RecordName) throws -> [UserName] {
        guard let owner = entry.owner else { return [] }
        let place = SharePlace(
            container: entry.container, owner: owner, zone: entry.zone, zoneIdentity: entry.identity, share: share)
        // The zone, if it is still the one of the entry. Its deletion has its own entry.
        guard try transaction.listing(of: place.zoneID)?.entry.identity == entry.identity,
            let content = try transaction.zone(place.zoneID)?.record(share)?.record.shareContent()
        else { return [] }
        return try content.viewers.subtracting([owner]).filter { user in
            let key = place.acceptanceKey(of: user)
            let since = try transaction.store.withValue(forKey: key) { try AcceptanceEntry(decoding: $0).since }
            return since.map { $0 <= entry.sequence } ?? false
        }
    }

    /// The people who saw anything in a deleted zone. Its keys exist until its shares are released, which happens only
    /// after this delivery.
    private func viewersOfDeletedZone() throws -> Set<UserName> {
        let key = GlobalKeys.zone(database, entry.zoneNumber, in: .releases)
        let release = try transaction.store.withValue(forKey: key) { try ReleaseEntry(decoding: $0) }
        guard let release, release.identity == entry.identity else { return [] }
        let zone = transaction.zone(of: release)
        var viewers: Set<UserName> = []
        try zone.store.forEach(in: zone.keys.types(of: ShareContent.recordType)) { key, _ in
            let share = try zone.keys.readTypeKey(key).name
            if let content = try zone.record(share)?.record.shareContent() { viewers.formUnion(content.viewers) }
        }
        return viewers
    }
}

/// Fills a subscription's template.
struct NotificationFiller {
    let parts: SubscriptionKeyParts
    /// Nil for a silent subscription (N-03).
    let template: NotificationTemplate?
    /// Bytes of a stored notification, its slot not counted.
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

    // MARK: Coalescing

    /// The slot of a notification: a new one replaces the waiting one in its slot. A zone or database subscription has
    /// one slot, a query subscription one for each record. A collapse key gives all subscriptions of the app a common
    /// slot: for the value of the record's field of that name if it has one, else for the key itself.
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
        // Every gap is filled, with nothing if the record has no such field.
        phrase.arguments = phrase.arguments?.map { name in values[FieldKey(name)].map { text(of: $0) } ?? "" }
        return phrase
    }

    /// A value as a text, cut to the maximum length in a notification (L-17).
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

    /// The parts that are removed from a notification that is too large, one step after the other (N-06).
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
