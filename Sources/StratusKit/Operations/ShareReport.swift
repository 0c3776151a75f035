// Tells observers of the shares that an operation has saved and ended. Which shares deletions have ended, with their roots
// and zones too, is in the server's answers; which of the records that could not be deleted are shares is looked up.

import Foundation
import StratusCloud

/// What observers are told of one operation.
struct ShareReport: Sendable {
    private let observers: [any ShareObserver]
    private var endedIDs: [CKRecordID] = []
    /// The shares that were to be deleted and are not.
    private var remainingIDs: Set<CKRecordID> = []

    /// Observers of what the caller of an operation does, which are few: where there is none, nothing is looked up.
    init(_ context: RequestContext) {
        observers = context.session.shareObservers.observers(of: context.caller, in: context.session)
    }

    /// Whether there is anybody to tell.
    var isWanted: Bool { !observers.isEmpty }

    /// Notes the shares that the server says have ended.
    mutating func note(ended shares: [RecordAddress]) { endedIDs = shares.map { CKRecordID($0) } }

    /// Finds the shares among records that could not be deleted. Where that cannot be told, none of them is reported.
    mutating func look(at failures: [CKRecordID], _ context: RequestContext) {
        guard isWanted, !failures.isEmpty else { return }
        let request = FetchRecordsRequest(addresses: failures.map(\.address), desiredKeys: [], isUnasked: true)
        let found = try? context.server.answer(request, as: context.caller, in: context.database)
        remainingIDs = Set(
            zip(failures, found?.records ?? []).compactMap { id, result in
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
        tellOfEnded()
        for (id, result) in answers.deletions where remainingIDs.contains(id) {
            for observer in observers { observer.shareWasStopped(id, result.mapError { $0 }) }
        }
    }

    /// Tells of the shares that have ended.
    func tellOfEnded() {
        for id in endedIDs {
            for observer in observers { observer.shareWasStopped(id, .success(())) }
        }
    }

    /// The operation failed as a whole.
    func tell(_ error: CKError, saving records: [CKRecord]) {
        for record in records where record is CKShare {
            for observer in observers { observer.shareWasSaved(record.recordID, .failure(error)) }
        }
        for id in remainingIDs {
            for observer in observers { observer.shareWasStopped(id, .failure(error)) }
        }
    }
}
