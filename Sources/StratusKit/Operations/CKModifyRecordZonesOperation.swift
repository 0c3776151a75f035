// Creates and deletes zones: one request, answered zone by zone.

import Foundation
import StratusCloud

/// Saves and deletes zones of the private database. Deleting a zone deletes everything in it (Z-04).
open class CKModifyRecordZonesOperation: CKDatabaseOperation, @unchecked Sendable {
    // Unchecked because it inherits from CKOperation, whose rules it follows.

    struct Inputs {
        var zonesToSave: [CKRecordZone]?
        var zoneIDsToDelete: [CKRecordZone.ID]?
    }

    struct Blocks {
        var save: ((CKRecordZone.ID, Result<CKRecordZone, any Error>) -> Void)?
        var delete: ((CKRecordZone.ID, Result<Void, any Error>) -> Void)?
        var result: ((Result<Void, any Error>) -> Void)?
        var oldResult: (([CKRecordZone]?, [CKRecordZone.ID]?, (any Error)?) -> Void)?
    }

    private var inputs = Inputs()
    private var blocks = Blocks()

    /// An operation without items.
    public required override init() { super.init() }

    /// An operation that saves and deletes these.
    public convenience init(recordZonesToSave: [CKRecordZone]? = nil, recordZoneIDsToDelete: [CKRecordZone.ID]? = nil) {
        self.init()
        self.recordZonesToSave = recordZonesToSave
        self.recordZoneIDsToDelete = recordZoneIDsToDelete
    }

    /// The zones to save. Saving one that exists succeeds and changes nothing (Z-03).
    public final var recordZonesToSave: [CKRecordZone]? {
        get { locked { inputs.zonesToSave } }
        set { configure { inputs.zonesToSave = newValue } }
    }

    /// The zones to delete.
    public final var recordZoneIDsToDelete: [CKRecordZone.ID]? {
        get { locked { inputs.zoneIDsToDelete } }
        set { configure { inputs.zoneIDsToDelete = newValue } }
    }

    /// Called for every zone that was to be saved, with the zone as the server has it.
    public final var perRecordZoneSaveBlock: ((CKRecordZone.ID, Result<CKRecordZone, any Error>) -> Void)? {
        get { locked { blocks.save } }
        set { configure { blocks.save = newValue } }
    }

    /// Called for every zone that was to be deleted.
    public final var perRecordZoneDeleteBlock: ((CKRecordZone.ID, Result<Void, any Error>) -> Void)? {
        get { locked { blocks.delete } }
        set { configure { blocks.delete = newValue } }
    }

    /// Called last, once. Fails only when the request as a whole failed.
    public final var modifyRecordZonesResultBlock: ((Result<Void, any Error>) -> Void)? {
        get { locked { blocks.result } }
        set { configure { blocks.result = newValue } }
    }

    /// Called last, once, with what was saved and deleted; zones that failed make it `partialFailure`.
    @available(*, deprecated, message: "Use modifyRecordZonesResultBlock.")
    public final var modifyRecordZonesCompletionBlock: (([CKRecordZone]?, [CKRecordZone.ID]?, (any Error)?) -> Void)? {
        get { locked { blocks.oldResult } }
        set { configure { blocks.oldResult = newValue } }
    }

    override func makeJob() -> (any OperationJob)? {
        let (inputs, blocks) = locked { (self.inputs, self.blocks) }
        return ModifyRecordZonesJob(inputs, blocks)
    }

    override func dropBlocks() {
        super.dropBlocks()
        blocks = Blocks()
    }
}

/// What a `CKModifyRecordZonesOperation` does.
final class ModifyRecordZonesJob: OperationJob, @unchecked Sendable {
    // Unchecked because `run` and what it delivers never overlap with one another, as `OperationJob` has it.
    private let zones: [CKRecordZone]
    private let deletions: [CKRecordZone.ID]
    private let request: ModifyZonesRequest
    private let blocks: CKModifyRecordZonesOperation.Blocks
    private var saved: [CKRecordZone] = []
    private var deleted: [CKRecordZone.ID] = []
    private var errors: [AnyHashable: any Error] = [:]

    init(_ inputs: CKModifyRecordZonesOperation.Inputs, _ blocks: CKModifyRecordZonesOperation.Blocks) {
        zones = inputs.zonesToSave ?? []
        deletions = inputs.zoneIDsToDelete ?? []
        request = ModifyZonesRequest(saves: zones.map { $0.makeSave() }, deletes: deletions.map(\.address))
        self.blocks = blocks
    }

    func run(_ context: RequestContext) throws {
        guard !zones.isEmpty || !deletions.isEmpty else { return }
        let response = try context.server.modifyZones(request, as: context.caller, in: context.database)
        context.deliver { [self] in
            for (zone, result) in zip(zones, response.saves) { deliver(zone.zoneID, result, context) }
            for (zoneID, result) in zip(deletions, response.deletes) { deliver(zoneID, result, context) }
        }
    }

    func conclude(_ result: Result<Void, CKError>) {
        blocks.result?(result.mapError { $0 })
        guard let oldResult = blocks.oldResult else { return }
        switch result {
        case .failure(let error): oldResult(saved, deleted, error)
        case .success where errors.isEmpty: oldResult(saved, deleted, nil)
        case .success: oldResult(saved, deleted, CKError.partialFailure(errors, "Failed to modify some record zones"))
        }
    }

    private func deliver(_ zoneID: CKRecordZone.ID, _ result: Result<ClientZone, CloudError>, _ context: RequestContext)
    {
        switch result {
        case .success(let answer):
            let zone = CKRecordZone(answer)
            saved.append(zone)
            blocks.save?(zoneID, .success(zone))
        case .failure(let error):
            let error = context.clientError(error)
            errors[zoneID] = error
            blocks.save?(zoneID, .failure(error))
        }
    }

    private func deliver(_ zoneID: CKRecordZone.ID, _ result: Result<Void, CloudError>, _ context: RequestContext) {
        switch result {
        case .success:
            deleted.append(zoneID)
            blocks.delete?(zoneID, .success(()))
        case .failure(let error):
            let error = context.clientError(error)
            errors[zoneID] = error
            blocks.delete?(zoneID, .failure(error))
        }
    }
}
