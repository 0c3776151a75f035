// Subscriptions in memory: of each only what a commit asks for.

import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

/// The query of a subscription, ready to be asked.
struct KnownQuery: Sendable {
    let query: ClientQuery
    /// Nil for all zones of the database.
    let zone: ZoneName?
    let triggers: SubscriptionTriggers
    /// The fields of which notifications tell the values.
    let fields: Set<FieldKey>
}

/// A subscription.
struct KnownSubscription: Sendable {
    enum Subject: Sendable {
        case query(KnownQuery)
        case zone(ZoneName)
        case database
    }

    /// What it takes in memory, besides the bytes that tell of it.
    static let byteCount = 256

    let parts: SubscriptionKeyParts
    let subject: Subject

    /// Throws `corruption` where the query cannot be read.
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
    /// The fields whose values it asks for.
    var namedFields: Set<FieldKey> {
        let arguments = [alert.body, alert.title, alert.subtitle].flatMap { $0.arguments ?? [] }
        return Set((arguments + (desiredKeys ?? []) + (collapseKey.map { [$0] } ?? [])).map { FieldKey($0) })
    }
}

/// What one person has subscribed to in their private database, and whether in their shared one.
struct PersonalSubscriptions: Sendable {
    private(set) var own: [KnownSubscription] = []
    private(set) var listensToShared = false
    /// About what it takes in memory.
    private(set) var byteCount = 0

    /// Nothing.
    init() {}

    /// Reads the range of a person's private and shared database.
    ///
    /// Throws `corruption` where a query cannot be read.
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

    /// Who may care for what happens in a zone of the person's.
    func interest(in zone: ZoneName) -> ZoneInterest {
        var interest = ZoneInterest()
        let isDefault = zone.text == ZoneAddress.defaultZoneName
        for subscription in own {
            switch subscription.subject {
            // The default zone is no part of what a database subscription tells of (N-02).
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
    /// Throws `corruption` where a query cannot be read.
    init(_ range: KeyRange, _ reader: RecordReader) throws {
        try reader.store.scan(range) { key, value in
            let parts = try GlobalKeys.readSubscriptionKey(key)
            guard parts.database == DatabaseSelector.public.rawValue else { return .next }
            set(parts, to: try KnownSubscription(parts, SubscriptionEntry(decoding: value)))
            return .next
        }
    }

    /// Takes over a subscription to any database.
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

/// Who may care for what happens in a zone.
struct ZoneInterest: Sendable {
    /// Its owner, as of a zone of the database.
    var isDatabaseWanted = false
    /// Its owner, as of this very zone.
    var isZoneWanted = false
    /// Others, if the zone has shares: whether any of those who see something of it have subscribed is not known yet.
    var isSharedWanted = false
    var queries: PublicSubscriptions.Queries = [:]

    var isOwnerInterested: Bool { isDatabaseWanted || isZoneWanted }
    var isEmpty: Bool { !isOwnerInterested && !isSharedWanted && queries.isEmpty }

    /// Whether anybody may care for what a plan changes: `isSharedWanted` says by then whether the zone has shares.
    func concerns(_ plan: MutationPlan) -> Bool {
        isOwnerInterested || isSharedWanted || plan.saved.contains { queries[$0.record.type] != nil }
            || plan.deleted.contains { queries[$0.type] != nil }
    }
}

extension MutationPlan {
    var savesShare: Bool { saved.contains { $0.record.type == ShareContent.recordType } }
    var changesShares: Bool { savesShare || deleted.contains { $0.type == ShareContent.recordType } }
}

// Which query subscriptions fire for what a commit has done: (subscription, record before, record after) → why, or nothing
// (N-04).
//
//   begins to match                       created
//   matched, and matches still            updated
//   matched, and is gone or does not      deleted
//
// In the public database only what the subscriber may read fires, by the grants of the record's type (S-18).

struct QueryJudge {
    /// Characters of a text that a notification carries (L-17).
    static let textCount = 100

    let zone: ZoneID
    let container: ContainerName
    let schemas: SchemaKeeper
    let mode: SchemaMode
    let metresPerUnit: Double
    let learnt: [RecordType: RecordTypeSchema]
    let reader: RecordReader

    /// What fires, in the order of users and subscriptions.
    func matches(
        _ records: [RecordType: [RecordChangePair]], _ queries: PublicSubscriptions.Queries
    ) throws -> [QueryMatch] {
        var matches: [QueryMatch] = []
        for (type, pairs) in records {
            guard let subscribers = queries[type],
                let schema = try learnt[type] ?? schemas.schema(of: type, container: container, in: reader)
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
        // A schema that has changed may not let it be asked any more.
        guard !known.query.matchesNothing, let verdict = try? QueryVerdict(known.query, type: schema, mode: mode) else {
            return []
        }
        let query = QueryTranslation(
            verdict: verdict, zone: ResolvedZone(id: zone, as: parts.user), caller: parts.user,
            metresPerUnit: metresPerUnit
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

    /// The values that a notification may carry (L-13). What is encrypted is not told (C-08).
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
