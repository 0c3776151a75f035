// Fetches what has changed in zones, page by page, one zone after the other.

public import Foundation
import StratusCloud

/// Fetches the records of zones that have changed and the identifiers of those that are gone, since a token of each zone.
///
/// The server is asked once for every page, and for the next one when the blocks of a page have returned. Tokens that a
/// block was given stay good whatever becomes of the operation (T-05). A zone that fails, such as with
/// `changeTokenExpired`, fails alone; the others go on (T-18).
open class CKFetchRecordZoneChangesOperation: CKDatabaseOperation, @unchecked Sendable {
    // Unchecked because it inherits from CKOperation, whose rules it follows.

    /// Where the fetch of a zone begins, and what it brings.
    public typealias ZoneConfiguration = CKFetchRecordZoneChangesConfiguration

    /// The same under its name of before.
    @available(*, deprecated, renamed: "ZoneConfiguration")
    public typealias ZoneOptions = CKFetchRecordZoneChangesConfiguration

    struct Inputs {
        var recordZoneIDs: [CKRecordZone.ID]?
        var configurations: [CKRecordZone.ID: ZoneConfiguration]?
        var fetchesAllChanges = true
    }

    struct Blocks {
        var record: ((CKRecord.ID, Result<CKRecord, any Error>) -> Void)?
        var oldRecord: ((CKRecord) -> Void)?
        var deletion: ((CKRecord.ID, CKRecord.RecordType) -> Void)?
        var token: ((CKRecordZone.ID, CKServerChangeToken?, Data?) -> Void)?
        var zone: ((CKRecordZone.ID, Result<FetchedZoneChanges, any Error>) -> Void)?
        var oldZone: ((CKRecordZone.ID, CKServerChangeToken?, Data?, Bool, (any Error)?) -> Void)?
        var result: ((Result<Void, any Error>) -> Void)?
        var oldResult: (((any Error)?) -> Void)?
    }

    private var inputs = Inputs()
    private var blocks = Blocks()

    /// An operation without zones.
    public override init() { super.init() }

    /// An operation that fetches what has changed in these.
    /// - Parameters:
    ///   - recordZoneIDs: The zones, in the order in which they are fetched.
    ///   - configurationsByRecordZoneID: Where each zone's fetch begins; at the beginning where nothing is said.
    public convenience init(
        recordZoneIDs: [CKRecordZone.ID]? = nil,
        configurationsByRecordZoneID: [CKRecordZone.ID: ZoneConfiguration]? = nil
    ) {
        self.init()
        self.recordZoneIDs = recordZoneIDs
        self.configurationsByRecordZoneID = configurationsByRecordZoneID
    }

    /// An operation that fetches what has changed in these.
    @available(*, deprecated, renamed: "init(recordZoneIDs:configurationsByRecordZoneID:)")
    public convenience init(
        recordZoneIDs: [CKRecordZone.ID], optionsByRecordZoneID: [CKRecordZone.ID: ZoneOptions]?
    ) {
        self.init()
        self.recordZoneIDs = recordZoneIDs
        configurationsByRecordZoneID = optionsByRecordZoneID
    }

    // MARK: Inputs

    /// The zones. One that stands twice is fetched once.
    public final var recordZoneIDs: [CKRecordZone.ID]? {
        get { locked { inputs.recordZoneIDs } }
        set { configure(newValue) { swap(&inputs.recordZoneIDs, &$0) } }
    }

    /// Where each zone's fetch begins, and what it brings.
    public final var configurationsByRecordZoneID: [CKRecordZone.ID: ZoneConfiguration]? {
        get { locked { inputs.configurations } }
        set { configure(newValue) { swap(&inputs.configurations, &$0) } }
    }

    /// The same as `configurationsByRecordZoneID`.
    @available(*, deprecated, renamed: "configurationsByRecordZoneID")
    public final var optionsByRecordZoneID: [CKRecordZone.ID: ZoneOptions]? {
        get { configurationsByRecordZoneID }
        set { configurationsByRecordZoneID = newValue }
    }

