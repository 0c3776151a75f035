// Long-lived operations as stored entries, and entries as operations again, with the archives of their requests and
// answers (O-14).

import Foundation
import StratusCloud
import StratusModel
import StratusStore

/// The stored part of a long-lived operation that runs.
final class LongLivedRun: @unchecked Sendable {
    // Unchecked because the inputs are only read, and the block is called on the operation's own queue.
    let id: String
    /// The operation object.
    let member: ObjectIdentifier
    let onPersisted: (() -> Void)?
    private let kind: LongLivedKind
    private let caller: Caller
    private let archive: [String: Any]
    private let stored = Locked<LongLivedEntry?>(nil)

    /// Returns nil for an operation that cannot be long-lived.
    init?(of operation: CKOperation, _ context: RequestContext) {
        guard let (kind, inputs) = operation.archiveInputs() else { return nil }
        self.kind = kind
        id = operation.operationID
        member = ObjectIdentifier(operation)
        caller = context.caller
        onPersisted = operation.longLivedOperationWasPersistedBlock
        // Only a group can archive a configuration.
        let carrier = CKOperationGroup()
        carrier.defaultConfiguration = operation.configuration
        archive = [
            "inputs": inputs as NSDictionary, "database": NSNumber(value: context.database.rawValue),
            "configuration": carrier, "group": operation.group ?? NSNull(),
        ]
    }

    /// The stored entry, or a new one of the inputs and copies of the files that the request uploads. Created once, on
    /// a thread that may block.
    func entry(_ job: any LongLivedJob, in session: CloudSession) throws -> LongLivedEntry {
        try stored.made { try session.longLived.kept(id) ?? makeEntry(job, session.server, session.longLived) }
    }

