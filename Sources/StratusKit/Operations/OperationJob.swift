// What an operation does after its start: its request and the blocks it calls. Inputs and blocks are fixed when the job
// is created, so that later changes of the operation are ignored (O-07).

import Foundation
import StratusCloud
import StratusStore

/// What one operation does. Calls never overlap: one thread at a time uses a job.
protocol OperationJob: AnyObject, Sendable {
    /// Sends the operation's request on a thread that may block, and keeps the answer.
    ///
    /// Called again for a retry and for every further page. Throws the error that fails the operation as a whole.
    func send(_ context: RequestContext) throws
    /// Whether another page follows after `deliver`. False if the answer has no pages.
    var isMoreToSend: Bool { get }
    /// Calls the blocks for single items, on the operation's own queue (O-03, O-04).
    func deliver()
    /// Calls the blocks that end the operation (O-04), on the same queue, after all deliveries.
    func conclude(_ result: Result<Void, CKError>)
}

extension OperationJob {
    var isMoreToSend: Bool { false }
}

/// Where a file that was stored with a long-lived operation belongs. Archived.
struct KeptFilePlace: Codable, Hashable, Sendable {
    /// The record, by its index among those to save.
    var record: Int
    var key: String
    /// The asset's index in a list; nil if it is the whole value.
    var item: Int?
    /// The file, by its number.
    var number: Int
    /// The digest of its content; nil if an older version stored it.
    var digest: [UInt8]?
}

/// A job whose answer can be stored and replayed (O-14).
protocol LongLivedJob: OperationJob {
    /// How many items the request has.
    var itemCount: Int { get }
    /// Stores the files that the request uploads, and uploads the stored copies from now on. Called before `send`.
    /// - Parameter keep: Stores the file of a path; returns nil if it cannot be read or is too large, which the server
    ///   reports.
    /// - Returns: Where the stored files belong.
    /// - Throws: What `keep` throws.
    func keepFiles(_ keep: (_ path: String) throws -> KeptFile?) throws -> [KeptFilePlace]
    /// The answer, after `send`.
    var archivedAnswer: [String: Any] { get }
    /// Adopts a stored answer instead of `send`.
    func adopt(_ archivedAnswer: [String: Any], in context: RequestContext)
}

/// What a job needs to make requests.
struct RequestContext: Sendable {
    let session: CloudSession
    let caller: Caller
    let database: DatabaseSelector
    let callbacks: CallbackQueue
    /// Whether the answer is no longer wanted.
    var isStopped: @Sendable () -> Bool = { false }

    var server: any CloudServer { session.server }

    /// Where records that come with an answer belong.
    var origin: RecordOrigin {
        RecordOrigin(container: caller.container, database: database, account: caller.account)
    }

    /// Calls `body` on the operation's own queue, after all earlier deliveries.
    func deliver(_ body: @escaping () -> Void) { callbacks.async(body) }

    /// A record as clients see it. `fetchFiles` gives its assets their files.
    /// - Parameters:
    ///   - answer: What the server sent.
    ///   - known: An identifier that the client has. It becomes the record's if it is equal.
    ///   - zoneID: The identifier of a zone. It becomes that of the record's zone if it is equal.
    /// - Returns: The record.
    func record(_ answer: ClientRecord, known: CKRecordID? = nil, in zoneID: CKRecordZoneID? = nil) -> CKRecord {
        let address = answer.address
        let recordID: CKRecordID
        if let known, known.address == address {
            recordID = known
        } else if let zoneID, zoneID.address == address.zone {
            recordID = CKRecordID(recordName: address.recordName, zoneID: zoneID)
        } else {
            recordID = CKRecordID(address)
        }
        return CKRecord.from(
            answer, recordID, origin: origin, download: HandedOutCopies(server, as: caller, in: database))
    }

    /// Copies the contents of the assets of an answer's records, so that the files exist when the client gets the
    /// records. An asset whose content is missing or damaged has no file, and its record fails.
    /// - Parameters:
    ///   - records: The records of the answer.
    ///   - hold: A hold from before the request; nil for a stored answer.
    /// - Returns: The errors of records that do not have all their files, such as `assetNotAvailable`.
    /// - Throws: What fails all of them, such as a network error or a full disk.
    func fetchFiles(of records: some Sequence<CKRecord>, under hold: AssetHold?) throws -> [CKRecordID: CKError] {
        var assets: [(asset: CKAsset, record: CKRecordID)] = []
        var wanted: [HeldAsset] = []
        for record in records {
            for (_, asset) in record.assets {
                guard let (content, place) = asset.wanted else { continue }
                assets.append((asset, record.recordID))
                wanted.append(HeldAsset(content, in: place.key, of: place.record))
            }
        }
        guard !wanted.isEmpty else { return [:] }
        var errors: [CKRecordID: CKError] = [:]
        let copies = try server.copyAssets(wanted, as: caller, in: database, under: hold) { !isStopped() }
        for ((asset, record), copy) in zip(assets, copies) {
            switch copy {
            case .success(let path): asset.adopt(URL(fileURLWithPath: path))
            case .failure(let error) where error.code == .serviceUnavailable: throw error
            // The operation ends with that error.
            case .failure(let error) where error.code == .operationCancelled: continue
            case .failure(let error): if errors[record] == nil { errors[record] = clientError(error) }
            }
        }
        return errors
    }

