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
