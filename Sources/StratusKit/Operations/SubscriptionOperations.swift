// Saving, deleting and fetching subscriptions.
//
// A mistake that raises an exception on Apple's systems fails its subscription before the request; the others are sent
//

import StratusCloud

/// Saves and deletes subscriptions of a database.
open class CKModifySubscriptionsOperation: CKDatabaseOperation, @unchecked Sendable {
    // Unchecked because it inherits from CKOperation, whose rules it follows.

    private var saves: [CKSubscription]?
    private var deletions: [CKSubscription.ID]?
    private var blocks = ItemBlocks<CKSubscription.ID, CKSubscription>()

    /// Creates an operation without items.
    public override init() { super.init() }

    /// Creates an operation that saves and deletes these items.
    public convenience init(
        subscriptionsToSave: [CKSubscription]? = nil, subscriptionIDsToDelete: [CKSubscription.ID]? = nil
    ) {
        self.init()
        self.subscriptionsToSave = subscriptionsToSave
        self.subscriptionIDsToDelete = subscriptionIDsToDelete
    }

    /// The subscriptions to save. An existing subscription with the same identifier is replaced (N-07).
    public final var subscriptionsToSave: [CKSubscription]? {
        get { locked { saves } }
        set { configure(newValue) { swap(&saves, &$0) } }
    }

    /// The identifiers of the subscriptions to delete.
    public final var subscriptionIDsToDelete: [CKSubscription.ID]? {
        get { locked { deletions } }
        set { configure(newValue) { swap(&deletions, &$0) } }
    }

    /// Called for every subscription to save, with the subscription as the server stores it.
    public final var perSubscriptionSaveBlock: ((CKSubscription.ID, Result<CKSubscription, any Error>) -> Void)? {
        get { locked { blocks.item } }
        set { configure(newValue) { swap(&blocks.item, &$0) } }
    }

    /// Called for every subscription to delete.
    public final var perSubscriptionDeleteBlock: ((CKSubscription.ID, Result<Void, any Error>) -> Void)? {
        get { locked { blocks.deletion } }
        set { configure(newValue) { swap(&blocks.deletion, &$0) } }
    }

    /// Called last, once. Fails only when the request as a whole failed.
    public final var modifySubscriptionsResultBlock: ((Result<Void, any Error>) -> Void)? {
        get { locked { blocks.result } }
        set { configure(newValue) { swap(&blocks.result, &$0) } }
    }

    /// Called last, once, with the items saved and deleted. If any subscriptions failed, the error is `partialFailure`
    ///
    @available(*, deprecated, message: "Use modifySubscriptionsResultBlock.")
    public final var modifySubscriptionsCompletionBlock:
        (([CKSubscription]?, [CKSubscription.ID]?, (any Error)?) -> Void)?
    {
        get { locked { blocks.oldModified } }
        set { configure(newValue) { swap(&blocks.oldModified, &$0) } }
    }

    override func makeJob(in context: RequestContext) -> (any OperationJob)? {
        let (subscriptions, deletions, blocks) = locked { (self.saves ?? [], self.deletions ?? [], self.blocks) }
        let now = context.session.clock.now
        let drafts = subscriptions.map { subscription in
            Result { () throws(Misuse) in try subscription.makeSave(now: now) }.mapError(\.error)
        }
        return ItemsJob(
            blocks, itemCount: drafts.count + deletions.count, failure: "Failed to modify some subscriptions"
        ) { context, answers in
            let request = ModifySubscriptionsRequest(
                saves: drafts.compactMap { try? $0.get() }, deletes: deletions)
            var response = ModifySubscriptionsResponse(saves: [], deletes: [])
            if !request.saves.isEmpty || !request.deletes.isEmpty {
                response = try context.server.answer(request, as: context.caller, in: context.database)
            }
            var saved = response.saves.makeIterator()
            let saves = drafts.map { draft in
                draft.flatMap { _ in
                    saved.next()
                        ?? .failure(CloudError(.internalError, "The server has not answered for the subscription."))
                }
            }
            answers.items = context.results(subscriptions.map(\.subscriptionID), saves) { CKSubscription.from($0) }
            answers.deletions = context.results(deletions, response.deletes) { _ in }
        }
    }

    override func dropBlocks() { replace(.init()) { swap(&blocks, &$0) } }
}

// Fetches subscriptions by their identifiers, or all that the user has in a database.

/// Fetches subscriptions by their identifiers, or all that the user has in a database.
open class CKFetchSubscriptionsOperation: CKDatabaseOperation, @unchecked Sendable {
    // Unchecked because it inherits from CKOperation, whose rules it follows.

    private var ids: [CKSubscription.ID]?
    private var isForAll = false
    private var blocks = ItemBlocks<CKSubscription.ID, CKSubscription>()

    /// Creates an operation without items.
    public override init() { super.init() }

    /// Creates an operation that fetches these items.
    public convenience init(subscriptionIDs: [CKSubscription.ID]) {
        self.init()
        self.subscriptionIDs = subscriptionIDs
    }

    /// Creates an operation that fetches all subscriptions that the user has in its database.
    ///
    /// The operation is of this class also if you call the method on a subclass. Creating an instance of the
    /// subclass would need an initialiser that every subclass has to repeat.
    open class func fetchAllSubscriptionsOperation() -> CKFetchSubscriptionsOperation {
        let operation = CKFetchSubscriptionsOperation()
        operation.configure { operation.isForAll = true }
        return operation
    }

    /// The identifiers of the subscriptions to fetch.
    public final var subscriptionIDs: [CKSubscription.ID]? {
        get { locked { ids } }
        set { configure(newValue) { swap(&ids, &$0) } }
    }

    /// Called for every subscription.
    public final var perSubscriptionResultBlock: ((CKSubscription.ID, Result<CKSubscription, any Error>) -> Void)? {
        get { locked { blocks.item } }
        set { configure(newValue) { swap(&blocks.item, &$0) } }
    }

    /// Called last, once. Fails only when the request as a whole failed.
    public final var fetchSubscriptionsResultBlock: ((Result<Void, any Error>) -> Void)? {
        get { locked { blocks.result } }
        set { configure(newValue) { swap(&blocks.result, &$0) } }
    }

    /// Called last, once, with the items fetched. If any subscriptions failed, the error is `partialFailure`.
    @available(*, deprecated, message: "Use fetchSubscriptionsResultBlock.")
    public final var fetchSubscriptionCompletionBlock: (([CKSubscription.ID: CKSubscription]?, (any Error)?) -> Void)? {
        get { locked { blocks.oldFetched } }
        set { configure(newValue) { swap(&blocks.oldFetched, &$0) } }
    }

    override func makeJob(in context: RequestContext) -> (any OperationJob)? {
        let (ids, isForAll, blocks) = locked { ((self.ids ?? []).withoutRepetitions(), self.isForAll, self.blocks) }
        let request: FetchSubscriptionsRequest = isForAll ? .all : .named(ids)
        return ItemsJob(
            blocks, itemCount: isForAll ? nil : ids.count, failure: "Failed to fetch some subscriptions"
        ) { context, answers in
            let found = try context.server.answer(request, as: context.caller, in: context.database)
            answers.items = context.results(found.ids, found.subscriptions) { CKSubscription.from($0) }
        }
    }

    override func dropBlocks() { replace(.init()) { swap(&blocks, &$0) } }
}