    /// Makes the server the source of a record's asset files: for decoded records, and for files that are deleted with
    /// an operation.
    func restoreFiles(of record: CKRecord) {
        let download = HandedOutCopies(server, as: caller, in: database)
        for (key, asset) in record.assets {
            asset.download(
                from: CKAsset.Place(record: record.recordID.address, key: key, in: origin), by: download)
        }
    }

    /// A server's error as clients see it.
    func clientError(_ error: CloudError, record: CKRecord? = nil) -> CKError {
        CKError(error, client: record, origin: origin)
    }

    /// The answers to items as clients see them, in the order of the items.
    func results<ID, Answer, Item>(
        _ ids: some Sequence<ID>, _ answers: [Result<Answer, CloudError>], _ item: (Answer) -> Item
    ) -> [(id: ID, result: Result<Item, CKError>)] {
        zip(ids, answers).map { id, answer in (id, answer.map(item).mapError { clientError($0) }) }
    }
}

extension CKError {
    /// The operation was cancelled (O-08).
    static var operationWasCancelled: CKError {
        CKError(CloudError(.operationCancelled, "The operation was cancelled."))
    }

    /// The operation timed out (O-10). Changes that its request has made on the server stay.
    static var operationTimedOut: CKError {
        CKError(
            CloudError(
                .networkFailure,
                "The request took too long: try again, or raise the time-outs of the operation's configuration."))
    }

    /// The client's error for any error that a request threw or that prevented it.
    static func of(_ error: any Error) -> CKError {
        switch error {
        case BlockingPool.Refusal.closed:
            CKError(CloudError(.serviceUnavailable, "The store was closed: open it again."))
        case BlockingPool.Refusal.full:
            CKError(
                CloudError(
                    .requestRateLimited, "Too many operations wait for the store: try again later.",
                    retryAfterSeconds: 1))
        case let error as CKError: error
        case let error as CloudError: CKError(error)
        case let error as Misuse: CKError(error.error)
        default: CKError(CloudError(.internalError, "The request failed unexpectedly.", cause: "\(error)"))
        }
    }
}

extension Array where Element: Hashable {
    /// The elements in their order, without duplicates.
    func withoutRepetitions() -> [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}

/// The job of an operation whose blocks get one answer, or one page after the other.
final class AnswerJob<Answer>: OperationJob, @unchecked Sendable {
    // Unchecked because one thread at a time uses a job, as `OperationJob` requires.
    private let request: (RequestContext) throws -> Answer
    private let isFollowed: (Answer) -> Bool
    private let delivery: (Answer) -> Void
    private let conclusion: (Result<Answer, CKError>) -> Void
    private var answer: Answer?
    private var undelivered: Answer?

    /// Creates a job.
    /// - Parameters:
    ///   - request: Sends the request for the answer or for the next page.
    ///   - isFollowed: Whether another page is to be fetched after this one.
    ///   - deliver: Calls the blocks for the items of an answer.
    ///   - conclude: Calls the blocks that end the operation, with the last answer.
    init(
        _ request: @escaping (RequestContext) throws -> Answer, isFollowed: @escaping (Answer) -> Bool = { _ in false },
        deliver: @escaping (Answer) -> Void = { _ in }, conclude: @escaping (Result<Answer, CKError>) -> Void
    ) {
        self.request = request
        self.isFollowed = isFollowed
        delivery = deliver
        conclusion = conclude
    }

    func send(_ context: RequestContext) throws {
        // Release the previous page before the next one is fetched.
        answer = nil
        answer = try request(context)
        undelivered = answer
    }

    var isMoreToSend: Bool { answer.map(isFollowed) ?? false }

    func deliver() {
        if let page = undelivered.take() { delivery(page) }
    }

    func conclude(_ result: Result<Void, CKError>) {
        conclusion(result.flatMap { answer.map { .success($0) } ?? .failure(CKError.unanswered()) })
    }
}

// MARK: Answers item by item

/// The answers for the items of one operation, in the order of delivery.
struct ItemAnswers<ID: Hashable, Item> {
    /// Items that were saved or fetched.
    var items: [(id: ID, result: Result<Item, CKError>)] = []
    /// Items that were deleted.
    var deletions: [(id: ID, result: Result<Void, CKError>)] = []

    /// The items that were saved or fetched.
    var successes: [Item] { items.compactMap { try? $0.result.get() } }

    /// The items that were fetched, by identifier.
    var successesByID: [ID: Item] {
        Dictionary(
            items.compactMap { item in (try? item.result.get()).map { (item.id, $0) } }, uniquingKeysWith: { $1 })
    }

    var deletedIDs: [ID] { deletions.filter { (try? $0.result.get()) != nil }.map(\.id) }

