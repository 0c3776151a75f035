// Saves and deletes records in one request, with an answer for each item, and reports the shares among them to
// observers.

public import Foundation
import StratusCloud

/// Saves and deletes records of one database, in one request.
///
/// A request has a limit of items and bytes (L-01). Above it the whole operation fails with `limitExceeded`: send the
/// items in halves. A saved record is the object that you passed in, with the server's fields (C-04).
open class CKModifyRecordsOperation: CKDatabaseOperation, @unchecked Sendable {
    // Unchecked because it inherits from CKOperation, whose rules it follows.

    /// Which values of a record a save writes, and whether the server compares change tags.
    public enum RecordSavePolicy: Int, Sendable {
        /// Writes changed keys if the record was not saved by another client meanwhile (S-01).
        case ifServerRecordUnchanged = 0
        /// Writes changed keys without comparing change tags (S-02).
        case changedKeys = 1
        /// Writes all keys the client has; other keys on the server stay (S-02).
        case allKeys = 2
    }

    struct Inputs {
        var recordsToSave: [CKRecord]?
        var recordIDsToDelete: [CKRecord.ID]?
        var savePolicy = RecordSavePolicy.ifServerRecordUnchanged
        var clientChangeTokenData: Data?
        var isAtomic = true
        /// Whether the files of its assets are copies that are deleted with the operation.
        var hasKeptFiles = false
    }

    struct Blocks {
        var progress: ((CKRecord, Double) -> Void)?
        var save: ((CKRecord.ID, Result<CKRecord, any Error>) -> Void)?
        var delete: ((CKRecord.ID, Result<Void, any Error>) -> Void)?
        var result: ((Result<Void, any Error>) -> Void)?
        var oldSave: ((CKRecord, (any Error)?) -> Void)?
        var oldResult: (([CKRecord]?, [CKRecord.ID]?, (any Error)?) -> Void)?
    }

    private var inputs = Inputs()
    private var blocks = Blocks()

    /// Creates an operation without items.
    public override init() { super.init() }

    /// Creates an operation that saves and deletes these items.
    public convenience init(recordsToSave: [CKRecord]? = nil, recordIDsToDelete: [CKRecord.ID]? = nil) {
        self.init()
        self.recordsToSave = recordsToSave
        self.recordIDsToDelete = recordIDsToDelete
    }

    // MARK: Inputs

    /// The records to save. A duplicate fails the operation (S-11).
    public final var recordsToSave: [CKRecord]? {
        get { locked { inputs.recordsToSave } }
        set { configure(newValue) { swap(&inputs.recordsToSave, &$0) } }
    }

    /// The records to delete.
    public final var recordIDsToDelete: [CKRecord.ID]? {
        get { locked { inputs.recordIDsToDelete } }
        set { configure(newValue) { swap(&inputs.recordIDsToDelete, &$0) } }
    }

    /// Which values the save writes, and whether the server compares change tags first.
    public final var savePolicy: RecordSavePolicy {
        get { locked { inputs.savePolicy } }
        set { configure(newValue) { swap(&inputs.savePolicy, &$0) } }
    }

    /// Data by which a client recognises its own change in the zone's feed (T-11).
    public final var clientChangeTokenData: Data? {
        get { locked { inputs.clientChangeTokenData } }
        set { configure(newValue) { swap(&inputs.clientChangeTokenData, &$0) } }
    }

    /// Whether all or none of the items in a zone are applied, if the zone has the capability `atomic`.
    public final var isAtomic: Bool {
        get { locked { inputs.isAtomic } }
        set { configure(newValue) { swap(&inputs.isAtomic, &$0) } }
    }

    // MARK: Blocks

    /// Called with the sent part of a record, and finally with 1.0 (O-05).
    public final var perRecordProgressBlock: ((CKRecord, Double) -> Void)? {
        get { locked { blocks.progress } }
        set { configure(newValue) { swap(&blocks.progress, &$0) } }
    }

    /// Called for every record to save.
    public final var perRecordSaveBlock: ((_ recordID: CKRecord.ID, _ saveResult: Result<CKRecord, any Error>) -> Void)?
    {
        get { locked { blocks.save } }
        set { configure(newValue) { swap(&blocks.save, &$0) } }
    }

    /// Called for every record to delete.
    public final var perRecordDeleteBlock: ((_ recordID: CKRecord.ID, _ deleteResult: Result<Void, any Error>) -> Void)?
    {
        get { locked { blocks.delete } }
        set { configure(newValue) { swap(&blocks.delete, &$0) } }
    }

