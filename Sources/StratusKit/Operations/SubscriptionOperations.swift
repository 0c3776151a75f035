// Saving, deleting and fetching subscriptions.
//
// A mistake that raises an exception on Apple's systems fails its subscription before the request; the others are sent
//

import Foundation
import StratusCloud

/// Saves and deletes subscriptions of a database.
open class CKModifySubscriptionsOperation: CKDatabaseOperation, @unchecked Sendable {
    // Unchecked because it inherits from CKOperation, whose rules it follows.

    struct Inputs {
        var subscriptionsToSave: [CKSubscription]?
        var subscriptionIDsToDelete: [CKSubscription.ID]?
    }

    struct Blocks {
        var items = ItemBlocks<CKSubscription.ID, CKSubscription>()
        var oldResult: (([CKSubscription]?, [CKSubscription.ID]?, (any Error)?) -> Void)?
    }

    private var inputs = Inputs()
    private var blocks = Blocks()

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
        get { locked { inputs.subscriptionsToSave } }
        set { configure(newValue) { swap(&inputs.subscriptionsToSave, &$0) } }
    }

    /// The identifiers of the subscriptions to delete.
    public final var subscriptionIDsToDelete: [CKSubscription.ID]? {
        get { locked { inputs.subscriptionIDsToDelete } }
        set { configure(newValue) { swap(&inputs.subscriptionIDsToDelete, &$0) } }
    }

    /// Called for every subscription to save, with the subscription as the server stores it.
    public final var perSubscriptionSaveBlock: ((CKSubscription.ID, Result<CKSubscription, any Error>) -> Void)? {
        get { locked { blocks.items.item } }
        set { configure(newValue) { swap(&blocks.items.item, &$0) } }
    }

    /// Called for every subscription to delete.
    public final var perSubscriptionDeleteBlock: ((CKSubscription.ID, Result<Void, any Error>) -> Void)? {
        get { locked { blocks.items.deletion } }
        set { configure(newValue) { swap(&blocks.items.deletion, &$0) } }
    }

    /// Called last, once. Fails only when the request as a whole failed.
    public final var modifySubscriptionsResultBlock: ((Result<Void, any Error>) -> Void)? {
        get { locked { blocks.items.result } }
        set { configure(newValue) { swap(&blocks.items.result, &$0) } }
    }

    /// Called last, once, with the items saved and deleted; subscriptions that failed make it `partialFailure`.
    @available(*, deprecated, message: "Use modifySubscriptionsResultBlock.")
    public final var modifySubscriptionsCompletionBlock:
        (([CKSubscription]?, [CKSubscription.ID]?, (any Error)?) -> Void)?
    {
        get { locked { blocks.oldResult } }
        set { configure(newValue) { swap(&blocks.oldResult, &$0) } }
    }

    override func makeJob(in context: RequestContext) -> (any OperationJob)? {
        let (inputs, blocks) = locked { (self.inputs, self.blocks) }
        let now = context.session.clock.now
        let saves = (inputs.subscriptionsToSave ?? []).map { subscription in
            let draft = Result { () throws(PredicateProblem) in try subscription.makeSave(now: now) }
            return (id: subscription.subscriptionID, draft: draft.mapError(\.error))
        }
        let deletions = inputs.subscriptionIDsToDelete ?? []
        return ItemsJob(
            blocks.items, itemCount: saves.count + deletions.count, failure: "Failed to modify some subscriptions"
        ) { context, answers in
            let request = ModifySubscriptionsRequest(
                saves: saves.compactMap { try? $0.draft.get() }, deletes: deletions)
            var response = ModifySubscriptionsResponse(saves: [], deletes: [])
            if !request.saves.isEmpty || !request.deletes.isEmpty {
                response = try context.server.answer(request, as: context.caller, in: context.database)
            }
            var saved = response.saves.makeIterator()
            answers.items = saves.map { save in
                let answer = save.draft.flatMap { _ in saved.next() ?? .failure(Self.unanswered) }
                return (save.id, context.clientResult(answer) { CKSubscription.from($0) })
            }
            answers.deletions = zip(deletions, response.deletes).map { ($0, context.clientResult($1) { $0 }) }
        } oldResult: { answers, error in
            blocks.oldResult?(answers.successes, answers.deletedIDs, error)
        }
    }

    private static var unanswered: CloudError {
        CloudError(.internalError, "The server has not answered for the subscription.")
    }

    override func dropBlocks() {
        super.dropBlocks()
        replace(Blocks()) { swap(&blocks, &$0) }
    }
}

