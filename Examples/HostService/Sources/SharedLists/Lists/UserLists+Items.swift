// Items: created, read, changed, moved to another list, deleted.

import Foundation
import StratusKit

/// The changes to an item; nil for unchanged parts.
struct ItemChange: Sendable {
    var title: String?
    var isDone: Bool?
    /// The list to move it to, of the same owner.
    var list: String?
}

extension UserLists {
    /// A page of the items of a list.
    func items(
        of address: ListAddress, from cursor: CKQueryOperation.Cursor?
    ) async throws -> (items: [CKRecord], next: CKQueryOperation.Cursor?) {
        let list = try await list(address)
        let database = database(of: list.recordID.zoneID)
        if let cursor {
            let page = try await database.records(continuingMatchFrom: cursor, resultsLimit: Limits.pageItemCount)
            return (try page.matchResults.map { try $0.1.get() }, page.queryCursor)
        }
        let reference = CKRecord.Reference(recordID: list.recordID, action: .deleteSelf)
        let query = CKQuery(recordType: RecordType.item, predicate: NSPredicate(format: "list == %@", reference))
        query.sortDescriptors = [NSSortDescriptor(key: "creationDate", ascending: true)]
        let page = try await database.records(
            matching: query, inZoneWith: list.recordID.zoneID, resultsLimit: Limits.pageItemCount)
        return (try page.matchResults.map { try $0.1.get() }, page.queryCursor)
    }

    func item(_ name: String, in address: ListAddress) async throws -> CKRecord {
        let listID = listID(address)
        let item = try await record(CKRecord.ID(recordName: name, zoneID: listID.zoneID), ofType: RecordType.item)
        guard item.parent?.recordID == listID else { throw CKError(.unknownItem) }
        return item
    }

    /// Adds an item to a list, under a name that the client may have chosen.
    func makeItem(named name: String?, title: String, in address: ListAddress) async throws -> CKRecord {
        let list = try await list(address)
        let item = CKRecord(
            recordType: RecordType.item,
            recordID: CKRecord.ID(recordName: name ?? CKRecord.ID().recordName, zoneID: list.recordID.zoneID))
        item["title"] = title
        item["done"] = 0
        item.put(under: list)
        return try await database(of: list.recordID.zoneID).save(item)
    }

    /// Changes an item if the client has seen its current version.
    ///
    /// A change between the condition and the save makes the save fail, like the condition.
    func changeItem(
        _ name: String, in address: ListAddress, if condition: IfMatch, _ change: ItemChange
    ) async throws -> CKRecord {
        let item = try await item(name, in: address)
        try condition.check(item)
        if let title = change.title { item["title"] = title }
        if let isDone = change.isDone { item["done"] = isDone ? 1 : 0 }
        if let target = change.list {
            // Asked for first, so that a list that the person cannot see is answered as one that is not there.
            item.put(under: try await list(ListAddress(owner: address.owner, list: target)))
        }
        return try await database(of: item.recordID.zoneID).save(item)
    }

    func deleteItem(_ name: String, in address: ListAddress) async throws {
        let item = try await item(name, in: address)
        try await database(of: item.recordID.zoneID).deleteRecord(withID: item.recordID)
    }
}

extension CKRecord {
    /// Puts an item into a list, its share, and its cascade.
    fileprivate func put(under list: CKRecord) {
        setParent(list)
        self["list"] = CKRecord.Reference(recordID: list.recordID, action: .deleteSelf)
    }
}
