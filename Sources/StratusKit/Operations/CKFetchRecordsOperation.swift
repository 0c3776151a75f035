// Fetches records by their identifiers, or the record of the user who asks.

import Foundation
import StratusCloud
import StratusModel

/// Fetches records by their identifiers. An identifier that stands twice is fetched once.
open class CKFetchRecordsOperation: CKDatabaseOperation, @unchecked Sendable {
    // Unchecked because it inherits from CKOperation, whose rules it follows.

    struct Inputs {
        var recordIDs: [CKRecord.ID]?
        var desiredKeys: [CKRecord.FieldKey]?
        var isForCurrentUser = false
    }

    struct Blocks {
        var progress: ((CKRecord.ID, Double) -> Void)?
        var record: ((CKRecord.ID, Result<CKRecord, any Error>) -> Void)?
        var result: ((Result<Void, any Error>) -> Void)?
        var oldRecord: ((CKRecord?, CKRecord.ID?, (any Error)?) -> Void)?
        var oldResult: (([CKRecord.ID: CKRecord]?, (any Error)?) -> Void)?
    }

    private var inputs = Inputs()
    private var blocks = Blocks()

    /// An operation without items.
    public required override init() { super.init() }

    /// An operation that fetches these.
    public convenience init(recordIDs: [CKRecord.ID]) {
        self.init()
        self.recordIDs = recordIDs
    }

    /// An operation that fetches the record of the user who asks; without an account it fails with `notAuthenticated`
    /// (O-17).
    open class func fetchCurrentUserRecordOperation() -> Self {
        let operation = self.init()
        operation.configure { operation.inputs.isForCurrentUser = true }
        return operation
    }

    // MARK: Inputs

    /// The records to fetch.
    public final var recordIDs: [CKRecord.ID]? {
        get { locked { inputs.recordIDs } }
        set { configure { inputs.recordIDs = newValue } }
    }

    /// The fields to fetch: nil for all, none for system fields alone (T-14).
    public final var desiredKeys: [CKRecord.FieldKey]? {
        get { locked { inputs.desiredKeys } }
        set { configure { inputs.desiredKeys = newValue } }
    }

    // MARK: Blocks

    /// Called with how much of a record has come, at last with 1.0 (O-05).
    public final var perRecordProgressBlock: ((CKRecord.ID, Double) -> Void)? {
        get { locked { blocks.progress } }
        set { configure { blocks.progress = newValue } }
    }

    /// Called for every record that was asked for.
    public final var perRecordResultBlock:
        ((_ recordID: CKRecord.ID, _ recordResult: Result<CKRecord, any Error>) -> Void)?
    {
        get { locked { blocks.record } }
        set { configure { blocks.record = newValue } }
    }

    /// Called last, once. Fails only when the request as a whole failed.
    public final var fetchRecordsResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)? {
        get { locked { blocks.result } }
        set { configure { blocks.result = newValue } }
    }

    /// Called for every record that was asked for, unless `perRecordResultBlock` is set (O-06).
    @available(*, deprecated, message: "Use perRecordResultBlock.")
    public final var perRecordCompletionBlock: ((CKRecord?, CKRecord.ID?, (any Error)?) -> Void)? {
        get { locked { blocks.oldRecord } }
        set { configure { blocks.oldRecord = newValue } }
    }

    /// Called last, once, with what was found; items that failed make it `partialFailure`.
    @available(*, deprecated, message: "Use fetchRecordsResultBlock.")
    public final var fetchRecordsCompletionBlock: (([CKRecord.ID: CKRecord]?, (any Error)?) -> Void)? {
        get { locked { blocks.oldResult } }
        set { configure { blocks.oldResult = newValue } }
    }

    // MARK: Running

    override func makeJob() -> (any OperationJob)? {
        let (inputs, blocks) = locked { (self.inputs, self.blocks) }
        return FetchRecordsJob(inputs, blocks)
    }

    override func dropBlocks() {
        super.dropBlocks()
        blocks = Blocks()
    }
}

/// What a `CKFetchRecordsOperation` does.
final class FetchRecordsJob: OperationJob, @unchecked Sendable {
    // Unchecked because `run` and what it delivers never overlap with one another, as `OperationJob` has it.
    private let recordIDs: [CKRecord.ID]
    private let desiredKeys: Set<String>?
    private let isForCurrentUser: Bool
    private let blocks: CKFetchRecordsOperation.Blocks
    private var fetched: [CKRecord.ID: CKRecord] = [:]
    private var errors: [AnyHashable: any Error] = [:]

    init(_ inputs: CKFetchRecordsOperation.Inputs, _ blocks: CKFetchRecordsOperation.Blocks) {
        recordIDs = (inputs.recordIDs ?? []).withoutRepetitions()
        desiredKeys = inputs.desiredKeys.map(Set.init)
        isForCurrentUser = inputs.isForCurrentUser
        self.blocks = blocks
    }

    func run(_ context: RequestContext) throws {
        let recordIDs =
            isForCurrentUser
            ? [CKRecord.ID(recordName: try context.server.userName(of: context.caller).text)] : recordIDs
        guard !recordIDs.isEmpty else { return }
        let request = FetchRecordsRequest(addresses: recordIDs.map(\.address), desiredKeys: desiredKeys)
        let response = try context.server.fetchRecords(request, as: context.caller, in: context.database)
        context.deliver { [self] in
            for (recordID, result) in zip(recordIDs, response.records) { deliver(recordID, result, context) }
        }
    }

    func conclude(_ result: Result<Void, CKError>) {
        blocks.result?(result.mapError { $0 })
        guard let oldResult = blocks.oldResult else { return }
        switch result {
        case .failure(let error): oldResult(fetched, error)
        case .success where errors.isEmpty: oldResult(fetched, nil)
        case .success: oldResult(fetched, CKError.partialFailure(errors, "Failed to fetch some records"))
        }
    }

    private func deliver(
        _ recordID: CKRecord.ID, _ result: Result<ClientRecord, CloudError>, _ context: RequestContext
    ) {
        blocks.progress?(recordID, 1)
        switch result {
        case .success(let answer):
            let record = context.record(answer)
            fetched[recordID] = record
            if let block = blocks.record {
                block(recordID, .success(record))
            } else {
                blocks.oldRecord?(record, recordID, nil)
            }
        case .failure(let error):
            let error = context.clientError(error)
            errors[recordID] = error
            if let block = blocks.record {
                block(recordID, .failure(error))
            } else {
                blocks.oldRecord?(nil, recordID, error)
            }
        }
    }
}
