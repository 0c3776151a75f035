// Calls for subscriptions, single and in batches, with a completion handler and awaited.
//
// Single calls throw the error of their item. Batch calls return an answer for every item, and fail only if the
// request as a whole failed.

// MARK: Single subscriptions

extension CKDatabase {
    /// Fetches all subscriptions that the user has in the database.
    /// - Parameter completionHandler: Gets the subscriptions, or the error.
    @preconcurrency
    public func fetchAllSubscriptions(
        completionHandler: @escaping @Sendable ([CKSubscription]?, (any Error)?) -> Void
    ) {
        scope.begin(fetchingAllSubscriptions { $0.call(completionHandler) })
    }

    /// Fetches all subscriptions that the user has in the database.
    /// - Throws: `CKError`, `notAuthenticated` without an account (S-17).
    public func allSubscriptions() async throws -> [CKSubscription] {
        try await scope.await { fetchingAllSubscriptions($0) }
    }

    /// Fetches a subscription.
    /// - Parameters:
    ///   - subscriptionID: The subscription's identifier.
    ///   - completionHandler: Gets the subscription, or the error.
    @preconcurrency
    public func fetch(
        withSubscriptionID subscriptionID: CKSubscription.ID,
        completionHandler: @escaping @Sendable (CKSubscription?, (any Error)?) -> Void
    ) {
        scope.begin(fetchingSubscriptions([subscriptionID]) { $0.item(subscriptionID).call(completionHandler) })
    }

    /// Fetches a subscription.
    /// - Parameter subscriptionID: The subscription's identifier.
    /// - Returns: The subscription, of the class of its kind.
    /// - Throws: `CKError`, `unknownItem` if there is none (N-07).
    public func subscription(for subscriptionID: CKSubscription.ID) async throws -> CKSubscription {
        try await scope.await { completion in
            fetchingSubscriptions([subscriptionID]) { completion($0.item(subscriptionID)) }
        }
    }

    /// Saves a subscription. It replaces one of the user's with the same identifier (N-07).
    /// - Parameters:
    ///   - subscription: The subscription.
    ///   - completionHandler: Gets the subscription as the server stores it, or the error.
    @preconcurrency
    public func save(
        _ subscription: CKSubscription, completionHandler: @escaping @Sendable (CKSubscription?, (any Error)?) -> Void
    ) {
        let id = subscription.subscriptionID
        scope.begin(modifyingSubscriptions([subscription], []) { $0.saved(id).call(completionHandler) })
    }

    /// Saves a subscription. It replaces one of the user's with the same identifier (N-07).
    /// - Parameter subscription: The subscription.
    /// - Returns: The subscription as the server stores it.
    /// - Throws: `CKError`, `invalidArguments` for a mistake in it and for a kind that the database does not
    ///   accept (N-01).
    @discardableResult
    public func save(_ subscription: CKSubscription) async throws -> CKSubscription {
        let id = subscription.subscriptionID
        return try await scope.await { completion in
            modifyingSubscriptions([subscription], []) { completion($0.saved(id)) }
        }
    }

    /// Deletes a subscription.
    /// - Parameters:
    ///   - subscriptionID: The subscription's identifier.
    ///   - completionHandler: Gets the same identifier, or the error.
    @preconcurrency
    public func delete(
        withSubscriptionID subscriptionID: CKSubscription.ID,
        completionHandler: @escaping @Sendable (String?, (any Error)?) -> Void
    ) {
        scope.begin(
            modifyingSubscriptions([], [subscriptionID]) { $0.deleted(subscriptionID).call(completionHandler) })
    }

    /// Deletes a subscription.
    /// - Parameter subscriptionID: The subscription's identifier.
    /// - Returns: The same identifier.
    /// - Throws: `CKError`, `unknownItem` if there is none (N-07).
    @discardableResult
    public func deleteSubscription(withID subscriptionID: CKSubscription.ID) async throws -> CKSubscription.ID {
        try await scope.await { completion in
            modifyingSubscriptions([], [subscriptionID]) { completion($0.deleted(subscriptionID)) }
        }
    }

    // MARK: Batches

    /// Fetches subscriptions.
    /// - Parameters:
    ///   - subscriptionIDs: The subscriptions' identifiers. A duplicate is answered once.
    ///   - completionHandler: Gets an answer for every subscription, or the error of the request.
    @preconcurrency
    public func fetch(
        withSubscriptionIDs subscriptionIDs: [CKSubscription.ID],
        completionHandler:
            @escaping @Sendable (Result<[CKSubscription.ID: Result<CKSubscription, any Error>], any Error>) -> Void
    ) {
        scope.begin(fetchingSubscriptions(subscriptionIDs, completionHandler))
    }

