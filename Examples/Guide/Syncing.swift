// The page about the sync engine.

import CloudKit
import StratusKit

// snippet
actor Shelf: CKSyncEngineDelegate {
    private(set) var books: [String: String] = [:]
    private(set) var state: CKSyncEngine.State.Serialization?

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        switch event {
        case .stateUpdate(let update): state = update.stateSerialization  // store it with the books
        case .fetchedRecordZoneChanges(let changes):
            for change in changes.modifications {
                books[change.record.recordID.recordName] = change.record["title"] as? String
            }
            for deletion in changes.deletions { books[deletion.recordID.recordName] = nil }
        case .accountChange(let change):
            if case .signIn = change.changeType { break }
            books = [:]
        default: break
        }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        let changes = syncEngine.state.pendingRecordZoneChanges.filter(context.options.scope.contains)
        return await .init(pendingChanges: changes) { id in await self.record(for: id) }
    }

    func add(_ title: String, _ id: CKRecord.ID, _ engine: CKSyncEngine) {
        books[id.recordName] = title
        engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: id.zoneID))])
        engine.state.add(pendingRecordZoneChanges: [.saveRecord(id)])
    }

    private func record(for id: CKRecord.ID) -> CKRecord? {
        guard let title = books[id.recordName] else { return nil }
        let record = CKRecord(recordType: "Book", recordID: id)
        record["title"] = title
        return record
    }
}
// end

extension Guide {
    /// Keeps a shelf of books alike with a person's private database, on one device.
    public static func sync(
        _ device: Stratus.Device, in zoneID: CKRecordZone.ID, of cloud: Stratus
    ) async throws -> (books: [String: String], hasState: Bool) {
        let shelf = Shelf()
        // snippet
        let database = device.container("iCloud.com.example.app").privateCloudDatabase
        let engine = CKSyncEngine(.init(database: database, stateSerialization: nil, delegate: shelf))
        await shelf.add("Momo", CKRecord.ID(recordName: "1", zoneID: zoneID), engine)
        await cloud.settle()  // in tests: the engine has sent what it can
        // end
        try await engine.fetchChanges()
        return (await shelf.books, await shelf.state != nil)
    }
}
