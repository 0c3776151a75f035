// The pages about saving and conflicts. They know only CloudKit, except for the content of one asset, which a host
// requests.

import CloudKit

extension Guide {
    /// Saves a list with two things on it, in a zone of its own.
    public static func saveList(in database: CKDatabase) async throws -> Int {
        // snippet
        let zone = try await database.save(CKRecordZone(zoneName: "Lists"))

        let list = CKRecord(recordType: "List", recordID: CKRecord.ID(recordName: "weekend", zoneID: zone.zoneID))
        list["title"] = "For the weekend"
        let items = ["Milk", "Bread"].map { name in
            let item = CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: name, zoneID: zone.zoneID))
            item["amount"] = 2
            item.setParent(list)
            return item
        }
        let (saved, _) = try await database.modifyRecords(saving: [list] + items, deleting: [])
        for (id, result) in saved {
            if case .failure(let error) = result { print("\(id.recordName) was not saved: \(error)") }
        }
        // end
        return try saved.values.map { try $0.get() }.count
    }

    /// Saves a record with a file.
    public static func savePhoto(_ file: URL, in database: CKDatabase) async throws -> Data? {
        // snippet
        let photo = CKRecord(recordType: "Photo", recordID: CKRecord.ID(recordName: "summer"))
        photo["image"] = CKAsset(fileURL: file)
        try await database.save(photo)

        let fetched = try await database.record(for: photo.recordID)
        let copy = (fetched["image"] as? CKAsset)?.fileURL  // a file of your own: move it to keep it
        // end
        return try copy.map { try Data(contentsOf: $0) }
    }

    /// The file of a record that was fetched without it.
    public static func image(
        of photo: CKRecord, in database: CKDatabase, of cloud: Stratus
    ) async throws -> Data? {
        // snippet
        let listed = try await database.records(for: [photo.recordID], desiredKeys: ["title"])  // copies no file
        let image = try await cloud.asset("image", of: photo.recordID, in: database)
        let content = try image?.fileURL.map { try Data(contentsOf: $0) }
        // end
        return listed.isEmpty ? nil : content
    }

    /// Raises a number that others raise too.
    public static func countUp(_ id: CKRecord.ID, in database: CKDatabase) async throws -> Int {
        // snippet
        var record = try await database.record(for: id)
        while true {
            record["count"] = (record["count"] as? Int ?? 0) + 1
            do {
                return try await database.save(record)["count"] as? Int ?? 0
            } catch let error as CKError where error.code == .serverRecordChanged {
                guard let server = error.serverRecord else { throw error }
                record = server
            }
        }
        // end
    }

    /// Overwrites one field, whatever its value, and leaves the others alone.
    public static func rename(_ record: CKRecord, in database: CKDatabase) async throws -> CKRecord? {
        // snippet
        record["title"] = "Renamed"
        let (results, _) = try await database.modifyRecords(
            saving: [record], deleting: [], savePolicy: .changedKeys)
        // end
        return try results[record.recordID]?.get()
    }
}
