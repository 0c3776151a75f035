// Following one zone as one writes it today: a token in the user's defaults, and a loop while more is coming.

import CloudKit

/// The new photos of a zone since the last fetch.
public struct LatestPhotos: Sendable {
    private let database: CKDatabase
    private let zoneID: CKRecordZone.ID
    private let defaultsKey: String

    /// The photos of a zone.
    public init(
        zoneID: CKRecordZone.ID, defaultsKey: String, database: CKDatabase = CKContainer.default().privateCloudDatabase
    ) {
        self.zoneID = zoneID
        self.defaultsKey = defaultsKey
        self.database = database
    }

    /// The titles of new and changed photos, and the names of deleted ones.
    public func look(pageSize: Int? = nil) async throws -> (titles: [String], gone: [String]) {
        var titles: [String] = []
        var gone: [String] = []
        var isMoreComing = true
        while isMoreComing {
            do {
                let changes = try await database.recordZoneChanges(
                    inZoneWith: zoneID, since: token, desiredKeys: ["title"], resultsLimit: pageSize)
                titles += changes.modificationResultsByID.values.compactMap { result in
                    (try? result.get())?.record["title"] as? String
                }
                gone += changes.deletions.map(\.recordID.recordName)
                token = changes.changeToken
                isMoreComing = changes.moreComing
            } catch CKError.changeTokenExpired where token != nil {
                token = nil
                (titles, gone) = ([], [])
            }
        }
        return (titles.sorted(), gone.sorted())
    }

    private var token: CKServerChangeToken? {
        get {
            guard let data = UserDefaults.standard.data(forKey: defaultsKey) else { return nil }
            return try? NSKeyedUnarchiver.unarchivedObject(ofClass: CKServerChangeToken.self, from: data)
        }
        nonmutating set {
            let data = newValue.flatMap {
                try? NSKeyedArchiver.archivedData(withRootObject: $0, requiringSecureCoding: true)
            }
            UserDefaults.standard.set(data, forKey: defaultsKey)
        }
    }
}