    /// Whether every zone is fetched to its end, and not one page of it alone (T-03, T-04). By default true.
    public final var fetchAllChanges: Bool {
        get { locked { inputs.fetchesAllChanges } }
        set { configure(newValue) { swap(&inputs.fetchesAllChanges, &$0) } }
    }

    // MARK: Blocks

    /// Called for every record that has changed, in no order that means something (T-15).
    public final var recordWasChangedBlock:
        ((_ recordID: CKRecord.ID, _ recordResult: Result<CKRecord, any Error>) -> Void)?
    {
        get { locked { blocks.record } }
        set { configure(newValue) { swap(&blocks.record, &$0) } }
    }

    /// Called for every record that is gone, or that the user may see no more (T-07).
    public final var recordWithIDWasDeletedBlock:
        ((_ recordID: CKRecord.ID, _ recordType: CKRecord.RecordType) -> Void)?
    {
        get { locked { blocks.deletion } }
        set { configure(newValue) { swap(&blocks.deletion, &$0) } }
    }

    /// Called after every page of a zone but its last, with the token up to it and the data of the client's own last
    /// change (T-03, T-11). What came before it is best stored with it.
    public final var recordZoneChangeTokensUpdatedBlock:
        (
            (_ recordZoneID: CKRecordZone.ID, _ serverChangeToken: CKServerChangeToken?, _ clientChangeToken: Data?) ->
                Void
        )?
    {
        get { locked { blocks.token } }
        set { configure(newValue) { swap(&blocks.token, &$0) } }
    }

    /// Called after everything of a zone, with the token to begin with the next time, or why it failed (T-18).
    public final var recordZoneFetchResultBlock:
        (
            (
                _ recordZoneID: CKRecordZone.ID,
                _ fetchChangesResult: Result<
                    (serverChangeToken: CKServerChangeToken, clientChangeTokenData: Data?, moreComing: Bool), any Error
                >
            ) -> Void
        )?
    {
        get { locked { blocks.zone } }
        set { configure(newValue) { swap(&blocks.zone, &$0) } }
    }

    /// Called last, once. Fails only when the request as a whole failed.
    public final var fetchRecordZoneChangesResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)? {
        get { locked { blocks.result } }
        set { configure(newValue) { swap(&blocks.result, &$0) } }
    }

    /// Called for every record that has changed, unless `recordWasChangedBlock` is set (O-06).
    @available(*, deprecated, message: "Use recordWasChangedBlock.")
    public final var recordChangedBlock: ((CKRecord) -> Void)? {
        get { locked { blocks.oldRecord } }
        set { configure(newValue) { swap(&blocks.oldRecord, &$0) } }
    }

    /// Has `block` called for every record that has changed, also for one of which an asset has no file: for those who have
    /// no place for the error of a record.
    func tellAllRecords(_ block: @escaping (CKRecord) -> Void) { configure { blocks.oldRecord = block } }

    /// Called after everything of a zone, unless `recordZoneFetchResultBlock` is set (O-06).
    @available(*, deprecated, message: "Use recordZoneFetchResultBlock.")
    public final var recordZoneFetchCompletionBlock:
        ((CKRecordZone.ID, CKServerChangeToken?, Data?, Bool, (any Error)?) -> Void)?
    {
        get { locked { blocks.oldZone } }
        set { configure(newValue) { swap(&blocks.oldZone, &$0) } }
    }

    /// Called last, once; zones that failed make it `partialFailure`.
    @available(*, deprecated, message: "Use fetchRecordZoneChangesResultBlock.")
    public final var fetchRecordZoneChangesCompletionBlock: (((any Error)?) -> Void)? {
        get { locked { blocks.oldResult } }
        set { configure(newValue) { swap(&blocks.oldResult, &$0) } }
    }

    // MARK: Running

    override func makeJob(in context: RequestContext) -> (any OperationJob)? {
        let (inputs, blocks) = locked { (self.inputs, self.blocks) }
        return ZoneChangesJob(inputs, blocks)
    }

    override func dropBlocks() {
        super.dropBlocks()
        replace(Blocks()) { swap(&blocks, &$0) }
    }
}
