// Fetches which zones of a database have changed, page by page.

import StratusCloud

/// Fetches which zones of the private or the shared database have changed or are gone since a token.
///
/// The operation sends one request for each page, the next one when the blocks of the page have returned. Tokens that a
/// block received stay valid even if the operation fails (T-05).
open class CKFetchDatabaseChangesOperation: CKDatabaseOperation, @unchecked Sendable {
    // Unchecked because it inherits from CKOperation, whose rules it follows.

    private struct Inputs {
        var token: CKServerChangeToken?
        var resultsLimit = 0
        var fetchesAllChanges = true
    }

    private struct Blocks {
        var changed: ((CKRecordZone.ID) -> Void)?
        var deleted: ((CKRecordZone.ID) -> Void)?
        var purged: ((CKRecordZone.ID) -> Void)?
        var reset: ((CKRecordZone.ID) -> Void)?
        var token: ((CKServerChangeToken) -> Void)?
        var result: ((Result<(serverChangeToken: CKServerChangeToken, moreComing: Bool), any Error>) -> Void)?
        var oldResult: ((CKServerChangeToken?, Bool, (any Error)?) -> Void)?

        /// For a zone that is gone.
        func deletion(_ reason: ZoneDeletionReason) -> ((CKRecordZone.ID) -> Void)? {
            switch reason {
            case .deleted: deleted
            case .purged: purged ?? deleted
            case .encryptedDataReset: reset ?? deleted
            }
        }
    }

    private var inputs = Inputs()
    private var blocks = Blocks()

    /// Creates an operation that starts from the beginning.
    public override init() { super.init() }

    /// Creates an operation that fetches what has changed.
    /// - Parameter previousServerChangeToken: The newest token that the client has stored for the database; nil to
    ///   start from the beginning.
    public convenience init(previousServerChangeToken: CKServerChangeToken?) {
        self.init()
        self.previousServerChangeToken = previousServerChangeToken
    }

    // MARK: Inputs

    /// The newest token that the client has stored for the database; nil to start from the beginning.
    public final var previousServerChangeToken: CKServerChangeToken? {
        get { locked { inputs.token } }
        set { configure(newValue) { swap(&inputs.token, &$0) } }
    }

    /// Zones in one page; 0 lets the server decide (T-14).
    public final var resultsLimit: Int {
        get { locked { inputs.resultsLimit } }
        set { configure(newValue) { swap(&inputs.resultsLimit, &$0) } }
    }

    /// Whether to fetch all pages instead of one (T-03, T-04). By default true.
    public final var fetchAllChanges: Bool {
        get { locked { inputs.fetchesAllChanges } }
        set { configure(newValue) { swap(&inputs.fetchesAllChanges, &$0) } }
    }

    // MARK: Blocks

    /// Called for every zone that is new or in which something has changed.
    public final var recordZoneWithIDChangedBlock: ((CKRecordZone.ID) -> Void)? {
        get { locked { blocks.changed } }
        set { configure(newValue) { swap(&blocks.changed, &$0) } }
    }

    /// Called for every zone that is gone for a reason without its own block (T-13).
    public final var recordZoneWithIDWasDeletedBlock: ((CKRecordZone.ID) -> Void)? {
        get { locked { blocks.deleted } }
        set { configure(newValue) { swap(&blocks.deleted, &$0) } }
    }

    /// Called for every zone that was purged: ask the user before its records are uploaded again (Z-07).
    public final var recordZoneWithIDWasPurgedBlock: ((CKRecordZone.ID) -> Void)? {
        get { locked { blocks.purged } }
        set { configure(newValue) { swap(&blocks.purged, &$0) } }
    }

    /// Called for every zone that is gone because the keys of its encrypted data were lost (Z-07).
    public final var recordZoneWithIDWasDeletedDueToUserEncryptedDataResetBlock: ((CKRecordZone.ID) -> Void)? {
        get { locked { blocks.reset } }
        set { configure(newValue) { swap(&blocks.reset, &$0) } }
    }

    /// Called after every page but the last, with the token up to it (T-03).
    public final var changeTokenUpdatedBlock: ((CKServerChangeToken) -> Void)? {
        get { locked { blocks.token } }
        set { configure(newValue) { swap(&blocks.token, &$0) } }
    }

    /// Called last, once, with the token for the next fetch.
    public final var fetchDatabaseChangesResultBlock:
        (
            (
                _ operationResult: Result<
                    (serverChangeToken: CKServerChangeToken, moreComing: Bool), any Error
                >
            ) -> Void
        )?
    {
        get { locked { blocks.result } }
        set { configure(newValue) { swap(&blocks.result, &$0) } }
    }

    /// Called last, once, with the token for the next fetch.
    @available(*, deprecated, message: "Use fetchDatabaseChangesResultBlock.")
    public final var fetchDatabaseChangesCompletionBlock: ((CKServerChangeToken?, Bool, (any Error)?) -> Void)? {
        get { locked { blocks.oldResult } }
        set { configure(newValue) { swap(&blocks.oldResult, &$0) } }
    }

    // MARK: Running

    override func makeJob(in context: RequestContext) -> (any OperationJob)? {
        var (inputs, blocks) = locked { (self.inputs, self.blocks) }
        func isFollowed(_ page: FetchDatabaseChangesResponse) -> Bool { inputs.fetchesAllChanges && page.isMoreComing }
        return AnswerJob { context in
            let request = FetchDatabaseChangesRequest(token: inputs.token?.bytes, limit: max(inputs.resultsLimit, 0))
            let page = try context.server.answer(request, as: context.caller, in: context.database)
            inputs.token = CKServerChangeToken(page.token)
            return page
        } isFollowed: {
            isFollowed($0)
        } deliver: { page in
            for zone in page.changed { blocks.changed?(CKRecordZoneID(zone)) }
            for deletion in page.deleted { blocks.deletion(deletion.reason)?(CKRecordZoneID(deletion.zone)) }
            if isFollowed(page) { blocks.token?(CKServerChangeToken(page.token)) }
        } conclude: { result in
            let end = result.map { (serverChangeToken: CKServerChangeToken($0.token), moreComing: $0.isMoreComing) }
            blocks.result?(end.mapError { $0 })
            switch end {
            case .success(let end): blocks.oldResult?(end.serverChangeToken, end.moreComing, nil)
            case .failure(let error): blocks.oldResult?(nil, false, error)
            }
        }
    }

    override func dropBlocks() { replace(.init()) { swap(&blocks, &$0) } }
}
