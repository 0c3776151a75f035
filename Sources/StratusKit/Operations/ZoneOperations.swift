// Saving, deleting and fetching zones.

import Foundation
import StratusCloud

/// Saves and deletes zones of the private database. Deleting a zone deletes everything in it (Z-04).
open class CKModifyRecordZonesOperation: CKDatabaseOperation, @unchecked Sendable {
    // Unchecked because it inherits from CKOperation, whose rules it follows.

    private var zonesToSave: [CKRecordZone]?
    private var zoneIDsToDelete: [CKRecordZone.ID]?
    private var blocks = ItemBlocks<CKRecordZone.ID, CKRecordZone>()

    /// Creates an operation without items.
    public override init() { super.init() }

    /// Creates an operation that saves and deletes these items.
    public convenience init(recordZonesToSave: [CKRecordZone]? = nil, recordZoneIDsToDelete: [CKRecordZone.ID]? = nil) {
        self.init()
        self.recordZonesToSave = recordZonesToSave
        self.recordZoneIDsToDelete = recordZoneIDsToDelete
    }

    /// The zones to save. Saving one that exists succeeds and changes nothing (Z-03).
    public final var recordZonesToSave: [CKRecordZone]? {
        get { locked { zonesToSave } }
        set { configure(newValue) { swap(&zonesToSave, &$0) } }
    }

    /// The zones to delete.
    public final var recordZoneIDsToDelete: [CKRecordZone.ID]? {
        get { locked { zoneIDsToDelete } }
        set { configure(newValue) { swap(&zoneIDsToDelete, &$0) } }
    }

    /// Called for every zone to save, with the zone as the server stores it.
    public final var perRecordZoneSaveBlock: ((CKRecordZone.ID, Result<CKRecordZone, any Error>) -> Void)? {
        get { locked { blocks.item } }
        set { configure(newValue) { swap(&blocks.item, &$0) } }
    }

    /// Called for every zone to delete.
    public final var perRecordZoneDeleteBlock: ((CKRecordZone.ID, Result<Void, any Error>) -> Void)? {
        get { locked { blocks.deletion } }
        set { configure(newValue) { swap(&blocks.deletion, &$0) } }
    }

    /// Called last, once. Fails only when the request as a whole failed.
    public final var modifyRecordZonesResultBlock: ((Result<Void, any Error>) -> Void)? {
        get { locked { blocks.result } }
        set { configure(newValue) { swap(&blocks.result, &$0) } }
    }

    /// Called last, once, with the items saved and deleted. If any zones failed, the error is `partialFailure`.
    @available(*, deprecated, message: "Use modifyRecordZonesResultBlock.")
    public final var modifyRecordZonesCompletionBlock: (([CKRecordZone]?, [CKRecordZone.ID]?, (any Error)?) -> Void)? {
        get { locked { blocks.oldModified } }
        set { configure(newValue) { swap(&blocks.oldModified, &$0) } }
    }

    override func makeJob(in context: RequestContext) -> (any OperationJob)? {
        let (zones, deletions, blocks) = locked { (zonesToSave ?? [], zoneIDsToDelete ?? [], self.blocks) }
        var report = ShareReport(context)
        let request = ModifyZonesRequest(
            saves: zones.map { $0.makeSave() }, deletes: deletions.map(\.address), namesEndedShares: report.isWanted)
        return ItemsJob(
            blocks, itemCount: zones.count + deletions.count, failure: "Failed to modify some record zones"
        ) { context, answers in
            let response = try context.server.answer(request, as: context.caller, in: context.database)
            answers.items = context.results(zones.lazy.map(\.zoneID), response.saves) { CKRecordZone($0) }
            answers.deletions = context.results(deletions, response.deletes) { _ in }
            report.note(ended: response.endedShares)
        } afterItems: {
            report.reportEnded()
        }
    }

    override func archiveInputs() -> (kind: LongLivedKind, inputs: [String: Any])? {
        let (zones, deletions) = locked { (zonesToSave ?? [], zoneIDsToDelete ?? []) }
        return (.modifyZones, ["zones": NSArray(array: zones), "deletions": NSArray(array: deletions)])
    }

