// Fetches a page of the changes in one zone: the operation that preceded the feeds of databases.

public import Foundation
import StratusCloud
import StratusStore

/// Fetches the records of one zone that have changed and the identifiers of those that are gone, one page of them.
@available(*, deprecated, message: "Use CKFetchRecordZoneChangesOperation.")
open class CKFetchRecordChangesOperation: CKDatabaseOperation, @unchecked Sendable {
    // Unchecked because it inherits from CKOperation, whose rules it follows.
    private var zoneID = CKRecordZone.ID.default
    private var settings = ZoneFetchSettings()
    private var blocks = RecordChangesBlocks()
    private let isMoreComing = Locked(false)

    /// Creates an operation for the default zone.
    public override init() { super.init() }

    /// Creates an operation for a zone.
    /// - Parameters:
    ///   - recordZoneID: The zone.
    ///   - previousServerChangeToken: How far the client has followed it; nil to start from the beginning.
    public convenience init(recordZoneID: CKRecordZone.ID, previousServerChangeToken: CKServerChangeToken?) {
        self.init()
        self.recordZoneID = recordZoneID
        self.previousServerChangeToken = previousServerChangeToken
    }

    /// The zone.
    public final var recordZoneID: CKRecordZone.ID {
        get { locked { zoneID } }
        set { configure(newValue) { swap(&zoneID, &$0) } }
    }

    /// How far the client has followed the zone; nil to start from the beginning.
    public final var previousServerChangeToken: CKServerChangeToken? {
        get { locked { settings.token } }
        set { configure(newValue) { swap(&settings.token, &$0) } }
    }

    /// Records and deletions in the page; 0 lets the server decide (T-14).
    public final var resultsLimit: Int {
        get { locked { settings.resultsLimit } }
        set { configure(newValue) { swap(&settings.resultsLimit, &$0) } }
    }

    /// The fields to fetch: nil for all, none for system fields alone (T-14).
    public final var desiredKeys: [CKRecord.FieldKey]? {
        get { locked { settings.desiredKeys } }
        set { configure(newValue) { swap(&settings.desiredKeys, &$0) } }
    }

    /// Called for every record that has changed.
    public final var recordChangedBlock: ((CKRecord) -> Void)? {
        get { locked { blocks.record } }
        set { configure(newValue) { swap(&blocks.record, &$0) } }
    }

    /// Called for every record that is gone.
    public final var recordWithIDWasDeletedBlock: ((CKRecord.ID) -> Void)? {
        get { locked { blocks.deletion } }
        set { configure(newValue) { swap(&blocks.deletion, &$0) } }
    }

    /// Called last, once, with the token for the next fetch and the data of the client's own last change.
    public final var fetchRecordChangesCompletionBlock: ((CKServerChangeToken?, Data?, (any Error)?) -> Void)? {
        get { locked { blocks.result } }
        set { configure(newValue) { swap(&blocks.result, &$0) } }
    }

    /// Whether there is another page; known when the completion block is called.
    public final var moreComing: Bool { isMoreComing.value }

    override func makeJob(in context: RequestContext) -> (any OperationJob)? {
        let (zone, blocks) = locked { (ZoneFetch(zoneID: zoneID, settings: settings), self.blocks) }
        return RecordChangesJob(zone, blocks, isMoreComing)
    }

    override func dropBlocks() {
        super.dropBlocks()
        replace(RecordChangesBlocks()) { swap(&blocks, &$0) }
    }
}

/// The blocks of a `CKFetchRecordChangesOperation`.
struct RecordChangesBlocks {
    var record: ((CKRecord) -> Void)?
    var deletion: ((CKRecord.ID) -> Void)?
    var result: ((CKServerChangeToken?, Data?, (any Error)?) -> Void)?
}

/// What a `CKFetchRecordChangesOperation` does.
final class RecordChangesJob: OperationJob, @unchecked Sendable {
    // Unchecked because one thread at a time uses a job, as `OperationJob` requires.
    private let zone: ZoneFetch
    private let blocks: RecordChangesBlocks
    private let isMoreComing: Locked<Bool>
    private var changed: [CKRecord] = []
    private var response: FetchZoneChangesResponse?

    init(_ zone: ZoneFetch, _ blocks: RecordChangesBlocks, _ isMoreComing: Locked<Bool>) {
        self.zone = zone
        self.blocks = blocks
        self.isMoreComing = isMoreComing
    }

    func send(_ context: RequestContext) throws {
        let hold = try context.server.holdAssets()
        let response = try context.server.answer(zone.request, as: context.caller, in: context.database)
        changed = response.changed.map { context.record($0) }
        // The blocks cannot report a record's error: an asset without its file has a `fileURL` of nil.
        _ = try context.fetchFiles(of: changed, under: hold)
        isMoreComing.withLock { $0 = response.isMoreComing }
        self.response = response
    }

    func deliver() {
        for record in changed { blocks.record?(record) }
        for deletion in response?.deleted ?? [] { blocks.deletion?(CKRecordID(deletion.address)) }
    }

    func conclude(_ result: Result<Void, CKError>) {
        if case .success = result, let response {
            blocks.result?(
                CKServerChangeToken(response.token), response.clientChangeTokenData.map { Data($0) }, nil)
        } else {
            blocks.result?(nil, nil, result.error ?? CKError.unanswered())
        }
    }
}
