// Fetches zones by their identifiers, or all of a database.

import Foundation
import StratusCloud

/// Fetches zones by their identifiers, or all zones of a database.
open class CKFetchRecordZonesOperation: CKDatabaseOperation, @unchecked Sendable {
    // Unchecked because it inherits from CKOperation, whose rules it follows.

    struct Inputs {
        var zoneIDs: [CKRecordZone.ID]?
        var isForAll = false
    }

    struct Blocks {
        var zone: ((CKRecordZone.ID, Result<CKRecordZone, any Error>) -> Void)?
        var result: ((Result<Void, any Error>) -> Void)?
        var oldResult: (([CKRecordZone.ID: CKRecordZone]?, (any Error)?) -> Void)?
    }

    private var inputs = Inputs()
    private var blocks = Blocks()

    /// An operation without items.
    public required override init() { super.init() }

    /// An operation that fetches these.
    public convenience init(recordZoneIDs: [CKRecordZone.ID]) {
        self.init()
        self.recordZoneIDs = recordZoneIDs
    }

    /// An operation that fetches all zones of its database (Z-05).
    open class func fetchAllRecordZonesOperation() -> Self {
        let operation = self.init()
        operation.configure { operation.inputs.isForAll = true }
        return operation
    }

    /// The zones to fetch.
    public final var recordZoneIDs: [CKRecordZone.ID]? {
        get { locked { inputs.zoneIDs } }
        set { configure { inputs.zoneIDs = newValue } }
    }

    /// Called for every zone.
    public final var perRecordZoneResultBlock: ((CKRecordZone.ID, Result<CKRecordZone, any Error>) -> Void)? {
        get { locked { blocks.zone } }
        set { configure { blocks.zone = newValue } }
    }

    /// Called last, once. Fails only when the request as a whole failed.
    public final var fetchRecordZonesResultBlock: ((Result<Void, any Error>) -> Void)? {
        get { locked { blocks.result } }
        set { configure { blocks.result = newValue } }
    }

    /// Called last, once, with what was found; zones that failed make it `partialFailure`.
    @available(*, deprecated, message: "Use fetchRecordZonesResultBlock.")
    public final var fetchRecordZonesCompletionBlock: (([CKRecordZone.ID: CKRecordZone]?, (any Error)?) -> Void)? {
        get { locked { blocks.oldResult } }
        set { configure { blocks.oldResult = newValue } }
    }

    override func makeJob() -> (any OperationJob)? {
        let (inputs, blocks) = locked { (self.inputs, self.blocks) }
        return FetchRecordZonesJob(inputs, blocks)
    }

    override func dropBlocks() {
        super.dropBlocks()
        blocks = Blocks()
    }
}

/// What a `CKFetchRecordZonesOperation` does.
final class FetchRecordZonesJob: OperationJob, @unchecked Sendable {
    // Unchecked because `run` and what it delivers never overlap with one another, as `OperationJob` has it.
    private let request: FetchZonesRequest?
    private let blocks: CKFetchRecordZonesOperation.Blocks
    private var fetched: [CKRecordZone.ID: CKRecordZone] = [:]
    private var errors: [AnyHashable: any Error] = [:]

    init(_ inputs: CKFetchRecordZonesOperation.Inputs, _ blocks: CKFetchRecordZonesOperation.Blocks) {
        let zoneIDs = (inputs.zoneIDs ?? []).withoutRepetitions()
        request = inputs.isForAll ? .all : zoneIDs.isEmpty ? nil : .named(zoneIDs.map(\.address))
        self.blocks = blocks
    }

    func run(_ context: RequestContext) throws {
        guard let request else { return }
        let answers = try context.server.fetchZones(request, as: context.caller, in: context.database)
        context.deliver { [self] in
            for (address, result) in answers { deliver(CKRecordZone.ID(address), result, context) }
        }
    }

    func conclude(_ result: Result<Void, CKError>) {
        blocks.result?(result.mapError { $0 })
        guard let oldResult = blocks.oldResult else { return }
        switch result {
        case .failure(let error): oldResult(fetched, error)
        case .success where errors.isEmpty: oldResult(fetched, nil)
        case .success: oldResult(fetched, CKError.partialFailure(errors, "Failed to fetch some record zones"))
        }
    }

    private func deliver(_ zoneID: CKRecordZone.ID, _ result: Result<ClientZone, CloudError>, _ context: RequestContext)
    {
        switch result {
        case .success(let answer):
            let zone = CKRecordZone(answer)
            fetched[zoneID] = zone
            blocks.zone?(zoneID, .success(zone))
        case .failure(let error):
            let error = context.clientError(error)
            errors[zoneID] = error
            blocks.zone?(zoneID, .failure(error))
        }
    }
}