    /// Fetches subscriptions.
    /// - Parameter ids: The subscriptions' identifiers. A duplicate is answered once.
    /// - Returns: An answer for every subscription.
    /// - Throws: `CKError` when the request as a whole failed: `limitExceeded` (L-01), `notAuthenticated` without an
    ///   account (S-17). An item fails with `unknownItem` if there is no such subscription (N-07).
    public func subscriptions(
        for ids: [CKSubscription.ID]
    ) async throws -> [CKSubscription.ID: Result<CKSubscription, any Error>] {
        try await scope.await { fetchingSubscriptions(ids, $0) }
    }

    /// Saves and deletes subscriptions in one request.
    /// - Parameters:
    ///   - subscriptionsToSave: The subscriptions to save.
    ///   - subscriptionIDsToDelete: The identifiers of the subscriptions to delete.
    ///   - completionHandler: Gets an answer for every subscription, or the error of the request.
    @preconcurrency
    public func modifySubscriptions(
        saving subscriptionsToSave: [CKSubscription], deleting subscriptionIDsToDelete: [CKSubscription.ID],
        completionHandler:
            @escaping @Sendable (
                Result<
                    (
                        saveResults: [CKSubscription.ID: Result<CKSubscription, any Error>],
                        deleteResults: [CKSubscription.ID: Result<Void, any Error>]
                    ), any Error
                >
            ) -> Void
    ) {
        scope.begin(modifyingSubscriptions(subscriptionsToSave, subscriptionIDsToDelete, completionHandler))
    }

    /// Saves and deletes subscriptions in one request.
    /// - Parameters:
    ///   - subscriptionsToSave: The subscriptions to save.
    ///   - subscriptionIDsToDelete: The identifiers of the subscriptions to delete.
    /// - Returns: An answer for every subscription.
    /// - Throws: `CKError` when the request as a whole failed: `limitExceeded` (L-01), `notAuthenticated` without an
    ///   account (S-17), `invalidArguments` for one that is named twice. An item fails with `invalidArguments` if the
    ///   database does not accept this kind (N-01, D-10) or if it has a mistake.
    @discardableResult
    public func modifySubscriptions(
        saving subscriptionsToSave: [CKSubscription], deleting subscriptionIDsToDelete: [CKSubscription.ID]
    ) async throws -> (
        saveResults: [CKSubscription.ID: Result<CKSubscription, any Error>],
        deleteResults: [CKSubscription.ID: Result<Void, any Error>]
    ) {
        try await scope.await { modifyingSubscriptions(subscriptionsToSave, subscriptionIDsToDelete, $0) }
    }

    // MARK: The operations behind them

    private func fetchingAllSubscriptions(_ completion: @escaping Completion<[CKSubscription]>) -> CKOperation {
        let operation = CKFetchSubscriptionsOperation.fetchAllSubscriptionsOperation()
        operation.database = self
        let subscriptions = Gathered<[CKSubscription]>([])
        operation.perSubscriptionResultBlock = { _, result in
            if let subscription = try? result.get() { subscriptions.value.append(subscription) }
        }
        operation.fetchSubscriptionsResultBlock = { completion($0.map { subscriptions.value }) }
        return operation
    }

    private func fetchingSubscriptions(
        _ ids: [CKSubscription.ID], _ completion: @escaping Completion<AnswersByID<CKSubscription.ID, CKSubscription>>
    ) -> CKOperation {
        let operation = CKFetchSubscriptionsOperation(subscriptionIDs: ids)
        operation.database = self
        (operation.perSubscriptionResultBlock, operation.fetchSubscriptionsResultBlock) = gathering(completion)
        return operation
    }

    private func modifyingSubscriptions(
        _ subscriptions: [CKSubscription], _ ids: [CKSubscription.ID],
        _ completion: @escaping Completion<ModifiedItems<CKSubscription.ID, CKSubscription>>
    ) -> CKOperation {
        let operation = CKModifySubscriptionsOperation(
            subscriptionsToSave: subscriptions, subscriptionIDsToDelete: ids)
        operation.database = self
        (
            operation.perSubscriptionSaveBlock, operation.perSubscriptionDeleteBlock,
            operation.modifySubscriptionsResultBlock
        ) = gathering(completion)
        return operation
    }
}
