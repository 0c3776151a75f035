// Saves and deletes subscriptions: one request, answered subscription by subscription.
//
// Mistakes in a subscription that raise an exception on Apple's systems fail the subscription without its being sent;
// the others are.

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
        var save: ((CKSubscription.ID, Result<CKSubscription, any Error>) -> Void)?
        var delete: ((CKSubscription.ID, Result<Void, any Error>) -> Void)?
        var result: ((Result<Void, any Error>) -> Void)?
        var oldResult: (([CKSubscription]?, [CKSubscription.ID]?, (any Error)?) -> Void)?
    }

    private var inputs = Inputs()
    private var blocks = Blocks()

    /// An operation without items.
    public override init() { super.init() }

    /// An operation that saves and deletes these.
    public convenience init(
        subscriptionsToSave: [CKSubscription]? = nil, subscriptionIDsToDelete: [CKSubscription.ID]? = nil
    ) {
        self.init()
        self.subscriptionsToSave = subscriptionsToSave
        self.subscriptionIDsToDelete = subscriptionIDsToDelete
    }

    /// The subscriptions to save. One of an identifier that exists is replaced (N-07).
    public final var subscriptionsToSave: [CKSubscription]? {
        get { locked { inputs.subscriptionsToSave } }
        set { configure(newValue) { swap(&inputs.subscriptionsToSave, &$0) } }
    }

    /// The identifiers of the subscriptions to delete.
    public final var subscriptionIDsToDelete: [CKSubscription.ID]? {
        get { locked { inputs.subscriptionIDsToDelete } }
        set { configure(newValue) { swap(&inputs.subscriptionIDsToDelete, &$0) } }
    }

    /// Called for every subscription that was to be saved, with the subscription as the server has it.
    public final var perSubscriptionSaveBlock: ((CKSubscription.ID, Result<CKSubscription, any Error>) -> Void)? {
        get { locked { blocks.save } }
        set { configure(newValue) { swap(&blocks.save, &$0) } }
    }

    /// Called for every subscription that was to be deleted.
    public final var perSubscriptionDeleteBlock: ((CKSubscription.ID, Result<Void, any Error>) -> Void)? {
        get { locked { blocks.delete } }
        set { configure(newValue) { swap(&blocks.delete, &$0) } }
    }

    /// Called last, once. Fails only when the request as a whole failed.
    public final var modifySubscriptionsResultBlock: ((Result<Void, any Error>) -> Void)? {
        get { locked { blocks.result } }
        set { configure(newValue) { swap(&blocks.result, &$0) } }
    }

    /// Called last, once, with what was saved and deleted; subscriptions that failed make it `partialFailure`.
    @available(*, deprecated, message: "Use modifySubscriptionsResultBlock.")
    public final var modifySubscriptionsCompletionBlock:
        (([CKSubscription]?, [CKSubscription.ID]?, (any Error)?) -> Void)?
    {
        get { locked { blocks.oldResult } }
        set { configure(newValue) { swap(&blocks.oldResult, &$0) } }
    }

    override func makeJob(in context: RequestContext) -> (any OperationJob)? {
        let (inputs, blocks) = locked { (self.inputs, self.blocks) }
        return ModifySubscriptionsJob(inputs, blocks, now: context.session.clock.now)
    }

    override func dropBlocks() {
        super.dropBlocks()
        replace(Blocks()) { swap(&blocks, &$0) }
    }
}

/// What a `CKModifySubscriptionsOperation` does.
final class ModifySubscriptionsJob: OperationJob, @unchecked Sendable {
    // Unchecked because one thread at a time uses a job, as `OperationJob` has it.
    private typealias Save = (id: String, draft: Result<ClientSubscription, CloudError>)

    private let saves: [Save]
    private let deletions: [CKSubscription.ID]
    private let blocks: CKModifySubscriptionsOperation.Blocks
    private var answers = ItemAnswers<CKSubscription.ID, CKSubscription>()

    init(
        _ inputs: CKModifySubscriptionsOperation.Inputs, _ blocks: CKModifySubscriptionsOperation.Blocks, now: Date
    ) {
        saves = (inputs.subscriptionsToSave ?? []).map { subscription in
            let draft = Result { () throws(PredicateProblem) in try subscription.makeSave(now: now) }
            return (subscription.subscriptionID, draft.mapError(\.error))
        }
        deletions = inputs.subscriptionIDsToDelete ?? []
        self.blocks = blocks
    }

    func send(_ context: RequestContext) throws {
        let request = ModifySubscriptionsRequest(
            saves: saves.compactMap { try? $0.draft.get() }, deletes: deletions)
        var response = ModifySubscriptionsResponse(saves: [], deletes: [])
        if !request.saves.isEmpty || !request.deletes.isEmpty {
            response = try context.server.modifySubscriptions(request, as: context.caller, in: context.database)
        }
        var saved = response.saves.makeIterator()
        answers.items = saves.map { save in
            let answer = save.draft.flatMap { _ in saved.next() ?? .failure(Self.unanswered) }
            return (save.id, answer.map { CKSubscription.from($0) }.mapError { context.clientError($0) })
        }
        answers.deletions = zip(deletions, response.deletes).map { ($0, $1.mapError { context.clientError($0) }) }
    }

    private static var unanswered: CloudError {
        CloudError(.internalError, "The server has not answered for the subscription.")
    }

    func deliver() {
        for (id, result) in answers.items { blocks.save?(id, result.mapError { $0 }) }
        for (id, result) in answers.deletions { blocks.delete?(id, result.mapError { $0 }) }
    }

    func conclude(_ result: Result<Void, CKError>) {
        blocks.result?(result.mapError { $0 })
        blocks.oldResult?(
            answers.successes, answers.deletedIDs, answers.error(result, "Failed to modify some subscriptions"))
    }
}