    /// Called last, once. Fails only when the request as a whole failed.
    public final var modifyRecordsResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)? {
        get { locked { blocks.result } }
        set { configure(newValue) { swap(&blocks.result, &$0) } }
    }

    /// Called for every record to save, unless `perRecordSaveBlock` is set (O-06).
    @available(*, deprecated, message: "Use perRecordSaveBlock.")
    public final var perRecordCompletionBlock: ((CKRecord, (any Error)?) -> Void)? {
        get { locked { blocks.oldSave } }
        set { configure(newValue) { swap(&blocks.oldSave, &$0) } }
    }

    /// Called last, once, with the items saved and deleted. If any items failed, the error is `partialFailure`.
    @available(*, deprecated, message: "Use modifyRecordsResultBlock.")
    public final var modifyRecordsCompletionBlock: (([CKRecord]?, [CKRecord.ID]?, (any Error)?) -> Void)? {
        get { locked { blocks.oldResult } }
        set { configure(newValue) { swap(&blocks.oldResult, &$0) } }
    }

    // MARK: Running

    override func makeJob(in context: RequestContext) -> (any OperationJob)? {
        let (inputs, blocks) = locked { (self.inputs, self.blocks) }
        let mayChangeShares =
            inputs.recordsToSave?.contains { $0 is CKShare } == true || inputs.recordIDsToDelete != nil
        return ModifyRecordsJob(inputs, blocks, to: context.origin, mayChangeShares ? ShareReport(context) : nil)
    }

    override func archiveInputs() -> (kind: LongLivedKind, inputs: [String: Any])? {
        let inputs = locked { self.inputs }
        // Copies, because the program may change the records before they are archived.
        let records = (inputs.recordsToSave ?? []).map { $0.copy() }
        let archive: [String: Any] = [
            "records": NSArray(array: records), "deletions": NSArray(array: inputs.recordIDsToDelete ?? []),
            "policy": NSNumber(value: inputs.savePolicy.rawValue), "atomic": NSNumber(value: inputs.isAtomic),
            "token": inputs.clientChangeTokenData.map { $0.base64EncodedString() as NSString } ?? NSNull(),
        ]
        return (.modifyRecords, archive)
    }

    override func adoptInputs(_ archive: [String: Any]) {
        recordsToSave = (archive["records"] as? NSArray)?.compactMap { $0 as? CKRecord }
        recordIDsToDelete = (archive["deletions"] as? NSArray)?.compactMap { $0 as? CKRecord.ID }
        savePolicy = (archive["policy"] as? NSNumber).flatMap { RecordSavePolicy(rawValue: $0.intValue) } ?? savePolicy
        isAtomic = (archive["atomic"] as? NSNumber)?.boolValue ?? isAtomic
        clientChangeTokenData = (archive["token"] as? String).flatMap { Data(base64Encoded: $0) }
    }

    override func adoptFiles(_ files: [(place: KeptFilePlace, path: String)]) {
        let records = recordsToSave ?? []
        configure { inputs.hasKeptFiles = !files.isEmpty }
        for (place, path) in files where records.indices.contains(place.record) {
            records[place.record].restoreFile(path, forKey: place.key, item: place.item)
        }
    }

    override func dropBlocks() { replace(.init()) { swap(&blocks, &$0) } }
}

/// What a `CKModifyRecordsOperation` does.
final class ModifyRecordsJob: LongLivedJob, @unchecked Sendable {
    // Unchecked because one thread at a time uses a job, as `OperationJob` requires.
    private let inputs: CKModifyRecordsOperation.Inputs
    private let blocks: CKModifyRecordsOperation.Blocks
    private let records: [CKRecord]
    private let deletions: [CKRecord.ID]
    /// The records as they were when the operation started.
    private let sent: [SentRecord]
    private let target: RecordOrigin
    /// Created by the thread that sends it.
    private lazy var request = ModifyRecordsRequest(
        saves: sent.map { $0.makeSave(to: target) }, deletes: deletions.map(\.address),
        policy: SavePolicy(rawValue: inputs.savePolicy.rawValue) ?? .ifServerRecordUnchanged,
        isAtomic: inputs.isAtomic, clientChangeTokenData: inputs.clientChangeTokenData.map { [UInt8]($0) })
    private var answers = ItemAnswers<CKRecord.ID, CKRecord>()
    /// The report on shares that are saved and stopped; nil if the operation can do neither.
    private var report: ShareReport?

    init(
        _ inputs: CKModifyRecordsOperation.Inputs, _ blocks: CKModifyRecordsOperation.Blocks,
        to target: RecordOrigin, _ report: ShareReport?
    ) {
        self.inputs = inputs
        self.blocks = blocks
        self.report = report
        self.target = target
        records = inputs.recordsToSave ?? []
        deletions = inputs.recordIDsToDelete ?? []
        sent = records.map { $0.beginSave() }
    }

    func send(_ context: RequestContext) throws {
        guard !records.isEmpty || !deletions.isEmpty else { return }
        let response: ModifyRecordsResponse
        do {
            response = try context.server.answer(request, as: context.caller, in: context.database)
        } catch {
            report?.look(at: deletions, context)
            throw error
        }
        answers.items = zip(zip(records, sent), response.saves).map { pair, result in
            let (record, sent) = pair
            let answer = result.map { saved in
                record.absorb(saved, origin: context.origin, sent: sent)
                return record
            }
            return (record.recordID, answer.mapError { context.clientError($0, record: record) })
        }
        // The stored files are deleted with the operation; the server has their contents now.
        if inputs.hasKeptFiles { answers.successes.forEach(context.restoreFiles) }
        answers.deletions = context.results(deletions, response.deletes) { _ in }
        report?.note(ended: response.endedShares)
        report?.look(at: answers.deletions.filter { $0.result.error != nil }.map(\.id), context)
    }

