// What operations do whose request is answered item by item, and whose blocks hear of items and of the end alone: those
// for zones and for subscriptions.

import Foundation
import StratusCloud

/// The blocks that such an operation calls, but for the deprecated one.
struct ItemBlocks<ID: Hashable, Item> {
    /// For an item that was to be saved or fetched.
    var item: ((ID, Result<Item, any Error>) -> Void)?
    /// For an item that was to be deleted.
    var deletion: ((ID, Result<Void, any Error>) -> Void)?
    var result: ((Result<Void, any Error>) -> Void)?
}

/// One request for items.
final class ItemsJob<ID: Hashable, Item>: OperationJob, @unchecked Sendable {
    // Unchecked because one thread at a time uses a job, as `OperationJob` has it.
    typealias Answers = ItemAnswers<ID, Item>

    let itemCount: Int
    private let blocks: ItemBlocks<ID, Item>
    private let failure: String
    private let request: (RequestContext) throws -> Answers
    private let afterItems: () -> Void
    private let oldResult: (Answers, CKError?) -> Void
    private var answers = Answers()

    /// `itemCount` is 0 where the request asks for all. `request` makes it, if there is one to make; `afterItems` is called
    /// when blocks have heard of all items; `oldResult` calls the deprecated block that ends the operation, which is told
    /// `failure` where items have failed.
    init(
        _ blocks: ItemBlocks<ID, Item>, itemCount: Int, failure: String,
        request: @escaping (RequestContext) throws -> Answers, afterItems: @escaping () -> Void = {},
        oldResult: @escaping (Answers, CKError?) -> Void
    ) {
        self.blocks = blocks
        self.itemCount = itemCount
        self.failure = failure
        self.request = request
        self.afterItems = afterItems
        self.oldResult = oldResult
    }

    func send(_ context: RequestContext) throws { answers = try request(context) }

    func deliver() {
        for (id, result) in answers.items { blocks.item?(id, result.mapError { $0 }) }
        for (id, result) in answers.deletions { blocks.deletion?(id, result.mapError { $0 }) }
        afterItems()
    }

    func conclude(_ result: Result<Void, CKError>) {
        blocks.result?(result.mapError { $0 })
        oldResult(answers, answers.error(result, failure))
    }
}

extension ItemsJob: LongLivedJob where ID: NSObject, Item: NSObject {
    var archivedAnswer: [String: Any] { answers.archive }
    func adopt(_ archivedAnswer: [String: Any], in context: RequestContext) {
        answers = ItemAnswers(archive: archivedAnswer)
    }
}

extension RequestContext {
    /// An item's answer as clients see it.
    func clientResult<Told, Item>(
        _ answer: Result<Told, CloudError>, _ item: (Told) -> Item
    ) -> Result<Item, CKError> {
        answer.map(item).mapError { clientError($0) }
    }
}
