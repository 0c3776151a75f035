// What a request was answered, item by item: for blocks, and archived for the replay of long-lived operations (O-14).

import Foundation

/// The answers for the items of one operation, in the order in which blocks are told of them.
struct ItemAnswers<ID: Hashable, Item> {
    /// Items that were saved or fetched.
    var items: [(id: ID, result: Result<Item, CKError>)] = []
    /// Items that were deleted.
    var deletions: [(id: ID, result: Result<Void, CKError>)] = []

    /// The items that were saved or fetched.
    var successes: [Item] { items.compactMap { try? $0.result.get() } }

    /// The items that were fetched, by identifier.
    var successesByID: [ID: Item] {
        Dictionary(
            items.compactMap { item in (try? item.result.get()).map { (item.id, $0) } }, uniquingKeysWith: { $1 })
    }

    var deletedIDs: [ID] { deletions.filter { (try? $0.result.get()) != nil }.map(\.id) }

    /// Makes records fail of which `fetchFiles` has an error.
    mutating func fail(_ errors: [CKRecordID: CKError]) where Item == CKRecord {
        guard !errors.isEmpty else { return }
        for index in items.indices {
            guard let record = try? items[index].result.get(), let error = errors[record.recordID] else { continue }
            items[index].result = .failure(error)
        }
    }

    /// What a deprecated completion block is told: the operation's own error, or that items failed.
    func error(_ result: Result<Void, CKError>, _ message: String) -> CKError? {
        if case .failure(let error) = result { return error }
        var errors: [AnyHashable: any Error] = [:]
        for (id, result) in items { if case .failure(let error) = result { errors[id] = error } }
        for (id, result) in deletions { if case .failure(let error) = result { errors[id] = error } }
        return errors.isEmpty ? nil : CKError.partialFailure(errors, message)
    }
}

// MARK: Archiving

/// The values an archive of a long-lived operation may hold.
///
/// The tree is JSON whose leaves are archives of single objects: Foundation's keyed archiver, given a tree of
/// arrays and dictionaries, has been seen to end the process now and then ("Duplicate keys of type 'AnyHashable'").
enum LongLivedArchive {
    private static let classes: [AnyClass] = [
        CKRecord.self, CKShare.self, CKRecordID.self, CKRecordZone.self, CKRecordZoneID.self, CKOperationGroup.self,
    ]
    /// The keys that stand for what JSON cannot hold.
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

    /// An error with all that a server's error has; the client's version in a conflict is the operation's own record.
    static func object(of error: CKError) -> NSDictionary {
        let info = error.userInfo
        let inner = info[NSUnderlyingErrorKey] as? NSError
        let values: [String: Any?] = [
            "code": NSNumber(value: error.errorCode), "texts": archived(info.compactMapValues { $0 as? String }),
            "retry": error.retryAfterSeconds.map { NSNumber(value: $0) },
            "isReset": info[CKErrorUserDidResetEncryptedDataKey] as? NSNumber,
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
        info[CKErrorUserDidResetEncryptedDataKey] = (values["isReset"] as? NSNumber).map {
            NSNumber(value: $0.boolValue)
        }
        info[CKRecordChangedErrorServerRecordKey] = values["server"] as? CKRecord
        info[CKRecordChangedErrorAncestorRecordKey] = values["ancestor"] as? CKRecord
        info[NSUnderlyingErrorKey] = (values["inner"] as? NSNumber).map {
            NSError(domain: CKError.innerDomain, code: $0.intValue, userInfo: texts(values["innerTexts"]))
        }
        return CKError(CKError.Code(rawValue: code.intValue) ?? .internalError, userInfo: info)
    }

    /// One string, so that no text is taken for what stands for something else.
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
            "items": NSArray(
                array: items.map { item -> Any in
                    switch item.result {
                    case .success(let value): value
                    case .failure(let error): LongLivedArchive.object(of: error)
                    }
                }),
            "deletedIDs": NSArray(array: deletions.map(\.id)),
            "deletions": NSArray(
                array: deletions.map { deletion -> Any in
                    switch deletion.result {
                    case .success: NSNull()
                    case .failure(let error): LongLivedArchive.object(of: error)
                    }
                }),
        ]
    }

    init(archive: [String: Any]) {
        let ids = (archive["ids"] as? NSArray).map(Array.init) ?? []
        let values = (archive["items"] as? NSArray).map(Array.init) ?? []
        for (id, value) in zip(ids, values) {
            guard let id = id as? ID else { continue }
            if let item = value as? Item, !(value is NSDictionary) {
                items.append((id, .success(item)))
            } else {
                items.append((id, .failure(LongLivedArchive.error(value) ?? CKError.unanswered())))
            }
        }
        let deletedIDs = (archive["deletedIDs"] as? NSArray).map(Array.init) ?? []
        let outcomes = (archive["deletions"] as? NSArray).map(Array.init) ?? []
        for (id, value) in zip(deletedIDs, outcomes) {
            guard let id = id as? ID else { continue }
            deletions.append((id, LongLivedArchive.error(value).map { .failure($0) } ?? .success(())))
        }
    }
}

extension Result {
    /// The error of a failure.
    var error: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}
