// Fetches the first page of a query, or the page after a cursor.

import Foundation
import StratusCloud
import StratusRecords

/// Fetches a page of the records that a query matches. If there are more, the result is a cursor, with which another
/// operation continues.
open class CKQueryOperation: CKDatabaseOperation, @unchecked Sendable {
    // Unchecked because it inherits from CKOperation, whose rules it follows.

    /// Where the next page of a query starts.
    public typealias Cursor = CKQueryCursor

    /// The limit that lets the server decide (L-14).
    public static let maximumResults: Int = 0

    private struct Inputs {
        var query: CKQuery?
        var cursor: Cursor?
        var zoneID: CKRecordZone.ID?
        var resultsLimit = CKQueryOperation.maximumResults
        var desiredKeys: [CKRecord.FieldKey]?
    }

    private struct Blocks {
        var items = ItemBlocks<CKRecord.ID, CKRecord>()
        var result: ((Result<Cursor?, any Error>) -> Void)?
        var oldResult: ((Cursor?, (any Error)?) -> Void)?
    }

    private var inputs = Inputs()
    private var blocks = Blocks()

    /// Creates an operation without a query, which fails.
    public override init() { super.init() }

    /// Creates an operation that fetches the first page of a query.
    public convenience init(query: CKQuery) {
        self.init()
        self.query = query
    }

    /// Creates an operation that fetches the page after a cursor.
    public convenience init(cursor: CKQueryOperation.Cursor) {
        self.init()
        self.cursor = cursor
    }

    // MARK: Inputs

    /// The query. Changes of its sort order after the start have no effect.
    public final var query: CKQuery? {
        get { locked { inputs.query } }
        set { configure(newValue) { swap(&inputs.query, &$0) } }
    }

    /// Where the page starts. It takes precedence over `query`, because it contains one.
    public final var cursor: CKQueryOperation.Cursor? {
        get { locked { inputs.cursor } }
        set { configure(newValue) { swap(&inputs.cursor, &$0) } }
    }

    /// The zone to search; nil for all zones of the database. The shared database needs one (D-09). A cursor
    /// contains its own.
    public final var zoneID: CKRecordZone.ID? {
        get { locked { inputs.zoneID } }
        set { configure(newValue) { swap(&inputs.zoneID, &$0) } }
    }

    /// Records in the page; `maximumResults` lets the server decide. There may be fewer.
    public final var resultsLimit: Int {
        get { locked { inputs.resultsLimit } }
        set { configure(newValue) { swap(&inputs.resultsLimit, &$0) } }
    }

    /// The fields to fetch: nil for all, an empty list for the system fields alone.
    public final var desiredKeys: [CKRecord.FieldKey]? {
        get { locked { inputs.desiredKeys } }
        set { configure(newValue) { swap(&inputs.desiredKeys, &$0) } }
    }

    // MARK: Blocks

    /// Called for every record of the page, in order.
    public final var recordMatchedBlock:
        ((_ recordID: CKRecord.ID, _ recordResult: Result<CKRecord, any Error>) -> Void)?
    {
        get { locked { blocks.items.item } }
        set { configure(newValue) { swap(&blocks.items.item, &$0) } }
    }

    /// Called last, once, with the cursor of the next page; nil at the end.
    public final var queryResultBlock: ((_ operationResult: Result<CKQueryOperation.Cursor?, any Error>) -> Void)? {
        get { locked { blocks.result } }
        set { configure(newValue) { swap(&blocks.result, &$0) } }
    }

    /// Called for every record of the page that could be fetched, unless `recordMatchedBlock` is set (O-06).
    @available(*, deprecated, message: "Use recordMatchedBlock.")
    public final var recordFetchedBlock: ((CKRecord) -> Void)? {
        get { locked { blocks.items.oldSuccess } }
        set { configure(newValue) { swap(&blocks.items.oldSuccess, &$0) } }
    }

    /// Called last, once. If any records failed, the error is `partialFailure`.
    @available(*, deprecated, message: "Use queryResultBlock.")
    public final var queryCompletionBlock: ((CKQueryOperation.Cursor?, (any Error)?) -> Void)? {
        get { locked { blocks.oldResult } }
        set { configure(newValue) { swap(&blocks.oldResult, &$0) } }
    }

    // MARK: Running

    override func makeJob(in context: RequestContext) -> (any OperationJob)? {
        let (inputs, blocks) = locked { (self.inputs, self.blocks) }
        let request = Result { try Self.request(inputs, context.session.clock.now) }
        /// The work done for the pages before this one.
        let workBefore = inputs.cursor?.work ?? QueryWork()
        var cursor: CKQueryCursor?
        var items = blocks.items
        items.result = { result in
            if result.error != nil { cursor = nil }
            blocks.result?(result.map { cursor })
        }
        items.oldEnd = { blocks.oldResult?(cursor, $0) }
        return ItemsJob(items, itemCount: nil, failure: "Failed to fetch some records") { context, answers in
            let hold = try context.server.holdAssets()
            let response = try context.server.answer(try request.get(), as: context.caller, in: context.database)
            var zoneID = inputs.zoneID
            answers.items = response.records.map { match in
                switch match {
                case .record(let answer):
                    let record = context.record(answer, in: zoneID)
                    zoneID = record.recordID.zoneID
                    return (record.recordID, .success(record))
                case .failure(let address, let error):
                    return (CKRecordID(address), .failure(context.clientError(error)))
                }
            }
            answers.fail(try context.fetchFiles(of: answers.successes, under: hold))
            cursor = response.cursor.map { CKQueryCursor($0, work: workBefore.adding(response.work)) }
        }
    }

    private static func request(_ inputs: Inputs, _ now: Date) throws -> QueryRequest {
        let start: QueryRequest.Start
        if let cursor = inputs.cursor {
            start = .cursor(cursor.bytes)
        } else if let query = inputs.query {
            start = .query(try query.clientQuery(now: now), zone: inputs.zoneID?.address)
        } else {
            throw CloudError(.invalidArguments, "A CKQueryOperation needs a query or a cursor: set one of them.")
        }
        return QueryRequest(start, limit: max(inputs.resultsLimit, 0), desiredKeys: inputs.desiredKeys.map(Set.init))
    }

    override func dropBlocks() { replace(.init()) { swap(&blocks, &$0) } }
}
