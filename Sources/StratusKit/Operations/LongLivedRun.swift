// A long-lived operation as an entry, and an entry as an operation again (O-14).

import Foundation
import StratusCloud
import StratusModel
import StratusStore

/// What is kept of a long-lived operation that runs.
final class LongLivedRun: @unchecked Sendable {
    // Unchecked because the inputs are only read, and the block is called on the operation's own queue.
    let id: String
    /// The operation object.
    let member: ObjectIdentifier
    let onPersisted: (() -> Void)?
    private let kind: String
    private let caller: Caller
    private let archive: [String: Any]
    private let made = Locked<LongLivedEntry?>(nil)

    init(
        operation: CKOperation, inputs: [String: Any], database: DatabaseSelector, caller: Caller,
        onPersisted: (() -> Void)?
    ) {
        id = operation.operationID
        member = ObjectIdentifier(operation)
        kind = Kind(operation)?.rawValue ?? ""
        self.caller = caller
        self.onPersisted = onPersisted
        // A group is what carries a configuration through an archive.
        let carrier = CKOperationGroup()
        carrier.defaultConfiguration = operation.configuration
        archive = [
            "inputs": inputs as NSDictionary, "database": NSNumber(value: database.rawValue),
            "configuration": carrier, "group": operation.group ?? NSNull(),
        ]
    }

    /// What is kept: what the store has already, else the inputs with copies of the files that the request uploads. Made
    /// once, on a thread that may block.
    func entry(_ job: any LongLivedJob, in session: CloudSession) throws -> LongLivedEntry {
        if let made = made.value { return made }
        let entry = try session.longLived.kept(id) ?? makeEntry(job, session.server, session.longLived)
        made.withLock { $0 = entry }
        return entry
    }

    private func makeEntry(
        _ job: any LongLivedJob, _ server: any CloudServer, _ registry: LongLivedRegistry
    ) throws -> LongLivedEntry {
        // What is refused whatever the files hold is refused before they are copied.
        try server.answer(RequestLimitsRequest(), as: caller).check(itemCount: job.itemCount)
        try registry.checkRoom(for: caller.account?.text)
        // A path is told apart by its bytes, as the file system does.
        var files: [[UInt8]: KeptFile] = [:]
        let places = try job.keepFiles { path in
            if let known = files[Array(path.utf8)] { return known }
            let file =
                try server.answer(CheckFileSizeRequest(path: path), as: caller)
                ? nil : registry.keepFile(path, as: files.count, of: id)
            files[Array(path.utf8)] = file
            return file
        }
        var archive = archive
        archive["files"] = String(decoding: try JSONEncoder().encode(places), as: UTF8.self)
        return LongLivedEntry(
            id: id, container: caller.container.text, account: caller.account?.text,
            device: caller.keepingDevice, kind: kind,
            request: try LongLivedArchive.data(archive))
    }

    /// The operations that can be kept. The raw values are stored: they never change.
    private enum Kind: String {
        case modifyRecords
        case fetchRecords
        case modifyZones
        case fetchZones

        init?(_ operation: CKOperation) {
            switch operation {
            case is CKModifyRecordsOperation: self = .modifyRecords
            case is CKFetchRecordsOperation: self = .fetchRecords
            case is CKModifyRecordZonesOperation: self = .modifyZones
            case is CKFetchRecordZonesOperation: self = .fetchZones
            default: return nil
            }
        }

        var operation: CKDatabaseOperation {
            switch self {
            case .modifyRecords: CKModifyRecordsOperation()
            case .fetchRecords: CKFetchRecordsOperation()
            case .modifyZones: CKModifyRecordZonesOperation()
            case .fetchZones: CKFetchRecordZonesOperation()
            }
        }
    }

    /// A kept operation, ready to be added again, in a container of the same account; nil for one of an unknown kind.
    static func operation(_ entry: LongLivedEntry, in scope: ContainerScope) throws -> CKOperation? {
        // What is decoded with it, such as the configuration's container, is of the same store.
        try CurrentSession.$ofTask.withValue(scope.session) { try decoded(entry, in: scope) }
    }

    private static func decoded(_ entry: LongLivedEntry, in scope: ContainerScope) throws -> CKOperation? {
        guard let operation = Kind(rawValue: entry.kind)?.operation else { return nil }
        let archive = try LongLivedArchive.root(of: entry.request)
        operation.operationID = entry.id
        operation.place { $0.holder = scope.session.longLived }
        operation.adoptInputs((archive["inputs"] as? NSDictionary) as? [String: Any] ?? [:])
        if let places = archive["files"] as? String {
            let registry = scope.session.longLived
            let files = try JSONDecoder().decode([KeptFilePlace].self, from: Data(places.utf8))
            operation.adoptFiles(
                files.compactMap { place in
                    registry.keptFile(place.number, of: entry.id, digest: place.digest).map { (place, $0) }
                })
        }
        operation.configuration = (archive["configuration"] as? CKOperationGroup)?.defaultConfiguration
        operation.configuration.isLongLived = true
        operation.group = archive["group"] as? CKOperationGroup
        let number = (archive["database"] as? NSNumber)?.intValue ?? 0
        operation.database = CKDatabase.Scope(rawValue: number).map { CKDatabase(scope, $0) }
        return operation
    }
}
