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
        var subscription: ((CKSubscription.ID, Result<CKSubscription, any Error>) -> Void)?
        var result: ((Result<Void, any Error>) -> Void)?
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
        get { locked { blocks.subscription } }
        set { configure(newValue) { swap(&blocks.subscription, &$0) } }
    }

    /// Called last, once. Fails only when the request as a whole failed.
    public final var fetchSubscriptionsResultBlock: ((Result<Void, any Error>) -> Void)? {
        get { locked { blocks.result } }
        set { configure(newValue) { swap(&blocks.result, &$0) } }
    }

    /// Called last, once, with what was fetched; subscriptions that failed make it `partialFailure`.
    @available(*, deprecated, message: "Use fetchSubscriptionsResultBlock.")
    public final var fetchSubscriptionCompletionBlock: (([CKSubscription.ID: CKSubscription]?, (any Error)?) -> Void)? {
        get { locked { blocks.oldResult } }
        set { configure(newValue) { swap(&blocks.oldResult, &$0) } }
    }

    override func makeJob(in context: RequestContext) -> (any OperationJob)? {
        let (inputs, blocks) = locked { (self.inputs, self.blocks) }
        return FetchSubscriptionsJob(inputs, blocks)
    }

    override func dropBlocks() {
        super.dropBlocks()
        replace(Blocks()) { swap(&blocks, &$0) }
    }
}

/// What a `CKFetchSubscriptionsOperation` does.
final class FetchSubscriptionsJob: OperationJob, @unchecked Sendable {
    // Unchecked because one thread at a time uses a job, as `OperationJob` has it.
    private let request: FetchSubscriptionsRequest?
    private let blocks: CKFetchSubscriptionsOperation.Blocks
    private var answers = ItemAnswers<CKSubscription.ID, CKSubscription>()

    init(_ inputs: CKFetchSubscriptionsOperation.Inputs, _ blocks: CKFetchSubscriptionsOperation.Blocks) {
        let ids = (inputs.subscriptionIDs ?? []).withoutRepetitions()
        request = inputs.isForAll ? .all : ids.isEmpty ? nil : .named(ids)
        self.blocks = blocks
    }

    func send(_ context: RequestContext) throws {
        guard let request else { return }
        let told = try context.server.fetchSubscriptions(request, as: context.caller, in: context.database)
        answers.items = told.map { id, result in
            (id, result.map { CKSubscription.from($0) }.mapError { context.clientError($0) })
        }
    }

    func deliver() {
        for (id, result) in answers.items { blocks.subscription?(id, result.mapError { $0 }) }
    }

    func conclude(_ result: Result<Void, CKError>) {
        blocks.result?(result.mapError { $0 })
        blocks.oldResult?(answers.successesByID, answers.error(result, "Failed to fetch some subscriptions"))
    }
}
