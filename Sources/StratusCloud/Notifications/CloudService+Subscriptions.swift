// Saves, deletes and fetches subscriptions. A subscription belongs to one person and one of their databases: the same
// identifier in another database is another subscription (N-08). Each item of a request succeeds or fails alone; all of
// them are one commit.

import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

extension CloudService {
    /// Saves and deletes subscriptions. Saving one under an existing identifier replaces it (N-07).
    ///
    /// Throws for the request as a whole: `limitExceeded` for too many items or bytes (L-01), `notAuthenticated` and
    /// similar errors (S-17), `invalidArguments` for one that is named twice, a planned fault, and the store's
    /// failures.
    ///
    /// An item fails with `invalidArguments` if the database supports no such subscription (N-01, D-10), if it names no
    /// trigger (N-04) or too many keys (L-13), or if its query is invalid; with `unknownItem` if there is nothing to
    /// delete, or for a record type without records; with `zoneNotFound` and `limitExceeded`; and with
    /// `serverRejectedRequest` if an equal one has another identifier and the host forbids duplicates.
    package func modifySubscriptions(
        _ request: ModifySubscriptionsRequest, as caller: Caller, in database: DatabaseSelector
    ) throws(CloudError) -> ModifySubscriptionsResponse {
        let itemCount = request.saves.count + request.deletes.count
        return try reporting(.modifySubscriptions, caller, itemCount: itemCount) { event in
            guard itemCount > 0 else { return ModifySubscriptionsResponse(saves: [], deletes: []) }
            try requestLimits().check(itemCount: itemCount)
            let byteCount = request.saves.reduce(request.deletes.reduce(0) { $0 + $1.utf8.count }) {
                $0 + $1.id.utf8.count + SubscriptionCoding.entry(of: $1).encoded().count
            }
            try requestLimits().check(byteCount: byteCount)
            try claimedAccount(of: caller)
            try Self.checkDuplicates(request)
            let (response, hasWritten) = try engine.transact { transaction in
                let account = try accountDirectory.requireAccount(of: caller, in: transaction)
                var changes = SubscriptionChanges(
                    service: self, caller: caller, account: account, database: database)
                return (try changes.apply(request, in: transaction), changes.hasWritten)
            }
            event.commitCount = hasWritten ? 1 : 0
            event.count(response.saves)
            event.count(response.deletes)
            return response
        }
    }

    /// Fetches subscriptions: the named ones, each in its place, or all of the caller in the database, by identifier.
    ///
    /// Throws for the request as a whole: `limitExceeded`, `notAuthenticated` and similar errors, a planned fault, and
    /// the store's failures. The item of a missing subscription fails with `unknownItem` (N-07).
    package func fetchSubscriptions(
        _ request: FetchSubscriptionsRequest, as caller: Caller, in database: DatabaseSelector
    ) throws(CloudError) -> [(String, Result<ClientSubscription, CloudError>)] {
        var named: [String]?
        if case .named(let ids) = request { named = ids }
        return try reporting(.fetchSubscriptions, caller, itemCount: named?.count ?? 0) { event in
            if let named { try requestLimits().check(itemCount: named.count) }
            try claimedAccount(of: caller)
            let found = try engine.read { reader in
                let user = try accountDirectory.requireAccount(of: caller, in: reader).userName
                guard let named else {
                    let all = try reader.subscriptions(of: user, in: caller.container, database)
                    return try all.map { found -> (String, Result<ClientSubscription, CloudError>) in
                        (found.parts.id, .success(try SubscriptionCoding.subscription(found.entry, found.parts)))
                    }
                }
                return try named.map { id -> (String, Result<ClientSubscription, CloudError>) in
                    let parts = SubscriptionKeyParts(
                        container: caller.container, user: user, database: database.rawValue, id: id)
                    guard SubscriptionVerdict.identifierError(id) == nil, let entry = try reader.subscription(parts)
                    else { return (id, .failure(SubscriptionVerdict.unknown(id))) }
                    return (id, .success(try SubscriptionCoding.subscription(entry, parts)))
                }
            }
            event.count(found.map(\.1))
            if named == nil { event.itemCount = found.count }
            return found
        }
    }

    private static func checkDuplicates(_ request: ModifySubscriptionsRequest) throws(CloudError) {
        var seen: Set<RecordName> = []
        for id in request.saves.map(\.id) + request.deletes {
            guard !seen.insert(RecordName(id)).inserted else { continue }
            throw CloudError(
                .invalidArguments, "A subscription is saved or deleted more than once in one operation. Name it once.",
                ["subscription": id])
        }
    }
}

