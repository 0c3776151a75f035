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
    public override init() { super.init() }

    /// An operation that saves and deletes these.
    public convenience init(recordZonesToSave: [CKRecordZone]? = nil, recordZoneIDsToDelete: [CKRecordZone.ID]? = nil) {
        self.init()
        self.recordZonesToSave = recordZonesToSave
        self.recordZoneIDsToDelete = recordZoneIDsToDelete
    }

    /// The zones to save. Saving one that exists succeeds and changes nothing (Z-03).
    public final var recordZonesToSave: [CKRecordZone]? {
        get { locked { inputs.zonesToSave } }
        set { configure(newValue) { swap(&inputs.zonesToSave, &$0) } }
    }

    /// The zones to delete.
    public final var recordZoneIDsToDelete: [CKRecordZone.ID]? {
        get { locked { inputs.zoneIDsToDelete } }
        set { configure(newValue) { swap(&inputs.zoneIDsToDelete, &$0) } }
    }

    /// Called for every zone that was to be saved, with the zone as the server has it.
    public final var perRecordZoneSaveBlock: ((CKRecordZone.ID, Result<CKRecordZone, any Error>) -> Void)? {
        get { locked { blocks.save } }
        set { configure(newValue) { swap(&blocks.save, &$0) } }
    }

    /// Called for every zone that was to be deleted.
    public final var perRecordZoneDeleteBlock: ((CKRecordZone.ID, Result<Void, any Error>) -> Void)? {
        get { locked { blocks.delete } }
        set { configure(newValue) { swap(&blocks.delete, &$0) } }
    }

    /// Called last, once. Fails only when the request as a whole failed.
    public final var modifyRecordZonesResultBlock: ((Result<Void, any Error>) -> Void)? {
        get { locked { blocks.result } }
        set { configure(newValue) { swap(&blocks.result, &$0) } }
    }

    /// Called last, once, with what was saved and deleted; zones that failed make it `partialFailure`.
    @available(*, deprecated, message: "Use modifyRecordZonesResultBlock.")
    public final var modifyRecordZonesCompletionBlock: (([CKRecordZone]?, [CKRecordZone.ID]?, (any Error)?) -> Void)? {
        get { locked { blocks.oldResult } }
        set { configure(newValue) { swap(&blocks.oldResult, &$0) } }
    }

    override func makeJob(in context: RequestContext) -> (any OperationJob)? {
        let (inputs, blocks) = locked { (self.inputs, self.blocks) }
        return ModifyRecordZonesJob(inputs, blocks, ShareReport(context))
    }

    override func archiveInputs() -> [String: Any]? {
        let inputs = locked { self.inputs }
        return [
            "zones": NSArray(array: inputs.zonesToSave ?? []),
            "deletions": NSArray(array: inputs.zoneIDsToDelete ?? []),
        ]
    }

    override func adoptInputs(_ archive: [String: Any]) {
        recordZonesToSave = (archive["zones"] as? NSArray)?.compactMap { $0 as? CKRecordZone }
        recordZoneIDsToDelete = (archive["deletions"] as? NSArray)?.compactMap { $0 as? CKRecordZone.ID }
    }

    override func dropBlocks() {
        super.dropBlocks()
        replace(Blocks()) { swap(&blocks, &$0) }
    }
}

/// What a `CKModifyRecordZonesOperation` does.
final class ModifyRecordZonesJob: OperationJob, @unchecked Sendable {
    // Unchecked because one thread at a time uses a job, as `OperationJob` has it.
    private let zones: [CKRecordZone]
    private let deletions: [CKRecordZone.ID]
    private let request: ModifyZonesRequest
    private let blocks: CKModifyRecordZonesOperation.Blocks
    private var answers = ItemAnswers<CKRecordZone.ID, CKRecordZone>()
    /// Of the shares that go with their zones.
    private var report: ShareReport

    init(
        _ inputs: CKModifyRecordZonesOperation.Inputs, _ blocks: CKModifyRecordZonesOperation.Blocks,
        _ report: ShareReport
    ) {
        self.report = report
        zones = inputs.zonesToSave ?? []
        deletions = inputs.zoneIDsToDelete ?? []
        request = ModifyZonesRequest(
            saves: zones.map { $0.makeSave() }, deletes: deletions.map(\.address), namesEndedShares: report.isWanted)
        self.blocks = blocks
    }

    func send(_ context: RequestContext) throws {
        guard !zones.isEmpty || !deletions.isEmpty else { return }
        let response = try context.server.modifyZones(request, as: context.caller, in: context.database)
        answers.items = zip(zones, response.saves).map { zone, result in
            (zone.zoneID, result.map { CKRecordZone($0) }.mapError { context.clientError($0) })
        }
        answers.deletions = zip(deletions, response.deletes).map { ($0, $1.mapError { context.clientError($0) }) }
        report.note(ended: response.endedShares)
    }

    func deliver() {
        for (id, result) in answers.items { blocks.save?(id, result.mapError { $0 }) }
        for (id, result) in answers.deletions { blocks.delete?(id, result.mapError { $0 }) }
        report.tellOfEnded()
    }

    func conclude(_ result: Result<Void, CKError>) {
        blocks.result?(result.mapError { $0 })
        blocks.oldResult?(
            answers.successes, answers.deletedIDs, answers.error(result, "Failed to modify some record zones"))
    }
}

extension ModifyRecordZonesJob: LongLivedJob {
    var itemCount: Int { zones.count + deletions.count }
    var archivedAnswer: [String: Any] { answers.archive }
    func adopt(_ archivedAnswer: [String: Any]) { answers = ItemAnswers(archive: archivedAnswer) }
}
