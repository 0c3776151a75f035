// What a fetch of zones' changes does: a page of a zone at a time, the zones one after the other.

import Foundation
import StratusCloud

/// What a client is told when a zone was fetched.
typealias FetchedZoneChanges = (serverChangeToken: CKServerChangeToken, clientChangeTokenData: Data?, moreComing: Bool)

/// One zone of a fetch of changes, and how far it has come.
struct ZoneFetch {
    let zoneID: CKRecordZoneID
    var settings: ZoneFetchSettings

    /// What the next page is asked for with.
    var request: FetchZoneChangesRequest {
        FetchZoneChangesRequest(
            zone: zoneID.address, token: settings.token?.bytes, limit: max(settings.resultsLimit, 0),
            desiredKeys: settings.desiredKeys.map(Set.init))
    }
}

/// What a `CKFetchRecordZoneChangesOperation` does.
final class ZoneChangesJob: OperationJob, @unchecked Sendable {
    // Unchecked because one thread at a time uses a job, as `OperationJob` has it.
    private struct Page {
        var zoneID: CKRecordZoneID
        /// Each with the error of an asset that has no file.
        var changed: [(record: CKRecord, error: CKError?)] = []
        var deleted: [RecordDeletion] = []
        /// Where the page ends, or why there is none.
        var end: Result<FetchedZoneChanges, CKError>
        var isLast: Bool
    }

    private let blocks: CKFetchRecordZoneChangesOperation.Blocks
    private let fetchesAllChanges: Bool
    /// The zones that are not at their end, the next one last.
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
                // Here is no place for the error: the asset has no file.
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
    /// Whether it has nothing to do with the zone that was asked for, so that no other zone would fare better.
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
