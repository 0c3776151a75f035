// Fetches the changes in zones, page by page, one zone after the other.

public import Foundation
import StratusCloud
import StratusStore

/// Fetches the changed records of zones and the identifiers of those that are gone, since a token of each zone.
///
/// The operation sends one request for each page, the next one when the blocks of the page have returned. Tokens that a
/// block received stay valid even if the operation fails (T-05). A zone that fails, for example with
/// `changeTokenExpired`, does not affect the others (T-18).
open class CKFetchRecordZoneChangesOperation: CKDatabaseOperation, @unchecked Sendable {
    // Unchecked because it inherits from CKOperation, whose rules it follows.

    /// Where the fetch of a zone starts, and what it returns.
    public typealias ZoneConfiguration = CKFetchRecordZoneChangesConfiguration

    /// The earlier name.
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

    /// Creates an operation without zones.
    public override init() { super.init() }

    /// Creates an operation that fetches the changes in these zones.
    /// - Parameters:
    ///   - recordZoneIDs: The zones, in the order in which they are fetched.
    ///   - configurationsByRecordZoneID: Where each zone's fetch starts; by default at the beginning.
    public convenience init(
        recordZoneIDs: [CKRecordZone.ID]? = nil,
        configurationsByRecordZoneID: [CKRecordZone.ID: ZoneConfiguration]? = nil
    ) {
        self.init()
        self.recordZoneIDs = recordZoneIDs
        self.configurationsByRecordZoneID = configurationsByRecordZoneID
    }

    /// Creates an operation that fetches the changes in these zones.
    @available(*, deprecated, renamed: "init(recordZoneIDs:configurationsByRecordZoneID:)")
    public convenience init(
        recordZoneIDs: [CKRecordZone.ID], optionsByRecordZoneID: [CKRecordZone.ID: ZoneOptions]?
    ) {
        self.init()
        self.recordZoneIDs = recordZoneIDs
        configurationsByRecordZoneID = optionsByRecordZoneID
    }

    // MARK: Inputs

    /// The zones. A duplicate is fetched once.
    public final var recordZoneIDs: [CKRecordZone.ID]? {
        get { locked { inputs.recordZoneIDs } }
        set { configure(newValue) { swap(&inputs.recordZoneIDs, &$0) } }
    }

    /// Where each zone's fetch starts, and what it returns.
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

    /// Whether to fetch all pages of every zone instead of one (T-03, T-04). By default true.
    public final var fetchAllChanges: Bool {
        get { locked { inputs.fetchesAllChanges } }
        set { configure(newValue) { swap(&inputs.fetchesAllChanges, &$0) } }
    }

    // MARK: Blocks

    /// Called for every record that has changed, in no particular order (T-15).
    public final var recordWasChangedBlock:
        ((_ recordID: CKRecord.ID, _ recordResult: Result<CKRecord, any Error>) -> Void)?
    {
        get { locked { blocks.record } }
        set { configure(newValue) { swap(&blocks.record, &$0) } }
    }

    /// Called for every record that is gone, or that the user may no longer see (T-07).
    public final var recordWithIDWasDeletedBlock:
        ((_ recordID: CKRecord.ID, _ recordType: CKRecord.RecordType) -> Void)?
    {
        get { locked { blocks.deletion } }
        set { configure(newValue) { swap(&blocks.deletion, &$0) } }
    }

    /// Called after every page of a zone but its last, with the token up to it and the data of the client's own last
    /// change (T-03, T-11). Store it together with what came before it.
    public final var recordZoneChangeTokensUpdatedBlock:
        (
            (_ recordZoneID: CKRecordZone.ID, _ serverChangeToken: CKServerChangeToken?, _ clientChangeToken: Data?) ->
                Void
        )?
    {
        get { locked { blocks.token } }
        set { configure(newValue) { swap(&blocks.token, &$0) } }
    }

    /// Called when a zone is complete, with the token for the next fetch, or why it failed (T-18).
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

    /// Calls `block` for every record that has changed, also if an asset has no file: for callers that cannot report a
    /// record's error.
    func reportAllRecords(_ block: @escaping (CKRecord) -> Void) { configure { blocks.oldRecord = block } }