/// The changes of one request for subscriptions.
struct SubscriptionChanges {
    let service: CloudService
    let caller: Caller
    let account: StoredAccount
    let database: DatabaseSelector
    private(set) var changes: [(parts: SubscriptionKeyParts, new: KnownSubscription?)] = []
    /// The number of subscriptions, after the first count.
    private(set) var count: Int?

    var hasWritten: Bool { !changes.isEmpty }

    mutating func apply(
        _ request: ModifySubscriptionsRequest, in transaction: RecordTransaction
    ) throws -> ModifySubscriptionsResponse {
        var response = ModifySubscriptionsResponse(saves: [], deletes: [])
        // Deletes first, so that a request at the limit can replace one subscription with another.
        for id in request.deletes { response.deletes.append(try Result.item { try delete(id, in: transaction) }) }
        for subscription in request.saves {
            response.saves.append(try Result.item { try save(subscription, in: transaction) })
        }
        service.subscriptionDirectory.note(changes, in: transaction)
        return response
    }

    private func parts(_ id: String) -> SubscriptionKeyParts {
        SubscriptionKeyParts(
            container: caller.container, user: account.userName, database: database.rawValue, id: id)
    }

    private mutating func delete(_ id: String, in transaction: RecordTransaction) throws -> Done {
        if let error = SubscriptionVerdict.identifierError(id) { throw error }
        let key = GlobalKeys.subscription(parts(id))
        guard try transaction.store.contains(key) else { throw SubscriptionVerdict.unknown(id) }
        try transaction.delete(key)
        changes.append((parts(id), nil))
        count = count.map { $0 - 1 }
        return Done()
    }

    private mutating func save(
        _ sent: ClientSubscription, in transaction: RecordTransaction
    ) throws -> ClientSubscription {
        let subscription = sent.canonical(account.userName)
        if let error = SubscriptionVerdict.refusal(subscription, in: database) { throw error }
        let entry = SubscriptionCoding.entry(of: subscription)
        let value = entry.encoded()
        if let error = SubscriptionVerdict.sizeError(value.count, subscription.id, service.options) { throw error }
        switch subscription.subject {
        case .query(let query, let zone, _, _):
            if let zone { try requireZone(zone, in: transaction) }
            try check(query, of: subscription, in: transaction)
        case .zone(let zone, _): try requireZone(zone, in: transaction)
        case .database: break
        }
        if service.options.duplicateSubscriptionFails {
            let id = RecordName(subscription.id)
            for (parts, known) in try transaction.subscriptions(of: account.userName, in: caller.container, database)
            where RecordName(parts.id) != id && known.subject.isEqual(to: entry.subject) {
                throw SubscriptionVerdict.duplicate(subscription.id, of: parts.id)
            }
        }
        let parts = parts(subscription.id)
        let key = GlobalKeys.subscription(parts)
        if try !transaction.store.contains(key) {
            let counted = try count ?? transaction.subscriptions(of: parts.user, in: parts.container, database).count
            guard counted < service.options.subscriptionCount else {
                throw CloudError.overLimit(
                    "The database has the maximum number of subscriptions. Delete one first.",
                    limit: service.options.subscriptionCount)
            }
            count = counted + 1
        }
        try transaction.set(key, to: value)
        changes.append((parts, try KnownSubscription(parts, entry)))
        return subscription
    }

    private func requireZone(_ address: ZoneAddress, in transaction: RecordTransaction) throws {
        let zone = try ScopeVerdict.zone(
            address, in: database, container: caller.container, caller: account.userName)
        // The default zone always exists.
        guard !zone.isDefault, try transaction.listing(of: zone.id) == nil else { return }
        throw try ZoneFacts.missing(zone, in: transaction)
    }

    /// Refuses a query that could not run, and desired keys that notifications cannot carry.
    private func check(
        _ query: ClientQuery, of subscription: ClientSubscription, in transaction: RecordTransaction
    ) throws {
        let type = try service.schemaKeeper.schema(
            of: RecordType(query.recordType), container: caller.container, in: transaction)
        guard type != nil || QueryVerdict.typeRefusal(query.recordType) != nil else {
            throw SubscriptionVerdict.unknownType(query.recordType, subscription.id)
        }
        _ = try service.verdict(query, caller, account, isPublic: database == .public, in: transaction)
        guard let type, let keys = subscription.template?.desiredKeys,
            let error = SubscriptionVerdict.desiredKeyError(keys, of: type)
        else { return }
        throw error
    }
}
