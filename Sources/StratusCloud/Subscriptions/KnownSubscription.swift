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
