// Subscriptions in memory, with only the parts that commits need, and which of them a commit may fire.

import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

/// The decoded query of a subscription.
struct KnownQuery: Sendable {
    let query: ClientQuery
    /// Nil for all zones of the database.
    let zone: ZoneName?
    let triggers: SubscriptionTriggers
    /// The fields whose values are in notifications.
    let fields: Set<FieldKey>
}

/// A subscription.
struct KnownSubscription: Sendable {
    enum Subject: Sendable {
        case query(KnownQuery)
        case zone(ZoneName)
        case database
    }

    /// Its size in memory, without its key and value.
    static let byteCount = 256

    let parts: SubscriptionKeyParts
    let subject: Subject

    /// Throws `corruption` if the query cannot be read.
    init(_ parts: SubscriptionKeyParts, _ entry: SubscriptionEntry) throws {
        self.parts = parts
        switch entry.subject {
        case .query(let stored):
            subject = .query(
                KnownQuery(
                    query: try SubscriptionCoding.query(stored, parts), zone: stored.zone,
                    triggers: SubscriptionTriggers(rawValue: UInt(stored.triggers)),
                    fields: entry.template?.namedFields ?? []))
        case .zone(let zone, _): subject = .zone(zone)
        case .database: subject = .database
        }
    }
}

extension NotificationTemplate {
    /// The fields whose values it uses.
    var namedFields: Set<FieldKey> {
        let arguments = [alert.body, alert.title, alert.subtitle].flatMap { $0.arguments ?? [] }
        return Set((arguments + (desiredKeys ?? []) + (collapseKey.map { [$0] } ?? [])).map { FieldKey($0) })
    }
}

/// One person's subscriptions to their private database, and whether they have any to their shared database.
struct PersonalSubscriptions: Sendable {
    private(set) var own: [KnownSubscription] = []
    private(set) var listensToShared = false
    /// About its size in memory.
    private(set) var byteCount = 0

    /// Nothing.
    init() {}

    /// Reads the range of a person's private and shared database.
    ///
    /// Throws `corruption` if a query cannot be read.
    init(_ range: KeyRange, _ reader: RecordReader) throws {
        try reader.store.scan(range) { key, value in
            let parts = try GlobalKeys.readSubscriptionKey(key)
            guard parts.database == DatabaseSelector.private.rawValue else {
                // These come last.
                listensToShared = true
                return .stop
            }
            own.append(try KnownSubscription(parts, SubscriptionEntry(decoding: value)))
            byteCount += KnownSubscription.byteCount + key.count + 2 * value.count
            return .next
        }
    }

    /// The interest in changes of one of the person's zones.
    func interest(in zone: ZoneName) -> ZoneInterest {
        var interest = ZoneInterest()
        let isDefault = zone.text == ZoneAddress.defaultZoneName
        for subscription in own {
            switch subscription.subject {
            // A database subscription does not include the default zone (N-02).
            case .database: if !isDefault { interest.isDatabaseWanted = true }
            case .zone(let name): if name == zone { interest.isZoneWanted = true }
            case .query(let query):
                guard query.zone.map({ $0 == zone }) ?? true else { continue }
                interest.queries[RecordType(query.query.recordType), default: [:]][subscription.parts] = query
            }
        }
        interest.isSharedWanted = !isDefault
        return interest
    }
}

/// The subscriptions to the public database of one container, by record type.
struct PublicSubscriptions: Sendable {
    typealias Queries = [RecordType: [SubscriptionKeyParts: KnownQuery]]

    private(set) var queries: Queries = [:]
    private var types: [SubscriptionKeyParts: RecordType] = [:]

    /// Reads the range of a container.
    ///
    /// Throws `corruption` if a query cannot be read.
    init(_ range: KeyRange, _ reader: RecordReader) throws {
        try reader.store.forEach(in: range) { key, value in
            let parts = try GlobalKeys.readSubscriptionKey(key)
            guard parts.database == DatabaseSelector.public.rawValue else { return }
            set(parts, to: try KnownSubscription(parts, SubscriptionEntry(decoding: value)))
        }
    }

    /// Adds, replaces or removes a subscription; ignores those to other databases.
    mutating func set(_ parts: SubscriptionKeyParts, to subscription: KnownSubscription?) {
        guard parts.database == DatabaseSelector.public.rawValue else { return }
        if let type = types.removeValue(forKey: parts) {
            queries[type]?[parts] = nil
            if queries[type]?.isEmpty == true { queries[type] = nil }
        }
        guard case .query(let query)? = subscription?.subject else { return }
        let type = RecordType(query.query.recordType)
        queries[type, default: [:]][parts] = query
        types[parts] = type
    }
}