    override func adoptInputs(_ archive: [String: Any]) {
        recordZonesToSave = (archive["zones"] as? NSArray)?.compactMap { $0 as? CKRecordZone }
        recordZoneIDsToDelete = (archive["deletions"] as? NSArray)?.compactMap { $0 as? CKRecordZone.ID }
    }

    override func dropBlocks() { replace(.init()) { swap(&blocks, &$0) } }
}

// Fetches zones by their identifiers, or all of a database.

/// Fetches zones by their identifiers, or all zones of a database.
open class CKFetchRecordZonesOperation: CKDatabaseOperation, @unchecked Sendable {
    // Unchecked because it inherits from CKOperation, whose rules it follows.

    private var zoneIDs: [CKRecordZone.ID]?
    private var isForAll = false
    private var blocks = ItemBlocks<CKRecordZone.ID, CKRecordZone>()

    /// Creates an operation without items.
    public override init() { super.init() }

    /// Creates an operation that fetches these items.
    public convenience init(recordZoneIDs: [CKRecordZone.ID]) {
        self.init()
        self.recordZoneIDs = recordZoneIDs
    }

    /// Creates an operation that fetches all zones of its database (Z-05).
    ///
    /// The operation is of this class also if you call the method on a subclass. Creating an instance of the
    /// subclass would need an initialiser that every subclass has to repeat.
    open class func fetchAllRecordZonesOperation() -> CKFetchRecordZonesOperation {
        let operation = CKFetchRecordZonesOperation()
        operation.configure { operation.isForAll = true }
        return operation
    }

    /// The zones to fetch.
    public final var recordZoneIDs: [CKRecordZone.ID]? {
        get { locked { zoneIDs } }
        set { configure(newValue) { swap(&zoneIDs, &$0) } }
    }

    /// Called for every zone.
    public final var perRecordZoneResultBlock: ((CKRecordZone.ID, Result<CKRecordZone, any Error>) -> Void)? {
        get { locked { blocks.item } }
        set { configure(newValue) { swap(&blocks.item, &$0) } }
    }

    /// Called last, once. Fails only when the request as a whole failed.
    public final var fetchRecordZonesResultBlock: ((Result<Void, any Error>) -> Void)? {
        get { locked { blocks.result } }
        set { configure(newValue) { swap(&blocks.result, &$0) } }
    }

    /// Called last, once, with the items found. If any zones failed, the error is `partialFailure`.
    @available(*, deprecated, message: "Use fetchRecordZonesResultBlock.")
    public final var fetchRecordZonesCompletionBlock: (([CKRecordZone.ID: CKRecordZone]?, (any Error)?) -> Void)? {
        get { locked { blocks.oldFetched } }
        set { configure(newValue) { swap(&blocks.oldFetched, &$0) } }
    }

    override func makeJob(in context: RequestContext) -> (any OperationJob)? {
        let (zoneIDs, isForAll, blocks) = locked { (self.zoneIDs ?? [], self.isForAll, self.blocks) }
        let ids = isForAll ? [] : zoneIDs.withoutRepetitions()
        let request: FetchZonesRequest = isForAll ? .all : .named(ids.map(\.address))
        return ItemsJob(
            blocks, itemCount: isForAll ? nil : ids.count, failure: "Failed to fetch some record zones"
        ) { context, answers in
            let found = try context.server.answer(request, as: context.caller, in: context.database)
            answers.items = context.results(found.addresses.lazy.map { CKRecordZone.ID($0) }, found.zones) {
                CKRecordZone($0)
            }
        }
    }

    override func archiveInputs() -> (kind: LongLivedKind, inputs: [String: Any])? {
        let (ids, isForAll) = locked { (zoneIDs ?? [], self.isForAll) }
        return (.fetchZones, ["ids": NSArray(array: ids), "isForAll": NSNumber(value: isForAll)])
    }

    override func adoptInputs(_ archive: [String: Any]) {
        recordZoneIDs = (archive["ids"] as? NSArray)?.compactMap { $0 as? CKRecordZone.ID }
        configure { isForAll = (archive["isForAll"] as? NSNumber)?.boolValue ?? false }
    }

    override func dropBlocks() { replace(.init()) { swap(&blocks, &$0) } }
}
