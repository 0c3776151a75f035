// Whom the news of a commit concern: (outbox entry, transaction) → users, and which of their subscriptions. Whether they
// still have such subscriptions is asked by whoever delivers.
//
// Others' zones are told of to those alone who see, or saw, something of what has changed:
//   * those whom the entry names: who saw the share before or after the commit, where that changed with it
//   * of other shares whoever sees the share now and already did at the commit. Who saw it then and does not now has ceased
//     to by a later commit, whose own entry names them.

import FoundationEssentials
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

/// What may make a user's subscriptions fire.
enum Occasion {
    /// Something happened in a zone of the user's own.
    case own(types: [RecordType]?)
    /// Something happened in a zone of another's.
    case shared(types: [RecordType]?)
    case matches([QueryMatch])
    /// A subscription of the user's has ended with its zone.
    case ended(String, NotificationTemplate?)
}

struct Recipients {
    let entry: OutboxEntry
    let database: DatabaseNumber
    let transaction: RecordTransaction

    /// Everybody who may be concerned and has not been told yet, in the order of their names.
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

    /// The types of which records changed for each user; nil for any.
    private func users(of shares: [SharedNews]) throws -> [UserName: [RecordType]?] {
        var found: [UserName: [RecordType]?] = [:]
        for news in shares {
            for user in try news.users ?? viewers(of: news.share) {
                if let known = found[user] {
                    if let known, let types = news.types {
                        found[user] = .some(known + types)
                    } else {
                        found[user] = .some(nil)
                    }
                } else {
                    found[user] = .some(news.types)
                }
            }
        }
        return found
    }

    /// Who sees a share now and did at the commit.
    private func viewers(of share: RecordName) throws -> [UserName] {
        guard let owner = entry.owner, let zone = try liveZone(),
            let content = try zone.record(share)?.record.shareContent()
        else { return [] }
        guard let place = SharePlace(zone.id, identity: entry.identity, share: share) else { return [] }
        return try content.viewers.subtracting([owner]).filter { user in
            let key = place.acceptanceKey(of: user)
            let since = try transaction.store.withValue(forKey: key) { try AcceptanceEntry(decoding: $0).since }
            return since.map { $0 <= entry.sequence } ?? false
        }
    }

    /// The zone, if it is still the one of the entry: its deletion has news of its own.
    private func liveZone() throws -> ZoneReader? {
        let database = DatabaseID(
            container: entry.container, owner: entry.owner, scope: entry.owner == nil ? .public : .private)
        let id = ZoneID(database: database, name: entry.zone)
        guard try transaction.listing(of: id)?.entry.identity == entry.identity else { return nil }
        return try transaction.zone(id)
    }

    /// Who saw anything of a zone that is deleted. Its keys are there until a release has let go of its shares, which it
    /// does not before this is told.
    private func viewersOfDeletedZone() throws -> Set<UserName> {
        let key = GlobalKeys.release(database, entry.zoneNumber)
        let release = try transaction.store.withValue(forKey: key) { try ReleaseEntry(decoding: $0) }
        guard let release, release.identity == entry.identity else { return [] }
        let zone = transaction.zone(of: release)
        var viewers: Set<UserName> = []
        try zone.store.scan(zone.keys.types(of: ShareContent.recordType).keyRange) { key, _ in
            let share = try zone.keys.readTypeKey(key).name
            if let content = try zone.record(share)?.record.shareContent() { viewers.formUnion(content.viewers) }
            return .next
        }
        return viewers
    }
}

// A subscription's template and what has happened → what a device is told. Pure.

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
