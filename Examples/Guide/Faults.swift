// The page about faults, and the code that the tutorial on testing tests.

import CloudKit

// snippet
/// A to-do list: what the app does with CloudKit. It knows nothing of Stratus.
public struct TodoList: Sendable {
    private let database: CKDatabase
    private let zoneID = CKRecordZone.ID(zoneName: "Todo")

    /// The list in a container.
    public init(container: CKContainer = .default()) {
        database = container.privateCloudDatabase
    }
}
// end

// snippet
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
// end

// snippet
extension TodoList {
    /// The open items, by name.
    public func items() async throws -> [String] {
        let query = CKQuery(recordType: "Item", predicate: NSPredicate(format: "isDone == %d", false))
        query.sortDescriptors = [NSSortDescriptor(key: "text", ascending: true)]
        let (matches, _) = try await database.records(matching: query, inZoneWith: zoneID)
        return matches.map { id, _ in id.recordName }
    }
}
// end

extension Guide {
    /// Plans faults of every kind.
    public static func planFaults(in store: Stratus, note: CKRecord.ID, zone: CKRecordZone.ID) -> Int {
        // snippet
        store.faults.fail(.record(note), with: .quotaExceeded)
        store.faults.fail(.zone(zone), with: .zoneBusy, retryAfter: 3, lasting: .times(2))
        store.faults.fail(.operation(.query), with: .networkFailure, lasting: .untilCancelled)
        store.faults.fail(.everything, with: .requestRateLimited, retryAfter: 30, lasting: .seconds(30))
        store.faults.loseAnswers(of: .modifyRecords)  // the write succeeds, but the client never gets the answer
        // end
        return store.faults.count
    }

    /// A store whose time a test moves.
    public static func storeWithClock() async throws -> (store: Stratus, clock: Stratus.ManualClock) {
        // snippet
        let clock = Stratus.ManualClock()
        var options = Stratus.Options()
        options.clock = .manual(clock)
        options.identifiers = .seeded(7)  // the same requests give the same tags and identities
        let store = try await Stratus.inMemory(options: options)
        clock.advance(by: 60)
        // end
        return (store, clock)
    }
}
