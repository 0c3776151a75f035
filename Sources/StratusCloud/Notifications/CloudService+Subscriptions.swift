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
