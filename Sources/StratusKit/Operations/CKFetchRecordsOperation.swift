// Fetches records by their identifiers, or the current user's record.

import Foundation
import StratusCloud
import StratusModel

/// Fetches records by their identifiers. A duplicate is fetched once.
open class CKFetchRecordsOperation: CKDatabaseOperation, @unchecked Sendable {
    // Unchecked because it inherits from CKOperation, whose rules it follows.

    private struct Inputs {
        var recordIDs: [CKRecord.ID]?
        var desiredKeys: [CKRecord.FieldKey]?
        var isForCurrentUser = false
    }

    private struct Blocks {
        var items = ItemBlocks<CKRecord.ID, CKRecord>()
        var progress: ((CKRecord.ID, Double) -> Void)?
        var oldRecord: ((CKRecord?, CKRecord.ID?, (any Error)?) -> Void)?
    }

    private var inputs = Inputs()
    private var blocks = Blocks()

    /// Creates an operation without items.
    public override init() { super.init() }

    /// Creates an operation that fetches these items.
    public convenience init(recordIDs: [CKRecord.ID]) {
        self.init()
        self.recordIDs = recordIDs
    }

    /// Creates an operation that fetches the current user's record. Without an account it fails with `notAuthenticated`
    /// (O-17).
    ///
    /// The operation is of this class also if you call the method on a subclass. Creating an instance of the
    /// subclass would need an initialiser that every subclass has to repeat.
    open class func fetchCurrentUserRecordOperation() -> CKFetchRecordsOperation {
        let operation = CKFetchRecordsOperation()
        operation.configure { operation.inputs.isForCurrentUser = true }
        return operation
    }

    // MARK: Inputs

    /// The records to fetch.
    public final var recordIDs: [CKRecord.ID]? {
        get { locked { inputs.recordIDs } }
        set { configure(newValue) { swap(&inputs.recordIDs, &$0) } }
    }

    /// The fields to fetch: nil for all, an empty list for the system fields alone (T-14).
    public final var desiredKeys: [CKRecord.FieldKey]? {
        get { locked { inputs.desiredKeys } }
        set { configure(newValue) { swap(&inputs.desiredKeys, &$0) } }
    }

    // MARK: Blocks

    /// Called with the received part of a record, and finally with 1.0 (O-05).
    public final var perRecordProgressBlock: ((CKRecord.ID, Double) -> Void)? {
        get { locked { blocks.progress } }
        set { configure(newValue) { swap(&blocks.progress, &$0) } }
    }

    /// Called for every requested record.
    public final var perRecordResultBlock:
        ((_ recordID: CKRecord.ID, _ recordResult: Result<CKRecord, any Error>) -> Void)?
    {
        get { locked { blocks.items.item } }
        set { configure(newValue) { swap(&blocks.items.item, &$0) } }
    }

    /// Called last, once. Fails only when the request as a whole failed.
    public final var fetchRecordsResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)? {
        get { locked { blocks.items.result } }
        set { configure(newValue) { swap(&blocks.items.result, &$0) } }
    }

    /// Called for every requested record, unless `perRecordResultBlock` is set (O-06).
    @available(*, deprecated, message: "Use perRecordResultBlock.")
    public final var perRecordCompletionBlock: ((CKRecord?, CKRecord.ID?, (any Error)?) -> Void)? {
        get { locked { blocks.oldRecord } }
        set { configure(newValue) { swap(&blocks.oldRecord, &$0) } }
    }

    /// Called last, once, with the items found. If any items failed, the error is `partialFailure`.
    @available(*, deprecated, message: "Use fetchRecordsResultBlock.")
    public final var fetchRecordsCompletionBlock: (([CKRecord.ID: CKRecord]?, (any Error)?) -> Void)? {
        get { locked { blocks.items.oldFetched } }
        set { configure(newValue) { swap(&blocks.items.oldFetched, &$0) } }
    }

    // MARK: Running

    override func makeJob(in context: RequestContext) -> (any OperationJob)? {
        let (inputs, blocks) = locked { (self.inputs, self.blocks) }
        let recordIDs = (inputs.recordIDs ?? []).withoutRepetitions()
        var items = blocks.items
        items.item = { id, result in
            blocks.progress?(id, 1)
            if let block = blocks.items.item {
                block(id, result)
            } else {
                blocks.oldRecord?(try? result.get(), id, result.error)
            }
        }
        return ItemsJob(
            items, itemCount: inputs.isForCurrentUser ? nil : recordIDs.count, failure: "Failed to fetch some records"
        ) { context, answers in
            var recordIDs = recordIDs
            if inputs.isForCurrentUser {
                let name = try context.server.answer(UserNameRequest(), as: context.caller).text
                recordIDs = [CKRecord.ID(recordName: name)]
            }
            let request = FetchRecordsRequest(
                addresses: recordIDs.map(\.address), desiredKeys: inputs.desiredKeys.map(Set.init))
            let hold = try context.server.holdAssets()
            let response = try context.server.answer(request, as: context.caller, in: context.database)
            answers.items = zip(recordIDs, response.records).map { recordID, answer in
                let record = answer.map { context.record($0, known: recordID) }
                return (recordID, record.mapError { context.clientError($0) })
            }
            answers.fail(try context.fetchFiles(of: answers.successes, under: hold))
        } restore: { answers, context in
            answers.successes.forEach(context.restoreFiles)
            // An asset that its record has lost since then is not available either.
            if let errors = try? context.fetchFiles(of: answers.successes, under: nil) { answers.fail(errors) }
        }
    }

    override func archiveInputs() -> (kind: LongLivedKind, inputs: [String: Any])? {
        let inputs = locked { self.inputs }
        let archive: [String: Any] = [
            "ids": NSArray(array: inputs.recordIDs ?? []),
            "keys": inputs.desiredKeys.map { NSArray(array: $0.map { $0 as NSString }) } ?? NSNull(),
            "isForCurrentUser": NSNumber(value: inputs.isForCurrentUser),
        ]
        return (.fetchRecords, archive)
    }

    override func adoptInputs(_ archive: [String: Any]) {
        recordIDs = (archive["ids"] as? NSArray)?.compactMap { $0 as? CKRecord.ID }
        desiredKeys = (archive["keys"] as? NSArray)?.compactMap { $0 as? String }
        configure { inputs.isForCurrentUser = (archive["isForCurrentUser"] as? NSNumber)?.boolValue ?? false }
    }

    override func dropBlocks() { replace(.init()) { swap(&blocks, &$0) } }
}
