// Fetches a page of the changes in one zone: the operation that preceded the feeds of databases.

public import Foundation
import StratusCloud
import StratusStore

/// Fetches the records of one zone that have changed and the identifiers of those that are gone, one page of them.
@available(*, deprecated, message: "Use CKFetchRecordZoneChangesOperation.")
open class CKFetchRecordChangesOperation: CKDatabaseOperation, @unchecked Sendable {
    // Unchecked because it inherits from CKOperation, whose rules it follows.
    private struct Blocks {
        var record: ((CKRecord) -> Void)?
        var deletion: ((CKRecord.ID) -> Void)?
        var result: ((CKServerChangeToken?, Data?, (any Error)?) -> Void)?
    }

    private var zoneID = CKRecordZone.ID.default
    private var settings = ZoneFetchSettings()
    private var blocks = Blocks()
    private let isMoreComing = Locked(false)

    /// Creates an operation for the default zone.
    public override init() { super.init() }

    /// Creates an operation for a zone.
    /// - Parameters:
    ///   - recordZoneID: The zone.
    ///   - previousServerChangeToken: The newest token that the client has stored for it; nil to start from the
    ///     beginning.
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

    /// The newest token that the client has stored for the zone; nil to start from the beginning.
    public final var previousServerChangeToken: CKServerChangeToken? {
        get { locked { settings.token } }
        set { configure(newValue) { swap(&settings.token, &$0) } }
    }

    /// Records and deletions in the page; 0 lets the server decide (T-14).
    public final var resultsLimit: Int {
        get { locked { settings.resultsLimit } }
        set { configure(newValue) { swap(&settings.resultsLimit, &$0) } }
    }

    /// The fields to fetch: nil for all, an empty list for the system fields alone (T-14).
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
        let (zoneID, settings, blocks) = locked { (self.zoneID, self.settings, self.blocks) }
        return AnswerJob { [isMoreComing] context in
            let page = try settings.fetchPage(of: zoneID, context)
            isMoreComing.withLock { $0 = page.end.moreComing }
            return page
        } deliver: { page in
            // The block cannot report a record's error: an asset without its file has a `fileURL` of nil.
            for (record, _) in page.changed { blocks.record?(record) }
            for deletion in page.deleted { blocks.deletion?(CKRecordID(deletion.address)) }
        } conclude: { result in
            let end = try? result.get().end
            blocks.result?(end?.serverChangeToken, end?.clientChangeTokenData, result.error)
        }
    }

    override func dropBlocks() { replace(.init()) { swap(&blocks, &$0) } }
}