// Fetches subscriptions by their identifiers, or all that the user has in a database.

/// Fetches subscriptions by their identifiers, or all that the user has in a database.
open class CKFetchSubscriptionsOperation: CKDatabaseOperation, @unchecked Sendable {
    // Unchecked because it inherits from CKOperation, whose rules it follows.

    struct Inputs {
        var subscriptionIDs: [CKSubscription.ID]?
        var isForAll = false
    }

    struct Blocks {
        var items = ItemBlocks<CKSubscription.ID, CKSubscription>()
        var oldResult: (([CKSubscription.ID: CKSubscription]?, (any Error)?) -> Void)?
    }

    private var inputs = Inputs()
    private var blocks = Blocks()

    /// Creates an operation without items.
    public override init() { super.init() }

    /// Creates an operation that fetches these items.
    public convenience init(subscriptionIDs: [CKSubscription.ID]) {
        self.init()
        self.subscriptionIDs = subscriptionIDs
    }

    /// Creates an operation that fetches all subscriptions that the user has in its database.
    ///
    /// The operation is of this class also if you call the method on a subclass. To create one of the subclass would
    /// take an initializer that every subclass had to repeat.
    open class func fetchAllSubscriptionsOperation() -> CKFetchSubscriptionsOperation {
        let operation = CKFetchSubscriptionsOperation()
        operation.configure { operation.inputs.isForAll = true }
        return operation
    }

    /// The identifiers of the subscriptions to fetch.
    public final var subscriptionIDs: [CKSubscription.ID]? {
        get { locked { inputs.subscriptionIDs } }
        set { configure(newValue) { swap(&inputs.subscriptionIDs, &$0) } }
    }

    /// Called for every subscription.
    public final var perSubscriptionResultBlock: ((CKSubscription.ID, Result<CKSubscription, any Error>) -> Void)? {
        get { locked { blocks.items.item } }
        set { configure(newValue) { swap(&blocks.items.item, &$0) } }
    }

    /// Called last, once. Fails only when the request as a whole failed.
    public final var fetchSubscriptionsResultBlock: ((Result<Void, any Error>) -> Void)? {
        get { locked { blocks.items.result } }
        set { configure(newValue) { swap(&blocks.items.result, &$0) } }
    }

    /// Called last, once, with the items fetched; subscriptions that failed make it `partialFailure`.
    @available(*, deprecated, message: "Use fetchSubscriptionsResultBlock.")
    public final var fetchSubscriptionCompletionBlock: (([CKSubscription.ID: CKSubscription]?, (any Error)?) -> Void)? {
        get { locked { blocks.oldResult } }
        set { configure(newValue) { swap(&blocks.oldResult, &$0) } }
    }

    override func makeJob(in context: RequestContext) -> (any OperationJob)? {
        let (inputs, blocks) = locked { (self.inputs, self.blocks) }
        let ids = (inputs.subscriptionIDs ?? []).withoutRepetitions()
        let request: FetchSubscriptionsRequest? = inputs.isForAll ? .all : ids.isEmpty ? nil : .named(ids)
        return ItemsJob(blocks.items, itemCount: ids.count, failure: "Failed to fetch some subscriptions") {
            context, answers in
            guard let request else { return }
            let found = try context.server.answer(request, as: context.caller, in: context.database)
            answers.items = zip(found.ids, found.subscriptions).map { id, answer in
                (id, context.clientResult(answer) { CKSubscription.from($0) })
            }
        } oldResult: { answers, error in
            blocks.oldResult?(answers.successesByID, error)
        }
    }

    override func dropBlocks() {
        super.dropBlocks()
        replace(Blocks()) { swap(&blocks, &$0) }
    }
}
