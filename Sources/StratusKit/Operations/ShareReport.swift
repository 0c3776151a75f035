// Tells observers of the shares that an operation has saved and stopped.

import Foundation
import StratusCloud

/// What observers are told of one operation.
struct ShareReport: Sendable {
    private let observers: [any ShareObserver]
    /// The shares among the records that were deleted.
    private var stoppedIDs: Set<CKRecordID> = []

    /// Observers of what the caller of an operation does, which are few: where there is none, nothing is looked up.
    init(_ context: RequestContext) {
        observers = context.session.shareObservers.observers(of: context.caller, in: context.session)
    }

    /// Finds the shares among records that are to be deleted. Where that cannot be told, none of them is reported.
    mutating func find(_ deletions: [CKRecordID], _ context: RequestContext) {
        guard !observers.isEmpty, !deletions.isEmpty else { return }
        let request = FetchRecordsRequest(addresses: deletions.map(\.address), desiredKeys: [])
        let found = try? context.server.fetchRecords(request, as: context.caller, in: context.database)
        stoppedIDs = Set(
            zip(deletions, found?.records ?? []).compactMap { id, result in
                (try? result.get())?.type == CKRecord.SystemType.share ? id : nil
            })
    }

    func tell(_ answers: ItemAnswers<CKRecord.ID, CKRecord>, saving records: [CKRecord]) {
        for (record, item) in zip(records, answers.items) {
            guard let share = record as? CKShare else { continue }
            for observer in observers {
                observer.shareWasSaved(item.id, item.result.map { _ in share }.mapError { $0 })
            }
        }
        for (id, result) in answers.deletions where stoppedIDs.contains(id) {
            for observer in observers { observer.shareWasStopped(id, result.mapError { $0 }) }
        }
    }

    /// The operation failed as a whole.
    func tell(_ error: CKError, saving records: [CKRecord]) {
        for record in records where record is CKShare {
            for observer in observers { observer.shareWasSaved(record.recordID, .failure(error)) }
        }
        for id in stoppedIDs {
            for observer in observers { observer.shareWasStopped(id, .failure(error)) }
        }
    }
}