/// Which subscriptions may fire for changes in a zone.
struct ZoneInterest: Sendable {
    /// Whether its owner has subscribed to the database.
    var isDatabaseWanted = false
    /// Whether its owner has subscribed to this zone.
    var isZoneWanted = false
    /// Whether other people may be interested if the zone has shares. It is not known yet whether any have subscribed.
    var isSharedWanted = false
    var queries: PublicSubscriptions.Queries = [:]

    var isOwnerInterested: Bool { isDatabaseWanted || isZoneWanted }
    var isEmpty: Bool { !isOwnerInterested && !isSharedWanted && queries.isEmpty }

    /// Whether a plan's changes may fire a subscription. Before, set `isSharedWanted` to whether the zone has shares.
    func concerns(_ plan: MutationPlan) -> Bool {
        isOwnerInterested || isSharedWanted || plan.saved.contains { queries[$0.record.type] != nil }
            || plan.deleted.contains { queries[$0.type] != nil }
    }
}

/// Which query subscriptions fire for a commit: (subscription, record before, record after) → reason, or nil (N-04).
///
///     starts to match                          created
///     matched, and still matches               updated
///     matched, and no longer does or exists    deleted
///
/// In the public database a record fires only if the subscriber may read it, by the grants of its type (S-18).
struct QueryJudge {
    /// The maximum number of characters of a text in a notification (L-17).
    static let textCount = 100

    let zone: ZoneID
    let journal: CommitJournal
    let learnt: [RecordType: RecordTypeSchema]
    let reader: RecordReader

    /// The subscriptions that fire, in the order of users and subscriptions.
    func matches(
        _ records: [RecordType: [RecordChangePair]], _ queries: PublicSubscriptions.Queries
    ) throws -> [QueryMatch] {
        var matches: [QueryMatch] = []
        for (type, pairs) in records {
            guard let subscribers = queries[type],
                let schema = try learnt[type]
                    ?? journal.schemas.schema(of: type, container: zone.database.container, in: reader)
            else { continue }
            for (parts, known) in subscribers where known.zone.map({ $0 == zone.name }) ?? true {
                matches += self.matches(pairs, schema, parts, known)
            }
        }
        return matches.sorted { left, right in
            if left.user != right.user { return left.user < right.user }
            let (one, other) = (RecordName(left.subscription), RecordName(right.subscription))
            return one == other ? left.record < right.record : one < other
        }
    }

    private func matches(
        _ pairs: [RecordChangePair], _ schema: RecordTypeSchema, _ parts: SubscriptionKeyParts, _ known: KnownQuery
    ) -> [QueryMatch] {
        // The query may be invalid since a change of the schema.
        guard !known.query.matchesNothing,
            let verdict = try? QueryVerdict(known.query, type: schema, mode: journal.mode)
        else {
            return []
        }
        let query = QueryTranslation(
            verdict: verdict, zone: ResolvedZone(id: zone, as: parts.user), caller: parts.user,
            metresPerUnit: journal.metresPerUnit
        ).query()
        func matching(_ stored: StoredRecord?) -> StoredRecord? {
            guard let stored, query.matches(stored), mayRead(stored, schema, parts.user) else { return nil }
            return stored
        }
        return pairs.compactMap { pair in
            let (old, new) = (matching(pair.old), matching(pair.new))
            guard let reason = Self.reason(old != nil, new != nil, known.triggers), let shown = new ?? old else {
                return nil
            }
            return QueryMatch(
                user: parts.user, subscription: parts.id, reason: reason.rawValue, record: shown.record.name,
                fields: Self.values(of: known.fields, in: shown.record))
        }
    }

    static func reason(
        _ matched: Bool, _ matches: Bool, _ triggers: SubscriptionTriggers
    ) -> QueryNotificationReason? {
        switch (matched, matches) {
        case (false, true): triggers.contains(.creation) ? .recordCreated : nil
        case (true, true): triggers.contains(.update) ? .recordUpdated : nil
        case (true, false): triggers.contains(.deletion) ? .recordDeleted : nil
        case (false, false): nil
        }
    }

    private func mayRead(_ stored: StoredRecord, _ schema: RecordTypeSchema, _ user: UserName) -> Bool {
        guard zone.database.scope == .public else { return true }
        return GrantVerdict.permissions(
            schema, hasAccount: true, isCreator: stored.system.created.user == user
        ).contains(.read)
    }

    /// The values that a notification may have (L-13). Encrypted values are left out (C-08).
    private static func values(of keys: Set<FieldKey>, in record: Record) -> [FieldKey: FieldValue] {
        var values: [FieldKey: FieldValue] = [:]
        for key in keys {
            guard let field = record.fields[key], !field.isEncrypted, field.value.fitsNotification else { continue }
            if case .string(let text) = field.value {
                values[key] = .string(String(text.prefix(textCount)))
            } else {
                values[key] = field.value
            }
        }
        return values
    }
}
