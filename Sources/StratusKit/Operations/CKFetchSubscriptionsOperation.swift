// Fetches subscriptions by their identifiers, or all that the user has in a database.

import Foundation
import StratusCloud

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

    /// An operation without items.
    public override init() { super.init() }

    /// An operation that fetches these.
    public convenience init(subscriptionIDs: [CKSubscription.ID]) {
        self.init()
        self.subscriptionIDs = subscriptionIDs
    }

    /// An operation that fetches all subscriptions that the user has in its database.
    ///
    /// It is of this class also where a subclass is asked: to make one of the subclass, which nothing is known of,
    /// would take an initialiser that every subclass had to repeat.
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

    /// Called last, once, with what was fetched; subscriptions that failed make it `partialFailure`.
    @available(*, deprecated, message: "Use fetchSubscriptionsResultBlock.")
    public final var fetchSubscriptionCompletionBlock: (([CKSubscription.ID: CKSubscription]?, (any Error)?) -> Void)? {
        get { locked { blocks.oldResult } }
        set { configure(newValue) { swap(&blocks.oldResult, &$0) } }
    }

    override func makeJob(in context: RequestContext) -> (any OperationJob)? {
        let (inputs, blocks) = locked { (self.inputs, self.blocks) }
        let ids = (inputs.subscriptionIDs ?? []).withoutRepetitions()
        let request: FetchSubscriptionsRequest? = inputs.isForAll ? .all : ids.isEmpty ? nil : .named(ids)
        return ItemsJob(blocks.items, itemCount: ids.count, failure: "Failed to fetch some subscriptions") { context in
            var answers = ItemAnswers<CKSubscription.ID, CKSubscription>()
            guard let request else { return answers }
            let found = try context.server.answer(request, as: context.caller, in: context.database)
            answers.items = zip(found.ids, found.subscriptions).map { id, answer in
                (id, context.clientResult(answer) { CKSubscription.from($0) })
            }
            return answers
        } oldResult: { answers, error in
            blocks.oldResult?(answers.successesByID, error)
        }
    }

    override func dropBlocks() {
        super.dropBlocks()
        replace(Blocks()) { swap(&blocks, &$0) }
    }
}
