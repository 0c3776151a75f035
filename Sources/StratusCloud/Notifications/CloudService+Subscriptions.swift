// Saving, deleting and fetching subscriptions. They belong to one person and one of their databases: the same identifier in
// another database is another subscription (N-08).

import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

extension CloudService {
    /// Saves and deletes subscriptions. Saving one under an identifier that is there replaces it (N-07).
    ///
    /// Throws, for the request as a whole: `limitExceeded` for too many items or bytes (L-01), `notAuthenticated` and the
    /// like (S-17), `invalidArguments` for one that is named twice, a planned fault, and the store's failures. An item
    /// fails with `invalidArguments` where the database takes no such subscription (N-01, D-10), where it names no trigger
    /// (N-04) or too many keys (L-13), and for a query that cannot be asked; with `unknownItem` where there is nothing to
    /// delete, and for a record type that nobody has saved; with `zoneNotFound` and `limitExceeded`; and with
    /// `serverRejectedRequest` where an equal one has another identifier and the host wants no two.
    package func modifySubscriptions(
        _ request: ModifySubscriptionsRequest, as caller: Caller, in database: DatabaseSelector
    ) throws(CloudError) -> ModifySubscriptionsResponse {
        let itemCount = request.saves.count + request.deletes.count
        return try reporting(.modifySubscriptions, caller, itemCount: itemCount) { event in
            guard itemCount > 0 else { return ModifySubscriptionsResponse(saves: [], deletes: []) }
            try RequestLimits.checkItemCount(itemCount, options)
            try RequestLimits.checkByteCount(of: request, options)
            try requireAccount(caller)
            try Self.checkDuplicates(request)
            let (response, hasWritten) = try engine.transact { transaction in
                let account = try accountDirectory.requireAccount(of: caller, in: transaction)
                var changes = SubscriptionChanges(
                    service: self, caller: caller, account: account, database: database)
                return (try changes.carryOut(request, in: transaction), changes.hasWritten)
            }
            event.commitCount = hasWritten ? 1 : 0
            event.count(response.saves)
            event.count(response.deletes)
            return response
        }
    }

    /// Fetches subscriptions: those named, each in its place, or all that the caller has in the database, by identifier.
    ///
    /// Throws, for the request as a whole: `limitExceeded`, `notAuthenticated` and the like, a planned fault, and the
    /// store's failures. One that is not there is its item's `unknownItem` (N-07).
    package func fetchSubscriptions(
        _ request: FetchSubscriptionsRequest, as caller: Caller, in database: DatabaseSelector
    ) throws(CloudError) -> [(String, Result<ClientSubscription, CloudError>)] {
        var named: [String]?
        if case .named(let ids) = request { named = ids }
        return try reporting(.fetchSubscriptions, caller, itemCount: named?.count ?? 0) { event in
            if let named { try RequestLimits.checkItemCount(named.count, options) }
            try requireAccount(caller)
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
                .invalidArguments, "A subscription is saved or deleted twice, or both, in one operation: name it once.",
                ["subscription": id])
        }
    }
}

extension RequestLimits {
    /// Throws `limitExceeded` for more bytes than one request may have.
    static func checkByteCount(
        of request: ModifySubscriptionsRequest, _ options: CloudOptions
    ) throws(CloudError) {
        let byteCount = request.saves.reduce(request.deletes.reduce(0) { $0 + $1.utf8.count }) {
            $0 + $1.id.utf8.count + SubscriptionCoding.entry(of: $1).encoded().count
        }
        guard byteCount > options.requestByteCount else { return }
        throw CloudError(
            .limitExceeded, inner: CloudError.InnerCode.limit, "The request is too large: split it in half.",
            ["bytes": "\(byteCount)", "limit": "\(options.requestByteCount)"])
    }
}

// The changes of one request for subscriptions. Each item stands alone; all of them are one commit.

struct SubscriptionChanges {
    let service: CloudService
    let caller: Caller
    let account: Account
    let database: DatabaseSelector
    private var changes: [(parts: SubscriptionKeyParts, new: KnownSubscription?)] = []
    /// How many subscriptions there are, once they were counted.
    private var count: Int?

    init(service: CloudService, caller: Caller, account: Account, database: DatabaseSelector) {
        self.service = service
        self.caller = caller
        self.account = account
        self.database = database
    }

    var hasWritten: Bool { !changes.isEmpty }

    mutating func carryOut(
        _ request: ModifySubscriptionsRequest, in transaction: RecordTransaction
    ) throws -> ModifySubscriptionsResponse {
        var response = ModifySubscriptionsResponse(saves: [], deletes: [])
        // Deletes first, so that a request at the limit can put one subscription in the place of another.
        for id in request.deletes { response.deletes.append(try item { try $0.delete(id, in: transaction) }) }
        for subscription in request.saves {
            response.saves.append(try item { try $0.save(subscription, in: transaction) })
        }
        service.subscriptionDirectory.note(changes, in: transaction)
        return response
    }

    private mutating func item<Value>(_ body: (inout Self) throws -> Value) throws -> Result<Value, CloudError> {
        do { return .success(try body(&self)) } catch let error as CloudError { return .failure(error) }
    }

    private func parts(_ id: String) -> SubscriptionKeyParts {
        SubscriptionKeyParts(
            container: caller.container, user: account.userName, database: database.rawValue, id: id)
    }

    private mutating func delete(_ id: String, in transaction: RecordTransaction) throws {
        if let error = SubscriptionVerdict.identifierError(id) { throw error }
        let key = GlobalKeys.subscription(parts(id))
        guard try transaction.store.contains(key) else { throw SubscriptionVerdict.unknown(id) }
        try transaction.delete(key)
        changes.append((parts(id), nil))
        count = count.map { $0 - 1 }
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
        if service.options.duplicateSubscriptionFails { try refuseDuplicate(of: subscription, entry, in: transaction) }
        let parts = parts(subscription.id)
        let key = GlobalKeys.subscription(parts)
        if try !transaction.store.contains(key) {
            let counted = try count ?? transaction.subscriptions(of: parts.user, in: parts.container, database).count
            guard counted < service.options.subscriptionCount else {
                throw CloudError(
                    .limitExceeded, inner: CloudError.InnerCode.limit,
                    "There are as many subscriptions as there may be: delete one first.",
                    ["limit": "\(service.options.subscriptionCount)"])
            }
            count = counted + 1
        }
        try transaction.set(key, to: value)
        changes.append((parts, try KnownSubscription(parts, entry)))
        return subscription
    }

    /// Throws where an equal subscription has another identifier.
    private func refuseDuplicate(
        of subscription: ClientSubscription, _ entry: SubscriptionEntry, in transaction: RecordTransaction
    ) throws {
        let all = try transaction.subscriptions(of: account.userName, in: caller.container, database)
        let id = RecordName(subscription.id)
        let equal = all.first { RecordName($0.parts.id) != id && $0.entry.subject.isEqual(to: entry.subject) }
        guard let equal else { return }
        throw SubscriptionVerdict.duplicate(subscription.id, of: equal.parts.id)
    }

    private func requireZone(_ address: ZoneAddress, in transaction: RecordTransaction) throws {
        let zone = try ScopeVerdict.zone(
            address, in: database, container: caller.container, caller: account.userName)
        // The default zone is always there.
        guard !zone.isDefault, try transaction.listing(of: zone.id) == nil else { return }
        throw try ZoneFacts.missing(zone, in: transaction)
    }

    /// What cannot be asked is refused as if it were asked, and so is what notifications cannot carry.
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
