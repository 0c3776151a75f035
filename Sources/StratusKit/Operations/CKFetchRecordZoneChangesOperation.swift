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

        /// Calls the blocks for a page of a zone.
        fileprivate func deliver(_ page: ZonePage, of zoneID: CKRecordZoneID, isLast: Bool) {
            for (record, error) in page.changed {
                if let block = self.record {
                    block(record.recordID, error.map { .failure($0) } ?? .success(record))
                } else {
                    // This block cannot report the error: the asset has no file.
                    oldRecord?(record)
                }
            }
            for deleted in page.deleted { deletion?(CKRecordID(deleted.address), deleted.type) }
            if isLast {
                deliver(.success(page.end), of: zoneID)
            } else {
                token?(zoneID, page.end.serverChangeToken, page.end.clientChangeTokenData)
            }
        }

        /// Calls the block for a zone that is complete or has failed.
        fileprivate func deliver(_ end: Result<FetchedZoneChanges, CKError>, of zoneID: CKRecordZoneID) {
            if let zone { return zone(zoneID, end.mapError { $0 }) }
            let known = try? end.get()
            oldZone?(
                zoneID, known?.serverChangeToken, known?.clientChangeTokenData, known?.moreComing ?? false, end.error)
        }
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

    /// Called last, once. If any zones failed, the error is `partialFailure`.
    @available(*, deprecated, message: "Use fetchRecordZoneChangesResultBlock.")
    public final var fetchRecordZoneChangesCompletionBlock: (((any Error)?) -> Void)? {
        get { locked { blocks.oldResult } }
        set { configure(newValue) { swap(&blocks.oldResult, &$0) } }
    }

    // MARK: Running

    override func makeJob(in context: RequestContext) -> (any OperationJob)? {
        let (inputs, blocks) = locked { (self.inputs, self.blocks) }
        // The zones that are not complete, the next one last.
        var waiting = (inputs.recordZoneIDs ?? []).withoutRepetitions().reversed().map { zoneID in
            (id: zoneID, settings: inputs.configurations?[zoneID]?.current ?? ZoneFetchSettings())
        }
        var failures: [AnyHashable: any Error] = [:]
        typealias Fetched = (zoneID: CKRecordZone.ID, page: Result<ZonePage, CKError>, isLast: Bool)
        return AnswerJob { context -> Fetched? in
            guard let zone = waiting.last else { return nil }
            do {
                let page = try zone.settings.fetchPage(of: zone.id, context)
                let isLast = !inputs.fetchesAllChanges || !page.end.moreComing
                if isLast {
                    waiting.removeLast()
                } else {
                    waiting[waiting.count - 1].settings.token = page.end.serverChangeToken
                }
                return (zone.id, .success(page), isLast)
            } catch let error as CloudError {
                if error.code.failsWholeFetch { throw error }
                let failure = context.clientError(error)
                failures[zone.id] = failure
                waiting.removeLast()
                return (zone.id, .failure(failure), true)
            }
        } isFollowed: { _ in
            !waiting.isEmpty
        } deliver: { fetched in
            guard let (zoneID, page, isLast) = fetched else { return }
            switch page {
            case .success(let page): blocks.deliver(page, of: zoneID, isLast: isLast)
            case .failure(let error): blocks.deliver(.failure(error), of: zoneID)
            }
        } conclude: { result in
            let partial =
                failures.isEmpty ? nil : CKError.partialFailure(failures, "Failed to fetch the changes of some zones")
            blocks.result?(result.map { _ in }.mapError { $0 })
            blocks.oldResult?(result.error ?? partial)
        }
    }

    override func dropBlocks() { replace(.init()) { swap(&blocks, &$0) } }
}

// Where the fetch of a zone's changes starts, and what it returns. The class is top-level because Foundation on Linux
// cannot archive nested classes; clients write `CKFetchRecordZoneChangesOperation.ZoneConfiguration`.

/// The settings of a zone's fetch.
struct ZoneFetchSettings: Sendable {
    var token: CKServerChangeToken?
    var resultsLimit = 0
    var desiredKeys: [CKRecord.FieldKey]?

    /// Fetches the page of a zone that begins at the token.
    func fetchPage(of zoneID: CKRecordZoneID, _ context: RequestContext) throws -> ZonePage {
        let request = FetchZoneChangesRequest(
            zone: zoneID.address, token: token?.bytes, limit: max(resultsLimit, 0),
            desiredKeys: desiredKeys.map(Set.init))
        let hold = try context.server.holdAssets()
        let response = try context.server.answer(request, as: context.caller, in: context.database)
        let changed = response.changed.map { context.record($0, in: zoneID) }
        let errors = try context.fetchFiles(of: changed, under: hold)
        return ZonePage(
            changed: changed.map { ($0, errors[$0.recordID]) }, deleted: response.deleted,
            end: (
                CKServerChangeToken(response.token), response.clientChangeTokenData.map { Data($0) },
                response.isMoreComing
            ))
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
    ///   - previousServerChangeToken: The newest token that the client has stored for the zone; nil to start from the
    ///     beginning.
    ///   - resultsLimit: The most records and deletions in one page; nil or 0 lets the server decide.
    ///   - desiredKeys: The fields to fetch: nil for all, an empty list for the system fields alone (T-14).
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

    /// The newest token that the client has stored for the zone; nil to start from the beginning.
    public var previousServerChangeToken: CKServerChangeToken? {
        get { settings.value.token }
        set { settings.withLock { $0.token = newValue } }
    }

    /// The most records and deletions in one page; 0 lets the server decide (T-14).
    public var resultsLimit: Int {
        get { settings.value.resultsLimit }
        set { settings.withLock { $0.resultsLimit = newValue } }
    }

    /// The fields to fetch: nil for all, an empty list for the system fields alone (T-14).
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
    public func encode(with coder: NSCoder) {
        let settings = current
        coder.encode(settings.token, forKey: CoderKey.previousChangeToken)
        coder.encode(Int64(settings.resultsLimit), forKey: CoderKey.resultsLimit)
        coder.encodeBlock(settings.desiredKeys, forKey: CoderKey.desiredKeys)
    }

    /// Decodes settings. An archive without settings fetches everything.
    public convenience init?(coder: NSCoder) {
        guard !coder.hasDamagedBlock([String].self, forKey: CoderKey.desiredKeys) else { return nil }
        self.init(
            previousServerChangeToken: coder.decodeValue(
                of: CKServerChangeToken.self, forKey: CoderKey.previousChangeToken),
            resultsLimit: Int(coder.decodeNumber(forKey: CoderKey.resultsLimit)),
            desiredKeys: coder.decodeBlock([String].self, forKey: CoderKey.desiredKeys))
    }
}

// A page of a zone's changes, and the blocks that get it.

/// What a client gets when a zone was fetched.
typealias FetchedZoneChanges = (serverChangeToken: CKServerChangeToken, clientChangeTokenData: Data?, moreComing: Bool)

/// A page of a zone's changes.
struct ZonePage {
    /// Each with the error of an asset without its file.
    let changed: [(record: CKRecord, error: CKError?)]
    let deleted: [RecordDeletion]
    let end: FetchedZoneChanges
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