    func deliver() {
        for (index, item) in answers.items.enumerated() {
            // A stored answer may have more items than the operation now has records.
            let record = (try? item.result.get()) ?? (records.indices.contains(index) ? records[index] : nil)
            if let record { blocks.progress?(record, 1) }
            if let save = blocks.save {
                save(item.id, item.result.mapError { $0 })
            } else if let record {
                blocks.oldSave?(record, item.result.error)
            }
        }
        for (id, result) in answers.deletions { blocks.delete?(id, result.mapError { $0 }) }
        report?.notify(answers, saving: records)
    }

    func conclude(_ result: Result<Void, CKError>) {
        if case .failure(let error) = result, answers.items.isEmpty, answers.deletions.isEmpty {
            report?.notify(error, saving: records)
        }
        blocks.result?(result.mapError { $0 })
        blocks.oldResult?(
            answers.successes, answers.deletedIDs, answers.error(result, "Failed to modify some records"))
    }

    var itemCount: Int { records.count + deletions.count }

    func keepFiles(_ keep: (_ path: String) throws -> KeptFile?) throws -> [KeptFilePlace] {
        var request = request
        var places: [KeptFilePlace] = []
        for index in request.saves.indices {
            for key in request.saves[index].fields.keys.sorted() {
                try request.saves[index].fields[key]?.value.replaceFiles { path, item in
                    guard let kept = try keep(path) else { return path }
                    places.append(
                        KeptFilePlace(record: index, key: key, item: item, number: kept.number, digest: kept.digest))
                    return kept.path
                }
            }
        }
        self.request = request
        return places
    }

    var archivedAnswer: [String: Any] { answers.archive }

    func adopt(_ archivedAnswer: [String: Any], in context: RequestContext) {
        answers = ItemAnswers(archive: archivedAnswer)
        answers.successes.forEach(context.restoreFiles)
        for (index, item) in answers.items.enumerated() where records.indices.contains(index) {
            guard case .failure(let error) = item.result, error.code == .serverRecordChanged,
                records[index].recordID == item.id
            else { continue }
            // The client's version is the object to save, as in a direct answer of the server (S-05).
            var info = error.userInfo
            info[CKRecordChangedErrorClientRecordKey] = records[index]
            answers.items[index].result = .failure(CKError(error.code, userInfo: info))
        }
    }
}

// Reports to observers which shares an operation saved and which it ended. The server's answer names the ended shares,
// including those that ended because their root or zone was deleted. For records that could not be deleted, the report
// looks up which of them are shares.

/// What observers learn about one operation.
struct ShareReport: Sendable {
    private let observers: [any ShareObserver]
    private var endedIDs: [CKRecordID] = []
    /// The shares that could not be deleted.
    private var remainingIDs: Set<CKRecordID> = []

    /// Finds the observers of the operation's caller. Without observers nothing is looked up.
    init(_ context: RequestContext) {
        observers = context.session.shareObservers.observers(of: context.caller, in: context.session)
    }

    /// Whether there are observers.
    var isWanted: Bool { !observers.isEmpty }

    /// Notes the shares that ended, as the server answered.
    mutating func note(ended shares: [RecordAddress]) { endedIDs = shares.map { CKRecordID($0) } }

    /// Finds the shares among records that could not be deleted. If the look-up fails, none of them is reported.
    mutating func look(at failures: [CKRecordID], _ context: RequestContext) {
        guard isWanted, !failures.isEmpty else { return }
        let request = FetchRecordsRequest(addresses: failures.map(\.address), desiredKeys: [], isUnasked: true)
        let found = try? context.server.answer(request, as: context.caller, in: context.database)
        remainingIDs = Set(
            zip(failures, found?.records ?? []).compactMap { id, result in
                (try? result.get())?.type == CKRecord.SystemType.share ? id : nil
            })
    }

    func notify(_ answers: ItemAnswers<CKRecord.ID, CKRecord>, saving records: [CKRecord]) {
        for (record, item) in zip(records, answers.items) {
            guard let share = record as? CKShare else { continue }
            for observer in observers {
                observer.shareWasSaved(item.id, item.result.map { _ in share }.mapError { $0 })
            }
        }
        reportEnded()
        for (id, result) in answers.deletions where remainingIDs.contains(id) {
            for observer in observers { observer.shareWasStopped(id, result.mapError { $0 }) }
        }
    }

    /// Reports the shares that have ended.
    func reportEnded() {
        for id in endedIDs {
            for observer in observers { observer.shareWasStopped(id, .success(())) }
        }
    }

    /// Reports that the operation failed as a whole.
    func notify(_ error: CKError, saving records: [CKRecord]) {
        for record in records where record is CKShare {
            for observer in observers { observer.shareWasSaved(record.recordID, .failure(error)) }
        }
        for id in remainingIDs {
            for observer in observers { observer.shareWasStopped(id, .failure(error)) }
        }
    }
}
