// The lists of one person: their own, and those that others share with them. All requests go to CloudKit as that
// person, so the store decides what they may see and change, and nothing is checked here.
//
// All lists of a person are in one zone. A list is a record; its items are records below it: sharing a list shares
// them, and moving an item gives it another parent. The reference `list` repeats the parent; it serves to find items,
// and to delete them with their list.
//
// Errors are `CKError`s, also those of this layer, so that one place maps them to HTTP.

import Foundation
import StratusKit

/// The place of a list.
struct ListAddress: Sendable {
    /// The owner name that stands for the caller.
    static let me = "me"

    /// `me`, or the owner as others know them (`Stratus.Account.userRecordName`).
    var owner: String
    /// The name of its record.
    var list: String
}

/// Lists as one person sees them.
struct UserLists: Sendable {
    enum RecordType {
        static let list = "List"
        static let item = "Item"
    }

    static let containerIdentifier = "iCloud.com.example.shared-lists"
    private static let zoneName = "Lists"

    let cloud: Stratus
    let container: CKContainer
    let userRecordName: String

    init(cloud: Stratus, person: Person) {
        self.cloud = cloud
        container = person.device.container(Self.containerIdentifier)
        userRecordName = person.account.userRecordName
    }

    /// Creates the zone of a person's lists if they have none yet.
    static func prepare(for device: Stratus.Device) async throws {
        try await device.container(containerIdentifier).privateCloudDatabase.save(CKRecordZone(zoneName: zoneName))
    }

    // MARK: Where things are

    func zoneID(of owner: String) -> CKRecordZone.ID {
        owner == ListAddress.me || owner == userRecordName
            ? CKRecordZone.ID(zoneName: Self.zoneName) : CKRecordZone.ID(zoneName: Self.zoneName, ownerName: owner)
    }

    func database(of zoneID: CKRecordZone.ID) -> CKDatabase {
        zoneID.ownerName == CKCurrentUserDefaultName ? container.privateCloudDatabase : container.sharedCloudDatabase
    }

    func listID(_ address: ListAddress) -> CKRecord.ID {
        CKRecord.ID(recordName: address.list, zoneID: zoneID(of: address.owner))
    }

    // MARK: Lists

    /// The person's own lists.
    func ownLists() async throws -> [CKRecord] {
        try await lists(in: zoneID(of: ListAddress.me))
    }

    /// The lists that others share with the person.
    func sharedLists() async throws -> [CKRecord] {
        var found: [CKRecord] = []
        for zoneID in try await container.sharedCloudDatabase.allRecordZones().map(\.zoneID) {
            do {
                found += try await lists(in: zoneID)
            } catch CKError.zoneNotFound {
                // Its owner has stopped sharing since.
            }
        }
        return found
    }

    private func lists(in zoneID: CKRecordZone.ID) async throws -> [CKRecord] {
        let query = CKQuery(recordType: RecordType.list, predicate: NSPredicate(value: true))
        query.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
        let database = database(of: zoneID)
        var (matches, cursor) = try await database.records(matching: query, inZoneWith: zoneID)
        while let next = cursor {
            let page = try await database.records(continuingMatchFrom: next)
            matches += page.matchResults
            cursor = page.queryCursor
        }
        return try matches.map { try $0.1.get() }
    }

    func list(_ address: ListAddress) async throws -> CKRecord {
        try await record(listID(address), ofType: RecordType.list)
    }

    /// Creates a list, under a name that the client may have chosen: so it can retry after a lost answer without
    /// creating a second one.
    func makeList(named name: String?, title: String) async throws -> CKRecord {
        let zoneID = zoneID(of: ListAddress.me)
        let list = CKRecord(
            recordType: RecordType.list,
            recordID: CKRecord.ID(recordName: name ?? CKRecord.ID().recordName, zoneID: zoneID))
        list["title"] = title
        return try await container.privateCloudDatabase.save(list)
    }

    func renameList(_ address: ListAddress, to title: String, if condition: IfMatch) async throws -> CKRecord {
        let list = try await list(address)
        try condition.check(list)
        list["title"] = title
        return try await database(of: list.recordID.zoneID).save(list)
    }

    /// Deletes a list, its items, and its share. Another person's list cannot be deleted.
    func deleteList(_ address: ListAddress) async throws {
        let list = try await list(address)
        try await database(of: list.recordID.zoneID).deleteRecord(withID: list.recordID)
    }

    // MARK: Records

    /// A record of a type. A record of another type counts as missing, even if a client knows its name.
    func record(_ id: CKRecord.ID, ofType type: CKRecord.RecordType) async throws -> CKRecord {
        let record = try await database(of: id.zoneID).record(for: id)
        guard record.recordType == type else { throw CKError(.unknownItem) }
        return record
    }
}
