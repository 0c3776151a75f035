import CloudKit

/// A to-do list: what the app does with CloudKit. It knows nothing of Stratus.
public struct TodoList: Sendable {
    private let database: CKDatabase
    private let zoneID = CKRecordZone.ID(zoneName: "Todo")

    /// The list in a container.
    public init(container: CKContainer = .default()) {
        database = container.privateCloudDatabase
    }
}

extension TodoList {
    /// Adds an item, and creates the zone if there is none.
    public func add(_ text: String) async throws {
        let item = CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: text, zoneID: zoneID))
        item["text"] = text
        item["isDone"] = false
        do {
            try await database.save(item)
        } catch CKError.zoneNotFound {
            try await database.save(CKRecordZone(zoneID: zoneID))
            try await add(text)
        } catch let error as CKError {
            guard let seconds = error.retryAfterSeconds else { throw error }
            try await Task.sleep(for: .seconds(seconds))
            try await add(text)
        }
    }
}

extension TodoList {
    /// The open items, by name.
    public func items() async throws -> [String] {
        let query = CKQuery(recordType: "Item", predicate: NSPredicate(format: "isDone == %d", false))
        query.sortDescriptors = [NSSortDescriptor(key: "text", ascending: true)]
        let (matches, _) = try await database.records(matching: query, inZoneWith: zoneID)
        return matches.map { id, _ in id.recordName }
    }
}
