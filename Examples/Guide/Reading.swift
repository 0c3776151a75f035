// The pages about queries, change feeds and subscriptions.

import CloudKit

extension Guide {
    /// Asks a query, page by page.
    public static func find(in database: CKDatabase, zoneID: CKRecordZone.ID) async throws -> [String] {
        // snippet
        let query = CKQuery(
            recordType: "Recipe",
            predicate: NSPredicate(format: "minutes <= %d AND tags CONTAINS %@", 30, "quick"))
        query.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]

        var names: [String] = []
        var page = try await database.records(matching: query, inZoneWith: zoneID, resultsLimit: 50)
        while true {
            names += page.matchResults.compactMap { try? $0.1.get()["name"] as? String }
            guard let cursor = page.queryCursor else { break }
            page = try await database.records(continuingMatchFrom: cursor)
        }
        // end
        return names
    }

    /// What a query costs.
    public static func explainQuery(
        _ query: CKQuery, zoneID: CKRecordZone.ID, as alice: Stratus.Account, in cloud: Stratus
    ) async throws -> Int {
        // snippet
        let plan = try await cloud.explainQuery(
            query, inZoneWith: zoneID, inContainer: "iCloud.com.example.app", as: alice)
        print(plan)  // which index was read, how many entries were examined, how many reads it took
        // end
        return plan.resultCount
    }

    /// The changes of a zone since a token, in pages.
    public static func follow(
        _ zoneID: CKRecordZone.ID, since last: CKServerChangeToken?, in database: CKDatabase
    ) async throws -> (changed: Set<String>, token: CKServerChangeToken?) {
        var token = last
        var changed: Set<String> = []
        // snippet
        var isMoreComing = true
        while isMoreComing {
            do {
                let page = try await database.recordZoneChanges(inZoneWith: zoneID, since: token)
                for id in page.modificationResultsByID.keys { changed.insert(id.recordName) }
                for deletion in page.deletions { changed.insert(deletion.recordID.recordName) }
                token = page.changeToken  // store it together with the changes of the page
                isMoreComing = page.moreComing
            } catch CKError.changeTokenExpired {
                token = nil  // start over: records missing from the new feed are gone
                changed = []
            }
        }
        // end
        return (changed, token)
    }

    /// Keeps a token for the next launch.
    public static func keep(_ token: CKServerChangeToken) throws -> CKServerChangeToken? {
        // snippet
        let data = try NSKeyedArchiver.archivedData(withRootObject: token, requiringSecureCoding: true)
        let again = try NSKeyedUnarchiver.unarchivedObject(ofClass: CKServerChangeToken.self, from: data)
        // end
        return again
    }

    /// Notifies a person's telephone of what their other devices do.
    public static func subscribe(
        alice: Stratus.Account, in cloud: Stratus, send: @escaping @Sendable (Data) -> Void
    ) async throws -> Stratus.Device {
        // snippet
        let phone = try await cloud.device("phone", signedInAs: alice)
        let database = phone.container("iCloud.com.example.app").privateCloudDatabase
        try await database.save(CKDatabaseSubscription(subscriptionID: "everything"))

        phone.onNotification = { received in
            if let json = try? JSONSerialization.data(withJSONObject: received.userInfo) { send(json) }
        }
        // end
        return phone
    }
}
