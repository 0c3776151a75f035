// The changes of one request for subscriptions. Each item stands alone; all of them are one commit.

import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

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