    /// Called when a zone is complete, unless `recordZoneFetchResultBlock` is set (O-06).
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

// Where the fetch of a zone's changes starts, and what it returns. The class is top-level because Foundation on Linux
// cannot archive nested classes; clients write `CKFetchRecordZoneChangesOperation.ZoneConfiguration`.

/// The settings of a zone's fetch.
struct ZoneFetchSettings: Sendable {
    var token: CKServerChangeToken?
    var resultsLimit = 0
    var desiredKeys: [CKRecord.FieldKey]?
}

extension ZoneFetchSettings {
    func encode(with coder: NSCoder) {
        coder.encode(token, forKey: CoderKey.previousChangeToken)
        coder.encode(Int64(resultsLimit), forKey: CoderKey.resultsLimit)
        if let desiredKeys { coder.encodeBlock(desiredKeys, forKey: CoderKey.desiredKeys) }
    }

    init(coder: NSCoder) {
        self.init(
            token: coder.decodeValue(of: CKServerChangeToken.self, forKey: CoderKey.previousChangeToken),
            resultsLimit: Int(coder.decodeNumber(forKey: CoderKey.resultsLimit)),
            desiredKeys: coder.decodeBlock([String].self, forKey: CoderKey.desiredKeys))
    }
}

/// Where the fetch of a zone's changes starts, and what it returns.
public final class CKFetchRecordZoneChangesConfiguration: NSObject, NSSecureCoding, NSCopying, Sendable {
    private let settings: Locked<ZoneFetchSettings>

    init(_ settings: ZoneFetchSettings) {
        self.settings = Locked(settings)
        super.init()
    }

    /// Creates a configuration that fetches everything from the beginning.
    public override convenience init() { self.init(ZoneFetchSettings()) }

    /// Creates a configuration that fetches what has changed.
    /// - Parameters:
    ///   - previousServerChangeToken: How far the client has followed the zone; nil to start from the beginning.
    ///   - resultsLimit: Records and deletions in one page; nil or 0 lets the server decide.
    ///   - desiredKeys: The fields to fetch: nil for all, none for system fields alone (T-14).
    public convenience init(
        previousServerChangeToken: CKServerChangeToken? = nil, resultsLimit: Int? = nil,
        desiredKeys: [CKRecord.FieldKey]? = nil
    ) {
        self.init(
            ZoneFetchSettings(
                token: previousServerChangeToken, resultsLimit: resultsLimit ?? 0, desiredKeys: desiredKeys))
    }

    /// The settings as they are now.
    var current: ZoneFetchSettings { settings.value }

    /// How far the client has followed the zone; nil to start from the beginning.
    public var previousServerChangeToken: CKServerChangeToken? {
        get { settings.value.token }
        set { settings.withLock { $0.token = newValue } }
    }

    /// Records and deletions in one page; 0 lets the server decide (T-14).
    public var resultsLimit: Int {
        get { settings.value.resultsLimit }
        set { settings.withLock { $0.resultsLimit = newValue } }
    }

    /// The fields to fetch: nil for all, none for system fields alone (T-14).
    public var desiredKeys: [CKRecord.FieldKey]? {
        get { settings.value.desiredKeys }
        set { settings.withLock { $0.desiredKeys = newValue } }
    }

    // MARK: Copying and archiving

    /// Returns another object with the same settings.
    public func copy(with zone: NSZone? = nil) -> Any { CKFetchRecordZoneChangesConfiguration(current) }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    public static override func classFallbacksForKeyedArchiver() -> [String] {
        ["CKFetchRecordZoneChangesConfiguration"]
    }

    /// Archives the settings.
    public func encode(with coder: NSCoder) { current.encode(with: coder) }

    /// Decodes settings. An archive without settings fetches everything.
    public convenience init?(coder: NSCoder) {
        guard !coder.hasDamagedBlock([String].self, forKey: CoderKey.desiredKeys) else { return nil }
        self.init(ZoneFetchSettings(coder: coder))
    }
}

// The job of a fetch of zones' changes: a page of a zone at a time, the zones one after the other.

/// What a client gets when a zone was fetched.
typealias FetchedZoneChanges = (serverChangeToken: CKServerChangeToken, clientChangeTokenData: Data?, moreComing: Bool)

/// One zone of a fetch of changes, and how far it has come.
struct ZoneFetch {
    let zoneID: CKRecordZoneID
    var settings: ZoneFetchSettings