    private func makeEntry(
        _ job: any LongLivedJob, _ server: any CloudServer, _ registry: LongLivedRegistry
    ) throws -> LongLivedEntry {
        // Checks that do not depend on the files come before the copies.
        try server.answer(RequestLimitsRequest(), as: caller).check(itemCount: job.itemCount)
        try registry.checkRoom(for: caller.account?.text)
        // Paths are compared by their bytes, as the file system compares them.
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
            device: caller.keepingDevice, kind: kind.rawValue, request: try LongLivedArchive.data(archive))
    }

    /// A stored operation, ready to be added again, in a container of the same account; nil for an unknown kind.
    static func operation(_ entry: LongLivedEntry, in scope: ContainerScope) throws -> CKOperation? {
        // Objects that are decoded with it, such as the configuration's container, belong to the same store.
        try CurrentSession.$ofTask.withValue(scope.session) {
            guard let operation = LongLivedKind(rawValue: entry.kind)?.operation else { return nil }
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
}

/// The operations that can be long-lived. The raw values are stored and never change.
enum LongLivedKind: String {
    case modifyRecords
    case fetchRecords
    case modifyZones
    case fetchZones

    /// A new operation of this kind.
    var operation: CKDatabaseOperation {
        switch self {
        case .modifyRecords: CKModifyRecordsOperation()
        case .fetchRecords: CKFetchRecordsOperation()
        case .modifyZones: CKModifyRecordZonesOperation()
        case .fetchZones: CKFetchRecordZonesOperation()
        }
    }
}

// MARK: Archiving

/// The values an archive of a long-lived operation may hold.
///
/// The tree is JSON whose leaves are archives of single objects. Foundation's keyed archiver sometimes ends the process
/// when it gets a tree of arrays and dictionaries ("Duplicate keys of type 'AnyHashable'").
enum LongLivedArchive {
    private static let classes: [AnyClass] = [
        CKRecord.self, CKShare.self, CKRecordID.self, CKRecordZone.self, CKRecordZoneID.self, CKOperationGroup.self,
    ]
    /// The keys that mark values that JSON cannot hold.
    private static let objectKey = "$object"
    private static let nothing = "$null"

    static func data(_ root: [String: Any]) throws -> Data {
        try JSONSerialization.data(withJSONObject: try list(root))
    }

    static func root(of data: Data) throws -> [String: Any] {
        let list = try JSONSerialization.jsonObject(with: data)
        return (try value(list) as? NSDictionary) as? [String: Any] ?? [:]
    }

    private static func list(_ value: Any) throws -> Any {
        switch value {
        case is NSNull: return nothing
        case let object as any NSObject & NSSecureCoding where classes.contains { object.isKind(of: $0) }:
            let data = try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: true)
            return [objectKey: data.base64EncodedString()]
        case let tree as [String: Any]: return try tree.mapValues(list)
        case let tree as NSDictionary: return try ((tree as? [String: Any]) ?? [:]).mapValues(list)
        case let array as NSArray: return try Array(array).map(list)
        default: return value
        }
    }

    private static func value(_ list: Any) throws -> Any {
        switch list {
        case let text as String where text == nothing: return NSNull()
        case let tree as [String: Any]:
            guard let data = (tree[objectKey] as? String).flatMap({ Data(base64Encoded: $0) }) else {
                return try tree.mapValues(value) as NSDictionary
            }
            return try NSKeyedUnarchiver.unarchivedObject(ofClasses: classes, from: data) ?? NSNull()
        case let array as [Any]: return NSArray(array: try array.map(value))
        default: return list
        }
    }

    /// The outcome for an item: its object, or an error.
    static func object(of result: Result<some NSObject, CKError>) -> NSObject {
        switch result {
        case .success(let item): item
        case .failure(let error): object(of: error)
        }
    }

    /// An error with everything that a server's error has. The client's version in a conflict is the operation's own
    /// record.
    static func object(of error: CKError) -> NSDictionary {
        let info = error.userInfo
        let inner = info[NSUnderlyingErrorKey] as? NSError
        let values: [String: Any?] = [
            "code": NSNumber(value: error.errorCode), "texts": archived(info.compactMapValues { $0 as? String }),
            "retry": error.retryAfterSeconds.map { NSNumber(value: $0) },
            "isReset": info[CKErrorUserDidResetEncryptedDataKey] as? NSNumber,
            "isDamage": info[CKError.storeIsDamagedKey] as? NSNumber,
            "inner": inner.map { NSNumber(value: $0.code) },
            "innerTexts": inner.flatMap { archived($0.userInfo.compactMapValues { $0 as? String }) },
            "server": error.serverRecord, "ancestor": error.ancestorRecord,
        ]
        let archivable: [String: Any] = values.mapValues { $0 ?? NSNull() }
        return archivable as NSDictionary
    }

    static func error(_ object: Any?) -> CKError? {
        guard let values = (object as? NSDictionary) as? [String: Any], let code = values["code"] as? NSNumber else {
            return nil
        }
        var info = texts(values["texts"])
        info[CKErrorRetryAfterKey] = values["retry"] as? NSNumber
        for (key, name) in [(CKErrorUserDidResetEncryptedDataKey, "isReset"), (CKError.storeIsDamagedKey, "isDamage")] {
            info[key] = (values[name] as? NSNumber).map { NSNumber(value: $0.boolValue) }
        }
        info[CKRecordChangedErrorServerRecordKey] = values["server"] as? CKRecord
        info[CKRecordChangedErrorAncestorRecordKey] = values["ancestor"] as? CKRecord
        info[NSUnderlyingErrorKey] = (values["inner"] as? NSNumber).map {
            NSError(domain: CKError.innerDomain, code: $0.intValue, userInfo: texts(values["innerTexts"]))
        }
        return CKError(CKError.Code(rawValue: code.intValue) ?? .internalError, userInfo: info)
    }

    /// One string, so that no text is mistaken for a marker.
    private static func archived(_ texts: [String: String]) -> NSString? {
        (try? JSONEncoder().encode(texts)).map { String(decoding: $0, as: UTF8.self) as NSString }
    }

    private static func texts(_ archived: Any?) -> [String: Any] {
        guard let text = archived as? String else { return [:] }
        return (try? JSONDecoder().decode([String: String].self, from: Data(text.utf8))) ?? [:]
    }
}

extension ItemAnswers where ID: NSObject, Item: NSObject {
    var archive: [String: Any] {
        [
            "ids": NSArray(array: items.map(\.id)),
            "items": NSArray(array: items.map { LongLivedArchive.object(of: $0.result) }),
            "deletedIDs": NSArray(array: deletions.map(\.id)),
            "deletions": NSArray(array: deletions.map { LongLivedArchive.object(of: $0.result.map { NSNull() }) }),
        ]
    }

    init(archive: [String: Any]) {
        for (id, value) in zip(archive["ids"] as? NSArray ?? [], archive["items"] as? NSArray ?? []) {
            guard let id = id as? ID else { continue }
            if let item = value as? Item, !(value is NSDictionary) {
                items.append((id, .success(item)))
            } else {
                items.append((id, .failure(LongLivedArchive.error(value) ?? CKError.unanswered())))
            }
        }
        for (id, value) in zip(archive["deletedIDs"] as? NSArray ?? [], archive["deletions"] as? NSArray ?? []) {
            guard let id = id as? ID else { continue }
            deletions.append((id, LongLivedArchive.error(value).map { .failure($0) } ?? .success(())))
        }
    }
}
