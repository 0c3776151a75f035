// Subscriptions in memory: of each only what a commit asks for.

import StratusLayout
import StratusModel
import StratusRecords

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

/// The subscriptions of one container.
struct ContainerSubscriptions: Sendable {
    typealias Queries = [SubscriptionKeyParts: KnownQuery]

    /// To private databases, by their owners.
    private(set) var privates: [UserName: [SubscriptionKeyParts: KnownSubscription]] = [:]
    /// To the public database, by record type.
    private(set) var publics: [RecordType: Queries] = [:]
    private(set) var shared: Set<SubscriptionKeyParts> = []
    private var publicTypes: [SubscriptionKeyParts: RecordType] = [:]

    mutating func set(_ parts: SubscriptionKeyParts, to subscription: KnownSubscription?) {
        remove(parts)
        guard let subscription else { return }
        switch DatabaseSelector(rawValue: parts.database) {
        case .private: privates[parts.user, default: [:]][parts] = subscription
        case .shared: shared.insert(parts)
        case .public, nil:
            guard case .query(let query) = subscription.subject else { return }
            let type = RecordType(query.query.recordType)
            publics[type, default: [:]][parts] = query
            publicTypes[parts] = type
        }
    }

    private mutating func remove(_ parts: SubscriptionKeyParts) {
        shared.remove(parts)
        if var own = privates[parts.user], own.removeValue(forKey: parts) != nil {
            privates[parts.user] = own.isEmpty ? nil : own
        }
        if let type = publicTypes.removeValue(forKey: parts), var queries = publics[type] {
            queries[parts] = nil
            publics[type] = queries.isEmpty ? nil : queries
        }
    }

    /// Who may care for what happens in a zone; nil where nobody does.
    func interest(in zone: ZoneID) -> ZoneInterest? {
        var interest = ZoneInterest()
        guard let owner = zone.database.owner, zone.database.scope == .private else {
            interest.queries = publics
            return interest.queries.isEmpty ? nil : interest
        }
        let isDefault = zone.name.text == ZoneAddress.defaultZoneName
        for subscription in (privates[owner] ?? [:]).values {
            switch subscription.subject {
            // The default zone is no part of what a database subscription tells of (N-02).
            case .database: if !isDefault { interest.isDatabaseWanted = true }
            case .zone(let name): if name == zone.name { interest.isZoneWanted = true }
            case .query(let query):
                guard query.zone.map({ $0 == zone.name }) ?? true else { continue }
                interest.queries[RecordType(query.query.recordType), default: [:]][subscription.parts] = query
            }
        }
        interest.isSharedWanted = !isDefault && !shared.isEmpty
        return interest.isEmpty ? nil : interest
    }
}

/// Who may care for what happens in a zone.
struct ZoneInterest: Sendable {
    /// Its owner, as of a zone of the database.
    var isDatabaseWanted = false
    /// Its owner, as of this very zone.
    var isZoneWanted = false
    /// Others, with subscriptions to their shared databases: whether they see anything of the zone is not known yet.
    var isSharedWanted = false
    /// By record type.
    var queries: [RecordType: ContainerSubscriptions.Queries] = [:]

    var isOwnerInterested: Bool { isDatabaseWanted || isZoneWanted }
    var isEmpty: Bool { !isOwnerInterested && !isSharedWanted && queries.isEmpty }

    /// Whether anybody may care for what a plan changes.
    func concerns(_ plan: MutationPlan) -> Bool {
        isOwnerInterested || isSharedWanted || plan.saved.contains { queries[$0.record.type] != nil }
            || plan.deleted.contains { queries[$0.type] != nil }
    }
}