    /// The request for the next page.
    var request: FetchZoneChangesRequest {
        FetchZoneChangesRequest(
            zone: zoneID.address, token: settings.token?.bytes, limit: max(settings.resultsLimit, 0),
            desiredKeys: settings.desiredKeys.map(Set.init))
    }
}

/// What a `CKFetchRecordZoneChangesOperation` does.
final class ZoneChangesJob: OperationJob, @unchecked Sendable {
    // Unchecked because one thread at a time uses a job, as `OperationJob` requires.
    private struct Page {
        var zoneID: CKRecordZoneID
        /// Each with the error of an asset without its file.
        var changed: [(record: CKRecord, error: CKError?)] = []
        var deleted: [RecordDeletion] = []
        /// Where the page ends, or why there is none.
        var end: Result<FetchedZoneChanges, CKError>
        var isLast: Bool
    }

    private let blocks: CKFetchRecordZoneChangesOperation.Blocks
    private let fetchesAllChanges: Bool
    /// The zones that are not complete, the next one last.
    private var waiting: [ZoneFetch]
    private var page: Page?
    private var failures: [AnyHashable: any Error] = [:]

    init(_ inputs: CKFetchRecordZoneChangesOperation.Inputs, _ blocks: CKFetchRecordZoneChangesOperation.Blocks) {
        self.blocks = blocks
        fetchesAllChanges = inputs.fetchesAllChanges
        let zoneIDs = (inputs.recordZoneIDs ?? []).withoutRepetitions()
        waiting = zoneIDs.reversed().map { zoneID in
            ZoneFetch(zoneID: zoneID, settings: inputs.configurations?[zoneID]?.current ?? ZoneFetchSettings())
        }
    }

    var isMoreToSend: Bool { !waiting.isEmpty }

    func send(_ context: RequestContext) throws {
        guard let zone = waiting.last else { return }
        do {
            let hold = try context.server.holdAssets()
            let response = try context.server.answer(
                zone.request, as: context.caller, in: context.database)
            let token = CKServerChangeToken(response.token)
            let isLast = !fetchesAllChanges || !response.isMoreComing
            let changed = response.changed.map { context.record($0) }
            let errors = try context.fetchFiles(of: changed, under: hold)
            page = Page(
                zoneID: zone.zoneID, changed: changed.map { ($0, errors[$0.recordID]) }, deleted: response.deleted,
                end: .success(
                    (token, response.clientChangeTokenData.map { Data($0) }, response.isMoreComing)),
                isLast: isLast)
            if isLast { waiting.removeLast() } else { waiting[waiting.count - 1].settings.token = token }
        } catch let error as CloudError {
            if error.code.failsWholeFetch { throw error }
            let failure = context.clientError(error)
            page = Page(zoneID: zone.zoneID, end: .failure(failure), isLast: true)
            failures[zone.zoneID] = failure
            waiting.removeLast()
        }
    }

    func deliver() {
        guard let page else { return }
        self.page = nil
        for (record, error) in page.changed {
            if let block = blocks.record {
                block(record.recordID, error.map { .failure($0) } ?? .success(record))
            } else {
                // This block cannot report the error: the asset has no file.
                blocks.oldRecord?(record)
            }
        }
        for deletion in page.deleted { blocks.deletion?(CKRecordID(deletion.address), deletion.type) }
        if page.isLast {
            deliverEnd(of: page)
        } else if case .success(let end) = page.end {
            blocks.token?(page.zoneID, end.serverChangeToken, end.clientChangeTokenData)
        }
    }

    private func deliverEnd(of page: Page) {
        if let block = blocks.zone { return block(page.zoneID, page.end.mapError { $0 }) }
        switch page.end {
        case .success(let end):
            blocks.oldZone?(page.zoneID, end.serverChangeToken, end.clientChangeTokenData, end.moreComing, nil)
        case .failure(let error):
            blocks.oldZone?(page.zoneID, nil, nil, false, error)
        }
    }

    func conclude(_ result: Result<Void, CKError>) {
        blocks.result?(result.mapError { $0 })
        let partial =
            failures.isEmpty ? nil : CKError.partialFailure(failures, "Failed to fetch the changes of some zones")
        blocks.oldResult?(result.error ?? partial)
    }
}

extension CloudError.Code {
    /// Whether the error does not depend on the requested zone, so that other zones would fail as well.
    fileprivate var failsWholeFetch: Bool {
        switch self {
        case .networkUnavailable, .networkFailure, .badContainer, .serviceUnavailable, .requestRateLimited,
            .missingEntitlement, .notAuthenticated, .badDatabase, .managedAccountRestricted, .serverResponseLost,
            .accountTemporarilyUnavailable, .incompatibleVersion, .operationCancelled:
            true
        default: false
        }
    }
}