    /// Fails the records for which `fetchFiles` returned an error.
    mutating func fail(_ errors: [CKRecordID: CKError]) where Item == CKRecord {
        guard !errors.isEmpty else { return }
        for index in items.indices {
            guard let record = try? items[index].result.get(), let error = errors[record.recordID] else { continue }
            items[index].result = .failure(error)
        }
    }

    /// The error for a deprecated completion block: the operation's own error, or that items failed.
    func error(
        _ result: Result<Void, CKError>, _ message: String, key: (ID) -> AnyHashable = { $0 }
    ) -> CKError? {
        if case .failure(let error) = result { return error }
        var errors: [AnyHashable: any Error] = [:]
        for (id, result) in items { if let error = result.error { errors[key(id)] = error } }
        for (id, result) in deletions { if let error = result.error { errors[key(id)] = error } }
        return errors.isEmpty ? nil : CKError.partialFailure(errors, message)
    }
}

extension Result {
    /// The error of a failure.
    var error: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}

/// The blocks of an operation whose request is answered item by item. A class of operations has some of them.
struct ItemBlocks<ID: Hashable, Item> {
    /// For an item to save or fetch.
    var item: ((ID, Result<Item, any Error>) -> Void)?
    /// For an item to delete.
    var deletion: ((ID, Result<Void, any Error>) -> Void)?
    var result: ((Result<Void, any Error>) -> Void)?

    // The deprecated blocks.

    /// For an item, unless `item` is set (O-06).
    var oldItem: ((ID, Item?, (any Error)?) -> Void)?
    /// For an item that was fetched, unless `item` is set (O-06).
    var oldSuccess: ((Item) -> Void)?
    /// Ends a modification.
    var oldModified: (([Item]?, [ID]?, (any Error)?) -> Void)?
    /// Ends a fetch by identifiers.
    var oldFetched: (([ID: Item]?, (any Error)?) -> Void)?
    /// Ends any other operation.
    var oldEnd: (((any Error)?) -> Void)?
}

/// One request for items, whose blocks get the items and the end.
final class ItemsJob<ID: Hashable, Item>: OperationJob, @unchecked Sendable {
    // Unchecked because one thread at a time uses a job, as `OperationJob` requires.
    typealias Answers = ItemAnswers<ID, Item>

    private let idCount: Int?
    private let blocks: ItemBlocks<ID, Item>
    private let failure: String
    private let errorKey: (ID) -> AnyHashable
    private let request: (RequestContext, inout Answers) throws -> Void
    private let afterItems: () -> Void
    private let restore: (inout Answers, RequestContext) -> Void
    private var answers = Answers()

    /// Creates a job.
    /// - Parameters:
    ///   - blocks: The blocks to call.
    ///   - itemCount: How many items the request has; nil if it asks for all. Without items nothing is sent.
    ///   - failure: What the error of the deprecated block says if items failed.
    ///   - errorKey: The key of an item in that error.
    ///   - request: Sends the request.
    ///   - afterItems: Called after the blocks of all items.
    ///   - restore: Completes an answer that was stored.
    init(
        _ blocks: ItemBlocks<ID, Item>, itemCount: Int?, failure: String,
        errorKey: @escaping (ID) -> AnyHashable = { $0 },
        request: @escaping (RequestContext, inout Answers) throws -> Void, afterItems: @escaping () -> Void = {},
        restore: @escaping (inout Answers, RequestContext) -> Void = { _, _ in }
    ) {
        self.blocks = blocks
        idCount = itemCount
        self.failure = failure
        self.errorKey = errorKey
        self.request = request
        self.afterItems = afterItems
        self.restore = restore
    }

    func send(_ context: RequestContext) throws {
        if idCount != 0 { try request(context, &answers) }
    }

    func deliver() {
        for (id, result) in answers.items {
            if let block = blocks.item {
                block(id, result.mapError { $0 })
            } else {
                blocks.oldItem?(id, try? result.get(), result.error)
                if let block = blocks.oldSuccess, let item = try? result.get() { block(item) }
            }
        }
        for (id, result) in answers.deletions { blocks.deletion?(id, result.mapError { $0 }) }
        afterItems()
    }

    func conclude(_ result: Result<Void, CKError>) {
        blocks.result?(result.mapError { $0 })
        // Only the deprecated blocks get what all items say together.
        func error() -> CKError? { answers.error(result, failure, key: errorKey) }
        blocks.oldModified?(answers.successes, answers.deletedIDs, error())
        blocks.oldFetched?(answers.successesByID, error())
        blocks.oldEnd?(error())
    }
}

extension ItemsJob: LongLivedJob where ID: NSObject, Item: NSObject {
    var itemCount: Int { idCount ?? 0 }
    func keepFiles(_ keep: (_ path: String) throws -> KeptFile?) throws -> [KeptFilePlace] { [] }

    var archivedAnswer: [String: Any] { answers.archive }
    func adopt(_ archivedAnswer: [String: Any], in context: RequestContext) {
        answers = ItemAnswers(archive: archivedAnswer)
        restore(&answers, context)
    }
}
